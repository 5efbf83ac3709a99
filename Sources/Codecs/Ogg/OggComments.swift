/// The comments of a logical stream: fields with names, such as TITLE and ARTIST.
///
/// Sources: "Ogg Vorbis I format specification: comment field and header specification"; RFC 7845 §5.2; RFC 9639 §8.6.
public struct OggComments: Sendable, Equatable {
  /// A field; names are compared without case.
  public struct Field: Sendable, Equatable {
    /// The name, in ASCII.
    public let name: String
    /// The text.
    public let text: String

    /// Creates a field.
    public init(_ name: String, _ text: String) { (self.name, self.text) = (name, text) }
  }

  /// The name of the program that made the stream.
  public internal(set) var vendor = ""
  /// The fields, in order.
  public var fields: [Field] = []

  /// Creates comments without fields.
  public init() {}

  /// Returns the texts of all fields of a name, joined by commas; nil when no such field has a text.
  public subscript(_ name: String) -> String? {
    let texts = fields.filter { $0.name.uppercased() == name && !$0.text.isEmpty }.map(\.text)
    return texts.isEmpty ? nil : texts.joined(separator: ", ")
  }

  /// The bytes of the vendor and the fields, as in all comment headers.
  var bytes: [UInt8] {
    func counted(_ text: String) -> [UInt8] { Self.little(text.utf8.count) + Array(text.utf8) }
    return fields.reduce(counted(vendor) + Self.little(fields.count)) {
      $0 + counted("\($1.name)=\($1.text)")
    }
  }

  private static func little(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(number >> (8 * $0) & 0xFF) } }
}

/// Reads the comment header of a logical stream as its bytes come.
///
/// Long fields, pictures above all, are skipped as they come. Memory: 32 KiB, whatever a header claims.
struct OggCommentReader: Sendable {
  private static let longestField = 4096
  private static let longestTogether = 24 * 1024

  private enum Step {
    case magic
    case vendorLength
    case vendor
    case count
    case fieldLength
    case field
    case done
  }

  private(set) var comments = OggComments()
  private var step: Step
  /// The number of bytes until the step is done, and those that came, unless they are skipped.
  private var missing: Int
  private var bytes: [UInt8] = []
  private var isSkipped: Bool
  private var fieldsLeft = 0
  private var together = 0

  /// - Parameter magicLength: the number of bytes before the vendor's length.
  init(magicLength: Int) { (step, missing, isSkipped) = (.magic, magicLength, true) }

  mutating func feed(_ piece: some Collection<UInt8>) {
    var rest = piece[...]
    while step != .done {
      let part = rest.prefix(missing)
      if !isSkipped { bytes += part }
      missing -= part.count
      rest = rest.dropFirst(part.count)
      guard missing == 0 else { return }
      advance()
    }
  }

  private mutating func advance() {
    let number = bytes.count == 4 ? bytes.reversed().reduce(0) { $0 << 8 | Int($1) } : 0
    let text = isSkipped ? nil : String(validating: bytes, as: UTF8.self)
    bytes = []
    switch step {
    case .magic: expect(.vendorLength, 4)
    case .vendorLength: expect(.vendor, number)
    case .vendor:
      comments.vendor = text ?? ""
      expect(.count, 4)
    case .count:
      fieldsLeft = number
      expectField()
    case .fieldLength: expect(.field, number)
    case .field:
      if let text, let equals = text.firstIndex(of: "=") {
        together += text.utf8.count
        comments.fields.append(
          .init(String(text[..<equals]), String(text[text.index(after: equals)...])))
      }
      fieldsLeft -= 1
      expectField()
    case .done: break
    }
  }

  private mutating func expectField() {
    if fieldsLeft > 0 { expect(.fieldLength, 4) } else { step = .done }
  }

  private mutating func expect(_ next: Step, _ length: Int) {
    (step, missing) = (next, length)
    let isText = next == .field || next == .vendor
    isSkipped = isText && (length > Self.longestField || together + length > Self.longestTogether)
    // A field costs memory even without a text.
    if next == .field { together += 32 }
  }
}
