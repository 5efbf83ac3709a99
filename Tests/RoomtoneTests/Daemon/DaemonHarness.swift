import EventLoop
import Glibc
import Home
import JSONText
import LuaRuntime
import TestSupport

@testable import Roomtone

/// A daemon in this process, with a folder of scripts of its own, in virtual time unless it watches files.
final class DaemonHarness {
  let folder: TemporaryFolder
  let daemon: Daemon
  private let base: EngineHarness
  private lazy var methods = ControlMethods(daemon: daemon)

  /// - Parameters:
  ///   - configuration: the text of the configuration; nil for the demonstration house.
  ///   - stations: the text of the stations file.
  ///   - state: the folder of the state; nil for none.
  ///   - scripts: the texts by names of files.
  init(
    wall: Bool = false, socket: Bool = false, configuration: String? = nil, stations: String? = nil,
    state: String? = nil, _ scripts: [(String, String)]
  ) throws {
    var base = try EngineHarness(wall: wall)
    if let configuration { base.configuration = configuration }
    base.stations = stations
    base.stateFolder = state
    base.store = base.folder.file("store.db")
    base.messageRole = .house
    self.base = base
    folder = try TemporaryFolder()
    for (name, text) in scripts { _ = try folder.write(Array(text.utf8), to: name) }
    daemon = Daemon(
      engine: try base.engine(), version: "test",
      options: DaemonOptions(folder: folder.path, socket: socket ? folder.file("run/control.sock") : nil))
  }

  deinit {
    daemon.stop()
    run { [daemon] in daemon.turn() }
    daemon.engine.closeServices()
    daemon.engine.loop.close()
  }

  var loop: EventLoop { daemon.engine.loop }

  /// Begins, and lets the scripts run until nothing is ready.
  func begin() throws {
    try daemon.begin()
    pass(.milliseconds(10))
  }

  /// Runs the loop until `isDone`, or until nothing is left; at most a minute of its time.
  @discardableResult
  func run(until isDone: @escaping () -> Bool) -> Bool {
    var isOver = false
    let timer = loop.after(.seconds(60)) { isOver = true }
    _ = loop.run(until: { isOver || isDone() })
    timer.cancel()
    return isDone()
  }

  /// Lets time pass.
  func pass(_ time: Duration) {
    var isOver = false
    loop.after(time) { isOver = true }
    _ = loop.run(until: { isOver })
  }

  func remove(_ name: String) throws {
    guard unlink(folder.file(name)) == 0 else { throw TestFailure("unlink") }
  }

  func write(_ text: String, to name: String) throws { _ = try folder.write(Array(text.utf8), to: name) }

  /// The lines that scripts printed: `script: text`.
  var printed: [String] {
    daemon.log.kept.filter { $0.level == .print }.map { "\($0.script ?? ""): \($0.message)" }
  }

  var states: [String] { daemon.scripts.map { "\($0.name) \($0.machine.name)" } }

  /// Performs a method of the control socket without one.
  func call(
    _ method: String, _ parameters: [(name: String, value: JSON)] = [],
    onNotification: @escaping (_ method: String, _ parameters: JSON) -> Void = { _, _ in }
  ) throws -> JSON {
    var result: Result<JSON, RPCError>?
    begin(method, parameters, onNotification) { result = $0 }
    run { result != nil }
    return try result?.get() ?? .null
  }

  /// Performs a method that answers at once, while the loop runs.
  func start(_ method: String, _ parameters: [(name: String, value: JSON)]) throws -> JSON? {
    var result: Result<JSON, RPCError>?
    begin(method, parameters, { _, _ in }) { result = $0 }
    return try result?.get()
  }

  private func begin(
    _ method: String, _ parameters: [(name: String, value: JSON)],
    _ onNotification: @escaping (String, JSON) -> Void,
    _ respond: @escaping (Result<JSON, RPCError>) -> Void
  ) {
    methods.perform(
      ControlRequest(
        RPCRequest(id: 1, method: method, parameters: .object(parameters)), at: "ctl", respond: respond,
        push: { method, parameters in
          onNotification(method, parameters)
          return true
        }))
  }
}
