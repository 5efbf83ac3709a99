internal import EventLoop
internal import Glibc
internal import Home
internal import LuaModules
internal import LuaRuntime
internal import Scheduling
internal import SpeakerKit

/// The settings of a daemon.
public struct DaemonOptions {
  /// The absolute path of the folder of scripts, without a slash at its end.
  public var folder: String
  /// The path of the control socket; nil without one.
  public var socket: String?
  /// The notifications to a service manager.
  public var notifier = ServiceNotifier(socket: nil)

  /// A daemon of the scripts in `folder`.
  public init(folder: String, socket: String?) { (self.folder, self.socket) = (folder, socket) }
}

/// The scripts of a folder in one engine, each with a Lua state of its own, reloaded when their files change, with a
/// socket that controls them.
///
/// All scripts share the engine's house, streams, headsets, triggers, jobs and catalogue. Confined to
/// the loop.
public final class Daemon {
  /// The engine.
  public let engine: Engine
  /// The log of the daemon and its scripts.
  public let log: DaemonLog
  let options: DaemonOptions
  /// The scripts by their names.
  private(set) var hosts: [String: ScriptHost] = [:]
  /// The scripts that clients have handed to the daemon, in their order.
  private(set) var attached: [AttachedScript] = []
  /// The moment at which the daemon began.
  let began: WallTime
  /// The version of the product, for clients.
  let version: String
  private var phase = Phase.new
  private var folder: ScriptFolder?
  private var server: ControlServer?
  /// The page's server; nil without one in the configuration.
  private(set) var page: PageServer?
  private var watchdog: LoopTimer?
  private var status = ""
  private var settled: [() -> Void] = []
  private var isReloading = false
  /// The state in which code without a script is evaluated.
  let prompt: EvaluationScript
  /// The code that clients have evaluated.
  let evaluations: Evaluations
  /// The house in Home Assistant; nil without it.
  private(set) var homeAssistant: HomeAssistantBridge?

  private enum Phase { case new, running, ending, ended }

  /// A daemon that has not begun; receives the engine's log from now on.
  public init(engine: Engine, version: String, options: DaemonOptions) {
    (self.engine, self.version, self.options) = (engine, version, options)
    log = DaemonLog(engine.loop)
    evaluations = Evaluations(engine: engine, log: log)
    prompt = EvaluationScript(engine: engine, log: log, evaluations)
    began = engine.loop.wallNow
    engine.house.isShared = true
    engine.onLog = { [log] in log.add(.init($0), $1, fields: $2) }
    engine.onFailure = { [log] in log.add(.error, $0.report) }
    engine.onPrint = { [log] in log.add(.print, $0) }
    // Each line of a script begins with its name.
    let columns = engine.columns
    engine.columns = { [unowned self] in max(20, columns() - 2 - (hosts.keys.map(\.count).max() ?? 0)) }
    engine.onJobLog = { [unowned self] level, line, script in
      log.add(.init(level), line, script: scriptName(script))
    }
  }

  // MARK: The course

  /// Serves until SIGINT, SIGTERM or `stop`, then ends everything tidily. Blocks the calling thread.
  /// - Throws: the reason why the daemon can't begin: `daemon.running`, `daemon.socket`, `daemon.folder`,
  ///   `speaker.busy`.
  public func run() throws -> RunResult {
    let signals = EndSignals([SIGINT, SIGTERM], of: engine) { [unowned self] in stop() }
    let hangups = try engine.loop.onSignal([SIGHUP]) { [unowned self] _ in
      log.add(.info, "SIGHUP: all scripts are read again")
      reload()
    }
    var failure: (any Error)?
    do { try begin() } catch {
      failure = error
      stop()
    }
    if failure == nil {
      engine.loop.start { [self] in
        do { try await openHouse() } catch {
          failure = error
          stop()
        }
      }
    }
    while phase != .ended {
      if engine.loop.run(until: { [unowned self] in turn() }) != .done { break }
    }
    hangups.cancel()
    engine.closeServices()
    signals.cancel()
    engine.loop.close()
    if let failure, signals.status == nil { throw failure }
    return RunResult(status: signals.status ?? 0)
  }

  /// Performs the checks that depend on no event, in every turn of the loop.
  /// - Returns: `true` when the daemon has ended.
  func turn() -> Bool {
    for script in attached { script.turn() }
    return phase == .ended
  }

  /// Listens, reads the folder and starts its scripts. The house is opened by `openHouse`, or by the first script.
  /// - Throws: `daemon.running`, `daemon.socket`, `daemon.folder`.
  public func begin() throws {
    phase = .running
    engine.journal.record(.up, of: .house, "daemon", cause: nil)
    if let path = options.socket {
      let methods = ControlMethods(daemon: self)
      server = try ControlServer(path: path, loop: engine.loop) { methods.perform($0) }
    }
    engine.programs.endLeftBehind { log.add(.warn, $0) }
    engine.mqtt.start()
    if engine.mqtt.options?.homeAssistant == true { publish(on: engine.mqtt) }
    let folder = try ScriptFolder(options.folder, loop: engine.loop) { [unowned self] in apply($0) }
    self.folder = folder
    // A blocking wait is allowed, as nothing else runs yet.
    if RemoteMount.of(folder.path) != nil {
      let path = folder.path
      guard try FileCall({ try LinuxFiles.names(in: path) }).wait() != nil else { throw folder.silence }
    }
    makeMarkFolder()
    for name in try folder.scripts() { add(name, folder).load(anyway: false) }
    if let interval = options.notifier.watchdogInterval { keepWatch(every: interval) }
    updateStatus()
    openPage()
    whenSettled { [unowned self] in options.notifier.send(.ready, .status(status)) }
  }

  /// Serves the page of the configuration, after the scripts have begun to listen. Without it nothing listens.
  private func openPage() {
    guard let settings = engine.options.configuration.page, !engine.loop.isVirtual else { return }
    let methods = ControlMethods(daemon: self)
    let page = PageServer(
      settings, stateFolder: engine.options.stateFolder, loop: engine.loop,
      log: { [log] in log.add(.init($0), $1) }, perform: { methods.perform($0) })
    self.page = page
    page.onRead = { [weak self] in self?.changed() }
    page.open()
  }

  /// Publishes the house to Home Assistant, through a broker, from now on.
  func publish(on broker: any MessageBroker) {
    let methods = ControlMethods(daemon: self)
    let bridge = HomeAssistantBridge(of: self, on: broker) { methods.perform($0) }
    homeAssistant = bridge
    bridge.begin()
  }

  /// Opens the house for all scripts.
  /// - Throws: `speaker.busy` when another process has it. Other failures are logged: the next use tries again.
  private func openHouse() async throws {
    do {
      try await engine.house.open(wait: .zero)
    } catch let error as SpeakerError where error.kind == .busy {
      throw error
    } catch let error as any CodedError {
      if phase == .running { log.add(.error, "the house can't be opened: \(error.description)") }
    }
  }

  /// Ends the daemon tidily. A second call does nothing.
  public func stop() {
    guard phase == .running || phase == .new else { return }
    phase = .ending
    engine.journal.record(.down, of: .house, "daemon", cause: Cause.current)
    options.notifier.send(.stopping)
    engine.onEnding()
    server?.close()
    page?.quiesce()
    folder?.close()
    watchdog?.cancel()
    for host in hosts.values { host.remove() }
    for script in attached { script.stop() }
    prompt.end()
    homeAssistant?.end()
    whenSettled { [self] in
      engine.loop.start { [self] in
        await prompt.hasEnded()
        await engine.headsets.close()
        await engine.house.close()
        engine.loop.next(turns: 3) { [self] in
          page?.close()
          (server, folder, page) = (nil, nil, nil)
          phase = .ended
        }
      }
    }
  }

  private func keepWatch(every interval: Duration) {
    options.notifier.send(.watchdog)
    watchdog = engine.loop.after(interval, keepsAlive: false) { [unowned self] in keepWatch(every: interval) }
  }

  // MARK: Scripts

  /// The scripts, sorted by name.
  var scripts: [ScriptHost] { hosts.values.sorted { $0.name < $1.name } }

  /// Returns the script called `name`, with or without `.lua`.
  /// - Throws: `daemon.unknown_script` with the nearest name.
  func host(_ name: String) throws(DaemonError) -> ScriptHost {
    if let host = hosts[name] ?? (name.hasSuffix(".lua") ? hosts[String(name.dropLast(4))] : nil) {
      return host
    }
    let names = hosts.keys.sorted()
    let hint =
      nearest(name, among: names).map { "did you mean \"\($0)\"?" }
      ?? (names.isEmpty ? "the folder has no scripts" : "there are \(names.joined(separator: ", "))")
    throw DaemonError(
      .unknownScript, "no script is called \"\(name.prefix(100).description.onOneLine)\"", hint: hint)
  }

  /// Returns the name of the script with a number; nil for one that has ended.
  func scriptName(_ number: Int) -> String? {
    hosts.values.first { $0.script?.number == number }?.name ?? (prompt.number == number ? prompt.name : nil)
      ?? attached.first { $0.script.number == number }?.name
  }

  /// Runs a script that a client hands over, as a request for `run`.
  /// - Throws: `LuaError` of its syntax, `RPCError`.
  func attach(_ request: ControlRequest) throws {
    let script = try AttachedScript(request, engine: engine) { [unowned self] script in
      attached.removeAll { $0 === script }
      changed()
    }
    attached.append(script)
  }

  /// Reads all scripts again, also new ones and those whose files were removed.
  public func reload() {
    isReloading = true
    page?.reload()
    options.notifier.sendReloading()
    var changes = FolderChanges()
    changes.isAll = true
    apply(changes)
    whenSettled { [unowned self] in
      guard isReloading else { return }
      isReloading = false
      options.notifier.send(.ready, .status(status))
    }
  }

  /// Applies changes of the folder, once the remote mount that may hold it has answered.
  private func apply(_ changes: FolderChanges) {
    guard phase == .running, let folder else { return }
    guard RemoteMount.of(folder.path) != nil else { return apply(changes, of: folder) }
    engine.loop.start { [self] in
      do {
        try await MusicFiles.awaitAnswer(of: [folder.path], on: engine.loop)
        if phase == .running { apply(changes, of: folder) }
      } catch { log.add(.error, "\(folder.silence.description); its scripts run on") }
    }
  }

  private func apply(_ changes: FolderChanges, of folder: ScriptFolder) {
    let names: [String]
    do { names = try folder.scripts() } catch {
      log.add(.error, "\(error.description); its scripts run on")
      return
    }
    for host in scripts where !names.contains(host.name) {
      log.add(.info, "its file is gone, and the script ends", script: host.name)
      engine.journal.record(.gone, of: .script, host.fileName, cause: nil)
      host.remove()
    }
    for name in names {
      guard let host = hosts[name], !host.isRemoved else {
        add(name, folder).load(anyway: changes.scripts.contains(name))
        continue
      }
      let hasChanged =
        changes.scripts.contains(name) || changes.libraries.contains { host.depends(onLibrary: $0) }
      if changes.isAll || hasChanged { host.load(anyway: hasChanged) }
    }
    updateStatus()
  }

  /// Makes the folder for the marks of scripts that the daemon ends with.
  private func makeMarkFolder() {
    guard let folder = engine.options.stateFolder else { return }
    do { try HoldMark.makeFolder(in: folder) } catch {
      log.add(.warn, "a script that ends the daemon will do so again after a restart: \(error.text)")
    }
  }

  private func add(_ name: String, _ folder: ScriptFolder) -> ScriptHost {
    let host = ScriptHost(name, path: folder.file(of: name), engine: engine, log: log, evaluations) {
      [unowned self] host in
      if host.isRemoved, hosts[host.name] === host { hosts[host.name] = nil }
      changed()
    }
    hosts[name] = host
    return host
  }

  /// Calls `body` when no script is being ended, and the page's files are read, in a later turn.
  func whenSettled(_ body: @escaping () -> Void) {
    settled.append(body)
    changed()
  }

  private func changed() {
    engine.loop.next { [weak self] in
      guard let self else { return }
      updateStatus()
      homeAssistant?.scriptsChanged()
      let isSettled =
        phase == .ending
        ? hosts.isEmpty && attached.isEmpty
        : !hosts.values.contains { $0.machine.isEnding } && page?.isReading != true
      guard isSettled else { return }
      let waiting = settled
      settled = []
      for body in waiting { body() }
    }
  }

  private func updateStatus() {
    var counts: [String: Int] = [:]
    for host in hosts.values { counts[host.machine.name, default: 0] += 1 }
    let others = ["stale", "failed", "ended"].compactMap { name in counts[name].map { "\($0) \(name)" } }
    let running = counts["running"] ?? 0
    let text = (["\(running) script\(running == 1 ? "" : "s") running"] + others).joined(separator: ", ")
    guard text != status else { return }
    status = text
    if phase == .running, options.notifier.isListening { options.notifier.send(.status(text)) }
  }
}
