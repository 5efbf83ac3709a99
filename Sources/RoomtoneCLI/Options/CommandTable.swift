// The one table of commands and options. The parser and the help text read it, and nothing else knows an option.

extension ProgramSpec {
  /// `roomtone`.
  static let roomtone = ProgramSpec(
    name: "roomtone",
    version: "0.1.0",
    summary: "Roomtone runs a home's audio from Lua scripts.",
    commands: [.run, .simulate, .repl],
    options: [.help, .version],
    notes: [
      """
      Exit status: 0 when all went well, 1 when the script or the operation failed, 2 for wrong usage, 130 or 143 \
      when SIGINT or SIGTERM ended it.
      """
    ],
    examples: [
      ExampleSpec("roomtone run wake_up.lua", "runs a routine until it is through"),
      ExampleSpec("roomtone simulate wake_up.lua --for 7d", "tells what the routine would do in a week"),
    ])
}

extension CommandSpec {
  static let run = CommandSpec(
    name: "run",
    summary: "runs a script until it has nothing left to do",
    operands: [.script(replacement: "execute"), .scriptArguments],
    options: [.longest, .house, .output, .execute, .attach, .config, .verbose],
    endsOptionsAtOperand: true,
    notes: [
      """
      A script has something left to do while a routine runs or waits, a timer or a job is set, or a session plays. \
      Listening to the house alone keeps no script running.
      """,
      """
      Options go before SCRIPT; all that follows it belongs to the script, which finds it in 'arg'. With -e there \
      is no SCRIPT, and all operands are the line's.
      """,
      """
      Exit status: 0 when all went well, 1 when the script or one of its callbacks failed, 2 for wrong usage, 130 or \
      143 when SIGINT or SIGTERM ended it.
      """,
    ],
    examples: [
      ExampleSpec("roomtone run --for 1h wake_up.lua Bedroom", "one hour at most; arg[1] is \"Bedroom\""),
      ExampleSpec("roomtone run --output wav:out wake_up.lua", "on a machine without a sound card"),
      ExampleSpec("roomtone run -e 'print(1 + 1)'", "a line of Lua instead of a file"),
    ])

  static let simulate = CommandSpec(
    name: "simulate",
    summary: "tells what a script would do, in virtual time",
    operands: [.script(), .scriptArguments],
    options: [.from, .span, .timezone, .render, .json, .seed, .config],
    notes: [
      """
      Time jumps from one event to the next, so a week takes less than a second. No hardware and no network is \
      touched. Events are printed one a line: when, where, what.
      """,
      """
      The same script with the same options gives the same events and the same sound, every time. Arguments of the \
      script that begin with a dash go behind '--'.
      """,
    ],
    examples: [
      ExampleSpec(
        "roomtone simulate wake_up.lua --from 2026-03-28T00:00 --for 2d --timezone Europe/Berlin",
        "through the night in which the clocks are put forward"),
      ExampleSpec("roomtone simulate wake_up.lua --render out", "with the sound, as WAV files in out/"),
    ])

  static let repl = CommandSpec(
    name: "repl",
    summary: "reads Lua from a prompt and shows results",
    operands: [.firstScript],
    options: [.house, .output, .config],
    notes: [
      """
      Ctrl-C cancels the routine in front, Ctrl-D leaves. Without a terminal it reads standard input to its end, \
      and the exit status is 1 when a line failed.
      """
    ],
    examples: [
      ExampleSpec("roomtone repl", "a prompt with the speakers of your configuration"),
      ExampleSpec("roomtone repl --output null wake_up.lua", "runs a script first, without sound"),
    ])
}

extension OperandSpec {
  fileprivate static func script(replacement: String? = nil) -> OperandSpec {
    OperandSpec(name: "SCRIPT", summary: "a Lua file, or - for standard input", replacement: replacement)
  }
  static let firstScript = OperandSpec(
    name: "SCRIPT", summary: "a Lua file to run before the first prompt", isOptional: true)
  static let scriptArguments = OperandSpec(
    name: "ARGS", summary: "what the script finds in 'arg'", isOptional: true, isRepeated: true)
}

extension OptionSpec {
  // Of every command, and before it.
  static let help = OptionSpec("help", short: "h", .flag, "shows this help")
  static let version = OptionSpec("version", .flag, "shows the version")

  // Of several commands.
  static let house = OptionSpec("house", .choice(["house"]), "the kind of house; 'house' is the built-in one")
  static let output = OptionSpec(
    "output", .output, "where the speakers of the built-in house sound: alsa, alsa:DEVICE, wav:DIR or null")
  static let config = OptionSpec(
    "config", .file, "the configuration; config.lua in $XDG_CONFIG_HOME/roomtone otherwise")

  // Of `run`.
  static let longest = OptionSpec("for", .duration, "ends the script after this time at the latest (1h30m)")
  static let execute = OptionSpec("execute", short: "e", .code, "runs this line of Lua instead of a script")
  static let attach = OptionSpec(
    "attach", .flag, excludes: ["house", "output", "config"],
    "hands the script to the running daemon and follows it there")
  static let verbose = OptionSpec("verbose", short: "v", .flag, "logs more")

  // Of `simulate`.
  static let from = OptionSpec(
    "from", .dateTime, "when the simulated time begins; 2026-01-05T00:00 otherwise")
  static let span = OptionSpec("for", .duration, "how much time to simulate (36h); 7d otherwise")
  static let timezone = OptionSpec(
    "timezone", .timeZone, "the time zone of the house (Europe/Berlin); the machine's otherwise")
  static let render = OptionSpec(
    "render", .folder, "writes the sound to this folder, a WAV file for each speaker")
  static let json = OptionSpec("json", .flag, "prints the events as JSON objects, one a line")
  static let seed = OptionSpec("seed", .number, "where the script's random numbers begin; 1 otherwise")
}
