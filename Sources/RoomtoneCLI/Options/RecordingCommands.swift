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
