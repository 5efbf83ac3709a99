internal import Glibc

extension NetworkThread {
  /// `true` if a connection to `host` may succeed: an interface besides the loopback is up and has an
  /// address, or the host is this machine. Spares a laptop without a network useless attempts.
  /// - Parameter host: in the form of `HTTPRequest.host`.
  public static func isNetworkUp(for host: String) -> Bool { isLoopback(host) || hasInterface() }

  /// `true` if the name denotes this machine. Source: RFC 6761 §6.3, RFC 1122 §3.2.1.3, RFC 4291 §2.5.3.
  static func isLoopback(_ host: String) -> Bool {
    let host = host.lowercased()
    if host == "localhost" || host.hasSuffix(".localhost") { return true }
    var address = in_addr()
    if inet_pton(AF_INET, host, &address) == 1 { return address.s_addr & 0xFF == 127 }  // in network order
    return host == "[::1]" || host == "::1"
  }

  private static func hasInterface() -> Bool {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return true }  // unknown: not known to be down
    defer { freeifaddrs(list) }
    var next = list
    while let entry = next?.pointee {
      next = entry.ifa_next
      let flags = entry.ifa_flags
      guard flags & UInt32(IFF_UP) != 0, flags & UInt32(IFF_RUNNING) != 0,
        flags & UInt32(IFF_LOOPBACK) == 0, let family = entry.ifa_addr?.pointee.sa_family
      else { continue }
      if Int32(family) == AF_INET || Int32(family) == AF_INET6 { return true }
    }
    return false
  }
}
