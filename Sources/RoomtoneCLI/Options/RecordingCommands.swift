internal import StreamKit

// The part of the table that is about recordings, and about what is done at set times.

extension CommandSpec {
  static let cron = CommandSpec(
    name: "cron",
    summary: "has the crontab run scripts and recordings at set times",
    operands: [],
    options: [.jobName, .jsonList],
    actions: [
      ActionSpec(name: "list", summary: "lists the jobs, and when they run next", options: [.jsonList]),
      ActionSpec(
        name: "add", summary: "adds a job",
        operands: [.cronTime, .cronScript, .cronArguments], options: [.jobName]),
      ActionSpec(name: "remove", summary: "removes a job", operands: [.cronJob]),
    ],
    notes: [
      """
      A job is a line of your crontab that ends with '# roomtone: NAME'. Other lines are never touched. It has absolute \
      paths and the environment that it needs, for cron gives it little.
      """,
      """
      In place of SCRIPT and its arguments there may be a command of roomtone: run, play or record with all that \
      belongs to it. What begins with a dash goes behind '--'. A recording becomes one with -q and --job NAME.
      """,
      """
      EXPR has five fields: minute, hour, day of the month, month, day of the week, as crontab(5) describes them; or \
      is @daily, @weekly, @monthly, @hourly or @reboot. cron has the time of the machine. What a job prints and what \
      goes wrong is mailed by cron; a job that needs no mail says nothing.
      """,
    ],
    examples: [
      ExampleSpec("roomtone cron add '45 6 * * 1-5' wake_up.lua", "on weekdays at a quarter to seven"),
      ExampleSpec(
        "roomtone cron add '30 20 * * sat' --name show -- run --for 2h show.lua", "with options of its own"),
      ExampleSpec("roomtone cron", "the jobs, and when they run next"),
      ExampleSpec("roomtone cron remove show", "takes it out again"),
    ])
}

extension CommandSpec {
  static let recordings = CommandSpec(
    name: "recordings",
    summary: "lists what was recorded, checks files, mends them",
    operands: [],
    options: [
      .ofStation, .withTitle, .since, .before, .inState, .ofJob, .limit, .jsonList, .config,
    ],
    actions: [
      ActionSpec(
        name: "list", summary: "lists recordings, the latest first",
        options: [.ofStation, .withTitle, .since, .before, .inState, .ofJob, .limit, .jsonList]),
      ActionSpec(
        name: "verify", summary: "walks all frames of files, and compares them with the catalogue",
        operands: [.recordedFiles()], options: [.jsonList]),
      ActionSpec(
        name: "repair",
        summary: "makes whole what was left behind, and has the catalogue agree with the disk",
        operands: [.recordingFolder], options: [.config]),
      ActionSpec(
        name: "forget", summary: "takes recordings out of the catalogue; the files stay",
        operands: [.recordedFiles(isOptional: false)]),
    ],
    notes: [
      """
      A recording whose process was killed is 'interrupted': what is on disk becomes a file with the next recording, \
      or with 'repair', and is 'recovered' then. What is being recorded is left alone.
      """,
      """
      Exit status: 1 when a file that is verified is not good, or when something could not be repaired or is not there \
      to be forgotten.
      """,
    ],
    examples: [
      ExampleSpec("roomtone recordings", "all recordings"),
      ExampleSpec(
        "roomtone recordings list --station morning --since 2026-01-01T00:00 --json",
        "some of them, for programs"),
      ExampleSpec("roomtone recordings verify", "checks every file, whether it is all sound"),
      ExampleSpec("roomtone recordings repair", "after a power cut, without waiting for the next recording"),
    ])
}

extension OperandSpec {
  static func recordedFiles(isOptional: Bool = true) -> OperandSpec {
    OperandSpec(
      name: "FILE", summary: "recordings; 'verify' takes all of the catalogue when there is none",
      isOptional: isOptional, isRepeated: true)
  }
  static let recordingFolder = OperandSpec(
    name: "DIR",
    summary: "is searched for parts that the catalogue does not know; the configured folder otherwise",
    isOptional: true)
}

extension OptionSpec {
  // Of `recordings`.
  static let ofStation = OptionSpec("station", .text, "those of stations with this in their name")
  static let withTitle = OptionSpec("title", .text, "those with this in one of their titles")
  static let since = OptionSpec("since", .dateTime, "those that begin then or later (2026-03-28T00:00)")
  static let before = OptionSpec("before", .dateTime, "those that begin earlier")
  static let inState = OptionSpec(
    "state", .choice(RecordingEntry.State.allCases.map(\.rawValue)), valueName: "STATE",
    "those in this state: \(RecordingEntry.State.allCases.map(\.rawValue).joined(separator: ", "))")
  static let ofJob = OptionSpec("job", .text, valueName: "NAME", "those of this job")
  static let limit = OptionSpec("limit", .number(1...1_000_000), "at most so many")
}

extension OperandSpec {
  static let cronTime = OperandSpec(name: "EXPR", summary: "when to run it, in quotes: '30 20 * * 6'")
  static let cronScript = OperandSpec(
    name: "SCRIPT", summary: "a Lua file, or a command: run, play or record")
  static let cronArguments = OperandSpec(
    name: "ARGS", summary: "what the script finds in 'arg', or what belongs to the command", isOptional: true,
    isRepeated: true)
  static let cronJob = OperandSpec(name: "NAME", summary: "what the job is called, as the list shows it")
}

extension OptionSpec {
  // Of `cron`.
  static let jobName = OptionSpec(
    "name", .text, valueName: "NAME", "what to call the job; by default after its script or station")
}
