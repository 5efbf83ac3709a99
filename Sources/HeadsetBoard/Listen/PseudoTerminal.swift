internal import EventLoop
internal import Glibc
internal import HeadsetLink

/// A pseudo-terminal: a serial line without a cable. The board has one end, hosts open the other by its path.
///
/// The board keeps the hosts' end open, too, so that one host may go and another one come.
final class PseudoTerminal {
  /// The path that hosts open.
  let path: String
  private let master: Int32
  private let slave: Int32
  private let link: String?

  /// - Parameter link: the path of a symbolic link to it, which replaces another link but no other file.
  /// - Throws: `listen`.
  init(link: String?) throws(BoardError) {
    let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard master >= 0 else { throw Self.failure("make a pseudo-terminal") }
    var (number, isLocked): (Int32, Int32) = (0, 0)
    guard ioctl(master, Linux.lockTerminal, &isLocked) == 0,
      ioctl(master, Linux.terminalNumber, &number) == 0
    else {
      defer { close(master) }
      throw Self.failure("make a pseudo-terminal")
    }
    let path = "/dev/pts/\(number)"
    let slave = SerialLine.open(path, baud: 115_200)
    guard slave >= 0 else {
      close(master)
      throw Self.failure("open \(path)")
    }
    do throws(BoardError) { if let link { try Self.link(link, to: path) } } catch {
      close(master)
      close(slave)
      throw error
    }
    (self.path, self.master, self.slave, self.link) = (path, master, slave, link)
  }

  deinit {
    close(master)
    close(slave)
    // A link that leads elsewhere by now belongs to another board.
    if let link, Self.target(of: link) == path { unlink(link) }
  }

  /// Returns the board's end. Bytes that hosts have not read are dropped.
  func channel(_ loop: EventLoop) throws(BoardError) -> FDChannel {
    tcflush(slave, TCIOFLUSH)
    let fd = fcntl(master, F_DUPFD_CLOEXEC, 0)
    guard fd >= 0 else { throw Self.failure("open \(path)") }
    do { return try FDChannel(owning: fd, loop: loop) } catch {
      throw BoardError(.listen, error.message)
    }
  }

  private static func link(_ link: String, to path: String) throws(BoardError) {
    var status = stat()
    if lstat(link, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFLNK else {
        throw BoardError(.listen, "\(link.onOneLine) exists and is not a link", hint: "name another path")
      }
      unlink(link)
    }
    guard symlink(path, link) == 0 else { throw failure("make the link \(link.onOneLine)") }
  }

  private static func target(of link: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink(link, &buffer, buffer.count)
    guard count > 0 else { return nil }
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func failure(_ what: String) -> BoardError {
    BoardError(.listen, "can't \(what) (\(SystemError(errno).text))")
  }
}

/// Requests of <asm-generic/ioctls.h> that Swift's Glibc module leaves out.
private enum Linux {
  /// `TIOCGPTN`: the number of a terminal.
  static let terminalNumber: UInt = 0x8004_5430
  /// `TIOCSPTLCK`: locks or unlocks a terminal.
  static let lockTerminal: UInt = 0x4004_5431
}
