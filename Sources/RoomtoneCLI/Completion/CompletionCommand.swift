internal import EventLoop
internal import Glibc
internal import Home
internal import Roomtone
internal import Scheduling
internal import SpeakerKit

/// Command `roomtone completion`, and the queries of the scripts that it prints.
enum CompletionCommand {
  /// First word of a query: no command, for nobody types it.
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

  /// Returns the names of a kind; none where they can't be found.
  private static func names(_ kind: NameKind, _ configuration: String?) -> [String] {
    switch kind {
    case .zones: ZoneFile.names()
    case .jobs: (try? UserCrontab.read().jobs.map(\.name)) ?? []
    case .stations:
      (try? EngineSetup.configuration(file: configuration).stations.addresses.keys.sorted()) ?? []
    case .rooms: (try? rooms(EngineSetup.configuration(file: configuration))) ?? []
    }
  }

  /// Returns the rooms, then the speakers that are not called as one.
  private static func rooms(_ configuration: Configuration) throws -> [String] {
    var options = EngineOptions()
    options.configuration = configuration
    options.access = .look
    options.stateFolder = UserFolders.state
    var names: [String] = []
    _ = try Engine(options).perform { house in
      for name in house.groups.map(\.name) + house.devices.map(\.name) where !names.contains(name) {
        names.append(name)
      }
    }
    return names
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
      this machine: rooms and speakers, stations of the configuration, jobs of the crontab, time zones. After an \
      update of roomtone it need not be printed again.
      """,
      """
      bash: write it to ~/.local/share/bash-completion/completions/roomtone, where the package bash-completion finds it; \
      without that package, have ~/.bashrc say: source <(roomtone completion bash)
      """,
      """
      zsh: write it to a file _roomtone in a folder of fpath, before compinit is called; or have ~/.zshrc say behind \
      compinit: source <(roomtone completion zsh)
      """,
      "fish: write it to ~/.config/fish/completions/roomtone.fish.",
    ],
    examples: [
      ExampleSpec("roomtone completion bash", "the script for bash"),
      ExampleSpec("roomtone completion fish", "the script for fish"),
    ])
}
