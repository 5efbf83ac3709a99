internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import LuaModules
internal import LuaRuntime

/// A script that a client hands to the daemon and follows: it runs in the shared house until it has nothing
/// left to do, or until the client disconnects. Its output goes to the client. Confined to the loop.
final class AttachedScript {
  /// Bytes of output that wait for a client before lines are left out.
  private static let mostWaiting = 16 << 20
  /// Bytes in the connection's backlog above which output waits here.
  private static let fullBacklog = 256 << 10
  /// Turns of the loop without work after which the script counts as done: an event on its way may start a routine.
  private static let idleTurns = 4

  private enum Phase {
    case running(idleTurns: Int)
    case ending
    /// All is ended; the answer follows the output that waits.
    case ended
    case answered
  }

  /// The name for people.
  let name: String
  /// The script.
  let script: Script
  private let engine: Engine
  private let request: ControlRequest
  private let onEnd: (AttachedScript) -> Void
  private var phase = Phase.running(idleTurns: 0)
  private var timer: LoopTimer?
  private var output: [(method: String, parameters: JSON, size: Int)] = []
  private var waiting = 0
  private var leftOut = 0
  private var isFlushing = false

  /// Compiles the text of a request for `run`.
  /// - Parameter onEnd: called once, when all that the script started has ended.
  /// - Throws: `RPCError` for wrong parameters, `LuaError` of the syntax.
  init(_ request: ControlRequest, engine: Engine, onEnd: @escaping (AttachedScript) -> Void) throws {
    let parameters = try ControlParameters(
      request, "name", "code", "is_file", "folder", "arguments", "seconds")
    let path = try parameters.requiredText("name", atMost: ControlParameters.longestAddress)
    (self.engine, self.request, self.onEnd) = (engine, request, onEnd)
    name = "run " + (path.split(separator: "/").last.map(String.init) ?? path)
    let isFile = try parameters.flag("is_file")
    let arguments = try parameters.texts("arguments", atMost: ControlSession.longestRequest)
    script = try engine.makeScript(
      path, isFile: isFile,
      workingFolder: try parameters.text("folder", atMost: ControlParameters.longestAddress))
    script.endsPlayback = true
    script.setArguments(arguments)
    let seconds = try parameters.seconds("seconds")
    let main: LuaReference
    do {
      let code = Array(try parameters.requiredText("code", atMost: ControlSession.longestRequest).utf8)
      main = try script.state.load(code, chunkName: isFile ? "@\(path)" : path == "-" ? "=stdin" : "=\(path)")
    } catch {
      let script = script
      engine.loop.start { await script.end() }
      throw error
    }
    connect()
    request.onCancel = { [weak self] in
      self?.stop()
      self?.flush()
    }
    request.onDrained = { [weak self] in self?.flush() }
    timer = seconds.map { time in engine.loop.after(time, keepsAlive: false) { [weak self] in self?.stop() } }
    script.call(main, arguments.map { .string($0) }, name: path, onFailure: { [weak self] in self?.stop() })
  }

  private func connect() {
    script.state.onPrint = { [weak self] in self?.send("print", text: "text", $0) }
    script.state.onWarning = { [weak self] in self?.log(.warn, $0, []) }
    script.onLog = { [weak self] in self?.log($0, $1, $2) }
    script.state.reportHolds { [weak self] in self?.log(.warn, $0, []) }
    script.onFailure = { [weak self] error in
      self?.send("failure", text: "report", error.report)
      if error.code == "script.flooded" { self?.stop() }
    }
    script.onExit = { [weak self] _ in self?.stop() }
  }

  /// Checks whether the script has anything left to do; called in every turn of the loop.
  func turn() {
    guard case .running(let turns) = phase else { return }
    guard script.requestedExit != nil || script.isFlooded || !script.isAlive else {
      if turns > 0 { phase = .running(idleTurns: 0) }
      return
    }
    guard turns < Self.idleTurns else { return stop() }
    phase = .running(idleTurns: turns + 1)
    engine.loop.next {}
  }

  /// Ends the script. A second call does nothing.
  func stop() {
    guard case .running = phase else { return }
    phase = .ending
    timer?.cancel()
    // In a turn of its own: the script may be in the middle of the call that ends it.
    engine.loop.next { [self] in
      engine.loop.start { [self] in
        await script.end()
        phase = .ended
        flush()
      }
    }
  }

  // MARK: Output

  private func log(_ level: LogLevel, _ message: String, _ fields: [(String, String)]) {
    send("log", Self.entry(level, message, fields), size: message.utf8.count)
  }

  private static func entry(_ level: LogLevel, _ message: String, _ fields: [(String, String)]) -> JSON {
    .object([
      ("level", .string(level.rawValue)), ("message", .string(message)),
      ("fields", .object(fields.map { ($0.0, .string($0.1)) })),
    ])
  }

  private func send(_ method: String, text name: String, _ text: String) {
    send(method, .object([(name, .string(text))]), size: text.utf8.count)
  }

  private func send(_ method: String, _ parameters: JSON, size: Int) {
    guard waiting < Self.mostWaiting else {
      leftOut += 1
      return
    }
    waiting += size
    output.append((method, parameters, size))
    flush()
  }

  /// Sends the waiting output, as far as the client reads it; at the end the answer too.
  private func flush() {
    // When the client reads at once, this function is called again while it runs.
    guard !isFlushing else { return }
    isFlushing = true
    defer { isFlushing = false }
    var sent = 0
    while sent < output.count, request.backlog() < Self.fullBacklog {
      let (method, parameters, size) = output[sent]
      waiting -= size
      sent += 1
      if !request.notify(method, parameters) {
        (sent, waiting) = (output.count, 0)
        break
      }
    }
    output.removeFirst(min(sent, output.count))
    guard output.isEmpty else { return }
    if leftOut > 0 {
      let text = "\(leftOut) lines were left out: the output was not read in time"
      leftOut = 0
      _ = request.notify("log", Self.entry(.warn, text, []))
    }
    guard case .ended = phase else { return }
    phase = .answered
    let status = script.requestedExit.flatMap { $0 == 0 ? nil : Int($0) } ?? (script.failures > 0 ? 1 : 0)
    request.answer(.success(.object([("status", .number(status))])))
    onEnd(self)
  }
}
