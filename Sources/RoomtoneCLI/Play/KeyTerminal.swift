internal import EventLoop
internal import Glibc

/// The terminal of standard input while it delivers single keys, without echo.
enum KeyTerminal {
  /// Settings to be restored; nil while the terminal has its own.
  private static let saved = Lock<termios?>(nil)

  /// Makes the terminal deliver single keys. Ctrl-C still interrupts; Ctrl-Z is a key, Ctrl-\ does nothing.
  /// - Returns: `false` when standard input is not a terminal, or this process is not in its foreground:
  ///   changing the terminal would stop the process then.
  static func begin() -> Bool {
    guard isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp() else { return false }
    return saved.withLock { saved in
      guard saved == nil else { return true }
      var settings = termios()
      guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return false }
      let before = settings
      settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
      withUnsafeMutableBytes(of: &settings.c_cc) { characters in
        characters[Int(VMIN)] = 1
        characters[Int(VTIME)] = 0
        // 0 disables a character, as _POSIX_VDISABLE says on Linux.
        for character in [VSUSP, VQUIT] { characters[Int(character)] = 0 }
      }
      guard tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return false }
      saved = before
      return true
    }
  }

  /// Restores the terminal's own settings. Does nothing when it has them. Any thread.
  static func restore() {
    saved.withLock { saved in
      guard var settings = saved else { return }
      tcsetattr(STDIN_FILENO, TCSANOW, &settings)
      saved = nil
    }
  }

  /// Stops the process, as Ctrl-Z does, with the terminal's own settings; returns when it is continued.
  /// - Returns: as `begin`.
  static func suspend() -> Bool {
    restore()
    kill(0, SIGTSTP)
    return begin()
  }
}
