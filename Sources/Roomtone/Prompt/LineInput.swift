internal import EventLoop
internal import Glibc
internal import LuaModules
internal import LuaRuntime

/// Blocks from standard input without an editor: a pipe, a file, or a terminal without cursor movement. Lines are added until
/// they are a whole statement. Confined to the loop.
public final class LineInput: PromptInput {
  private unowned let prompt: Prompt
  private let reader: InputReader
  /// The prompts for a first line and for a continued one; nil without a terminal.
  private let prompts: (first: String, more: String)?
  private let show: (String) -> Void
  /// Lines of a statement that is not finished, and the number of the first.
  private var chunk = PromptBlock(text: "")
  private var cancelRead: () -> Void = {}

  /// Input for `prompt`, which has none yet.
  /// - Parameters:
  ///   - prompts: nil without a terminal.
  ///   - show: receives the prompts.
  public init(
    of prompt: Prompt, prompts: (first: String, more: String)?, show: @escaping (String) -> Void
  ) {
    (self.prompt, self.prompts, self.show) = (prompt, prompts, show)
    reader = prompt.standardInput
  }

  /// Asks for the next lines, up to a whole statement.
  public func read() {
    if let prompts { show(chunk.text.isEmpty ? prompts.first : prompts.more) }
    if chunk.text.isEmpty { chunk.line = reader.lineEnds + 1 }
    cancelRead = reader.read(.line(keepsEnd: true)) { [unowned self] line in
      guard let line else { return end() }
      let hasEnd = line.last == UInt8(ascii: "\n")
      if line.count > InputReader.longest { return refuse(hasEnd: hasEnd) }
      receive(String(decoding: hasEnd ? line.dropLast() : line[...], as: UTF8.self))
    }
  }

  /// Drops the lines of a statement that is not finished, and asks anew.
  public func interrupt() {
    cancelRead()
    chunk.text = ""
    if prompts != nil { show("\n") }
    read()
  }

  /// Does nothing: the terminal's own line stays as it is.
  public func frontIsCancelled() {}

  /// Ends.
  public func close() { cancelRead() }

  private func receive(_ line: String) {
    chunk.text += chunk.text.isEmpty ? line : "\n" + line
    guard !chunk.text.allSatisfy(\.isWhitespace), prompt.isUnfinished(chunk.text) else { return submit() }
    read()
  }

  private func submit() {
    let block = chunk
    chunk.text = ""
    prompt.receive(block)
  }

  private func end() {
    if prompts != nil { show("\n") }
    // The last block is tried as it is; its end asks again, and finds the end of the input.
    if chunk.text.allSatisfy(\.isWhitespace) { prompt.endInput() } else { submit() }
  }

  /// Refuses a line that is too long: it comes in parts, none of which means anything alone.
  private func refuse(hasEnd: Bool) {
    guard hasEnd else {
      cancelRead = reader.read(.line(keepsEnd: true)) { [unowned self] part in
        refuse(hasEnd: part.map { $0.last == UInt8(ascii: "\n") } ?? true)
      }
      return
    }
    let line = chunk.line
    chunk.text = ""
    prompt.refuse(
      LuaError(
        code: "script.syntax",
        message: "stdin:\(line): the line is longer than \(InputReader.longest >> 20) MB",
        hint: "run long texts as a file, with roomtone run"))
    read()
  }
}
