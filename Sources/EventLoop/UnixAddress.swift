public import Glibc

/// The address of a Unix socket: a path, or, after `@`, an abstract name without a file. Source: unix(7).
public struct UnixAddress: Sendable, Equatable {
  /// The limit of a path in bytes.
  public static let longestPath = 107
  private let bytes: [UInt8]

  /// Creates the address called `name`; nil if it is empty, has a zero byte, or is too long.
  public init?(_ name: String) {
    var path = Array(name.utf8)
    guard !path.isEmpty, path != [UInt8(ascii: "@")], path.count <= Self.longestPath, !path.contains(0) else {
      return nil
    }
    if path[0] == UInt8(ascii: "@") { path[0] = 0 } else { path.append(0) }
    bytes = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + path
  }

  /// Calls `body` with the address for `bind`, `connect` and `sendto`.
  public func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var storage = sockaddr_un()
    return withUnsafeMutableBytes(of: &storage) { raw in
      raw.copyBytes(from: bytes)
      return body(
        raw.assumingMemoryBound(to: sockaddr.self).baseAddress.unsafelyUnwrapped, socklen_t(bytes.count))
    }
  }
}
