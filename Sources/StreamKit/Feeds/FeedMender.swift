/// Rewrites text that resembles XML as XML; see `FeedText`. Linear in the number of bytes, whatever they are.
struct FeedMender {
  /// The limit of nested elements; tags of deeper ones are left out.
  private static let depthLimit = 30
  /// The limit of attributes of an element.
  private static let attributeLimit = 32
  /// The limit of a name in bytes.
  private static let nameLimit = 64

  private let bytes: [UInt8]
  private var result: [UInt8] = []
  /// The names of the open elements, inside the root that encloses all.
  private var open: [[UInt8]] = []
  /// The marks that are known not to follow any more.
  private var missing: Set<String> = []

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the document; nil when it is longer than `limit`.
  mutating func mended(limit: Int) -> [UInt8]? {
    result = Array("<feed>".utf8)
    var index = 0
    while index < bytes.count {
      guard result.count <= limit else { return nil }
      index = bytes[index] == UInt8(ascii: "<") ? markup(at: index) : character(at: index)
    }
    while let name = open.popLast() { result += endTag(name) }
    result += Array("</feed>".utf8)
    return result.count <= limit ? result : nil
  }

  /// Returns the local part of a name with letters, digits, `_`, `-`, `.`, and `_` for all else; a `_`
  /// precedes a character that may not begin a name.
  static func name(_ raw: ArraySlice<UInt8>) -> [UInt8] {
    let local = raw.lastIndex(of: UInt8(ascii: ":")).map { raw[($0 + 1)...] } ?? raw
    let name = local.prefix(nameLimit).map { isNameByte($0) ? $0 : UInt8(ascii: "_") }
    let isGood = name.first.map { isLetter($0) || $0 == UInt8(ascii: "_") } ?? false
    // A valid name is unchanged.
    return isGood ? name : Array(([UInt8(ascii: "_")] + name).prefix(nameLimit))
  }

  // MARK: Markup

  /// Writes the markup that begins with the `<` at `index`.
  /// - Returns: the index behind it.
  private mutating func markup(at index: Int) -> Int {
    if starts("<![CDATA[", at: index), let end = find("]]>", from: index + 9) {
      for byte in bytes[(index + 9)..<end] { write(text: byte) }
      return end + 3
    }
    if starts("<!--", at: index), let end = find("-->", from: index + 4) { return end + 3 }
    if starts("<?", at: index), let end = find("?>", from: index + 2) { return end + 2 }
    if starts("<!", at: index), let end = find(">", from: index + 2) { return end + 1 }
    return tag(at: index) ?? character(at: index)
  }

  /// Writes the tag at `index`.
  /// - Returns: the index behind it; nil when there is no tag.
  private mutating func tag(at index: Int) -> Int? {
    let isEnd = index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: "/")
    let start = index + (isEnd ? 2 : 1)
    let raw = bytes[start...].prefix { !isBlank($0) && !"/><=\"'&".utf8.contains($0) }
    guard !raw.isEmpty, let end = endOfTag(from: raw.endIndex) else { return nil }
    let name = Self.name(raw)
    if isEnd {
      close(name)
    } else if open.count < Self.depthLimit {
      begin(name, bytes[raw.endIndex..<end])
    }
    return end + 1
  }

  /// Returns the index of the `>` that ends a tag, before another one begins; one in quotes only when there
  /// is no other.
  private func endOfTag(from start: Int) -> Int? {
    var (quote, first): (UInt8?, Int?) = (nil, nil)
    for index in start..<bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "<"): return first
      case UInt8(ascii: ">"):
        if quote == nil { return index }
        first = first ?? index
      case let byte where byte == quote: quote = nil
      case let byte where isQuote(byte) && quote == nil: quote = byte
      default: break
      }
    }
    return first
  }

  private mutating func begin(_ name: [UInt8], _ inside: ArraySlice<UInt8>) {
    result.append(UInt8(ascii: "<"))
    result += name
    let isEmpty = inside.last == UInt8(ascii: "/")
    var rest = isEmpty ? inside.dropLast() : inside
    for _ in 0..<Self.attributeLimit { if !attribute(&rest) { break } }
    result += Array((isEmpty ? "/>" : ">").utf8)
    if !isEmpty { open.append(name) }
  }

  /// Writes the next `name="value"`, with whichever quotes or none.
  /// - Returns: `true` if there was an attribute.
  private mutating func attribute(_ rest: inout ArraySlice<UInt8>) -> Bool {
    rest = rest.drop { isBlank($0) || "/=\"'".utf8.contains($0) }
    let raw = rest.prefix { !isBlank($0) && !"/=\"'".utf8.contains($0) }
    guard !raw.isEmpty else { return false }
    rest = rest[raw.endIndex...].drop(while: isBlank)
    guard rest.first == UInt8(ascii: "=") else { return true }
    rest = rest.dropFirst().drop(while: isBlank)
    let value: ArraySlice<UInt8>
    if let quote = rest.first, isQuote(quote) {
      value = rest.dropFirst().prefix { $0 != quote }
      rest = rest[value.endIndex...].dropFirst()
    } else {
      value = rest.prefix { !isBlank($0) }
      rest = rest[value.endIndex...]
    }
    result += [UInt8(ascii: " ")] + Self.name(raw) + Array("=\"".utf8)
    var index = value.startIndex
    while index < value.endIndex { index = character(at: index, end: value.endIndex) }
    result.append(UInt8(ascii: "\""))
    return true
  }

  /// Ends the innermost element of that name, and all in it; an end tag without a start tag is left out.
  private mutating func close(_ name: [UInt8]) {
    guard let index = open.lastIndex(of: name) else { return }
    while open.count > index { result += endTag(open.removeLast()) }
  }

  private func endTag(_ name: [UInt8]) -> [UInt8] { Array("</".utf8) + name + [UInt8(ascii: ">")] }

  // MARK: Text

  /// Writes the character at `index`, or the reference to one.
  /// - Returns: the index behind it.
  private mutating func character(at index: Int, end: Int? = nil) -> Int {
    if bytes[index] == UInt8(ascii: "&"), let next = reference(at: index, end: end ?? bytes.count) {
      result += bytes[index..<next]
      return next
    }
    write(text: bytes[index])
    return index + 1
  }

  /// Returns the index behind `&amp;`, `&#169;` and the like; nil when there is no reference.
  private func reference(at index: Int, end: Int) -> Int? {
    let rest = bytes[(index + 1)..<end].prefix(10)
    guard let semicolon = rest.firstIndex(of: UInt8(ascii: ";")) else { return nil }
    let name = String(decoding: rest[..<semicolon], as: UTF8.self)
    let isNumber =
      name.hasPrefix("#x")
      ? isNumber(name.dropFirst(2), 16) : name.hasPrefix("#") && isNumber(name.dropFirst(), 10)
    return isNumber || ["amp", "lt", "gt", "quot", "apos"].contains(name) ? semicolon + 1 : nil
  }

  /// Returns `true` if `digits` are the number of a character that XML allows.
  private func isNumber(_ digits: Substring, _ radix: Int) -> Bool {
    guard digits.first != "+", digits.first != "-", let number = UInt32(digits, radix: radix) else {
      return false
    }
    return number >= 0x20 && Unicode.Scalar(number) != nil && number & 0xFFFE != 0xFFFE
  }

  private mutating func write(text byte: UInt8) {
    switch byte {
    case UInt8(ascii: "<"): result += Array("&lt;".utf8)
    case UInt8(ascii: ">"): result += Array("&gt;".utf8)
    case UInt8(ascii: "&"): result += Array("&amp;".utf8)
    case UInt8(ascii: "\""): result += Array("&quot;".utf8)
    default: result.append(byte)
    }
  }

  // MARK: Bytes

  private func starts(_ mark: StaticString, at index: Int) -> Bool {
    bytes[index...].starts(with: mark.description.utf8)
  }

  /// Returns the next index of `mark`; a mark that is missing is searched for only once.
  private mutating func find(_ mark: String, from start: Int) -> Int? {
    guard !missing.contains(mark), start <= bytes.count else { return nil }
    let wanted = Array(mark.utf8)
    var index = start
    while index + wanted.count <= bytes.count {
      if bytes[index] == wanted[0], bytes[index...].starts(with: wanted) { return index }
      index += 1
    }
    missing.insert(mark)
    return nil
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
  private static func isNameByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || (0x30...0x39).contains(byte) || "_-.".utf8.contains(byte)
  }
}

private func isBlank(_ byte: UInt8) -> Bool { byte <= 0x20 }
private func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }
