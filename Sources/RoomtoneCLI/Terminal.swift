internal import EventLoop
internal import Glibc
internal import Home
internal import LuaRuntime
internal import Roomtone
internal import Synchronization

/// Standard output for results, standard error for the rest.
enum Terminal {
  /// The first errno of output that could not be written, 0 while all could.
  private static let firstFailure = Atomic<Int32>(0)

  /// Ignores SIGPIPE and SIGXFSZ, so that a closed reader or a full file ends no script, and opens /dev/null
  /// for closed standard streams: else the next opened file would have their number.
  static func prepare() {
    for ending in [SIGPIPE, SIGXFSZ] { signal(ending, SIG_IGN) }
    for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) == -1 {
      _ = open("/dev/null", O_RDWR)  // the lowest free number: this one
    }
  }

  /// Flushes and reports lost output, which is a failure; to be called last.
  /// - Returns: the exit status.
  static func finish(_ status: Int32) -> Int32 {
    flush()
    let number = firstFailure.load(ordering: .relaxed)
    guard number != 0 else { return status }
    failure("can't write the output: \(SystemError(number).text)")
    return status == 0 ? 1 : status
  }

  /// Descriptors of the destinations of standard output and standard error while these are pipes to a relay; -1 while they
  /// lead there themselves.
  private static let outputEnd = Atomic<Int32>(-1)
  private static let errorEnd = Atomic<Int32>(-1)

  /// Notes that a stream is a pipe whose bytes are passed on to the destination of `descriptor`; -1 for a
  /// stream that is no longer relayed.
  static func relays(_ stream: Int32, to descriptor: Int32) {
    if stream == STDOUT_FILENO { outputEnd.store(descriptor, ordering: .relaxed) }
    if stream == STDERR_FILENO { errorEnd.store(descriptor, ordering: .relaxed) }
  }

  /// Returns a descriptor of the destination of a stream.
  private static func destination(_ stream: Int32) -> Int32 {
    let end =
      switch stream {
      case STDOUT_FILENO: outputEnd.load(ordering: .relaxed)
      case STDERR_FILENO: errorEnd.load(ordering: .relaxed)
      default: Int32(-1)
      }
    return end >= 0 ? end : stream
  }

  /// `true` if a stream is shown on a terminal.
  static func isShown(_ stream: Int32) -> Bool { isatty(destination(stream)) == 1 }

  static var isInteractive: Bool { isShown(STDIN_FILENO) && isShown(STDOUT_FILENO) }

  /// `true` if standard output is shown on a terminal.
  static var showsProgress: Bool { isShown(STDOUT_FILENO) }

  /// `true` if results and errors are both shown on a terminal.
  static var showsAll: Bool { isShown(STDOUT_FILENO) && isShown(STDERR_FILENO) }

  /// Columns of the terminal; 80 when unknown.
  static var columns: Int { size.columns }

  /// Size of the terminal of standard output; 80 columns and 24 rows when unknown.
  static var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(destination(STDOUT_FILENO), UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return (80, 24)
    }
    return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
  }

  /// Rows of the terminal; 24 when unknown.
  static var rows: Int {
    var size = winsize()
    guard ioctl(destination(STDOUT_FILENO), UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return 24 }
    return Int(size.ws_row)
  }

  /// Writes a line of results.
  static func print(_ line: String) { write(line + "\n") }

  /// Writes results, above the part that is drawn on the same terminal.
  static func write(_ text: String) { put(text, STDOUT_FILENO, isOnScreen: showsProgress) }

  /// Writes to standard error, above the part that is drawn on the same terminal.
  static func writeError(_ text: String) { put(text, STDERR_FILENO, isOnScreen: isShown(STDERR_FILENO)) }

  /// The part of the screen that stays below all output.
  struct Drawn {
    /// The sequence that removes it from the screen.
    var erase: String
    /// The sequence that draws it at the start of a line.
    var draw: String

    /// A line that is erased with blanks, which every terminal supports.
    init(line: String) { (erase, draw) = (TerminalLine.blank(line), line) }
    init(erase: String, draw: String) { (self.erase, self.draw) = (erase, draw) }
  }

  /// The part that is drawn now, on standard output; nil without one.
  private static let drawn = Lock<Drawn?>(nil)

  /// Draws on the terminal.
  /// - Parameter part: the part that stays below all output from now on; nil without one.
  static func draw(_ text: String, keeping part: Drawn?) {
    drawn.withLock { drawn in
      put(text, STDOUT_FILENO)
      drawn = part
    }
  }

  private static func put(_ text: String, _ fd: Int32, isOnScreen: Bool) {
    drawn.withLock { drawn in
      guard let part = drawn, isOnScreen else { return put(text, fd) }
      let end = text.hasSuffix("\n") ? "" : "\n"
      put(part.erase + text + end + part.draw, fd)
    }
  }

  /// `true` if the text of a stream may have colours: on a terminal that has them, unless `NO_COLOR` is set.
  static func hasColor(_ fd: Int32) -> Bool {
    guard isShown(fd), let name = getenv("TERM").map({ String(cString: $0) }) else { return false }
    return name != "dumb" && name != "" && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
  }

  /// The first line of the last failure that was reported; nil before the first failure.
  static var lastFailure: String? { reported.withLock { $0 } }
  private static let reported = Lock<String?>(nil)

  /// Reports an error: one line, and below it the position in the script.
  static func failure(_ error: any CodedError) {
    guard let report = (error as? LuaError)?.report else { return failure(error.description) }
    // A script's message may have several lines, and so has its traceback.
    let lines = report.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).onOneLine }
    reported.withLock { $0 = lines.first }
    writeError("roomtone: \(lines.joined(separator: "\n"))\n")
  }

  /// Reports a failure in one line.
  static func failure(_ message: String) {
    reported.withLock { $0 = message.onOneLine }
    writeError("roomtone: \(message.onOneLine)\n")
  }

  /// Writes a line of the log: `warn: message key=value`; always one line.
  static func log(_ level: LogLevel, _ message: String, _ fields: [(String, String)]) {
    let details = fields.map { " \($0.0.onOneLine)=\(fieldValue($0.1))" }.joined()
    writeError("\(level.rawValue): \(message.onOneLine)\(details)\n")
  }

  /// Writes an entry of the daemon's log: `bedtime: warn: message key=value`; a line for each line of a script's error.
  static func daemon(_ entry: DaemonLog.Entry) {
    let source = entry.script.map { "\($0.onOneLine): " } ?? ""
    let level = entry.level == .print ? "" : "\(entry.level.rawValue): "
    let details = entry.fields.map { " \($0.0.onOneLine)=\(fieldValue($0.1))" }.joined()
    let lines = entry.message.split(separator: "\n", omittingEmptySubsequences: false)
    let text = lines.enumerated().map { index, line in
      "\(source)\(index == 0 ? level : "  ")\(String(line).withoutTabs.onOneLine)\(index == 0 ? details : "")\n"
    }.joined()
    if entry.level == .print { write(text) } else { writeError(text) }
  }

  /// Returns a value for the log, in quotes where its end would be ambiguous.
  private static func fieldValue(_ value: String) -> String {
    guard value.isEmpty || value.contains(where: { $0.isWhitespace || $0 == "\"" || $0 == "=" }) else {
      return value.onOneLine
    }
    let quoted = value.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
    return "\"\(quoted.onOneLine)\""
  }

  /// Flushes output that a script wrote through io.write.
  private static func flush() {
    if fflush(CStreams.output) != 0 { remember(errno) }
  }

  /// Remembers the first failure; a closed reader is not a failure.
  static func remember(_ number: Int32) {
    if number != EPIPE { _ = firstFailure.compareExchange(expected: 0, desired: number, ordering: .relaxed) }
  }

  private static func put(_ text: String, _ fd: Int32) {
    // Output that a script wrote through io.write precedes this.
    flush()
    var text = text
    text.withUTF8 { bytes in
      if !writeAll(UnsafeRawBufferPointer(bytes)[...], fd), fd == STDOUT_FILENO { remember(errno) }
    }
  }

  /// Writes bytes to a descriptor, and waits for its reader.
  /// - Returns: `false` after a failure, with `errno`.
  static func writeAll(_ bytes: Slice<UnsafeRawBufferPointer>, _ fd: Int32) -> Bool {
    var rest = UnsafeRawBufferPointer(rebasing: bytes)
    while rest.count > 0 {
      let count = Glibc.write(fd, rest.baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 && errno == EAGAIN {
        var waiting = pollfd(fd: fd, events: Int16(POLLOUT), revents: 0)
        poll(&waiting, 1, -1)
        continue
      }
      guard count > 0 else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
    return true
  }
}

extension String {
  /// The text with a blank for each tab, which `print` puts between values.
  var withoutTabs: String { String(map { $0 == "\t" ? " " : $0 }) }
}
