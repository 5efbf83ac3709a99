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
  /// Lines that have come together with the block before them, and are not part of it.
  private var ahead: [String] = []
  private var cancelRead: () -> Void = {}

  /// Input for `prompt`, which has no input yet.
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
    if !ahead.isEmpty {
      let line = ahead.removeFirst()
      return prompt.engine.loop.next { [weak self] in self?.receive(line) }
    }
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
    ahead = []
    if prompts != nil { show("\n") }
    read()
  }

  /// Does nothing: the terminal's own line stays as it is.
  public func frontIsCancelled() {}

  /// Ends.
  public func close() { cancelRead() }

  private func receive(_ line: String) {
    chunk.text += chunk.text.isEmpty ? line : "\n" + line
    guard !chunk.text.allSatisfy(\.isWhitespace), prompt.isUnfinished(chunk.text) else {
      guard prompts != nil, prompt.declaresLocals(chunk.text) else { return submit() }
      let rest = ahead
      ahead = []
      return gather(rest)
    }
    read()
  }

  /// Submits the block, with the lines that have come together with it, as a program that is pasted, if they belong to it:
  /// its local variables end with it.
  private func gather(_ rest: [String]) {
    guard !reader.hasLine else {
      cancelRead = reader.read(.line(keepsEnd: false)) { [unowned self] line in
        guard let line else { return finish(rest) }
        gather(rest + [String(decoding: line, as: UTF8.self)])
      }
      return
    }
    finish(rest)
  }

  private func finish(_ rest: [String]) {
    let lines = rest.joined(separator: "\n")
    let whole = chunk.text + "\n" + lines
    if !rest.isEmpty, prompt.joins(chunk.text, lines) {
      chunk.text = whole
    } else if !rest.isEmpty, prompt.isUnfinished(whole) {
      chunk.text = whole
      return read()
    } else {
      ahead = rest
    }
    submit()
  }

  private func submit() {
    let block = chunk
    chunk.text = ""
    prompt.receive(block)
  }

  private func end() {
    if prompts != nil { show("\n") }
    // The last block is evaluated as it is; the read after it finds the end of the input.
    if chunk.text.allSatisfy(\.isWhitespace) { prompt.endInput() } else { submit() }
  }

  /// Refuses a line that is too long: it comes in parts, which mean nothing alone.
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
