internal import HeadsetBoard

// Commands and options of the emulated headset.

extension CommandSpec {
  static let board = CommandSpec(
    name: "board",
    summary: "emulates a headset's board, for scripts and tests without a headset",
    operands: [],
    options: [
      .listen, .boardKey, .boardState, .boardName, .profile, .fault, .readyAfter, .battery, .trust,
      .boardVersion,
      .quietBoard,
    ],
    notes: [
      """
      ADDRESS is \(BoardAddress.forms). A pseudo-terminal gets the symbolic link LINK. The first printed line is the line \
      of a configuration that reaches the board: headset { transport = "unix:/run/user/1000/board" }. The board has one \
      host at a time; another one that has the key replaces a host that does not answer.
      """,
      """
      Without --state all is forgotten at the end. With it, settings and firmware lie in that folder; a board that is \
      started from it continues as after a loss of power, in the middle of an update too.
      """,
      """
      You play the wearer on standard input, a line each: noise on, ambient left 3, preset 2, battery 25, charging on, \
      disconnect, reboot; state prints the board's state as JSON.
      """,
      """
      Profiles: \(BoardProfile.all.map { "\($0.name) (\($0.summary))" }.joined(separator: ", ")).
      """,
      """
      Faults are joined by commas: \(BoardFaults.forms.joined(separator: ", ")). P is a probability from 0 to 1 for each \
      frame, in both directions. garble-answer makes answers that can't be read (headset.no_data), max-payload=0 a board \
      that no request fits (headset.write_failed). STEP counts the changes of the board's state: the power is lost before \
      that one, and the exit status is 9.
      """,
    ],
    examples: [
      ExampleSpec("roomtone board --listen unix:$XDG_RUNTIME_DIR/board", "the usual board"),
      ExampleSpec("roomtone board --listen pty --profile no-ambient", "another one, on a serial line"),
      ExampleSpec(
        "roomtone board --listen tcp:127.0.0.1:0 --fault drop=0.05,delay=0.2:300ms,seed=7", "on a bad link"),
    ])
}

extension OptionSpec {
  // Options of `board`.
  static let listen = OptionSpec(
    "listen", .text, valueName: "ADDRESS",
    sources: [.words(["pty"]), .files(behind: "unix:"), .beginnings(["tcp:127.0.0.1:", "pty:"])],
    "where hosts reach the board")
  static let boardKey = OptionSpec(
    "key-file", .file, "the secret that board and hosts share, 64 hex digits (default: the development key)")
  static let boardState = OptionSpec("state", .folder, "keeps the board's state in this folder")
  static let boardName = OptionSpec(
    "name", .text, valueName: "NAME", "the accessory's own name (default: Roomtone and the model)")
  static let profile = OptionSpec(
    "profile", .choice(BoardProfile.all.map(\.name)), valueName: "NAME",
    "the kind of the board (default: standard)")
  static let fault = OptionSpec(
    "fault", .text, valueName: "FAULTS", isRepeated: true,
    "faults of the link (drop=0.05,seed=7); may be given several times")
  static let readyAfter = OptionSpec(
    "ready-after", .number(0...600_000), valueName: "MS",
    "how long the bootloader takes until it can be used (default: 5000)")
  static let battery = OptionSpec(
    "battery", .number(0...100), valueName: "PERCENT", "how full the battery is")
  static let trust = OptionSpec(
    "trust", .file, sources: [.files(["pem"])],
    "the public key of its firmware's signer (default: the development key)")
  static let boardVersion = OptionSpec(
    "version", .text, valueName: "VERSION", "the firmware of a new board (default: 1.0.0)")
  static let quietBoard = OptionSpec("quiet", short: "q", .flag, "logs nothing")
}
