internal import CCurl
internal import EventLoop

/// Names of hosts beyond ASCII. libcurl would convert them by the locale of the process, but none is set
/// here.
package enum InternationalName {
  /// The library, to which libcurl is linked.
  private static let library = SharedLibrary<idn_library>(
    "libidn2.so.0", package: "libidn2-0", names: idn_names())

  /// Returns the name that name servers know, as `xn--mnchen-3ya.example` for `München.example`; a name in
  /// ASCII is unchanged.
  /// - Returns: nil for an impossible host name, and without libidn2. Source: RFC 5891 §5; UTS #46.
  package static func ascii(_ host: String) -> String? {
    guard !host.utf8.allSatisfy({ $0 < 0x80 }) else { return host }
    guard host.utf8.count <= 1024, !host.utf8.contains(0), let idn = try? library.functions else {
      return nil
    }
    var name: UnsafeMutablePointer<UInt8>?
    guard idn.idn2_lookup_u8(host, &name, Int32(IDN_LOOKUP_FLAGS)) == 0, let name else { return nil }
    defer { idn.idn2_free(name) }
    return String(cString: name)
  }
}
