internal import CXML2

/// A tree of XML elements, parsed by libxml2 with recovery: a damaged document is read as far as possible.
///
/// Names are in lower case and without prefixes. Nothing is loaded from elsewhere, and a document that
/// declares entities is refused: a few lines of those can expand to gigabytes.
package struct XMLDocument {
  /// An element.
  package struct Element {
    package let name: String
    /// The attributes by name, in lower case.
    package var attributes: [String: String] = [:]
    package var children: [Element] = []
    /// The text of the element and its children, without white space at its ends.
    package var text = ""

    /// Returns the element and all within it that have that name, in the order of the document.
    package func elements(named name: String) -> [Element] {
      (self.name == name ? [self] : []) + children.flatMap { $0.elements(named: name) }
    }
  }

  /// The limit of nested elements.
  package static let depthLimit = 32
  /// The limit of elements in a document.
  private static let countLimit = 20_000

  private static let options = CInt(
    XML_PARSE_RECOVER.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue
      | XML_PARSE_NONET.rawValue | XML_PARSE_NOCDATA.rawValue)
  private static let looseOptions = CInt(
    HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NOERROR.rawValue | HTML_PARSE_NOWARNING.rawValue
      | HTML_PARSE_NONET.rawValue)

  package let root: Element

  /// Parses a document.
  /// - Parameters:
  ///   - source: at most 1 MiB.
  ///   - isLoose: `true` if it is written as loosely as HTML: names in any case, attributes with bare
  ///     ampersands.
  ///   - encoding: the encoding of the source; nil for the one that it declares.
  ///   - name: the name of the element that is the root; nil for the outermost one.
  /// - Returns: nil when there is no element in it, when entities are declared, and when a tag has
  ///   hundreds of attributes.
  package init?(_ source: [UInt8], isLoose: Bool = false, encoding: String? = nil, root name: String? = nil) {
    guard source.count <= 1 << 20 else { return nil }
    // The checks read bytes of ASCII.
    let text = MarkedText.utf16(source)
    let bytes = text.map { Array($0.utf8) } ?? source
    let encoding = text == nil ? encoding : "UTF-8"
    guard !Self.declaresEntities(bytes), !TagScan.isCrowded(bytes) else { return nil }
    let document = bytes.withUnsafeBytes { raw in
      let start = raw.baseAddress?.assumingMemoryBound(to: CChar.self)
      return isLoose
        ? htmlReadMemory(start, CInt(raw.count), nil, encoding, Self.looseOptions)
        : xmlReadMemory(start, CInt(raw.count), nil, encoding, Self.options)
    }
    guard let document else { return nil }
    defer { xmlFreeDoc(document) }
    guard let node = xmlDocGetRootElement(document) else { return nil }
    var left = Self.countLimit
    let outermost = Self.element(node, depth: 0, &left)
    root = name.flatMap { outermost.elements(named: $0).first } ?? outermost
  }

  private static func declaresEntities(_ bytes: [UInt8]) -> Bool {
    let mark = Array("<!ENTITY".utf8)
    return bytes.indices.contains { start in
      bytes[start] == mark[0] && bytes[start...].starts(with: mark) { $0 & 0xDF == $1 & 0xDF }
    }
  }

  /// Returns all elements of that name, in the order of the document.
  package func elements(named name: String) -> [Element] { root.elements(named: name) }

  private static func element(_ node: xmlNodePtr, depth: Int, _ left: inout Int) -> Element {
    left -= 1
    var element = Element(name: localName(node.pointee.name))
    var attribute = node.pointee.properties
    while let current = attribute {
      if let value = xmlNodeListGetString(node.pointee.doc, current.pointee.children, 1) {
        element.attributes[localName(current.pointee.name)] = String(cString: value)
        shim_xml_free(value)
      }
      attribute = current.pointee.next
    }
    var child = node.pointee.children
    while let current = child, left > 0 {
      switch current.pointee.type {
      case XML_ELEMENT_NODE where depth < depthLimit:
        let inner = self.element(current, depth: depth + 1, &left)
        element.text += inner.text
        element.children.append(inner)
      case XML_TEXT_NODE, XML_CDATA_SECTION_NODE:
        element.text += string(current.pointee.content)
      default: break
      }
      child = current.pointee.next
    }
    element.text = element.text.trimmingEnds()
    return element
  }

  /// Returns a name in lower case without its prefix, which libxml2's parser of HTML keeps or drops by its version.
  private static func localName(_ name: UnsafePointer<xmlChar>?) -> String {
    string(name).lowercased().split(separator: ":").last.map(String.init) ?? ""
  }

  private static func string(_ text: UnsafePointer<xmlChar>?) -> String {
    text.map { String(cString: $0) } ?? ""
  }
}

/// The library that parses XML.
package enum XMLLibrary {
  /// The version of libxml2, as `2.9.14`: of 20914, which the library reports, two digits each.
  package static var version: String {
    let text = String(cString: shim_xml_version())
    guard let number = Int(text.prefix { $0.isNumber }) else { return text }
    return "\(number / 10_000).\(number / 100 % 100).\(number % 100)"
  }
}
