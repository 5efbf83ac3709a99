internal import Scheduling
internal import SpeakerKit

/// A command with its options and operands, checked against its spec.
struct ParsedArguments: Sendable, Equatable {
  /// An option with its value.
  struct Given: Sendable, Equatable {
    let option: OptionSpec
    let value: OptionValue
    /// Value as typed, empty for flags.
    let text: String
  }

  let command: CommandSpec
  /// Selected action; nil for a command without actions.
  var action: ActionSpec?
  /// Options in the order of the command line, each once unless it may be repeated.
  let given: [Given]
  /// Operands in their order.
  let operands: [String]

  /// Returns `true` if the option is present.
  func has(_ option: OptionSpec) -> Bool { find(option) != nil }

  /// Returns the value as typed, of any option with a value.
  func text(_ option: OptionSpec) -> String? {
    precondition(option.kind != .flag, "\(option.dashed) has no value")
    return find(option)?.text
  }

  /// Returns the values of an option that may be repeated, as typed.
  func texts(_ option: OptionSpec) -> [String] {
    precondition(option.isRepeated && command.allOptions.contains(option))
    return given.filter { $0.option == option }.map(\.text)
  }

  /// Returns the value of an option of kind `duration`.
  func duration(_ option: OptionSpec) -> Duration? {
    precondition(option.kind == .duration, "\(option.dashed) is not a duration")
    guard case .duration(let value)? = find(option)?.value else { return nil }
    return value
  }

  /// Returns the value of an option of kind `dateTime`.
  func dateTime(_ option: OptionSpec) -> LocalDateTime? {
    precondition(option.kind == .dateTime, "\(option.dashed) is not a date and time")
    guard case .dateTime(let value)? = find(option)?.value else { return nil }
    return value
  }

  /// Returns the value of an option of kind `number`.
  func number(_ option: OptionSpec) -> UInt64? {
    guard case .number(let value)? = find(option)?.value else { return nil }
    return value
  }

  /// Returns the value of an option of kind `output`.
  func output(_ option: OptionSpec) -> Output? {
    precondition(option.kind == .output, "\(option.dashed) is not an output")
    guard case .output(let value)? = find(option)?.value else { return nil }
    return value
  }

  /// Script to run: a path, or `-`; nil without one.
  var script: String? { isScriptReplaced ? nil : operands.first }

  /// Arguments for the script's `arg`.
  var scriptArguments: [String] { isScriptReplaced ? operands : Array(operands.dropFirst()) }

  private var isScriptReplaced: Bool {
    command.operands.first?.replacement.map { name in given.contains { $0.option.long == name } } ?? false
  }

  private func find(_ option: OptionSpec) -> Given? {
    precondition(command.allOptions.contains(option), "\(command.name) has no option \(option.dashed)")
    return given.first { $0.option == option }
  }
}
