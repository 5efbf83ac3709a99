/// The continuations of a command line that is being typed, from the table of commands.
///
/// A value: names of this machine come from a function that is passed, files are left to the shell or to
/// `FileProposals`.
struct Completion: Equatable {
  /// A word that continues the command line.
  struct Proposal: Equatable {
    let value: String
    /// Meaning, for shells that show one; empty without a meaning.
    var summary = ""
    /// `true` if the user continues the word: no blank follows it.
    var isBeginning = false
  }

  /// Files that continue the command line.
  struct Files: Equatable {
    /// Part of the value before the path.
    var behind = ""
    /// Extensions of the files; empty for all.
    var extensions: [String] = []
    /// `true` for folders only.
    var isFolder = false
  }

  /// Part of the word before the value: `--on=`, else empty.
  private(set) var prefix = ""
  /// Proposals for the value; all begin with it, some in another case.
  private(set) var proposals: [Proposal] = []
  private(set) var files: [Files] = []

  /// Completes a word.
  /// - Parameters:
  ///   - word: the word up to the cursor, without quotes.
  ///   - words: the words between the program's name and it.
  ///   - names: returns the names of a kind, by the configuration that the command line names.
  init(
    _ word: String, after words: [String], program: ProgramSpec = .roomtone,
    names: (NameKind, _ configuration: String?) -> [String]
  ) {
    var line = CompletedLine(program: program)
    for word in words { line.accept(word) }
    var value = word
    var sources = line.awaited?.sources
    if sources == nil, line.acceptsOptions, word.hasPrefix("-"), word != "-" || line.operandSources.isEmpty {
      guard let equals = word.firstIndex(of: "=") else {
        proposals = line.options.filter { $0.dashed.hasPrefix(word) || word == "-\($0.short ?? " ")" }
          .map { Proposal(value: $0.dashed, summary: $0.summary) }
        return
      }
      guard let option = line.allOptions.first(where: { $0.dashed == word[..<equals] }) else { return }
      sources = option.sources
      (prefix, value) = (String(word[...equals]), String(word[word.index(after: equals)...]))
    }
    if sources == nil { proposals = line.words }
    for source in sources ?? line.operandSources { add(source, value, program, line, names) }
    if sources == nil, line.acceptsOptions, word.isEmpty || word == "-", proposals.isEmpty, files.isEmpty {
      proposals = line.options.map { Proposal(value: $0.dashed, summary: $0.summary) }
    }
    let exact = proposals.filter { $0.value.hasPrefix(value) }
    let start = value.lowercased()
    proposals = exact.isEmpty ? proposals.filter { $0.value.lowercased().hasPrefix(start) } : exact
  }

  private mutating func add(
    _ source: ValueSource, _ value: String, _ program: ProgramSpec, _ line: CompletedLine,
    _ names: (NameKind, String?) -> [String]
  ) {
    switch source {
    case .words(let words): proposals += words.map { Proposal(value: $0) }
    case .beginnings(let words): proposals += words.map { Proposal(value: $0, isBeginning: true) }
    case .commands: proposals += program.commands.map { Proposal(value: $0.name, summary: $0.summary) }
    case .names(let kind):
      // A control character would end a line of the shell, or have another effect there.
      let isOdd = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
      var found = names(kind, line.configuration).filter { name in
        !name.unicodeScalars.contains(where: isOdd) && !proposals.contains { $0.value == name }
      }
      // The functions of a module are many: they are proposed once its name is typed.
      if kind == .topics, !value.contains(".") { found.removeAll { $0.contains(".") } }
      proposals += found.map { Proposal(value: $0) }
    case .files(let extensions, let behind):
      add(Files(behind: behind, extensions: extensions), value)
    case .folders(let behind): add(Files(behind: behind, isFolder: true), value)
    }
  }

  private mutating func add(_ new: Files, _ value: String) {
    if value.hasPrefix(new.behind) {
      files.append(new)
    } else {
      proposals.append(Proposal(value: new.behind, isBeginning: true))
    }
  }
}

/// The part of a command line before the completed word, read as by the parser, but without errors.
private struct CompletedLine {
  let program: ProgramSpec
  private var command: CommandSpec?
  private var isHelp = false
  /// `true` after a word that is not a command: no proposal continues the line.
  private var isUnknown = false
  private var operands: [String] = []
  private var given: [OptionSpec] = []
  private var isBehindDashes = false
  /// The option whose value is the completed word; nil without one.
  private(set) var awaited: OptionSpec?
  /// Value of `--config`; nil without one.
  private(set) var configuration: String?

  init(program: ProgramSpec) { self.program = program }

  mutating func accept(_ word: String) {
    if let option = awaited {
      accept(word, for: option)
    } else if command == nil, !isHelp {
      isHelp = ["help", "--help", "-h"].contains(word)
      command = program.command(word)
      isUnknown = !isHelp && command == nil
    } else if word == "--", !isHelp, !isBehindDashes {
      isBehindDashes = true
    } else if word.hasPrefix("-"), word != "-", acceptsOptions, !isHelp {
      readOption(word)
    } else if isHelp, command == nil {
      command = program.command(word)
    } else {
      operands.append(word)
    }
  }

  private mutating func accept(_ value: String, for option: OptionSpec) {
    awaited = nil
    if option.long == OptionSpec.config.long { configuration = value }
  }

  private mutating func readOption(_ word: String) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let letter = word.hasPrefix("--") ? nil : word.last
    guard
      let option = allOptions.first(where: { $0.dashed == parts[0] || letter != nil && $0.short == letter })
    else { return }
    given.append(option)
    if option.kind == .flag { return }
    awaited = option
    if parts.count == 2 { accept(parts[1], for: option) }
  }

  private var action: ActionSpec? {
    guard let command, let word = operands.first else { return nil }
    return command.actions.first { $0.name == word }
  }

  /// The command whose command line an action contains: `record` in `cron add '@daily' record`.
  private var innerCommand: CommandSpec? {
    guard let first = action?.innerCommand, operands.count > first + 1 else { return nil }
    return program.command(operands[first + 1]) ?? .run
  }

  var acceptsOptions: Bool { !isBehindDashes && !(isHelp && command != nil) }

  /// Options of the command line so far, in the order of the table.
  var allOptions: [OptionSpec] {
    guard let command else { return isHelp || isUnknown ? [] : program.options }
    return (action?.options ?? command.options) + [.help] + (innerCommand?.options ?? [])
  }

  /// Options that may follow: neither given nor excluded.
  var options: [OptionSpec] {
    allOptions.filter { option in
      (option.isRepeated || !given.contains(option))
        && !given.contains { option.excludes.contains($0.long) }
    }
  }

  /// Words of the table that may follow: commands or actions.
  var words: [Completion.Proposal] {
    guard let command else {
      if isUnknown { return [] }
      let help = isHelp ? [] : [Completion.Proposal(value: "help", summary: "shows help")]
      return program.commands.map { Completion.Proposal(value: $0.name, summary: $0.summary) } + help
    }
    guard operands.isEmpty else { return [] }
    return command.actions.map { Completion.Proposal(value: $0.name, summary: $0.summary) }
  }

  /// Sources of the operand that the completed word may be.
  var operandSources: [ValueSource] {
    if isHelp { return command == nil && operands.isEmpty ? [.names(.topics)] : [] }
    guard let command else { return [] }
    if let inner = innerCommand, let first = action?.innerCommand {
      // An inner line without a command begins with a script.
      let isCommand = program.command(operands[first + 1]) != nil
      return sources(inner.operands, at: operands.count - first - (isCommand ? 2 : 1))
    }
    if let action { return sources(action.operands, at: operands.count - 1) }
    return command.actions.isEmpty ? sources(command.operands, at: operands.count) : []
  }

  private func sources(_ all: [OperandSpec], at index: Int) -> [ValueSource] {
    let expected = all.filter { operand in !given.contains { $0.long == operand.replacement } }
    if index < expected.count { return expected[index].sources }
    return expected.last.map { $0.isRepeated ? $0.sources : [] } ?? []
  }
}
