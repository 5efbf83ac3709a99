internal import EventLoop
internal import Glibc
internal import Home
internal import Roomtone

/// The systemd user unit of `roomtone serve`. Source: systemd.service(5), systemd.syntax(7).
enum ServiceUnit {
  /// Name of the unit.
  static let name = "roomtone.service"

  /// Writes the unit, and prints the commands that enable it.
  static func install(_ folder: String, _ arguments: ParsedArguments) throws -> Int32 {
    guard let units = UserFolders.systemdUnits else {
      throw CommandFailure(.unit, "there is no home folder for the unit")
    }
    var words = [try executable(), "serve"]
    if let driver = arguments.text(.house) { words += ["--house", driver] }
    if let output = arguments.text(.output) { words += ["--output", output] }
    if let file = arguments.text(.config) { words += ["--config", UserFolders.absolute(file)] }
    if arguments.has(.verbose) { words.append("--verbose") }
    words += ["--", folder]
    let path = "\(units)/\(name)"
    try? LinuxFiles.makeFolders(units, mode: 0o755)
    let variables = JobEnvironment.needed { name in
      Terminal.log(
        .warn, "\(name) has a password in it and is left out: others could read it in the unit", [])
    }
    let text = Array(text(words, variables).utf8)
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw CommandFailure(.unit, "can't write \(path): \(SystemError(errno).text)") }
    defer { close(file) }
    guard write(file, text, text.count) == text.count else {
      throw CommandFailure(.unit, "can't write \(path): \(SystemError(errno).text)")
    }
    Terminal.print(path)
    Terminal.print("start it now and at every login:    systemctl --user enable --now \(name)")
    Terminal.print("start it with the machine as well:  loginctl enable-linger")
    return 0
  }

  /// Returns the text of the unit that runs `words` with variables of the environment besides those of
  /// systemd. A systemd before version 253 does not know `notify-reload`: there the line before applies, and
  /// it reloads by the command.
  static func text(_ words: [String], _ variables: [(name: String, value: String)] = []) -> String {
    let environment = variables.map { "Environment=\(quoted("\($0.name)=\($0.value)", dollar: "$"))\n" }
      .joined()
    return """
      [Unit]
      Description=Roomtone, the home's audio
      After=sound.target pipewire.service pulseaudio.service

      [Service]
      Type=notify
      Type=notify-reload
      \(environment)ExecStart=\(words.map { quoted($0, dollar: "$$") }.joined(separator: " "))
      ExecReload=kill -HUP $MAINPID
      SuccessExitStatus=143
      Restart=on-failure
      RestartSec=5
      WatchdogSec=30
      TimeoutStopSec=30

      [Install]
      WantedBy=default.target

      """
  }

  /// Returns a word of a line of a unit: in quotes, with the characters escaped that have a meaning there.
  /// - Parameter dollar: the form of a dollar, which has a meaning in command lines alone.
  private static func quoted(_ word: String, dollar: String) -> String {
    var text = "\""
    for scalar in word.unicodeScalars {
      switch scalar {
      case "\"", "\\": text += "\\\(scalar)"
      case "%": text += "%%"
      case "$": text += dollar
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }

  private static func executable() throws -> String {
    guard let path = realpath("/proc/self/exe", nil) else {
      throw CommandFailure(.unit, "can't find this program: \(SystemError(errno).text)")
    }
    defer { free(path) }
    return String(cString: path)
  }
}
