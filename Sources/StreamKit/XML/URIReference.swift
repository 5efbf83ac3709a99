internal import CXML2

/// Addresses by RFC 3986, as libxml2 parses them.
enum URIReference {
  /// Returns the host without user, password and port; nil when there is none.
  static func host(_ uri: String) -> String? {
    withParts(uri) { $0.pointee.server.map { String(cString: $0) } } ?? nil
  }

  /// Returns the port; nil when there is none.
  static func port(_ uri: String) -> Int? {
    withParts(uri) { $0.pointee.port > 0 ? Int($0.pointee.port) : nil } ?? nil
  }

  /// Returns the path; nil when there is none, or the text is no address.
  static func path(_ uri: String) -> String? {
    withParts(uri) { $0.pointee.path.map { String(cString: $0) } } ?? nil
  }

  /// Resolves a reference to an absolute address (§5); nil for a text that is none.
  static func resolve(_ reference: String, base: String) -> String? {
    guard let resolved = xmlBuildURI(reference, base) else { return nil }
    defer { shim_xml_free(resolved) }
    return String(cString: resolved)
  }

  private static func withParts<Result>(_ uri: String, _ body: (xmlURIPtr) -> Result) -> Result? {
    guard let parts = xmlParseURI(uri) else { return nil }
    defer { xmlFreeURI(parts) }
    return body(parts)
  }
}
