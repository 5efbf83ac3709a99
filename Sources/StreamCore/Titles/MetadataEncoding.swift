internal import EventLoop
internal import Glibc

/// The encoding of a station's texts that are not UTF-8.
public struct MetadataEncoding: Sendable, Equatable {
  private enum Kind: Sendable, Equatable {
    case utf8
    case latin1
    case windows1252
    /// An encoding of iconv(3), by its name.
    case other(String)
  }
  private let kind: Kind

  /// UTF-8; texts that are not valid are decoded as Latin-1.
  public static let utf8 = MetadataEncoding(kind: .utf8)
  /// ISO 8859-1: the value of a byte is the number of its character.
  public static let latin1 = MetadataEncoding(kind: .latin1)
  /// Latin-1 with typographic characters in place of the control characters above 127.
  public static let windows1252 = MetadataEncoding(kind: .windows1252)

  private init(kind: Kind) { self.kind = kind }

  /// Creates the encoding called `name`, as `latin1`, `UTF-8`, `windows-1251` or `KOI8-R`; nil if iconv(3)
  /// does not know it.
  public init?(name: String) {
    let letters = name.lowercased().filter { $0 != "-" && $0 != "_" }
    switch letters {
    case "utf8": kind = .utf8
    case "latin1", "iso88591": kind = .latin1
    case "windows1252", "cp1252": kind = .windows1252
    default:
      // Plain names only: after two slashes iconv accepts instructions.
      let isName = name.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
          || [0x2D, 0x2E, 0x3A, 0x5F].contains(byte)
      }
      guard isName, !name.isEmpty, name.utf8.count <= 32, Converter(from: name) != nil else { return nil }
      kind = .other(name)
    }
  }

  /// The name: `utf-8`, `latin1`, `windows-1252`, or the one that it was created with.
  public var name: String {
    switch kind {
    case .utf8: "utf-8"
    case .latin1: "latin1"
    case .windows1252: "windows-1252"
    case .other(let name): name
    }
  }

  /// Returns the text in `bytes`: UTF-16 after a byte order mark, UTF-8 if that is valid, else this encoding,
  /// else Latin-1; `cleaned`.
  public func text(_ bytes: ArraySlice<UInt8>) -> String {
    if let text = MarkedText.utf16(bytes) { return text.cleaned }
    let text = String(validating: bytes, as: UTF8.self) ?? decoded(bytes) ?? Self.latin1(bytes)
    return MarkedText.mended(text).cleaned
  }

  private func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
    switch kind {
    case .utf8: nil
    case .latin1: Self.latin1(bytes)
    case .windows1252: Self.windows1252(bytes)
    case .other(let name): Converter(from: name)?.text(bytes)
    }
  }

  private static func latin1(_ bytes: ArraySlice<UInt8>) -> String {
    var text = ""
    for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
    return text
  }

  /// The characters of 0x80 to 0x9F; five are not assigned. Source: WHATWG Encoding, index windows-1252.
  private static let upper: [UInt16] = [
    0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0x8D,
    0x17D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A,
    0x153, 0x9D, 0x17E, 0x178,
  ]

  private static func windows1252(_ bytes: ArraySlice<UInt8>) -> String {
    var text = ""
    for byte in bytes {
      let scalar =
        (0x80...0x9F).contains(byte) ? Unicode.Scalar(upper[Int(byte) - 0x80]) : Unicode.Scalar(byte)
      text.unicodeScalars.append(scalar ?? "\u{FFFD}")
    }
    return text
  }
}

/// A converter of iconv(3) from an encoding to UTF-8.
private struct Converter: ~Copyable {
  private let descriptor: iconv_t

  init?(from name: String) {
    guard let descriptor = iconv_open("UTF-8", name), Int(bitPattern: descriptor) != -1 else { return nil }
    self.descriptor = descriptor
  }

  deinit { iconv_close(descriptor) }

  /// Returns the text in `bytes`; nil when they are not valid in this encoding.
  func text(_ bytes: ArraySlice<UInt8>) -> String? {
    var input = bytes.map { CChar(bitPattern: $0) }
    // One byte becomes at most four in UTF-8; some encodings decompose a character into several.
    var output = [CChar](repeating: 0, count: 16 * input.count + 16)
    let room = output.count
    var (inputRest, outputRest) = (input.count, room)
    let converted = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        var (source, target) = (input.baseAddress, output.baseAddress)
        return iconv(descriptor, &source, &inputRest, &target, &outputRest)
      }
    }
    guard converted != -1, inputRest == 0 else { return nil }
    return String(
      validating: output[..<(room - outputRest)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
