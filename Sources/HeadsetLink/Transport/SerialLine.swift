internal import Glibc

/// Serial lines and pseudo-terminals in raw mode: nothing is echoed, translated or interpreted as a signal.
package enum SerialLine {
  /// The system's constant for a speed; nil for an unsupported speed.
  static func speed(_ baud: Int) -> speed_t? {
    switch baud {
    case 9_600: speed_t(B9600)
    case 19_200: speed_t(B19200)
    case 38_400: speed_t(B38400)
    case 57_600: speed_t(B57600)
    case 115_200: speed_t(B115200)
    case 230_400: speed_t(B230400)
    case 460_800: speed_t(B460800)
    case 921_600: speed_t(B921600)
    default: nil
    }
  }

  /// Opens a line.
  /// - Returns: its descriptor; a negative errno otherwise.
  package static func open(_ path: String, baud: Int) -> Int32 {
    let fd = Glibc.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard fd >= 0 else { return -errno }
    let status = makeRaw(fd, baud: baud)
    guard status == 0 else {
      close(fd)
      return -status
    }
    return fd
  }

  /// Makes a terminal pass bytes as they are. Returns 0, or an errno.
  static func makeRaw(_ fd: Int32, baud: Int) -> Int32 {
    var settings = termios()
    guard tcgetattr(fd, &settings) == 0 else { return errno }
    cfmakeraw(&settings)
    // Settings that another program may have left, and cfmakeraw keeps: flow control, a second stop bit,
    // parity.
    settings.c_iflag &= ~tcflag_t(IXOFF | IXANY | INPCK)
    settings.c_cflag &= ~(tcflag_t(CSTOPB) | tcflag_t(CRTSCTS))
    settings.c_cflag |= tcflag_t(CLOCAL | CREAD)
    guard let speed = speed(baud) else { return EINVAL }
    cfsetispeed(&settings, speed)
    cfsetospeed(&settings, speed)
    return tcsetattr(fd, TCSANOW, &settings) == 0 ? 0 : errno
  }
}
