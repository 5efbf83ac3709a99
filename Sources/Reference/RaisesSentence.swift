/// The codes in a sentence such as "Raises `speaker.unknown` (no speaker has the name), `argument`, and the errors of
/// `store.get`."
struct RaisesSentence {
  private(set) var codes: [ReferenceRaise] = []
  /// Names after "errors of", "Raises as", "Raises what" and "and what".
  private(set) var functions: [String] = []

  init(_ text: String) {
    let bytes = Array(text.utf8)
    var (depth, index, words) = (0, 0, 0)
    var isFunction = false
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "(") { depth += 1 }
      if byte == UInt8(ascii: ")") { depth -= 1 }
      // A list of functions ends with any sign but "and".
      if [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: ".")].contains(byte) {
        isFunction = false
      }
      guard byte == UInt8(ascii: "`"), let end = bytes[(index + 1)...].firstIndex(of: byte) else {
        index += 1
        continue
      }
      defer { (index, words) = (end + 1, end + 1) }
      guard depth == 0 else { continue }
      let token = String(decoding: bytes[(index + 1)..<end], as: UTF8.self)
      let before = String(decoding: bytes[words..<index], as: UTF8.self)
      if ["errors of ", "Raises as ", "Raises what ", "and what "].contains(where: before.hasSuffix) {
        isFunction = true
      }
      if isFunction {
        functions.append(token)
      } else if Self.isCode(token) {
        codes.append(ReferenceRaise(code: token, reason: Self.reason(bytes[(end + 1)...])))
      }
    }
  }

  /// The position of "Raises" at the beginning of a paragraph or of a sentence in it.
  static func start(in paragraph: String) -> String.Index? {
    if paragraph.hasPrefix("Raises ") { return paragraph.startIndex }
    let bytes = paragraph.utf8
    return bytes.indices.first {
      bytes[$0] == UInt8(ascii: ".") && bytes[$0...].starts(with: ". Raises ".utf8)
    }
    .map { bytes.index($0, offsetBy: 2) }
  }

  /// `true` for `argument` and for `area.failure`.
  static func isCode(_ token: String) -> Bool {
    if token == "argument" { return true }
    let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 2
      && parts.allSatisfy { part in
        !part.isEmpty
          && part.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
          }
      }
  }

  /// The text of a parenthesis that follows directly.
  private static func reason(_ bytes: ArraySlice<UInt8>) -> String? {
    guard bytes.prefix(2).elementsEqual(" (".utf8) else { return nil }
    var depth = 0
    for index in bytes.indices {
      if bytes[index] == UInt8(ascii: "(") { depth += 1 }
      if bytes[index] == UInt8(ascii: ")") {
        depth -= 1
        if depth == 0 { return String(decoding: bytes[(bytes.startIndex + 2)..<index], as: UTF8.self) }
      }
    }
    return nil
  }
}
