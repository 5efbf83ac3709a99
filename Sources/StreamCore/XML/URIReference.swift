internal import CXML2

/// The parts of a URI by RFC 3986, as libxml2 parses it.
struct URIReference {
  /// The host without user, password and port, with %XX decoded.
  let host: String?
  let port: Int?
  /// The path, with %XX decoded.
  let path: String?

  /// Parses a URI; nil for a text that is not a URI.
  init?(_ uri: String) {
    guard let parts = xmlParseURI(uri) else { return nil }
    defer { xmlFreeURI(parts) }
    host = parts.pointee.server.map { String(cString: $0) }
    port = parts.pointee.port > 0 ? Int(parts.pointee.port) : nil
    path = parts.pointee.path.map { String(cString: $0) }
  }

  /// Resolves a reference to an absolute URI (§5); nil for a text that is not a reference.
  static func resolve(_ reference: String, base: String) -> String? {
    guard let resolved = xmlBuildURI(reference, base) else { return nil }
    defer { shim_xml_free(resolved) }
    return String(cString: resolved)
  }
}
