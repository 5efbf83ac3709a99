public import EventLoop
internal import Glibc

extension EventLoop {
  /// Waits until a condition is true; throws after 60 s.
  public func wait(until isTrue: () -> Bool) async throws {
    let deadline = now.advanced(by: .seconds(60))
    while !isTrue() {
      guard now < deadline else { throw TestFailure("it did not become true within 60 s") }
      try await sleep(for: .milliseconds(1))
    }
  }
}

/// Two descriptors that are connected.
public struct Descriptors {
  /// The two ends.
  public let one, other: Int32

  /// Two sockets.
  public static func sockets() throws -> Descriptors {
    var ends: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw TestFailure("no sockets")
    }
    return Descriptors(one: ends[0], other: ends[1])
  }

  /// The master of a pseudo-terminal, and the path of its other side.
  public static func terminal() throws -> (master: Int32, path: String) {
    let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    // TIOCSPTLCK and TIOCGPTN of <asm-generic/ioctls.h>: what unlockpt and ptsname ask.
    var (locked, number): (Int32, UInt32) = (0, 0)
    guard ioctl(master, 0x4004_5431, &locked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
      throw TestFailure("no pseudo-terminal")
    }
    return (master, "/dev/pts/\(number)")
  }
}
