/// Help for people, at most 80 columns wide.
struct HelpText {
  /// Columns of a line.
  static let width = 80
  /// Maximum start of the second column.
  private static let longestIndent = 28

  private var lines: [String] = []

  /// Text, with an end to its last line.
  var text: String { lines.map { $0 + "\n" }.joined() }

  /// Creates the overview shown by `roomtone --help`.
  init(_ program: ProgramSpec) {
    add(paragraph: program.summary)
    lines += ["", "Usage: \(program.name) COMMAND [OPTIONS] [OPERANDS]"]
    let help = ("help", "shows this help, or that of a command, a module or a function")
    add("Commands", table: program.commands.map { ($0.name, $0.summary) } + [help])
    add("Options", table: program.options.map { ($0.synopsis, $0.summary) })
    add(program.examples)
    add(
      notes: program.notes + [
        """
        '\(program.name) COMMAND --help' describes a command, '\(program.name) help speaker.play' a function of scripts, \
        '\(program.name) help volume' lists the entries about a word.
        """
      ])
  }

  /// Creates the text shown by `roomtone COMMAND --help`.
  init(_ command: CommandSpec, of program: ProgramSpec) {
    let name = "\(program.name) \(command.name)"
    for (index, form) in command.forms.enumerated() {
      lines.append((index == 0 ? "Usage: " : "       ") + "\(name) [OPTIONS]\(form)")
    }
    lines.append("")
    add(paragraph: command.summary.prefix(1).uppercased() + command.summary.dropFirst() + ".")
    add("Actions", table: command.actions.map { ($0.name, $0.summary) })
    add("Operands", table: command.allOperands.map { ($0.name, $0.summary) })
    add("Options", table: command.allOptions.map { ($0.synopsis, $0.summary) })
    add(notes: command.notes + command.actions.flatMap(\.notes))
    add(command.examples)
  }

  /// Creates the text shown by `roomtone help COMMAND ACTION`.
  init(_ action: ActionSpec, of command: CommandSpec, _ program: ProgramSpec) {
    let name = "\(program.name) \(command.name) \(action.name)"
    lines.append("Usage: \(name) [OPTIONS]" + action.operands.map(\.synopsis).joined())
    lines.append("")
    add(paragraph: action.summary.prefix(1).uppercased() + action.summary.dropFirst() + ".")
    add("Operands", table: action.operands.map { ($0.name, $0.summary) })
    add("Options", table: (action.options + [.help]).map { ($0.synopsis, $0.summary) })
    add(notes: action.notes)
    add(command.examples.filter { $0.line.hasPrefix(name + " ") })
  }

  private mutating func add(paragraph: String) { lines += wrapped(paragraph, to: Self.width) }

  private mutating func add(notes: [String]) {
    for note in notes {
      lines.append("")
      add(paragraph: note)
    }
  }

  /// Adds a table of two columns; a name that is longer than the first column has a line of its own.
  private mutating func add(_ title: String, table: [(name: String, summary: String)]) {
    if table.isEmpty { return }
    lines += ["", "\(title):"]
    let indent = min(Self.longestIndent, (table.map(\.name.count).max() ?? 0) + 4)
    for (name, summary) in table {
      var column = wrapped(summary, to: Self.width - indent)
      let head = "  " + name
      if head.count + 2 > indent {
        lines.append(head)
      } else {
        lines.append(head + String(repeating: " ", count: indent - head.count) + column.removeFirst())
      }
      lines += column.map { String(repeating: " ", count: indent) + $0 }
    }
  }

  /// Adds examples: each line as typed, broken with a backslash where it is too long, above its purpose.
  private mutating func add(_ examples: [ExampleSpec]) {
    if examples.isEmpty { return }
    lines += ["", "Examples:"]
    for example in examples {
      let parts = wrapped(example.line, to: Self.width - 8)
      for (index, part) in parts.enumerated() {
        lines.append((index == 0 ? "  " : "    ") + part + (index < parts.count - 1 ? " \\" : ""))
      }
      lines += wrapped(example.purpose, to: Self.width - 6).map { "      " + $0 }
    }
  }
}

extension CommandSpec {
  /// Operands of the command and its actions, without repetitions.
  var allOperands: [OperandSpec] {
    actions.flatMap(\.operands).reduce(into: operands) { all, operand in
      if !all.contains(where: { $0.name == operand.name }) { all.append(operand) }
    }
  }

  /// Forms of the operands after the options, each with a leading space.
  var forms: [String] {
    if !actions.isEmpty {
      return actions.enumerated().map { index, action in
        (index == 0 ? " [\(action.name)]" : " \(action.name)") + action.operands.map(\.synopsis).joined()
      }
    }
    var forms = [operands]
    for operand in operands where operand.replacement != nil {
      forms.append(operands.filter { $0 != operand })
    }
    return zip(forms, forms.indices).map { form, index in
      let replaced = index == 0 ? nil : operands.first { !form.contains($0) }?.replacement
      let option = replaced.flatMap { name in options.first { $0.long == name } }
      let written = option.map { option in
        " " + (option.short.map { "-\($0)" } ?? option.dashed) + (option.valueName.map { " \($0)" } ?? "")
      }
      return (written ?? "") + form.map(\.synopsis).joined()
    }
  }
}

extension OperandSpec {
  fileprivate var synopsis: String {
    let name = name + (isRepeated ? "..." : "")
    return isOptional ? " [\(name)]" : " \(name)"
  }
}

/// Returns `text` in lines of at most `width` columns; a longer word has a line of its own.
private func wrapped(_ text: String, to width: Int) -> [String] {
  var lines: [String] = []
  var line = ""
  for word in text.split(separator: " ") {
    if !line.isEmpty && line.count + 1 + word.count > width {
      lines.append(line)
      line = ""
    }
    line += (line.isEmpty ? "" : " ") + word
  }
  return lines + [line]
}
