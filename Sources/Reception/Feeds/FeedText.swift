internal import StreamCore

/// Reads the text of a feed as a document.
///
/// Feeds are written by programs that concatenate texts: several documents in a row, names with characters that no name
/// may have, bare `&` and `<`, end tags of elements that never began. libxml2's parser of HTML accepts all of that but the
/// names, which are made legal here: they keep letters, digits, `_`, `-` and `.`, and have no prefix. Comments,
/// instructions and declarations are dropped, so no entity is ever known but those of HTML. `FeedNesting` bounds the depth.
enum FeedText {
  /// The limit of a feed in bytes.
  static let sizeLimit = 1 << 20
  /// The limit of a name in bytes.
  private static let nameLimit = 64
  /// The beginnings and ends of markup that is not a tag.
  private static let marks = [("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?", "?>"), ("<!", ">")]

  /// Returns the document in `bytes`; nil when it has more than 1 MiB, or a tag with hundreds of attributes.
  /// - Parameter names: the names that are looked for: their elements are found however deep they are.
  static func document(_ bytes: [UInt8], _ names: FeedNames) -> XMLDocument? {
    guard bytes.count <= sizeLimit else { return nil }
    let text = tagged(Array(text(bytes).utf8), names)
    return XMLDocument(text, isLoose: true, encoding: "UTF-8", root: "feed")
  }

  /// Returns a name as the document has it, in lower case: `_` replaces characters that no name may have.
  static func name(_ text: String) -> String {
    String(decoding: legal(Array(text.utf8)[...]), as: UTF8.self).lowercased()
  }

  private static func legal(_ raw: ArraySlice<UInt8>) -> [UInt8] {
    let local = raw.lastIndex(of: UInt8(ascii: ":")).map { raw[($0 + 1)...] } ?? raw
    return local.prefix(nameLimit).map { byte in
      let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
      return isLetter || (0x30...0x39).contains(byte) || "_-.".utf8.contains(byte) ? byte : UInt8(ascii: "_")
    }
  }

  /// The place of a byte in the text.
  private enum Place {
    case text
    case tag(afterEquals: Bool)
    case quoted(UInt8)

    mutating func advance(over byte: UInt8) {
      switch self {
      case .text: break
      case .quoted(let quote): if byte == quote { self = .tag(afterEquals: false) }
      case .tag(let afterEquals):
        switch byte {
        case UInt8(ascii: ">"): self = .text
        case UInt8(ascii: "\""), UInt8(ascii: "'"): if afterEquals { self = .quoted(byte) }
        case UInt8(ascii: " "): break
        default: self = .tag(afterEquals: byte == UInt8(ascii: "="))
        }
      }
    }
  }

  /// Returns the text in one element, with legal names: the prefix `x:` distinguishes them from those of HTML, whose rules
  /// they don't follow, and may precede any character. End tags are those of `FeedNesting`. Linear in the number of bytes,
  /// whatever they are.
  private static func tagged(_ bytes: [UInt8], _ names: FeedNames) -> [UInt8] {
    var (result, index, missing) = (Array("<feed>".utf8), 0, Set<String>())
    var (place, nesting) = (Place.text, FeedNesting(names))
    /// The first byte in the result of the tag that is read; its element, nil for an end tag.
    var tag: (start: Int, element: (name: String, isKept: Bool)?)?
    func end(_ elements: [String]) { for name in elements { result += Array("</x:\(name)>".utf8) } }
    /// Completes the tag that is read, unless it continues.
    func endTag(isEmpty: Bool = false) {
      guard case .text = place, let (start, element) = tag else { return }
      if element?.isKept != true { result.removeSubrange(start...) }
      if isEmpty, let element { end(nesting.end(element.name)) }
      tag = nil
    }
    /// Returns the next index of a mark; one that is missing is searched for only once.
    func find(_ mark: String, from start: Int) -> Int? {
      guard !missing.contains(mark) else { return nil }
      let found = bytes.indices.dropFirst(start).first { bytes[$0...].starts(with: mark.utf8) }
      if found == nil { missing.insert(mark) }
      return found
    }
    scan: while index < bytes.count {
      let rest = bytes[index...]
      guard rest.first == UInt8(ascii: "<") else {
        // The end tag in place of the slash, which an attribute without quotes would have as well.
        let isEmpty = if case .tag = place { rest.starts(with: "/>".utf8) } else { false }
        if isEmpty { index += 1 }
        result.append(bytes[index])
        place.advance(over: bytes[index])
        endTag(isEmpty: isEmpty)
        index += 1
        continue
      }
      for (start, end) in Self.marks where rest.starts(with: start.utf8) {
        let first = index + start.utf8.count
        guard let last = find(end, from: first) else { continue }
        for byte in bytes[first..<last] where start == "<![CDATA[" {
          let isMarkup = byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&")
          result += isMarkup ? Array("&#\(byte);".utf8) : [byte]
        }
        index = last + end.utf8.count
        continue scan
      }
      let isEnd = rest.dropFirst().first == UInt8(ascii: "/")
      let raw = rest.dropFirst(isEnd ? 2 : 1).prefix { $0 > 0x20 && !"/><=\"'&".utf8.contains($0) }
      let next = bytes[raw.endIndex...].first { "<>".utf8.contains($0) }
      // An angle that begins no tag is text.
      let isTag = !raw.isEmpty && next == UInt8(ascii: ">")
      guard isTag else {
        result += Array("&lt;".utf8)
        index += 1
        continue
      }
      // A quote without an end would have all that follows.
      if case .quoted(let quote) = place {
        result += [quote, UInt8(ascii: ">")]
        place = .text
        endTag()
      }
      place = .tag(afterEquals: false)
      let name = legal(raw)
      let element = String(decoding: name, as: UTF8.self).lowercased()
      if isEnd {
        end(nesting.end(element))
        tag = (result.count, nil)
      } else {
        let (ended, isKept) = nesting.begin(element)
        end(ended)
        tag = (result.count, (element, isKept))
      }
      result += Array("<x:".utf8) + name
      index = raw.endIndex
    }
    place = .text
    endTag()
    return result + Array("</feed>".utf8)
  }

  /// Decodes UTF-16 with its mark, UTF-8 when that is valid, otherwise the declared encoding, otherwise Latin-1.
  static func text(_ bytes: [UInt8]) -> String {
    let given = MarkedText.utf16(bytes).map { Array($0.utf8) } ?? bytes
    // Line ends are blanks; other control characters below 32 are invalid in XML.
    let bytes = given.map { $0 < 0x20 ? 0x20 : $0 }
    if let encoding = declaredEncoding(bytes).flatMap({ MetadataEncoding(name: $0) }) {
      let text = encoding.text(bytes[...])
      // The declaration was read byte by byte: an encoding that makes it unreadable is not the document's
      // (UTF-16).
      if text.hasPrefix("<?xml") { return text }
    }
    return MetadataEncoding.latin1.text(bytes[...])
  }

  /// Returns the encoding in `<?xml version="1.0" encoding="…"?>`; nil when none is declared.
  private static func declaredEncoding(_ bytes: [UInt8]) -> String? {
    let head = String(decoding: bytes.prefix(200).map { $0 < 0x80 ? $0 : 0x20 }, as: UTF8.self)
    guard head.trimmingEnds().hasPrefix("<?xml") else { return nil }
    let parts = head.prefix { $0 != ">" }.split(whereSeparator: { $0 == "\"" || $0 == "'" })
    guard let index = parts.firstIndex(where: { $0.trimmingEnds().hasSuffix("encoding=") }),
      index + 1 < parts.endIndex
    else { return nil }
    return String(parts[index + 1])
  }
}
