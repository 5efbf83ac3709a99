internal import RecordingKit

// Commands and options of recordings, and of jobs at set times.

extension CommandSpec {
  static let cron = CommandSpec(
    name: "cron",
    summary: "has the crontab run scripts and recordings at set times",
    operands: [],
    options: [.jobName, .jsonList],
    actions: [
      ActionSpec(
        name: "list", summary: "lists the jobs with their next runs and their last results",
        options: [.jsonList]),
      ActionSpec(
        name: "add", summary: "adds a job",
        operands: [.cronTime, .cronScript, .cronArguments], options: [.jobName], innerCommand: 1,
        notes: [
          """
          In place of SCRIPT and its arguments there may be a command of roomtone: run, play or record with its options \
          and operands. A recording needs --for or --until, and gets -q and --job NAME.
          """,
          """
          EXPR has five fields: minute, hour, day of the month, month, day of the week, as crontab(5) describes them; or \
          is @daily, @weekly, @monthly, @hourly or @reboot. cron has the time of the machine. cron mails the output and the \
          errors of a job; a job that needs no mail prints nothing.
          """,
        ]),
      ActionSpec(
        name: "run", summary: "runs a job now, as cron would, and ends with its exit status",
        operands: [.cronJob],
        notes: ["It has the folder, the shell and the few variables that cron gives a job."]),
      ActionSpec(name: "remove", summary: "removes a job", operands: [.cronJob]),
    ],
    notes: [
      """
      A job is a line of your crontab that ends with '# roomtone: NAME'. Other lines are never touched. It has absolute \
      paths and the environment that it needs, for cron gives it little.
      """
    ],
    examples: [
      ExampleSpec("roomtone cron add '45 6 * * 1-5' wake_up.lua", "on weekdays at a quarter to seven"),
      ExampleSpec(
        "roomtone cron add '30 20 * * sat' run show.lua --for 2h --name show", "with options of its own"),
      ExampleSpec(
        "roomtone cron add '30 20 * * 6' record morning --for 2h --wait-for-audio",
        "records a show each week"),
      ExampleSpec("roomtone cron", "the jobs with their next runs and their last results"),
      ExampleSpec("roomtone cron run show", "a test in the environment of cron"),
      ExampleSpec("roomtone cron remove show", "removes it"),
    ])
}

extension CommandSpec {
  static let record = CommandSpec(
    name: "record",
    summary: "records a station",
    operands: [.station],
    options: [
      .into, .recordFor, .recordUntil, .split, .shortestTrack, .append, .waitForAudio, .job, .quiet, .config,
    ] + OptionSpec.ofSource,
    notes: [
      """
      The frames of the station are written as they come, never coded again, and are safe from a kill a second later. \
      A lost connection is opened again, and the missed part, as far as the station still has it, is joined without a \
      seam. Without --for or --until it records until Ctrl-C, which closes the file.
      """,
      """
      Fields of a TEMPLATE: {station}, {title}, {artist}, {track} (the number of the file in its recording), {start} or \
      {start:%Y-%m-%d %H.%M}, {ext}, {n}. It begins in the working directory, or with ~/ in the home folder. An \
      existing file is never overwritten: {n} counts up from 1 until the name is free; without {n} a number is added. Without \
      -o the folder and the template of the configuration are used.
      """,
      """
      A file of a server is recorded as it is; with --for its frames up to there, of MP3, AAC and Ogg, while other kinds \
      are refused. The files of a playlist are recorded in turn, each in a file of its own; --for and --until limit all \
      of them together. A file that can't be recorded is named and left out, and makes the exit status 1.
      """,
      """
      With --split the first and the last file, whose titles are cut off, end with '(incomplete)'.
      """,
      """
      On a terminal a line shows time, size, level, lost connections and title. At the end one line names the file; \
      with -q a line is printed only on standard error, when more than 60 s or 5 %, or the end, is missing. The same job \
      can't run twice at a time. Exit status: 0 when it was recorded, with or without gaps, 1 when not, 2 for wrong usage, 129, \
      130 or 143 when SIGHUP, SIGINT or SIGTERM ended it.
      """,
    ],
    examples: [
      ExampleSpec("roomtone record http://127.0.0.1:8000/live.mp3", "until Ctrl-C"),
      ExampleSpec(
        "roomtone record morning -o '~/Radio/{station} {start}.{ext}' --for 1h -q --wait-for-audio",
        "as in cron, a station of the configuration"),
      ExampleSpec(
        "roomtone record morning -o 'Songs/{artist} - {title}.{ext}' --split", "a file for each title"),
    ])

  static let recordings = CommandSpec(
    name: "recordings",
    summary: "lists, checks and repairs recordings",
    operands: [],
    options: [
      .ofStation, .withTitle, .since, .before, .inState, .ofJob, .limit, .jsonList, .config,
    ],
    actions: [
      ActionSpec(
        name: "list", summary: "lists recordings, the latest first",
        options: [.ofStation, .withTitle, .since, .before, .inState, .ofJob, .limit, .jsonList]),
      ActionSpec(
        name: "verify", summary: "reads all frames of files, and compares them with the catalogue",
        operands: [.recordedFiles()], options: [.jsonList]),
      ActionSpec(
        name: "repair",
        summary: "completes interrupted files, and compares the catalogue with the disk",
        operands: [.recordingFolder], options: [.config]),
      ActionSpec(
        name: "forget", summary: "removes recordings from the catalogue; the files stay",
        operands: [.recordedFiles(isOptional: false)]),
    ],
    notes: [
      """
      A recording whose process was killed is 'interrupted': the next recording, or 'repair', makes a file of the part on \
      disk, which is 'recovered' then; if its disk is not mounted, once it is. Recordings in progress are left alone.
      """,
      """
      Exit status: 1 when a verified file is not good, a file could not be repaired, or a recording to forget is not in \
      the catalogue.
      """,
    ],
    examples: [
      ExampleSpec("roomtone recordings", "all recordings"),
      ExampleSpec(
        "roomtone recordings list --station morning --since 2026-01-01T00:00 --json",
        "some of them, for programs"),
      ExampleSpec("roomtone recordings verify", "checks that every file is sound from beginning to end"),
      ExampleSpec("roomtone recordings repair", "after a power cut, without waiting for the next recording"),
    ])
}

extension OperandSpec {
  static func recordedFiles(isOptional: Bool = true) -> OperandSpec {
    OperandSpec(
      name: "FILE", summary: "recordings; 'verify' checks all of the catalogue without one",
      isOptional: isOptional, isRepeated: true, sources: [.files()])
  }
  static let recordingFolder = OperandSpec(
    name: "DIR",
    summary: "the folder to search for parts without an entry in the catalogue (default: the configured one)",
    isOptional: true, sources: [.folders()])
}

extension OperandSpec {
  static let station = OperandSpec(
    name: "URL",
    summary: "a station, a playlist that leads to one, or the name of a station of the configuration",
    sources: [.names(.stations)])
}

extension OptionSpec {
  // Options of `record`.
  static let into = OptionSpec(
    "output", short: "o", .file, valueName: "TEMPLATE", "the file, with fields ({station} {start}.{ext})")
  static let recordFor = OptionSpec(
    "for", .duration, excludes: ["until"], "the time to record (1h30m), from the first sound on")
  static let recordUntil = OptionSpec(
    "until", .moment, excludes: ["for"],
    "when to end: a time of day (22:30), or a day and a time (2026-03-28T22:30)")
  static let split = OptionSpec(
    "split", .flag, excludes: ["append"], "begins a file with each title, and writes a cue sheet of all")
  static let shortestTrack = OptionSpec(
    "min-track", .duration, "files with less sound are removed when they end (default: 20s); with --split")
  static let append = OptionSpec(
    "append", .flag, excludes: ["split"], "appends to an existing file with the same format")
  static let waitForAudio = OptionSpec(
    "wait-for-audio", .flag,
    "tries again until the station can be heard; ends at the same time as without this option")
  static let job = OptionSpec(
    "job", .text, valueName: "NAME", sources: [.names(.jobs)],
    "the job that it belongs to (default: that of the same URL and template)"
  )
  static let quiet = OptionSpec(
    "quiet", short: "q", .flag, "prints nothing unless it fails, or much sound is missing")

  // Options of `recordings`.
  static let ofStation = OptionSpec(
    "station", .text, sources: [.names(.stations)], "those of stations with this in their name")
  static let withTitle = OptionSpec("title", .text, "those with this in one of their titles")
  static let since = OptionSpec(
    "since", .dateTime, "those that begin then or later: 2026-03-28, 2026-03-28T06:00 or now")
  static let before = OptionSpec("before", .dateTime, "those that begin earlier")
  static let inState = OptionSpec(
    "state", .choice(RecordingEntry.State.allCases.map(\.rawValue)), valueName: "STATE",
    "those in this state: \(RecordingEntry.State.allCases.map(\.rawValue).joined(separator: ", "))")
  static let ofJob = OptionSpec(
    "job", .text, valueName: "NAME", sources: [.names(.jobs)], "those of this job")
  static let limit = OptionSpec("limit", .number(1...1_000_000), "the maximum number of recordings")
}

extension OperandSpec {
  static let cronTime = OperandSpec(name: "EXPR", summary: "when to run it, in quotes: '30 20 * * 6'")
  static let cronScript = OperandSpec(
    name: "SCRIPT", summary: "a Lua file, or a command: run, play or record",
    sources: [.words(["run", "play", "record"]), .luaFiles])
  static let cronArguments = OperandSpec(
    name: "ARGS", summary: "the arguments of the script or the command", isOptional: true,
    isRepeated: true, sources: [.files()])
  static let cronJob = OperandSpec(
    name: "NAME", summary: "the name of the job, as the list shows it",
    sources: [.names(.jobs)])
}

extension OptionSpec {
  // Options of `cron`.
  static let jobName = OptionSpec(
    "name", .text, valueName: "NAME", "the name of the job (default: that of its script or station)")
}
