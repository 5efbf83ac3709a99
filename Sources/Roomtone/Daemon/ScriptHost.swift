internal import EventLoop
internal import Home
internal import LuaModules
internal import LuaRuntime
internal import Scheduling

/// One script of the daemon: reads its file, runs its versions one after the other, ends what each started. Confined to
/// the loop.
final class ScriptHost {
  /// The name for people: that of the file without `.lua`.
  let name: String
  /// The path of the file.
  let path: String
  /// The state.
  private(set) var machine = ScriptMachine()
  /// The moment at which the current version started; nil before the first.
  private(set) var started: WallTime?
  /// The number of versions that were started.
  private(set) var starts = 0
  /// The last error that no code of the script caught, also of an earlier version, and its moment.
  private(set) var lastError: (error: LuaError, at: WallTime)?
  private var versions: [ScriptMachine.Generation: (script: Script, main: LuaReference)] = [:]
  private var generation = 0
  /// The mark of a version that the daemon ended with; nil without a folder for it.
  private let mark: HoldMark?
  private let engine: Engine
  private let log: DaemonLog
  private let evaluations: Evaluations
  private let onChange: (ScriptHost) -> Void

  /// A host of the file at `path`, which reads it with the first `load`.
  /// - Parameter onChange: called when the state has changed; a removed script is over.
  init(
    _ name: String, path: String, engine: Engine, log: DaemonLog, _ evaluations: Evaluations,
    onChange: @escaping (ScriptHost) -> Void
  ) {
    (self.name, self.path, self.engine, self.log) = (name, path, engine, log)
    (self.evaluations, self.onChange) = (evaluations, onChange)
    mark = engine.options.stateFolder.map { HoldMark(script: name, file: path, in: $0) }
  }

  /// The name of the file, by which the script is known in the changes of the house.
  var fileName: String { path.split(separator: "/").last.map(String.init) ?? name }

  /// Records a change of the state of the script.
  private func record(_ kind: JournalEntry.Kind, _ detail: String? = nil, cause: Cause? = nil) {
    engine.journal.record(kind, of: .script, fileName, detail: detail, cause: cause ?? Cause.current)
  }

  /// The script of the version that runs; nil without one.
  var script: Script? { machine.current.flatMap { versions[$0]?.script } }

  /// `true` if the script is over, and its file was removed.
  var isRemoved: Bool { if case .removed = machine.phase { true } else { false } }

  /// `true` if the version that runs, or one that could not be started, may depend on the library file at `path`.
  func depends(onLibrary path: String) -> Bool {
    switch machine.phase {
    case .running, .stale: machine.error != nil || script?.state.requires(file: path) == true
    case .new, .ending, .failed: true
    case .ended, .removed: false
    }
  }

  /// Reads the file anew and starts it in place of the version that runs. A file on a remote mount is read when that
  /// has answered.
  /// - Parameter anyway: `true` if it is started also when the daemon has ended with it before, as after a change.
  func load(anyway: Bool) {
    guard !isRemoved else { return }
    generation += 1
    if anyway { mark?.remove() } else if let refusal { return refuse(refusal) }
    guard RemoteMount.of(path) != nil else { return load(generation) }
    engine.loop.start { [self, generation] in
      let hasAnswered = (try? await MusicFiles.awaitAnswer(of: [path], on: engine.loop)) != nil
      guard !isRemoved, generation == self.generation else { return }
      if hasAnswered { load(generation) } else { refuse(LuaError(ScriptText.unanswered(path))) }
    }
  }

  /// The error in place of a start, when the daemon has ended with the script.
  private var refusal: LuaError? {
    let zone = engine.options.zone
    return mark?.refusal({ "\(zone.local($0))" }, hint: "change it, or run: roomtone ctl restart \(name)")
  }

  private func load(_ generation: Int) {
    do {
      let version = try read(generation)
      versions[generation] = version
      if generation == 1, version.script.state.hasModule(name) {
        log.add(.info, "\(fileName): require \"\(name)\" finds the library's module, not this script")
      }
      perform(machine.loaded(generation))
    } catch { refuse(LuaError(error)) }
  }

  /// Keeps the version that runs, if there is one, as the file can't be loaded.
  private func refuse(_ error: LuaError) {
    machine.unloadable(error)
    let rest = script == nil ? "" : "; the version before runs on"
    record(script == nil ? .broken : .stale, error.description)
    log.add(.error, error.report + rest, script: name)
    lastError = (error, engine.loop.wallNow)
    perform([])
  }

  /// Ends the script for good.
  func remove() { perform(machine.remove()) }

  private func read(_ generation: Int) throws -> (script: Script, main: LuaReference) {
    let text = try ScriptText(path: path)
    let script = try engine.makeScript(path, isFile: true)
    script.starter = Cause.current
    (script.sessionKey, script.leavesSession) = (path, true)
    script.setArguments([])
    if let mark { script.state.setMark(path: mark.path, text: mark.file) }
    connect(script, generation)
    do {
      return (script, try script.state.load(text.bytes, chunkName: text.chunkName))
    } catch {
      discard(script)
      throw error
    }
  }

  private func connect(_ script: Script, _ generation: Int) {
    evaluations.connect(script, as: name)
    script.onFailure = { [weak self, log, name] error in
      log.add(.error, error.report, script: name)
      if let self { lastError = (error, engine.loop.wallNow) }
      guard error.code == "script.flooded" else { return }
      self?.record(.broken, error.description)
      self?.perform(self?.machine.failed(generation, error) ?? [])
    }
    script.onExit = { [weak self, unowned script] status in
      self?.record(.ended, "with status \(status)", cause: Script.cause(at: script.loop.wallNow))
      self?.perform(self?.machine.exited(generation, status: status) ?? [])
    }
  }

  private func perform(_ actions: [ScriptMachine.Action]) {
    for action in actions {
      switch action {
      case .start(let generation): start(generation)
      case .end(let generation): end(generation)
      case .discard(let generation):
        if let version = versions.removeValue(forKey: generation) { discard(version.script) }
      case .forget: break
      }
    }
    onChange(self)
  }

  private func start(_ generation: Int) {
    guard let version = versions[generation] else { return }
    (started, starts) = (engine.loop.wallNow, starts + 1)
    record(.started, cause: version.script.starter)
    let routine = version.script.call(version.main, name: path)
    routine?.whenEnded { [weak self] outcome in
      guard let self, case .failed(let error) = outcome, !version.script.isExit(error) else { return }
      record(.broken, error.description)
      perform(machine.failed(generation, error))
    }
  }

  private func end(_ generation: Int) {
    // In a turn of its own: the script may be in the middle of a call that ended it.
    engine.loop.next { [self] in
      guard let version = versions.removeValue(forKey: generation) else { return }
      version.script.leavesSession = machine.isReloading
      engine.loop.start { [self] in
        await version.script.end()
        // The file may have gone meanwhile: then no later version plays on.
        if !machine.isReloading { engine.house.own.close(path) }
        evaluations.hasEnded(version.script)
        perform(machine.hasEnded(generation))
      }
    }
  }

  private func discard(_ script: Script) { engine.loop.start { await script.end() } }
}
