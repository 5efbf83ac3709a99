internal import EventLoop

/// The request of a command line.
enum Request: Sendable, Equatable {
  /// Performs a command.
  case perform(ParsedArguments)
  /// Shows the help text of a command, or of the program.
  case help(CommandSpec?)
  /// Shows the help of a name: of a command, or of the Lua API.
  case topic(String, CommandSpec?)
  /// Shows the help text of an action of a command.
  case actionHelp(CommandSpec, ActionSpec)
  /// Shows the version.
  case version
  /// Empty command line.
  case nothing
}

/// Parses command lines by a table of commands.
///
/// Follows GNU conventions: `--opt=value`, `--opt value`, `-o value`, `-ovalue`, bundled flags, `--` ends the
/// options, `-` is an operand. An option with a value can occur once, unless its spec says otherwise;
/// abbreviations are unknown options.
struct ArgumentParser: Sendable {
  let program: ProgramSpec

  init(_ program: ProgramSpec = .roomtone) { self.program = program }

  /// Parses the words after the program's name.
  func parse(_ arguments: [String]) throws(UsageError) -> Request {
    var words = arguments[...]
    guard let first = words.popFirst() else { return .nothing }
    switch first {
    case "--version":
      try expectEnd(of: words, after: first)
      return .version
    case "--help", "-h", "help": return try help(words, after: first)
    case _ where first.hasPrefix("-") && first != "-": throw misplaced(first)
    default: break
    }
    guard let command = program.command(first) else { throw unknownCommand(first) }
    var reading = CommandReading(command: command, program: program, rest: words)
    return try reading.read()
  }

  private func help(_ words: ArraySlice<String>, after first: String) throws(UsageError) -> Request {
    var words = words
    guard let topic = words.popFirst() else { return .help(nil) }
    let text = ([topic] + words).joined(separator: " ")
    guard let command = program.command(topic) else {
      guard ["help", "--help", "-h"].contains(topic) else { return .topic(text, nil) }
      try expectEnd(of: words, after: "\(first) \(topic)")
      return .help(nil)
    }
    guard !command.actions.isEmpty, let word = words.popFirst() else {
      guard let next = words.first, !next.hasPrefix("-"), program.command(next) == nil else {
        try expectEnd(of: words, after: "\(first) \(topic)")
        return .topic(topic, command)
      }
      // Several words are searched for together.
      return .topic(text, nil)
    }
    let action = try command.action(word, help: "\(program.name) \(command.name)")
    try expectEnd(of: words, after: "\(first) \(topic) \(word)")
    return .actionHelp(command, action)
  }

  private func expectEnd(of words: ArraySlice<String>, after before: String) throws(UsageError) {
    guard let word = words.first else { return }
    throw UsageError(
      .operand, "nothing is expected after '\(before)', but there is \(quoted(word))", help: program.name)
  }

  /// Returns the command that a word was probably meant to be; nil if no command is similar.
  func meant(by word: String) -> String? { probable(word, among: program.commands.map(\.name) + ["help"]) }

  func unknownCommand(_ word: String) -> UsageError {
    var message = "no command is called \(quoted(word))"
    if let meant = meant(by: word) {
      message += "; did you mean '\(meant)'?"
    } else if word.hasSuffix(".lua") || word.contains("/") {
      message += "; a script is run with '\(program.name) run SCRIPT'"
    }
    return UsageError(.command, message, help: program.name)
  }

  /// Returns the error for an option in the position of the command.
  private func misplaced(_ word: String) -> UsageError {
    let name = word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? word
    let owners = program.commands.filter { $0.options.contains { $0.isWritten(name) } }.map(\.name)
    if !owners.isEmpty {
      let names = owners.joined(separator: ", ")
      return UsageError(
        .option, "\(quoted(name)) goes after the command that it belongs to: \(names)", help: program.name)
    }
    var message = "there is no option \(quoted(name)) before the command"
    if let meant = program.options.meant(by: name) { message += "; did you mean '\(meant)'?" }
    return UsageError(.option, message, help: program.name)
  }
}

/// Parser state for the words of one command.
private struct CommandReading {
  let command: CommandSpec
  let program: ProgramSpec
  var rest: ArraySlice<String>
  var given: [ParsedArguments.Given] = []
  var operands: [String] = []

  init(command: CommandSpec, program: ProgramSpec, rest: ArraySlice<String>) {
    (self.command, self.program, self.rest) = (command, program, rest)
  }

  mutating func read() throws(UsageError) -> Request {
    while let word = rest.popFirst() {
      if word == "--" {
        // `--` within an inner command line belongs to that line.
        if let first = namedAction?.innerCommand, operands.count > first { operands.append(word) }
        operands += rest
        break
      }
      guard word.hasPrefix("-"), word != "-", !isInside || isOwn(word), !isSignedOperand(word) else {
        operands.append(word)
        continue
      }
      try word.hasPrefix("--") ? readLong(word) : readShort(word)
      if given.last?.option == .help { return help }
    }
    let action = try takeAction()
    try checkConflicts()
    try checkOperands(action?.operands ?? command.operands, of: name(action))
    return .perform(
      ParsedArguments(command: command, action: action, given: given, operands: operands))
  }

  private var help: Request {
    namedAction.map { .actionHelp(command, $0) } ?? .help(command)
  }

  private var namedAction: ActionSpec? {
    operands.first.flatMap { word in command.actions.first { $0.name == word } }
  }

  /// `true` if the next words belong to an inner command line, which is an operand of this one.
  private var isInside: Bool {
    // The first operand is the action's name.
    namedAction?.innerCommand.map { operands.count > $0 + 1 } ?? false
  }

  /// `true` if a word is a negative number in the place of an operand that may be one.
  private func isSignedOperand(_ word: String) -> Bool {
    let action = namedAction
    let place = action == nil ? operands.count : operands.count - 1
    let all = action?.operands ?? command.operands
    guard all.indices.contains(place), all[place].isSigned else { return false }
    return word.utf8.count > 1 && word.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
  }

  private func isOwn(_ word: String) -> Bool {
    let name = word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? word
    return ((namedAction?.options ?? []) + [.help]).contains { $0.isWritten(name) }
  }

  /// Returns the name of a command's action: `cron add`.
  private func name(_ action: ActionSpec?) -> String {
    action.map { "\(command.name) \($0.name)" } ?? command.name
  }

  /// Consumes the word that names the command's action.
  private mutating func takeAction() throws(UsageError) -> ActionSpec? {
    guard let first = command.actions.first else { return nil }
    var action = first
    if !operands.isEmpty {
      let word = operands.removeFirst()
      action = try command.action(word, help: "\(program.name) \(command.name)")
    }
    if let stray = given.first(where: { !action.options.contains($0.option) }) {
      let owners = command.actions.filter { $0.options.contains(stray.option) }.map { name($0) }
      throw error(
        .option,
        "\(name(action)) has no option '\(stray.option.dashed)'; "
          + "it is an option of \(owners.joined(separator: ", "))")
    }
    return action
  }

  private mutating func readLong(_ word: String) throws(UsageError) {
    let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = command.allOptions.first(where: { $0.long == name }) else {
      throw unknownOption("--\(name)")
    }
    try accept(option, written: option.dashed, attached: parts.count == 2 ? String(parts[1]) : nil)
  }

  /// Parses short options: `-v`, `-ve CODE`, `-veCODE`.
  private mutating func readShort(_ word: String) throws(UsageError) {
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      guard let option = command.allOptions.first(where: { $0.short == letter }) else {
        let isLong = command.allOptions.contains { $0.isWritten("-" + word) }
        throw unknownOption(isLong ? word : "-\(letter)")
      }
      let takesRest = option.kind != .flag && !letters.isEmpty
      try accept(option, written: "-\(letter)", attached: takesRest ? String(letters) : nil)
      if takesRest || option == .help { return }
    }
  }

  /// Accepts an option, with the next word as its value when no value is attached.
  private mutating func accept(_ option: OptionSpec, written: String, attached: String?) throws(UsageError) {
    if option.kind == .flag {
      if attached != nil { throw error(.value, "\(written) takes no value") }
      if !given.contains(where: { $0.option == option }) {
        given.append(.init(option: option, value: .flag, text: ""))
      }
      return
    }
    if !option.isRepeated, given.contains(where: { $0.option == option }) {
      throw error(.option, "\(option.dashed) is given twice")
    }
    guard let text = attached ?? nextValue() else {
      var message = "\(written) needs a value: \(option.valueName ?? "")"
      if let next = rest.first { message += ", but the option \(quoted(next)) follows" }
      throw error(.value, message)
    }
    switch option.read(text) {
    case .success(let value): given.append(.init(option: option, value: value, text: text))
    case .failure(let flaw): throw error(.value, "\(written): \(flaw.reason)")
    }
  }

  /// Consumes the next word, unless it is an option of this command: then a value was forgotten.
  private mutating func nextValue() -> String? {
    guard let next = rest.first, next != "--" else { return nil }
    let name = next.split(separator: "=", maxSplits: 1).first.map(String.init) ?? next
    if command.allOptions.contains(where: { $0.isWritten(name) }) { return nil }
    return rest.popFirst()
  }

  private func checkConflicts() throws(UsageError) {
    for entry in given {
      guard let other = given.first(where: { entry.option.excludes.contains($0.option.long) }) else {
        continue
      }
      throw error(.option, "\(entry.option.dashed) and \(other.option.dashed) do not go together")
    }
  }

  private func checkOperands(_ all: [OperandSpec], of name: String) throws(UsageError) {
    let expected = all.filter { operand in
      !given.contains { $0.option.long == operand.replacement }
    }
    if let missing = expected.dropFirst(operands.count).first(where: { !$0.isOptional }) {
      throw error(.operand, "\(name) needs \(article(missing.name)) \(missing.name): \(missing.summary)")
    }
    if let empty = zip(expected, operands).first(where: { !$0.0.isRepeated && $0.1.isEmpty }) {
      throw error(.operand, "\(empty.0.name) is empty")
    }
    if expected.last?.isRepeated != true, operands.count > expected.count {
      let count =
        ["no operand", "one operand"].dropFirst(expected.count).first ?? "\(expected.count) operands"
      throw error(
        .operand, "unexpected argument \(quoted(operands[expected.count])); \(name) takes \(count)")
    }
  }

  private func unknownOption(_ written: String) -> UsageError {
    var message = "\(command.name) has no option \(quoted(written))"
    let owners = program.commands.filter { $0.options.contains { $0.isWritten(written) } }.map(\.name)
    if program.options.contains(where: { $0.isWritten(written) }) {
      message += "; without a command there is one"
    } else if !owners.isEmpty {
      message += "; it is an option of \(owners.joined(separator: ", "))"
    } else if let meant = command.allOptions.meant(by: written) {
      message += "; did you mean '\(meant)'?"
    } else if command.operands.contains(.scriptArguments), !operands.isEmpty || isScriptReplaced {
      message += "; options of the script go after '--'"
    }
    return error(.option, message)
  }

  /// `true` if an option replaces the script.
  private var isScriptReplaced: Bool {
    given.contains { entry in command.operands.contains { $0.replacement == entry.option.long } }
  }

  private func error(_ kind: UsageError.Kind, _ message: String) -> UsageError {
    UsageError(kind, message, help: "\(program.name) \(command.name)")
  }
}

extension CommandSpec {
  /// Returns the action of that name.
  fileprivate func action(_ word: String, help: String) throws(UsageError) -> ActionSpec {
    if let action = actions.first(where: { $0.name == word }) { return action }
    let names = actions.map(\.name)
    let hint =
      probable(word, among: names).map { "did you mean '\($0)'?" }
      ?? "known: \(names.joined(separator: ", "))"
    throw UsageError(.operand, "\(name): unknown action \(quoted(word)); \(hint)", help: help)
  }
}

extension OptionSpec {
  /// Returns `true` if `word` is this option, with its dashes: `--for`, `-e`.
  fileprivate func isWritten(_ word: String) -> Bool {
    word == dashed || short.map { word == "-\($0)" } ?? false
  }
}

extension [OptionSpec] {
  /// Returns the option that was probably meant: a long one with letters wrong or with one dash missing.
  fileprivate func meant(by written: String) -> String? {
    let name = String(written.drop { $0 == "-" })
    guard name.utf8.count > 1 else { return nil }
    return probable(name, among: map(\.long)).map { "--\($0)" }
  }
}

/// Returns the article of a word in capitals: `a SCRIPT`, `an EXPR`.
private func article(_ word: String) -> String { "AEIO".contains(word.prefix(1)) ? "an" : "a" }
