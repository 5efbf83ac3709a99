internal import EventLoop
internal import Glibc
public import LuaModules
public import LuaRuntime

/// Reads Lua line by line and tells what it gives: the expression first, the statement second. Confined to the loop.
public final class Prompt {
  /// Where the answers and the prompts go, without a line end for a prompt.
  public var show: (String) -> Void = { _ in }
  /// Where what failed goes.
  public var showError: (LuaError) -> Void = { _ in }
  /// What asks for a line: the first line, a continued one. Nil without a terminal.
  public var prompts: (first: String, more: String)?

  private let engine: Engine
  private let script: Script
  private var pending: [String] = []
  private var partial: [UInt8] = []
  private var chunk = ""
  private var front: LuaRoutine?
  private var watch: FDWatch?
  private var atEnd = false
  private var lineNumber = 0
  private var chunkLine = 1
  /// Lines that failed.
  public private(set) var failures = 0

  /// A prompt that runs what it reads in `script`.
  public init(engine: Engine, script: Script) {
    self.engine = engine
    self.script = script
  }

  /// Reads `fd` to its end, then ends the script. Blocks the calling thread.
  /// - Parameter first: runs before the first line is read.
  public func run(reading fd: Int32, after first: LuaReference? = nil) -> RunResult {
    let run = ScriptRun(engine: engine, script: script)
    script.staysAlive { true }
    let interrupts = try? engine.loop.onSignal([SIGINT]) { [unowned self] _ in interrupt() }
    do {
      watch = try engine.loop.watch(fd, for: .readable) { [unowned self] _ in read(fd) }
    } catch {
      showError(LuaError(error))
      return RunResult(status: 1)
    }
    onEnd = { run.stop() }
    if let first {
      begin(first, name: script.name)
    } else {
      ask()
    }
    let result = run.finish()
    interrupts?.cancel()
    return result.status == 0 && failures > 0 && prompts == nil ? RunResult(status: 1) : result
  }
  private var onEnd: () -> Void = {}

  /// Ctrl-C: cancels the routine in front, or drops the line that is being typed.
  private func interrupt() {
    if let front { return front.cancel() }
    chunk = ""
    if prompts != nil { show("\n") }
    ask()
  }

  private func ask() {
    if let prompts, !atEnd { show(chunk.isEmpty ? prompts.first : prompts.more) }
  }

  private func read(_ fd: Int32) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(fd, &buffer, buffer.count)
    if count < 0 && (errno == EINTR || errno == EAGAIN) { return }
    guard count > 0 else { return endOfInput() }
    for byte in buffer[..<count] {
      if byte == UInt8(ascii: "\n") {
        pending.append(String(decoding: partial, as: UTF8.self))
        partial = []
      } else if partial.count < 1 << 20 {
        partial.append(byte)
      }
    }
    next()
  }

  private func endOfInput() {
    atEnd = true
    watch?.cancel()
    if !partial.isEmpty { pending.append(String(decoding: partial, as: UTF8.self)) }
    partial = []
    if prompts != nil { show("\n") }
    next()
  }

  /// Takes the next line when no routine is in front.
  private func next() {
    guard front == nil else { return }
    while front == nil, !pending.isEmpty, script.requestedExit == nil { take(pending.removeFirst()) }
    guard front == nil, atEnd, pending.isEmpty else { return }
    if !chunk.isEmpty {
      let rest = chunk
      chunk = ""
      start(rest, isWhole: true)
    } else {
      onEnd()
    }
  }

  private func take(_ line: String) {
    lineNumber += 1
    if chunk.isEmpty { chunkLine = lineNumber }
    let text = chunk.isEmpty ? line : chunk + "\n" + line
    chunk = ""
    guard !text.allSatisfy(\.isWhitespace) else { return ask() }
    start(text, isWhole: false)
  }

  private func start(_ text: String, isWhole: Bool) {
    switch compile(text) {
    case .success(let function):
      begin(function, name: "prompt")
    case .failure(let error):
      if !isWhole && error.message.hasSuffix("<eof>") {
        chunk = text
        return ask()
      }
      failures += 1
      showError(error)
      ask()
      if isWhole { next() }
    }
  }

  private func begin(_ function: LuaReference, name: String) {
    front = script.state.start(function, name: name)
    front?.whenEnded { [unowned self] in ended($0) }
  }

  private func compile(_ text: String) -> Result<LuaReference, LuaError> {
    let name = prompts == nil ? "=stdin" : "=(prompt)"
    // Without a terminal, errors count lines of the input.
    let lines = prompts == nil ? String(repeating: "\n", count: chunkLine - 1) : ""
    if let expression = try? script.state.load(Array("\(lines)return \(text)".utf8), chunkName: name) {
      return .success(expression)
    }
    do {
      return .success(try script.state.load(Array((lines + text).utf8), chunkName: name))
    } catch {
      return .failure(error)
    }
  }

  private func ended(_ outcome: LuaRoutine.Outcome) {
    front = nil
    switch outcome {
    case .returned(let values):
      if !values.isEmpty { show(values.map { script.state.inspect($0) }.joined(separator: "\t") + "\n") }
    case .failed(let error) where error.code == "script.exit": return onEnd()
    case .failed(let error):
      failures += 1
      showError(error)
    case .cancelled:
      failures += 1
      showError(.cancelled)
    }
    ask()
    next()
  }
}
