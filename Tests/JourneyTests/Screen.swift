import Glibc
import TestSupport

/// A `roomtone` process in a terminal of tmux, whose screen can be read. The terminal ends with this object.
///
/// When the command has ended, the screen shows `status N` and the terminal's mode, `cooked` or `raw`.
final class Screen {
  private let socket: String
  /// Retained, as its folder has the socket.
  private let home: Home
  private let deadline = ContinuousClock.now + .seconds(120)

  /// Starts `roomtone` with these arguments in the folder of `home`.
  /// - Parameter name: distinguishes the screens of one home that live at the same time.
  init(
    _ arguments: [String], of home: Home, name: String = "screen", columns: Int = 80, rows: Int = 24,
    variables: [String] = []
  ) throws {
    self.home = home
    socket = home.path("\(name).tmux")
    let settings = home.environment().filter { !$0.hasPrefix("TERM=") && !$0.hasPrefix("TMUX") }
    // With job control, as an interactive shell: a stopped command is continued by Enter.
    let shell = """
      set -m; "$@"; s=$?; echo "status $s"
      case "$(stty -a)" in *" -icanon"*|*" -echo "*) echo raw;; *) echo cooked;; esac
      if [ $s = 148 ]; then read -r line; fg; fi; exec sleep 600
      """
    try tmux(
      ["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", "env", "-C", home.path("."), "-i"] + settings
        + ["TERM=screen"] + variables + ["bash", "-c", shell, "bash", try Home.executable()] + arguments)
  }

  deinit { _ = try? Command.run("tmux", ["-S", socket, "kill-server"]) }

  @discardableResult
  private func tmux(_ arguments: [String]) throws -> String {
    try Command.succeed("tmux", ["-u", "-S", socket, "-f", "/dev/null"] + arguments).text
  }

  /// Types text as it is.
  func type(_ text: String) throws { try tmux(["send-keys", "-l", "--", text]) }

  /// Presses keys by their names in tmux: `Enter`, `C-c`, `Up`.
  func press(_ keys: String...) throws { try tmux(["send-keys"] + keys) }

  /// Types a line and ends it.
  func enter(_ line: String) throws {
    try type(line)
    try press("Enter")
  }

  /// Pastes text as a terminal does, in brackets where the program asked for these.
  func paste(_ text: String) throws {
    try tmux(["set-buffer", "--", text])
    try tmux(["paste-buffer", "-p"])
  }

  /// Pastes text as a terminal without brackets does, all at once.
  func pasteBare(_ text: String) throws {
    try tmux(["set-buffer", "--", text])
    try tmux(["paste-buffer"])
  }

  /// Changes the size.
  func resize(columns: Int, rows: Int) throws {
    try tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
  }

  /// The process of the command.
  func process() throws -> pid_t {
    let shell = try tmux(["display-message", "-p", "#{pane_pid}"]).filter { $0.isNumber }
    let children = try Command.succeed("cat", ["/proc/\(shell)/task/\(shell)/children"]).text
    guard let first = children.split(separator: " ").first.flatMap({ pid_t($0) }) else {
      throw TestFailure("the command has ended")
    }
    return first
  }

  /// The rows of the screen, without blanks at their ends and blank rows at the end.
  var lines: [String] {
    get throws {
      var lines = try tmux(["capture-pane", "-p"]).split(separator: "\n", omittingEmptySubsequences: false)
        .map {
          String($0.reversed().drop { $0 == " " }.reversed())
        }
      while lines.last == "" { lines.removeLast() }
      return lines
    }
  }

  /// The screen with the sequences of its colours.
  var colored: String { get throws { try tmux(["capture-pane", "-p", "-e"]) } }

  /// Waits until the screen is as wanted.
  /// - Returns: its rows.
  @discardableResult
  func expect(_ what: String, _ isWanted: ([String]) -> Bool) throws -> [String] {
    while true {
      let lines = try lines
      if isWanted(lines) { return lines }
      guard ContinuousClock.now < deadline else {
        throw TestFailure("no \(what) on the screen:\n\(lines.joined(separator: "\n"))")
      }
      usleep(20_000)
    }
  }

  /// Waits until the last rows of the screen are these.
  @discardableResult
  func expect(_ last: String...) throws -> [String] {
    try expect("\(last)") { $0.suffix(last.count).elementsEqual(last) }
  }

  /// Waits until a row contains a text.
  @discardableResult
  func expect(row text: String) throws -> [String] {
    try expect("\"\(text)\"") { $0.contains { $0.contains(text) } }
  }
}
