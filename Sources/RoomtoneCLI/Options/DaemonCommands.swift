internal import Home
internal import Roomtone
internal import SpeakerKit

// Commands and options of the daemon and of the house from the shell.

extension CommandSpec {
  static let serve = CommandSpec(
    name: "serve",
    summary: "runs all scripts of a folder, until a signal ends it",
    operands: [.scriptFolder],
    options: [.install, .house, .output, .config, .verbose],
    notes: [
      """
      Each file DIR/*.lua is a script with a Lua state of its own; all share one house. Files and folders whose names \
      begin with '_' are libraries, which 'require' finds. A script is read again when its file, or a library that it \
      requires, changes; one that does not compile continues as it was, and is 'stale' until it does.
      """,
      """
      A script that ends the daemon by a call that nothing can interrupt is 'failed' at the next start, until its file \
      changes or 'roomtone ctl restart NAME' starts it.
      """,
      """
      SIGHUP reads all scripts again, SIGTERM and SIGINT end the daemon in an orderly way. 'roomtone ctl' talks to the \
      daemon; 'volume', 'stop' and similar commands act through it, and so do 'run', 'play', 'repl', 'devices', 'groups' \
      and 'status'.
      """,
      """
      --install writes a systemd unit of the user with the other options, DIR and the variables of the environment that \
      lead to files, and prints the commands that enable it. Nothing runs before that.
      """,
    ],
    examples: [
      ExampleSpec("roomtone serve", "the scripts of $XDG_CONFIG_HOME/roomtone/scripts"),
      ExampleSpec("roomtone serve --output null scripts", "without sound, to try"),
      ExampleSpec("roomtone serve --install", "as a service that starts at login"),
    ])

  static let ctl = CommandSpec(
    name: "ctl",
    summary: "talks to the daemon: its scripts, jobs, triggers, log",
    operands: [],
    options: [.jsonList, .ofScript, .follow, .pastTime, .ofRoom, .ofKind],
    actions: [
      ActionSpec(name: "status", summary: "shows what runs and what plays", options: [.jsonList]),
      ActionSpec(name: "scripts", summary: "lists the scripts", options: [.jsonList]),
      ActionSpec(
        name: "top", summary: "lists the scripts by the time that their code takes", options: [.jsonList],
        notes: [
          """
          TIME is the processor time of the script's code since its start. LONGEST is the longest wall-clock time without \
          suspending, with the line: a script that holds the others for 100 ms of processor time, or for a second, is in \
          the log too. EVENTS counts the calls of its listeners and jobs.
          """
        ]),
      ActionSpec(
        name: "restart", summary: "starts a script anew", operands: [.scriptName], options: [.jsonList]),
      ActionSpec(
        name: "reload", summary: "reads a script, or all of the folder, again",
        operands: [.optionalScriptName], options: [.jsonList]),
      ActionSpec(name: "jobs", summary: "lists the jobs of all scripts", options: [.jsonList]),
      ActionSpec(
        name: "run-now", summary: "begins a run of a job", operands: [.jobName], options: [.jsonList]),
      ActionSpec(
        name: "skip", summary: "leaves out the next run of a job", operands: [.jobName],
        options: [.jsonList]),
      ActionSpec(
        name: "trigger", summary: "fires a trigger", operands: [.triggerName, .triggerValue],
        options: [.jsonList]),
      ActionSpec(
        name: "why", summary: "says why a thing is as it is, or why nothing happened", operands: [.thing],
        options: [.jsonList]),
      ActionSpec(
        name: "history", summary: "lists the changes of the house, with their causes",
        options: [.pastTime, .ofRoom, .ofKind, .jsonList],
        notes: ["The changes of 30 days are kept, 100,000 at most; the last 1000 are listed."]),
      ActionSpec(
        name: "eval", summary: "evaluates Lua in the daemon, and shows the results", operands: [.code],
        options: [.ofScript, .jsonList],
        notes: [
          """
          Without --script the code runs in a state of its own, in which all modules are globals and variables stay until \
          'os.exit()'; with it, the globals of that script come first. '&' at the end runs the code as a task.
          """
        ]),
      ActionSpec(
        name: "log", summary: "shows the last lines of the log",
        options: [.follow, .ofScript, .jsonList]),
      ActionSpec(
        name: "volume", summary: "shows or sets the volume of a room",
        operands: [.room, .level], options: [.jsonList]),
      ActionSpec(
        name: "stop", summary: "stops what plays in a room, or everywhere", operands: [.optionalRoom],
        options: [.jsonList]),
    ],
    notes: [
      """
      A script is named by its file, without '.lua'; a job by its name, or by SCRIPT/JOB where several scripts have \
      one of that name.
      """,
      """
      Without a daemon, a run, a play or a prompt that has the house answers to status, why, history, volume and stop.
      """,
    ],
    examples: [
      ExampleSpec("roomtone ctl", "what runs and what plays"),
      ExampleSpec("roomtone ctl restart bedtime", "the script bedtime.lua"),
      ExampleSpec("roomtone ctl trigger doorbell '{\"button\":\"front\"}'", "as if the doorbell had rung"),
      ExampleSpec("roomtone ctl why kitchen", "who set its volume, and what plays there"),
      ExampleSpec("roomtone ctl history --since 2h --room kitchen", "the changes there since two hours ago"),
      ExampleSpec("roomtone ctl eval 'speaker.volume()'", "a question to the house"),
      ExampleSpec("roomtone ctl log --follow --script bedtime", "what the script prints from now on"),
    ])
}

// The house from the shell.
extension CommandSpec {
  static let volume = CommandSpec(
    name: "volume",
    summary: "shows or sets the volume of a room",
    operands: [.room, .level], options: [.jsonList, .config],
    notes: [
      throughDaemon,
      "A change moves each speaker from its own level, and no further than 0 and \(House.maximumVolume).",
    ],
    examples: [
      ExampleSpec("roomtone volume kitchen", "how loud it is"),
      ExampleSpec("roomtone volume kitchen 20", "sets the level, and unmutes"),
      ExampleSpec("roomtone volume kit +5", "a part of the name is enough"),
    ])
  static let mute = verb("mute", "mutes a room, or all speakers", [throughDaemon], "kitchen")
  static let unmute = verb("unmute", "lets a room, or all speakers, sound again", [throughDaemon], "kitchen")
  static let pause = verb("pause", "pauses what plays in a room, or everywhere", [ofSession], "kitchen")
  static let resume = verb(
    "resume", "resumes paused sound in a room, or everywhere", [ofSession], "kitchen")
  static let stop = verb(
    "stop", "stops what plays in a room, or everywhere",
    [ofSession, "A source that plays in other rooms too continues there."], "kitchen")
  static let next = verb("next", "plays the next file of the queue", [ofSession], "kitchen")
  static let previous = verb("previous", "plays the previous file of the queue", [ofSession], "kitchen")
  static let now = verb("now", "shows what plays", [throughDaemon], "kitchen")

  private static let throughDaemon =
    """
    The daemon acts if it runs, else a run, a play or a prompt that has the house. Without one the house of the \
    configuration is opened, and closed again: a server of speakers keeps the setting, and the embedded house has it the \
    next time. With --config FILE it is the house of that file.
    """
  private static let ofSession =
    """
    Rooms that play the same music together act together. Only a daemon continues to play when a command has ended; a run, \
    a play or a prompt that has the house acts too.
    """

  private static func verb(_ name: String, _ summary: String, _ notes: [String], _ room: String)
    -> CommandSpec
  {
    CommandSpec(
      name: name, summary: summary, operands: [.optionalRoom], options: [.jsonList, .config], notes: notes,
      examples: [
        ExampleSpec("roomtone \(name)", "everywhere"), ExampleSpec("roomtone \(name) \(room)", "in one room"),
      ])
  }
}

extension OperandSpec {
  static let scriptFolder = OperandSpec(
    name: "DIR", summary: "the folder of scripts (default: $XDG_CONFIG_HOME/roomtone/scripts)",
    isOptional: true, sources: [.folders()])
  static let scriptName = OperandSpec(name: "NAME", summary: "a script", sources: [.names(.scripts)])
  static let optionalScriptName = OperandSpec(
    name: "NAME", summary: "a script", isOptional: true, sources: [.names(.scripts)])
  static let jobName = OperandSpec(
    name: "JOB", summary: "the name of a job, or SCRIPT/JOB", sources: [.names(.daemonJobs)])
  static let triggerName = OperandSpec(name: "NAME", summary: "letters, digits, '_', '-' and '.'")
  static let triggerValue = OperandSpec(
    name: "VALUE", summary: "JSON; any other text is the value itself", isOptional: true)
  static let thing = OperandSpec(
    name: "THING", summary: "a room, a speaker, a job, a script, a trigger, a recording or a headset",
    sources: [.names(.rooms), .names(.daemonJobs), .names(.scripts)])
  static let code = OperandSpec(name: "CODE", summary: "an expression, or statements")
  static let room = OperandSpec(
    name: "ROOM", summary: "a room or a speaker, or a part of its name", sources: [.names(.rooms)])
  static let optionalRoom = OperandSpec(
    name: "ROOM", summary: "a room or a speaker, or a part of its name", isOptional: true,
    sources: [.names(.rooms)])
  static let level = OperandSpec(
    name: "N", summary: "0 to \(House.maximumVolume), or a change: +5, -5", isOptional: true, isSigned: true)
}

extension OptionSpec {
  static let attach = OptionSpec("attach", .flag, "goes through the daemon, which must run")
  static let noAttach = OptionSpec("no-attach", .flag, "never goes through the daemon")
  static let install = OptionSpec("install", .flag, "writes a systemd user unit, and runs nothing")
  static let pastTime = OptionSpec("since", .duration, "the changes of this time: 2h")
  static let ofRoom = OptionSpec(
    "room", .text, valueName: "ROOM", sources: [.names(.rooms)], "the changes of a room or a speaker")
  static let ofKind = OptionSpec(
    "kind", .text, valueName: "KIND", sources: [.words(JournalEntry.Kind.keptNames)],
    "the changes of one kind: volume")
  static let ofScript = OptionSpec(
    "script", .text, valueName: "NAME", sources: [.names(.scripts)], "the name of the script")
  static let follow = OptionSpec("follow", short: "f", .flag, "continues with new lines, until interrupted")
}
