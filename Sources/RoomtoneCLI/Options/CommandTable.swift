internal import Codecs
internal import Home
internal import Roomtone
internal import SpeakerKit

// The program, and the commands that run scripts or look at the house.

extension ProgramSpec {
  /// Specification of `roomtone`.
  static let roomtone = ProgramSpec(
    name: "roomtone",
    version: Product.version,
    summary: "Roomtone runs a home's audio from Lua scripts.",
    commands: Command.all.map(\.spec),
    options: [.help, .version],
    notes: [
      """
      Exit status: 0 when all went well, 1 when the script or the operation failed, 2 for wrong usage, 129, 130 or \
      143 when SIGHUP, SIGINT or SIGTERM ended it.
      """
    ],
    examples: [
      ExampleSpec("roomtone run wake_up.lua now", "runs a routine until it is through"),
      ExampleSpec("roomtone simulate wake_up.lua --for 7d", "shows what the routine would do in a week"),
      ExampleSpec("roomtone play tune.mp3 --on kitchen", "plays a file in one room"),
    ],
    environment: [
      FactSpec("XDG_CONFIG_HOME", "the folder of configurations; ~/.config without it"),
      FactSpec("XDG_STATE_HOME", "the folder of states; ~/.local/state without it"),
      FactSpec("XDG_RUNTIME_DIR", "the folder of sockets"),
      FactSpec("ROOMTONE_STDLIB", "a folder whose Lua library precedes the one inside the program"),
      FactSpec("TZ", "the time zone, in place of the machine's"),
      FactSpec("http_proxy, https_proxy, no_proxy", "the proxy of connections to stations"),
    ],
    files: [
      FactSpec("~/.config/roomtone/config.lua", "the configuration: house, headset, stations, recordings"),
      FactSpec("~/.local/state/roomtone/house.state", "volumes, names and groups of the speakers"),
      FactSpec("~/.local/state/roomtone/store.db", "values that scripts keep, and the memory of their jobs"),
      FactSpec("~/.local/state/roomtone/recordings.db", "the catalogue of recordings"),
      FactSpec("~/.local/state/roomtone/hooks", "the tokens of webhooks"),
    ])
}

extension CommandSpec {
  static let run = CommandSpec(
    name: "run",
    summary: "runs a script until it has nothing left to do",
    operands: [.script(replacement: "execute"), .scriptArguments],
    options: [.longest, .house, .output, .execute, .config, .verbose, .attach, .noAttach],
    notes: [
      """
      A script has something left to do while a routine runs or waits, a timer or a job is set, or a session plays. \
      Listening to the house alone keeps no script running.
      """,
      """
      Options go before SCRIPT or after it. Arguments of the script that begin with a dash go after '--'; the script finds \
      its arguments in 'arg'. With -e there is no SCRIPT, and all operands are arguments of the line.
      """,
      """
      While a daemon runs, the script runs in it, with the daemon's house, files and standard input; this command shows \
      its output, and the script ends with the command. With --output or --config, and with --no-attach, the script runs \
      in this process, and can't open a house that the daemon has.
      """,
      """
      Exit status: 0 when all went well, 1 when the script or one of its callbacks failed, 2 for wrong usage, 129, \
      130 or 143 when SIGHUP, SIGINT or SIGTERM ended it.
      """,
    ],
    examples: [
      ExampleSpec("roomtone run wake_up.lua Bedroom --for 1h", "one hour at most; arg[1] is \"Bedroom\""),
      ExampleSpec("roomtone run --output wav:out wake_up.lua", "on a machine without a sound card"),
      ExampleSpec("roomtone run -e 'print(1 + 1)'", "a line of Lua instead of a file"),
    ])

  static let simulate = CommandSpec(
    name: "simulate",
    summary: "shows what a script would do, in virtual time",
    operands: [.script(), .scriptArguments],
    options: [
      .companions, .from, .span, .timezone, .stations, .triggers, .render, .why, .json, .html, .seed, .config,
    ],
    notes: [
      """
      Time jumps from one event to the next, so a week takes less than a second. No hardware and no network is \
      touched. Events are printed one a line: when, where, what. Recordings go into a folder that is gone at \
      the end, with a catalogue of its own.
      """,
      """
      A line with ! is a failure, one with ? a warning: two routines, also of two scripts, change a room within a minute. \
      The summary at the end counts runs and failures, and names jobs that never ran and sources that were never heard.
      """,
      """
      An object of --json has time, kind, room, the fields of its kind, the job that caused it, and the line's text. Kinds: \
      play, pause, stop, join, leave (source, volume), volume, gain (from, to, over in seconds), mute, equalizer, seek, \
      rename, group, away, back, interruption, recording, title, reconnect, headset; run, skipped, missed, failed, sun (jobs); \
      print, log, error, failure, warning; alarm, fallback, announcement, trigger; summary.
      """,
      """
      A URL sounds as a simulated station, which plays a tune for ever. A stations file is Lua and defines how others \
      behave, each with station(URL, {file=, name=, genre=, burst=, titles=, drops=, status=, refuses=, ...}): which file \
      they play over and over, when their titles change and connections drop, what they answer. Times count from the \
      start of the stream.
      """,
      """
      The same script with the same options has the same events and the same sound, every time. Arguments of the script \
      that begin with a dash go after '--', as with 'run'.
      """,
    ],
    examples: [
      ExampleSpec(
        "roomtone simulate wake_up.lua --from 2026-03-28T00:00 --for 2d --timezone Europe/Berlin",
        "through the night in which the clocks are put forward"),
      ExampleSpec(
        "roomtone simulate radio.lua --stations stations.lua", "with stations that drop, or are not there"),
      ExampleSpec(
        "roomtone simulate wake_up.lua --with bedtime.lua --with party.lua",
        "do they get in each other's way?"),
      ExampleSpec("roomtone simulate wake_up.lua --html week.html", "with a page to look at or to print"),
      ExampleSpec("roomtone simulate --render out wake_up.lua now", "with the sound, as WAV files in out/"),
    ])

  static let check = CommandSpec(
    name: "check",
    summary: "finds mistakes in scripts before they run",
    operands: [.scripts],
    options: [.jsonFindings, .config],
    notes: [
      """
      It finds errors of syntax; functions, fields, methods, options, events and globals that do not exist; wrong \
      numbers and types of arguments; wrong times, durations, days and lines of cron; speakers, groups and stations \
      that the house and the configuration do not have; results of look-ups that are not used; calls that wait where \
      no call can.
      """,
      """
      Each finding is a line: file, line and column, the mistake, a code. Uncertain ones are not reported. The comment \
      '-- check: ignore' after a line silences it. A folder stands for the Lua files in it and in its subfolders.
      """,
      "Exit status: 0 when no mistake was found, 1 when one was, 2 for wrong usage.",
    ],
    examples: [
      ExampleSpec("roomtone check wake_up.lua", "silent when all is well"),
      ExampleSpec("roomtone check --json ~/scripts", "all scripts of a folder, for an editor"),
    ])

  static let test = CommandSpec(
    name: "test",
    summary: "runs specs of routines, in virtual time",
    operands: [.specs],
    options: [.filter, .junit, .specConfig],
    notes: [
      """
      A spec is a Lua file with describe("...", function() ... end), it("...", function() ... end) and expect(value):to_equal(...). \
      Each test has a house, a store and a clock of its own, which begins on Monday 2026-01-05; it("...", {from=, timezone=, \
      stations=}, fn) begins elsewhere. A folder stands for the files in it whose names end in _spec.lua.
      """,
      """
      Expectations: to_equal, to_differ_from, to_be_near(number, tolerance), to_be_true, to_be_false, to_be_nil, \
      to_contain, to_match, to_raise. A test fails with the first that is not met, and with any error of a routine.
      """,
      "Exit status: 0 when all tests passed, 1 when one failed or no test was run, 2 for wrong usage.",
    ],
    examples: [
      ExampleSpec("roomtone test bedtime_spec.lua", "all tests of a file"),
      ExampleSpec(
        "roomtone test specs --filter alarm --junit report.xml", "some of a folder, with a report for CI"),
    ])

  static let repl = CommandSpec(
    name: "repl",
    summary: "reads Lua from a prompt and shows results",
    operands: [.firstScript],
    options: [.house, .output, .config, .attach, .noAttach, .ofScript],
    notes: [
      """
      Ctrl-C cancels the routine in front, Ctrl-D leaves. Without a terminal it reads standard input to its end, \
      and the exit status is 1 when a line failed.
      """,
      """
      While a daemon runs the prompt is inside it: lines run in the state of 'roomtone ctl eval', whose variables stay \
      until 'os.exit()', or with --script in that of a script. With --house, --output or --config, and with --no-attach, \
      it opens a house itself, which fails while the daemon has that house.
      """,
    ],
    examples: [
      ExampleSpec("roomtone repl", "a prompt with the speakers of your configuration"),
      ExampleSpec("roomtone repl --output null wake_up.lua", "runs a script first, without sound"),
    ])
}

extension CommandSpec {
  static let play = CommandSpec(
    name: "play",
    summary: "plays files until the last has been heard to its end",
    operands: [.audioFile],
    options: [.on, .volume, .keep, .shuffle, .loop, .house, .output, .config, .attach, .noAttach]
      + OptionSpec.ofSource,
    notes: [
      """
      Several files follow each other without a gap. A folder stands for its sound files and those of its subfolders, \
      in the order of their names; a playlist (m3u, pls, xspf) for the files that it lists. A file that cannot be read \
      is reported, and the next one plays; if a playlist of a server listed it, the exit status is 1 at the end.
      """,
      """
      A room is a group of speakers. Part of a name is enough when it means one room or speaker only; the name of a room \
      has precedence over those of its speakers. Speakers that are not named stay silent.
      """,
      """
      FILE may be the name of a station of the configuration; './morning' is the file of that name, always.
      """,
      """
      On a terminal one line shows position, length and rooms, and keys control the playback: space pauses and \
      resumes, n is the next file, p the previous one (or the beginning, later than 3 s), left and right go back and \
      forward 10 s, up, down, + and - change the volume, q quits. Elsewhere, as in cron, nothing is printed unless \
      something goes wrong. A volume that is set stays when the file has ended.
      """,
      """
      While a daemon runs it plays the files, in place of the music in the rooms, which continues after them at its \
      volume; with --keep the rooms stay silent, at the volume that was set. The keys control it there. With --output or --config, and with --no-attach, the house is opened here, \
      which fails while the daemon has it.
      """,
    ],
    examples: [
      ExampleSpec("roomtone play tune.mp3", "on every speaker"),
      ExampleSpec(
        "roomtone play tune.mp3 --on kitchen --on 'bedroom left' --volume 20", "in a room and on a speaker"),
      ExampleSpec(
        "roomtone play Music/jazz --shuffle --loop --on 'living room'", "a folder, for the evening"),
    ])

  static let devices = CommandSpec(
    name: "devices",
    summary: "lists the speakers of the house",
    operands: [], options: listing,
    notes: [
      """
      The list shows the house as the daemon has it, or as it was left. While another process has it, levels and names \
      are at most some seconds old, and which speakers play is not known: 'unknown' in the table, null in JSON.
      """
    ],
    examples: [
      ExampleSpec("roomtone devices", "a table"),
      ExampleSpec("roomtone devices --json", "all attributes of each speaker, for programs"),
    ])

  static let groups = CommandSpec(
    name: "groups",
    summary: "lists the groups that the speakers form, which are the rooms",
    operands: [], options: listing,
    notes: [
      """
      A group is active when all its speakers are in use. While a process other than the daemon has the house that is \
      not known: 'unknown' in the table, null in JSON.
      """
    ],
    examples: [
      ExampleSpec("roomtone groups", "a table"),
      ExampleSpec("roomtone groups --json", "the same for programs"),
    ])

  static let status = CommandSpec(
    name: "status",
    summary: "shows which process has the house, and where its files are",
    operands: [], options: listing,
    notes: [
      """
      One process at a time drives the house. This command only looks: it works whichever process has the house, and is \
      never in the way.
      """
    ],
    examples: [
      ExampleSpec("roomtone status", "a line for each fact"),
      ExampleSpec("roomtone status --json", "the same for programs"),
    ])

  /// Options of the commands that only inspect.
  private static let listing: [OptionSpec] = [.jsonList, .config]
}

extension OperandSpec {
  static let audioFile = OperandSpec(
    name: "FILE",
    summary: "WAV, AIFF, CAF, MP3, AAC, M4A, FLAC, Ogg; a folder, a playlist; a station's URL or name",
    isRepeated: true,
    sources: [.names(.stations), .files(AudioFile.extensions.sorted() + ["m3u", "m3u8", "pls", "xspf"])])
  fileprivate static func script(replacement: String? = nil) -> OperandSpec {
    OperandSpec(
      name: "SCRIPT", summary: "a Lua file, or - for standard input", replacement: replacement,
      sources: [.luaFiles])
  }
  static let firstScript = OperandSpec(
    name: "SCRIPT", summary: "a Lua file to run before the first prompt", isOptional: true,
    sources: [.luaFiles])
  static let scripts = OperandSpec(
    name: "SCRIPT", summary: "a Lua file, a folder of them, or - for standard input", isRepeated: true,
    sources: [.luaFiles])
  static let specs = OperandSpec(
    name: "SPEC", summary: "a spec, or a folder of specs", isRepeated: true, sources: [.luaFiles])
  static let scriptArguments = OperandSpec(
    name: "ARGS", summary: "the arguments of the script, in its 'arg'", isOptional: true, isRepeated: true,
    sources: [.files()])
}

extension OptionSpec {
  // Options of every command, and before a command.
  static let help = OptionSpec("help", short: "h", .flag, "shows this help")
  static let version = OptionSpec("version", .flag, "shows the version")

  // Options of several commands.
  static let house = OptionSpec(
    "house", .choice(Configuration.driverNames), valueName: "DRIVER",
    "the driver in place of the configured one: \(Configuration.driverNames.joined(separator: ", "))")
  static let output = OptionSpec(
    "output", .output, "where the speakers sound: \(Output.summary)")
  static let config = OptionSpec(
    "config", .file, sources: [.luaFiles], "the configuration (default: $XDG_CONFIG_HOME/roomtone/config.lua)"
  )

  // Options of `run`.
  static let longest = OptionSpec("for", .duration, "ends the script after this time at the latest (1h30m)")
  static let execute = OptionSpec("execute", short: "e", .code, "runs this line of Lua instead of a script")
  static let verbose = OptionSpec("verbose", short: "v", .flag, "logs more")

  // Options of `simulate`.
  static let from = OptionSpec(
    "from", .dateTime,
    "when the simulated time begins: 2026-03-28, 2026-03-28T06:00 or now (default: 2026-01-05)")
  static let span = OptionSpec("for", .duration, "how much time to simulate: 36h (default: 7d)")
  static let timezone = OptionSpec(
    "timezone", .timeZone, "the time zone of the house: Europe/Berlin (default: the machine's)")
  static let stations = OptionSpec(
    "stations", .file, sources: [.luaFiles],
    "how the stations of the simulation behave: a Lua file that calls station(URL, {...})")
  static let companions = OptionSpec(
    "with", .file, isRepeated: true, sources: [.luaFiles],
    "another script that runs in the same house; may be given several times")
  static let triggers = OptionSpec(
    "triggers", .file, sources: [.luaFiles],
    "the triggers from outside: a Lua file that calls trigger(NAME, {at=, value=})")
  static let render = OptionSpec(
    "render", .folder, "writes the sound to this folder, a WAV file for each speaker")
  static let why = OptionSpec("why", .flag, "prints the cause of each line below it")
  static let json = OptionSpec(
    "json", .flag,
    "prints the events as JSON objects, one a line")
  static let html = OptionSpec(
    "html", .file, sources: [.files(["html"])],
    "writes a page with a picture of the time, day by day, to this file; 31 days at most")
  static let seed = OptionSpec(
    "seed", .number(0...UInt64.max), "the seed of the script's random numbers (default: 1)")

  // Options of `check`.
  static let jsonFindings = OptionSpec("json", .flag, "prints the mistakes as a JSON list")

  // Options of `test`.
  static let filter = OptionSpec(
    "filter", .text, "runs only tests with this text in their titles, in any case")
  static let specConfig = OptionSpec(
    "config", .file, sources: [.luaFiles],
    "the configuration of the tests (default: none, so that all have the same house)")
  static let junit = OptionSpec(
    "junit", .file, sources: [.files(["xml"])], "writes a report in the XML format of JUnit to this file")

  // Options of `play`.
  static let on = OptionSpec(
    "on", .text, valueName: "ROOM", isRepeated: true, sources: [.names(.rooms)],
    "a room or a speaker to play on; may be given several times (default: default_rooms of the configuration, else all)"
  )
  static let volume = OptionSpec(
    "volume", .number(0...UInt64(House.maximumVolume)),
    "sets the volume of these speakers first, 0 to \(House.maximumVolume)")

  static let keep = OptionSpec("keep", .flag, "does not give back the rooms at the end")
  static let shuffle = OptionSpec("shuffle", .flag, "plays the files in random order")
  static let loop = OptionSpec("loop", .flag, "begins again after the last file, without end")

  // Options of the commands that print a list.
  static let jsonList = OptionSpec("json", .flag, "prints JSON instead of a table")
}
