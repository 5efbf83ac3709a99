internal import EventLoop
internal import Glibc
internal import LuaModules
internal import LuaRuntime

/// Standard output for results, standard error for the rest.
enum Terminal {
  /// A reader that goes away ends no script.
  static func prepare() { signal(SIGPIPE, SIG_IGN) }

  static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

  /// A line of results.
  static func print(_ line: String) { write(line + "\n") }

  /// Results without a line end.
  static func write(_ text: String) { put(text, STDOUT_FILENO) }

  /// Text for standard error.
  static func writeError(_ text: String) { put(text, STDERR_FILENO) }

  /// What failed, for a person: one line, and below it where the script was.
  static func failure(_ error: any CodedError) { failure((error as? LuaError)?.report ?? error.description) }

  /// What failed, in one line.
  static func failure(_ message: String) { writeError("roomtone: \(message)\n") }

  /// A line of the log: `warn: message key=value`.
  static func log(_ level: LogLevel, _ message: String, _ fields: [(String, String)]) {
    let details = fields.map { " \($0.0)=\($0.1)" }.joined()
    writeError("\(level.rawValue): \(message)\(details)\n")
  }

  private static func put(_ text: String, _ fd: Int32) {
    // What a script wrote through io.write comes before this.
    fflush(nil)
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while rest.count > 0 {
        let count = Glibc.write(fd, rest.baseAddress, rest.count)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      }
    }
  }
}
