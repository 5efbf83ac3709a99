internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import Reference
internal import Roomtone
internal import Scheduling
internal import SpeakerKit

/// Command `roomtone completion`, and the queries of the scripts that it prints.
enum CompletionCommand {
  /// First word of a query: not a command, as no person types it.
  static let query = "__complete"

  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let given = arguments.operands[0]
    guard let shell = CompletedShell(rawValue: given) else {
      let names = CompletedShell.allCases.map(\.rawValue)
      let hint =
        probable(given, among: names).map { "did you mean '\($0)'?" }
        ?? "known: \(names.joined(separator: ", "))"
      throw UsageError(
        .operand, "completion: \(quoted(given)) is not a known shell; \(hint)", help: "roomtone completion")
    }
    Terminal.write(shell.script)
    return 0
  }

  /// Answers a query: the shell's name, then its own words. Silent on failure.
  /// - Returns: the exit status.
  static func answer(_ arguments: [String]) -> Int32 {
    guard let shell = arguments.first.flatMap(CompletedShell.init) else { return UsageError.exitStatus }
    let home = getenv("HOME").map { String(cString: $0) }
    Terminal.write(shell.answer(Array(arguments.dropFirst()), home: home, names: names))
    return 0
  }

  /// Returns the names of a kind; an empty list where they can't be found.
  private static func names(_ kind: NameKind, _ configuration: String?) -> [String] {
    switch kind {
    case .zones: ZoneFile.names()
    case .jobs: (try? UserCrontab.read().jobs.map(\.name)) ?? []
    case .stations:
      (try? EngineSetup.configuration(file: configuration).stations.addresses.keys.sorted()) ?? []
    case .hooks: (try? EngineSetup.configuration(file: configuration).page?.hooks.map(\.name)) ?? []
    case .rooms: (try? rooms(configuration)) ?? []
    case .daemonJobs: (try? jobs()) ?? []
    case .scripts: (try? daemon("scripts").compactMap { $0["name"]?.text }) ?? []
    case .topics: topics()
    }
  }

  /// The time that a query waits for a daemon, as a person waits at a Tab.
  private static let timeout = Duration.seconds(2)

  /// Returns the rooms, then the speakers that don't have the name of a room: of the process that has the
  /// house, else of the house of the configuration.
  private static func rooms(_ file: String?) throws -> [String] {
    let house = try HouseConnection.open(
      file, .look, command: "completion", timeout: timeout, isSilent: true)
    let devices = try house.call("devices").elements ?? []
    var names: [String] = []
    for name in devices.compactMap({ $0["group_name"]?.text }) where name != Group.ungrouped {
      if !names.contains(name) { names.append(name) }
    }
    for name in devices.compactMap({ $0["name"]?.text }) where !names.contains(name) { names.append(name) }
    return names
  }

  /// Returns the elements of a list of the daemon; an empty list without a daemon.
  private static func daemon(_ method: String) throws -> [JSON] {
    guard let client = try ControlClient.connect(timeout: timeout), client.process?.isDaemon == true else {
      return []
    }
    return try client.call(method).elements ?? []
  }

  /// Returns the jobs of the daemon's scripts, with the script where several jobs have the same name.
  private static func jobs() throws -> [String] {
    let jobs = try daemon("jobs").map { (name: $0["name"]?.text ?? "", script: $0["script"]?.text) }
    return jobs.map { job in
      guard let script = job.script, jobs.count(where: { $0.name == job.name }) > 1 else { return job.name }
      return "\(script)/\(job.name)"
    }
  }

  /// Returns the names that `help` has a page on.
  private static func topics() -> [String] {
    let reference = StandardLibrary.reference()
    let functions = reference.functions.filter { !$0.isMethod }.map(\.name)
    return reference.modules.map(\.name) + reference.topics.map(\.name) + functions
  }
}

extension CommandSpec {
  static let completion = CommandSpec(
    name: "completion",
    summary: "prints the completion of command lines for a shell",
    operands: [
      OperandSpec(
        name: "SHELL", summary: "bash, zsh or fish",
        sources: [.words(CompletedShell.allCases.map(\.rawValue))])
    ],
    options: [],
    notes: [
      """
      The printed script asks roomtone at each Tab, and proposes commands, actions, options, files that fit, and names of \
      this machine: rooms and speakers, stations of the configuration, scripts and jobs of the daemon, jobs of the \
      crontab, time zones, topics of 'help'. After an update of roomtone it need not be printed again.
      """,
      """
      bash: write it to ~/.local/share/bash-completion/completions/roomtone, where the package bash-completion finds it; \
      without that package, have ~/.bashrc say: source <(roomtone completion bash)
      """,
      """
      zsh: write it to a file _roomtone in a folder of fpath, before compinit is called; or have ~/.zshrc say after \
      compinit: source <(roomtone completion zsh)
      """,
      "fish: write it to ~/.config/fish/completions/roomtone.fish.",
    ],
    examples: [
      ExampleSpec("roomtone completion bash", "the script for bash"),
      ExampleSpec("roomtone completion fish", "the script for fish"),
    ])
}
