internal import EventLoop
internal import Glibc
internal import LuaModules
internal import LuaRuntime
internal import Synchronization

/// Standard output for results, standard error for the rest.
enum Terminal {
  /// The first errno of output that could not be written, 0 while all could.
  private static let firstFailure = Atomic<Int32>(0)

  /// A reader that goes away and a file that must not grow end no script, and a stream that was closed is an empty one: else the next file that
  /// is opened would take its place.
  static func prepare() {
    for ending in [SIGPIPE, SIGXFSZ] { signal(ending, SIG_IGN) }
    for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) == -1 {
      _ = open("/dev/null", O_RDWR)  // the lowest free number: this one
    }
  }

  /// The last call: tells of output that is lost, which is a failure.
  /// - Returns: the exit status.
  static func finish(_ status: Int32) -> Int32 {
    flush()
    let number = firstFailure.load(ordering: .relaxed)
    guard number != 0 else { return status }
    failure("can't write the output: \(String(cString: strerror(number)))")
    return status == 0 ? 1 : status
  }

  static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

  /// Whether somebody watches what is written.
  static var showsProgress: Bool { isatty(STDOUT_FILENO) == 1 }

  /// Letters in a line of the terminal; 80 when it does not tell.
  static var columns: Int {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// A line of results.
  static func print(_ line: String) { write(line + "\n") }

  /// Results without a line end.
  static func write(_ text: String) { put(text, STDOUT_FILENO) }

  /// Text for standard error. A line that is drawn on the same terminal makes room for it, and is drawn again below.
  static func writeError(_ text: String) {
    drawn.withLock { line in
      guard !line.isEmpty, isatty(STDERR_FILENO) == 1 else { return put(text, STDERR_FILENO) }
      put(TerminalLine.blank(line) + text + line, STDERR_FILENO)
    }
  }

  /// The line that is drawn over itself on standard output; empty for none.
  private static let drawn = Lock("")

  /// Draws on the terminal.
  /// - Parameter line: the line that is there from now on, without an end.
  static func draw(_ text: String, over line: String) {
    drawn.withLock { drawn in
      put(text, STDOUT_FILENO)
      drawn = line
    }
  }

  /// What failed, for a person: one line, and below it where the script was.
  static func failure(_ error: any CodedError) {
    guard let report = (error as? LuaError)?.report else { return failure(error.description) }
    // A script's own message may have lines, and so has what tells where it was.
    let lines = report.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).onOneLine }
    writeError("roomtone: \(lines.joined(separator: "\n"))\n")
  }

  /// What failed, in one line.
  static func failure(_ message: String) { writeError("roomtone: \(message.onOneLine)\n") }

  /// A line of the log: `warn: message key=value`; one line, whatever is in it.
  static func log(_ level: LogLevel, _ message: String, _ fields: [(String, String)]) {
    let details = fields.map { " \($0.0.onOneLine)=\(fieldValue($0.1))" }.joined()
    writeError("\(level.rawValue): \(message.onOneLine)\(details)\n")
  }

  /// A value that would not end where it seems to is quoted.
  private static func fieldValue(_ value: String) -> String {
    guard value.isEmpty || value.contains(where: { $0.isWhitespace || $0 == "\"" || $0 == "=" }) else {
      return value.onOneLine
    }
    let quoted = value.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
    return "\"\(quoted.onOneLine)\""
  }

  /// What a script wrote through io.write.
  private static func flush() {
    if fflush(CStreams.output) != 0 { remember(errno) }
  }

  /// A reader that has gone away wants nothing more, which is no failure.
  private static func remember(_ number: Int32) {
    if number != EPIPE { _ = firstFailure.compareExchange(expected: 0, desired: number, ordering: .relaxed) }
  }

  private static func put(_ text: String, _ fd: Int32) {
    // What a script wrote through io.write comes before this.
    flush()
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while rest.count > 0 {
        let count = Glibc.write(fd, rest.baseAddress, rest.count)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else {
          if fd == STDOUT_FILENO { remember(errno) }
          return
        }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      }
    }
  }
}
