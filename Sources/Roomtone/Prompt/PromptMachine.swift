/// The state of a prompt: a machine that turns typed input and the ends of routines into actions.
struct PromptMachine {
  /// The steps for the prompt to perform.
  enum Action: Equatable {
    /// Asks for the next block of lines.
    case read
    /// Compiles and starts a block in the foreground; the prompt waits for its end.
    case evaluate(PromptBlock)
    /// Starts the text as a task, and asks for the next block.
    case startBeside(PromptBlock)
    /// Cancels the foreground routine.
    case cancelFront
    /// Drops the typed line.
    case dropLine
    /// Ends the script.
    case end
    case none
  }

  private enum Phase: Equatable {
    /// A block is awaited.
    case reading
    /// A routine runs in the foreground: the script before the first line, or a block.
    case running
    /// The script ends.
    case ended
  }

  private var phase = Phase.running

  /// Returns the action for a block that was typed.
  /// - Parameter isWhole: returns `true` if a text is a whole statement or expression.
  mutating func receive(_ block: PromptBlock, isWhole: (String) -> Bool) -> Action {
    guard phase == .reading else { return .none }
    guard block.text.contains(where: { !$0.isWhitespace }) else { return .read }
    if let beside = Self.beside(block.text), isWhole(beside) {
      return .startBeside(PromptBlock(text: beside, line: block.line))
    }
    phase = .running
    return .evaluate(block)
  }

  /// Returns the action for the end of the foreground routine, or for a block that was refused.
  mutating func frontEnded(leaves: Bool = false) -> Action {
    guard phase == .running else { return .none }
    phase = leaves ? .ended : .reading
    return leaves ? .end : .read
  }

  /// Returns the action for Ctrl-C.
  mutating func interrupt() -> Action {
    switch phase {
    case .reading: .dropLine
    case .running: .cancelFront
    case .ended: .none
    }
  }

  /// Returns the action for the end of the input.
  mutating func endInput() -> Action {
    guard phase == .reading else { return .none }
    phase = .ended
    return .end
  }

  /// Returns a text without the `&` at its end; nil for one without.
  static func beside(_ text: String) -> String? {
    guard let end = text.lastIndex(where: { !$0.isWhitespace }), text[end] == "&" else { return nil }
    let rest = text[..<end].trimmed
    return rest.isEmpty ? nil : rest
  }
}

/// Lines that were typed.
public struct PromptBlock: Equatable, Sendable {
  /// The lines, separated by `\n`.
  public var text: String
  /// The number of the first line in the input, from 1.
  public var line: Int

  /// A block that begins at a line of the input.
  public init(text: String, line: Int = 1) { (self.text, self.line) = (text, line) }
}

/// A source of a prompt's blocks; one that can draw in place is a `LiveScreen` too. Confined to the loop.
public protocol PromptInput: AnyObject {
  /// Asks for the next block, which goes to `Prompt.receive`; `Prompt.endInput` at the end.
  func read()
  /// Drops the typed line, and asks anew.
  func interrupt()
  /// Called when Ctrl-C cancels the foreground routine, which a terminal has shown in its own way.
  func frontIsCancelled()
  /// Ends.
  func close()
}
