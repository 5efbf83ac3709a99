internal import EventLoop
internal import JSONText
internal import LuaRuntime
internal import Roomtone

/// The prompt inside the daemon: blocks are evaluated there, and the output of the blocks and of their
/// script's listeners appears here. Confined to the loop.
final class DaemonPrompt: PromptRemote {
  private enum State {
    case idle
    case evaluating(id: Int, finish: (Result<[String], LuaError>) -> Void)
  }

  /// The number of the daemon's process.
  let process: Int
  private unowned let prompt: Prompt
  private unowned let engine: Engine
  private let script: String?
  private var client: ControlClient
  private var watch: FDWatch?
  private var state = State.idle
  /// The number of the last `live()` that a key has ended: its rows that still arrive are not shown.
  private var endedLive: Int?

  /// The prompt of a daemon for `prompt`, whose `remote` it becomes.
  /// - Parameters:
  ///   - script: the script in whose state blocks run; nil for a separate state.
  ///   - text: runs before the first block.
  /// - Throws: `daemon.unknown_script`, `daemon.not_running`, `ctl.socket`, the error of `text`.
  init(
    _ client: ControlClient, of prompt: Prompt, _ engine: Engine, script: String?, after text: ScriptText?
  ) throws {
    (self.client, self.prompt, self.engine, self.script) = (client, prompt, engine, script)
    process = client.process?.id ?? 0
    if let text {
      guard let code = String(validating: text.bytes, as: UTF8.self) else {
        throw CommandFailure(.socket, "\(text.name) is not UTF-8, and can't be handed to the daemon")
      }
      _ = try client.call("eval", parameters(code), isLasting: true) { show($0, $1) }
    } else if script != nil {
      _ = try client.call("eval", parameters("nil"), isLasting: true)
    }
    try follow()
    prompt.remote = self
  }

  /// Ends the connection.
  func close() {
    watch?.cancel()
    watch = nil
    prompt.remote = nil
  }

  private func parameters(_ code: String) -> [(name: String, value: JSON)] {
    [("code", .string(code)), ("follow", true), ("live", .bool(prompt.canDraw))]
      + (script.map { [("script", .string($0))] } ?? [])
  }

  /// Receives the output of listeners from now on.
  private func follow() throws {
    try client.start("log", [("follow", true), ("script", .string(script ?? "ctl"))])
    watch = try engine.loop.watch(client.descriptor, for: .readable) { [unowned self] _ in
      receive()
    }
  }

  // MARK: Evaluating

  func evaluate(_ code: String, finish: @escaping (Result<[String], LuaError>) -> Void) {
    do {
      state = .evaluating(id: try client.start("eval", parameters(code)), finish: finish)
    } catch { lose(error) }
  }

  func cancel() { leave(.failure(.cancelled)) }

  /// Ends the evaluation with a result.
  private func leave(_ result: Result<[String], LuaError>) {
    guard case .evaluating(_, let finish) = state else { return }
    state = .idle
    watch?.cancel()
    // The daemon cancels an evaluation whose client has disconnected.
    do {
      client = try ControlClient.required()
      try follow()
    } catch { return lose(error) }
    finish(result)
  }

  /// Ends `live()`, as a key was pressed; the code after it continues.
  private func endLive(_ number: Int) {
    endedLive = number
    do { try client.start("end_live", [("live", .number(number))]) } catch { lose(error) }
  }

  private func receive() {
    do {
      repeat {
        guard let message = try client.receive() else {
          throw CommandFailure(.socket, "the daemon has ended")
        }
        if let method = message["method"]?.text {
          show(method, message["params"] ?? .null)
        } else if case .evaluating(let id, let finish) = state, message["id"]?.int == id {
          state = .idle
          finish(Self.result(message))
        }
      } while client.hasMessage && watch != nil
    } catch { lose(error) }
  }

  private func lose(_ error: any Error) {
    watch?.cancel()
    watch = nil
    state = .idle
    prompt.loseRemote(LuaError(error))
  }

  private static func result(_ message: JSON) -> Result<[String], LuaError> {
    if let error = message["error"].flatMap(RPCError.init) {
      return .failure(LuaError(code: error.code, message: error.message, hint: error.hint))
    }
    return .success((message["result"]?["results"]?.elements ?? []).compactMap(\.text))
  }

  private func show(_ method: String, _ parameters: JSON) {
    switch method {
    case "print": engine.onPrint(parameters["text"]?.text ?? "")
    case "live":
      let rows = (parameters["rows"]?.elements ?? []).compactMap(\.text)
      guard let number = parameters["live"]?.int, number != endedLive else { return }
      prompt.showLive(rows) { [unowned self] in endLive(number) }
    case "log":
      let message = parameters["message"]?.text ?? ""
      if parameters["level"]?.text == "print" {
        engine.onPrint(message)
      } else {
        prompt.showError(LuaError(code: "script.error", message: message))
      }
    default: break
    }
  }
}
