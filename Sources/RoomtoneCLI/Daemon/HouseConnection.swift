internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import Roomtone
internal import SpeakerKit

/// The house that a command acts on, by the methods of the control protocol: the house of another process, at
/// its socket, or, without such a process, the house of the configuration in this process.
final class HouseConnection {
  typealias Parameters = [(name: String, value: JSON)]

  private enum Way {
    case process(ControlClient)
    case own(Engine, LocalHouse)
  }

  /// The end of the wait for another process by a signal.
  struct Interrupted: Error {
    /// The exit status of the command: 128 and the number of the signal.
    let status: Int32
  }

  private let way: Way
  /// The loop of this process while a call of another process lasts.
  private lazy var loop = EventLoop(name: "call")
  /// The failure of a request that was begun while a call of another process lasts.
  private var lost: (any Error)?

  // MARK: Opening

  /// The house of a process.
  init(_ client: ControlClient) { way = .process(client) }

  /// The house of a configuration in this process. It is opened for one call.
  /// - Parameters:
  ///   - command: the name of the command, for other processes that wait for the house.
  ///   - isSilent: `true` if nothing is logged.
  init(
    _ configuration: Configuration, _ access: HouseAccess, command: String, isSilent: Bool = false
  ) throws {
    var options = EngineSetup.ownHouse(configuration, command: command, script: nil)
    options.access = access
    if access != .drive { options.controlSocket = nil }
    // A command that only looks writes no file.
    if access == .look { (options.store, options.history) = (nil, nil) }
    let engine = isSilent ? try Engine(options) : try EngineSetup.engine(options)
    engine.onForcedExit = KeyTerminal.restore
    way = .own(engine, LocalHouse(engine, at: "the shell"))
  }

  /// Connects to the process that has the house of a configuration; without one, opens the house in this
  /// process.
  /// - Parameters:
  ///   - file: the configuration that the command line names; nil for the user's own.
  ///   - access: the access of this process.
  /// - Throws: `ctl.socket`; the errors of the configuration.
  static func open(
    _ file: String?, _ access: HouseAccess, command: String, timeout: Duration = ControlClient.usualTimeout,
    isSilent: Bool = false
  ) throws -> HouseConnection {
    if let client = try ControlClient.connect(toHouseOf: file, timeout: timeout) {
      return HouseConnection(client)
    }
    return try HouseConnection(
      try EngineSetup.configuration(file: file), access, command: command, isSilent: isSilent)
  }

  /// The line of verbs when nothing plays. A server may play for other clients, which a house in this process
  /// does not know.
  var silence: String {
    if case .own(let engine, _) = way, !engine.options.configuration.isEmbedded {
      return "nothing that roomtone has started plays"
    }
    return "nothing plays"
  }

  /// Returns a path for the process that has the house: another process has another working directory.
  func path(_ path: String) -> String {
    if case .process = way { UserFolders.absolute(path) } else { path }
  }

  // MARK: Calls

  /// Performs a method, and returns its result.
  /// - Parameters:
  ///   - isChange: `true` if the method sets levels, which are to last. It is refused where they would end
  ///     with this process.
  ///   - isLasting: `true` for a method that answers when its work has ended.
  ///   - onNotification: receives the notifications before the result.
  /// - Throws: the error of the method, `ctl.socket`, `ctl.none`, `speaker.busy`; `LocalHouse.Interrupted`, `Interrupted`.
  func call(
    _ method: String, _ parameters: Parameters = [], isChange: Bool = false, isLasting: Bool = false,
    onNotification: @escaping (_ method: String, _ parameters: JSON) -> Void = { _, _ in }
  ) throws -> JSON {
    switch way {
    case .process(let client):
      return isLasting
        ? try lastingCall(client, method, parameters, onNotification)
        : try client.call(method, parameters, onNotification: onNotification)
    case .own(let engine, let house):
      let configuration = engine.options.configuration
      if isChange { try Self.checkThatItLasts(method, configuration) }
      let result: JSON
      do { result = try house.call(method, parameters, onNotification: onNotification) } catch let error
        as SpeakerError where error.kind == .busy && engine.options.access == .adjust
      {
        throw SpeakerError(
          .busy, error.message, hint: "end it; a daemon has a house for all: roomtone serve",
          facts: error.facts)
      }
      if isChange, configuration.isEmbedded {
        let speakers = configuration.house.speakers == nil ? "the speakers are invented, and " : ""
        engine.onLog(.info, "\(speakers)no daemon has the house: the level is kept for what plays next", [])
      }
      return result
    }
  }

  /// Performs a method that answers when its work has ended, on the loop: requests can be begun and descriptors watched
  /// meanwhile, and a signal ends the wait, so that what the caller has changed on the terminal is restored.
  private func lastingCall(
    _ client: ControlClient, _ method: String, _ parameters: Parameters,
    _ onNotification: @escaping (_ method: String, _ parameters: JSON) -> Void
  ) throws -> JSON {
    var status: Int32?
    var outcome: Result<JSON, any Error>?
    let signals = [SIGINT, SIGTERM, SIGHUP].filter { !SignalWatch.isIgnored($0) }
    let interrupts = try loop.onSignal(signals) { status = 128 + $0 }
    defer { interrupts.cancel() }
    let id = try client.start(method, parameters)
    let answers = try loop.watch(client.descriptor, for: .readable) { _ in
      do {
        if let result = try client.receive(answerTo: id, onNotification) { outcome = .success(result) }
      } catch { outcome = .failure(error) }
    }
    defer { answers.cancel() }
    _ = loop.run { outcome != nil || status != nil || lost != nil }
    if let status { throw Interrupted(status: status) }
    if let lost { throw lost }
    guard let outcome else { throw CommandFailure(.socket, "the call has ended without an answer") }
    return try outcome.get()
  }

  private static func checkThatItLasts(_ method: String, _ configuration: Configuration) throws {
    let kind = type(of: configuration.driver)
    switch kind.memory {
    case .stateFolder where UserFolders.state == nil:
      throw CommandFailure(
        .noDaemon, "no daemon runs, and without a home folder no level is kept",
        hint: "start one: roomtone serve")
    case .serverWithoutMute where method != "volume":
      throw CommandFailure(
        .noDaemon,
        "no daemon runs, and a \(kind.server ?? kind.name) knows no mute: the level to return to would end with this command",
        hint: "start one: roomtone serve; or set a level: roomtone volume ROOM N")
    case .stateFolder, .server, .serverWithoutMute: break
    }
  }

  /// Begins a method while a lasting call waits. Its failure is a warning: a line of the log here, a notification
  /// `warning` of the call in another process; a connection that fails ends the call.
  func start(_ method: String, _ parameters: Parameters) {
    switch way {
    case .process(let client):
      do { try client.start(method, parameters) } catch { lost = error }
    case .own(let engine, let house):
      house.start(method, parameters) { result in
        if case .failure(let error) = result { engine.onLog(.warn, error.description, []) }
      }
    }
  }

  /// Calls `body` when a descriptor can be read while a lasting call waits.
  /// - Returns: nil if the watch fails.
  func watch(_ descriptor: Int32, _ body: @escaping () -> Void) -> FDWatch? {
    let loop = if case .own(let engine, _) = way { engine.loop } else { self.loop }
    return try? loop.watch(descriptor, for: .readable) { _ in body() }
  }
}
