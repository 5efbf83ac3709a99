internal import Glibc

/// A socket that listens at a port of loopback. Closed with the object.
public final class LoopbackListener: Sendable {
  /// Port, which the system has chosen.
  public let port: Int
  /// The listening descriptor.
  public let descriptor: CInt

  /// Listens.
  /// - Parameter blocks: `true` if `accept` waits for a connection.
  /// - Throws: `TestFailure` when no port is free.
  public init(blocks: Bool) throws {
    let (descriptor, port) = try Socket.bound(port: 0)
    (self.descriptor, self.port) = (descriptor, Int(port))
    guard fcntl(descriptor, F_SETFL, blocks ? 0 : O_NONBLOCK) == 0, listen(descriptor, 16) == 0 else {
      throw TestFailure("no port for a server")
    }
  }

  deinit { close(descriptor) }

  /// Returns the next connection, in blocking mode and the caller's to close; nil when none waits, or after `shutDown`.
  public func accept() -> CInt? {
    let connection = Socket.accepted(from: descriptor)
    return connection >= 0 ? connection : nil
  }

  /// Ends `accept` on another thread.
  public func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
