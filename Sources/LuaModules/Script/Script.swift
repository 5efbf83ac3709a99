public import EventLoop
internal import Glibc
public import Home
public import LuaRuntime
internal import Scheduling

/// A running script: its Lua state, and all objects that live because of it.
///
/// The host keeps the objects that a script starts: a timer, a job or a subscription lives until it is
/// cancelled or the script ends, whether or not Lua kept the handle. Confined to the loop.
public final class Script {
  /// The path as passed by the caller, or `-`, `-e`, `repl`.
  public let name: String
  /// The folder of the script, in which relative paths are searched too; nil for text that is not from a file.
  public let folder: String?
  /// The folder of relative paths, for a script of another process; nil for the working directory.
  public var workingFolder: String?
  /// `true` if the script's sound on sessions that others made ends with the script.
  public var endsPlayback = false
  /// The name of the script's own session.
  public lazy var sessionName = fileName.hasSuffix(".lua") ? String(fileName.dropLast(4)) : fileName
  /// The key of its own session, which a later version of the script finds by it.
  public lazy var sessionKey = "\(name) \(number)"
  /// `true` if its own session goes on when it ends: another version of it follows, or it shares the session.
  public var leavesSession = false
  /// The rooms that its own session wants from the beginning.
  enum FirstRooms {
    case none
    /// Rooms and speakers by their names.
    case named([String])
    case all
  }
  private(set) var firstRooms = FirstRooms.none
  /// Gives the script the session of all prompts as its own.
  /// - Parameter rooms: the rooms that it wants from the beginning; nil for all of the house.
  public func sharePromptSession(in rooms: [String]?) {
    (sessionName, sessionKey, leavesSession) = ("prompt", "prompt", true)
    firstRooms = rooms.map { .named($0) } ?? .all
  }
  /// The number of the script in its engine.
  public let number: Int
  /// The Lua state.
  public let state: LuaState
  /// The loop that the script runs on.
  public let loop: EventLoop

  // The outlets of a script are settable, as those of an engine: one destination each, which the host of the script
  // chooses.

  /// Receives a line for the log: level, message, fields sorted by name.
  public var onLog: (LogLevel, String, [(String, String)]) -> Void = { _, _, _ in }
  /// Receives each event that is delivered to a listener: the function that subscribed, by its name in the definitions of
  /// the Lua API, the event, and the fields of its payload; nil in a run that compares neither.
  public var onEvent: ((_ function: String, _ event: String, _ fields: [String]) -> Void)?
  /// Receives every error that no script code caught.
  public var onFailure: (LuaError) -> Void = { _ in }
  /// The person or the event that starts the script, if any.
  public var starter: Cause?
  /// The start of the script, which is the cause of everything that it does by itself.
  public private(set) lazy var beginning = Cause(
    .start, fileName, script: fileName, at: loop.wallNow, parent: starter ?? Cause.current)
  /// The name of its file without folders.
  public var fileName: String { name.split(separator: "/").last.map(String.init) ?? name }
  /// Called when the script asks for its end by `os.exit`, with the status, inside the call.
  public var onExit: (Int32) -> Void = { _ in }
  /// Errors that no script code caught.
  public private(set) var failures = 0
  /// The calls so far of its listeners, jobs and other callbacks, and of its main routine.
  public private(set) var calls = 0
  /// The exit status that `os.exit` asked for.
  public private(set) var requestedExit: Int32?
  /// `true` if the limit of waiting calls was exceeded: the script ends as soon as the loop comes to it.
  public private(set) var isFlooded = false
  /// `true` if the script has ended, or is ending.
  public private(set) var isEnding = false
  /// `true` from the first request for the end of the script on; the library's calls at the end come first.
  private var isAskedToEnd = false
  /// The calls of the library at the end of the script.
  private var endings = Listeners<LuaReference>()

  /// Starts a function as a task of its own; set by the module `task`.
  var startsTask: (LuaReference, String) throws -> (value: LuaValue, routine: LuaRoutine) = { _, _ in
    fatalError("register the modules of the script before it starts a task")
  }

  /// The labels of the active subscriptions, by number.
  private var subscriptionLabels: [Int: String] = [:]
  private var subscriptionCount = 0
  /// The labels of its active subscriptions, such as `on "volume"`, in the order in which they were made.
  public var listeners: [String] { subscriptionLabels.sorted { $0.key < $1.key }.map(\.value) }

  /// Lists a subscription.
  /// - Returns: a function that removes it from the list.
  func listSubscription(_ label: String) -> () -> Void {
    subscriptionCount += 1
    let number = subscriptionCount
    subscriptionLabels[number] = label
    return { [weak self] in self?.subscriptionLabels[number] = nil }
  }

  /// The programs that scripts have started.
  var programs: ProgramTable
  /// The layer of the files that a simulation writes; nil where real files are written.
  var scratch: ScratchFiles?
  /// The count of the objects that the host keeps for the script.
  let objects: ScriptObjects
  /// The remote mounts of files that it names.
  let mounts: MountAnswers
  private var live: [() -> Bool] = []
  private var rooted = Listeners<() -> Void>()
  private var lasts: [() async -> Void] = []
  private var modules: [AnyObject] = []
  /// The task that waits in `end` for the routines.
  private var unwinding: Task<Void, Never>?

  /// A script that runs in `state`.
  public init(name: String, folder: String?, number: Int, state: LuaState) {
    self.name = name
    self.folder = folder
    self.number = number
    self.state = state
    objects = ScriptObjects(state)
    loop = state.loop
    mounts = MountAnswers(state.loop)
    programs = ProgramTable(loop: state.loop, folder: nil)
  }

  /// `true` if the script has something left to do: a routine, or a reason that keeps it alive.
  public var isAlive: Bool {
    if state.routineCount > 0 { return true }
    guard let reason = live.firstIndex(where: { $0() }) else { return false }
    // Evaluated in every turn of the loop: a reason that was true is likely to be true again.
    if reason > 0 { live.swapAt(0, reason) }
    return true
  }

  /// Keeps a module as long as the script, since the script's functions refer to it.
  func keep(_ module: AnyObject) { modules.append(module) }

  /// Adds a reason that keeps the script alive, evaluated whenever the script has no routine.
  public func staysAlive(while condition: @escaping () -> Bool) { live.append(condition) }

  /// Runs `cancel` when the script ends, unless the returned function was called before.
  @discardableResult
  public func root(_ cancel: @escaping () -> Void) -> () -> Void {
    let number = rooted.add(cancel)
    return { [weak self] in self?.rooted.remove(number) }
  }

  /// Calls a function of the library when the script ends, in a routine of its own that may suspend: before
  /// the script's routines are cancelled, also after a failure.
  /// - Returns: the number by which `forgetEnding` removes it.
  func atEnd(_ function: LuaReference) -> Int { endings.add(function) }

  /// Removes a call at the end of the script; does nothing if it is gone.
  func forgetEnding(_ number: Int) { endings.remove(number) }

  /// Runs `body` when the script has ended and its routines have unwound, as they may use the objects that
  /// `body` removes.
  func atLast(_ body: @escaping () async -> Void) { lasts.append(body) }

  /// Runs a function in a routine of its own; a failure is reported and counted, and affects nothing else.
  /// - Parameters:
  ///   - name: for messages: `on "volume"`.
  ///   - maySuspend: `true` if it may call functions that suspend.
  ///   - cause: the cause of its actions; nil for that of the routine that runs, or the start of the script.
  ///   - repeats: for callbacks that run many times a second: repeated failures are reported once a minute.
  @discardableResult
  public func call(
    _ function: LuaReference, _ arguments: [LuaValue] = [], name: String,
    isWanted: @escaping () -> Bool = { true }, maySuspend: Bool = true, cause: Cause? = nil,
    repeats: RepeatedFailure? = nil, onFailure: @escaping () -> Void = {}
  ) -> LuaRoutine? {
    guard !isEnding, !isFlooded else { return nil }
    if state.waitingCount >= state.limits.waiting {
      report(flood)
      return nil
    }
    calls += 1
    let routine = state.start(
      function, arguments: arguments, name: name, isWanted: isWanted, maySuspend: maySuspend,
      context: cause ?? state.running?.context ?? LuaRoutine.current?.context ?? beginning)
    routine.whenEnded { [weak self] outcome in
      guard let self, case .failed(var error) = outcome else { return }
      onFailure()
      // For the script's own text the line alone is enough.
      if name != self.name { error.context = name }
      if let repeats, !isExit(error) {
        guard let count = repeats.count(error, at: loop.now) else {
          failures += 1
          return
        }
        if count > 1 { error.context = "\(name) (failed \(count) times so far)" }
      }
      report(error)
    }
    return routine
  }

  /// The error for calls that make more calls than can ever run. It names the most frequent function among
  /// them, and ends the script when it is reported.
  var flood: LuaError {
    let (count, most) = (state.waitingCount, state.mostWaiting)
    return LuaError(
      code: "script.flooded", message: "\(count) calls wait to run, \(most.count) of them: \(most.name)",
      hint:
        "a function that causes its own call, such as a listener that causes its event, needs a condition that ends this",
      location: most.location)
  }

  /// Starts a function as a task, whose failure is reported, as `task.spawn` does.
  /// - Parameter name: for messages and for the task's field.
  /// - Returns: the task's value in the script, and its routine.
  /// - Throws: `script.objects`, `script.flooded`.
  public func startTask(_ function: LuaReference, _ name: String) throws -> (
    value: LuaValue, routine: LuaRoutine
  ) {
    try startsTask(function, name)
  }

  /// Reports an error that no script code caught.
  public func report(_ error: LuaError) {
    if isExit(error) { return }
    if error.code == "script.flooded" {
      // Later failures of an ended script are not reported.
      guard !isFlooded else { return }
      isFlooded = true
      state.dropWaiting()
    }
    failures += 1
    onFailure(error)
  }

  /// `true` for the error by which `os.exit` unwinds, the only one that is not a failure. A script can raise
  /// the code too, so the code alone proves nothing.
  public func isExit(_ error: LuaError) -> Bool { requestedExit != nil && error.code == "script.exit" }

  /// Makes the global `arg`: the arguments from 1 on, the script's name at 0.
  public func setArguments(_ arguments: [String]) {
    state.setArguments(arguments, scriptName: name)
  }

  /// Ends the script as soon as the loop comes to it.
  func exit(status: Int32) {
    guard requestedExit == nil else { return }
    requestedExit = status
    onExit(status)
  }

  /// The bytes of values from which on a script's memory is returned to the system when the script has ended.
  private static let hoard = 16 << 20

  /// Makes the library's calls at the end, cancels all objects that the script owns, lets its routines
  /// unwind, then closes its state.
  /// - Parameter grace: the time limit of `<close>` variables.
  public func end(grace: Duration = .seconds(5)) async {
    guard !isAskedToEnd else { return }
    isAskedToEnd = true
    let ending = Cause(
      .event, "script ended", script: fileName, at: loop.wallNow, parent: Cause.current)
    let deadline = loop.now.advanced(by: grace)
    let calls = endings.removeAll().compactMap { call($0, name: "the end of the script", cause: ending) }
    if !calls.isEmpty { await unwind(until: deadline) { calls.allSatisfy { $0.outcome != nil } } }
    isEnding = true
    Cause.$current.withValue(ending) { for root in rooted.all { root() } }
    _ = rooted.removeAll()
    state.cancelAll()
    await unwind(until: deadline) { [state] in state.routineCount == 0 }
    let remaining = state.routineCount
    if remaining > 0 {
      let time = DurationText.describe(grace)
      onLog(
        .warn,
        remaining == 1
          ? "1 routine did not end within \(time) and is dropped"
          : "\(remaining) routines did not end within \(time) and are dropped", [])
    }
    for last in lasts { await last() }
    let peak = state.memory.peak
    state.close()
    // The allocator would keep the freed memory of a large script, between the blocks of other scripts.
    if peak >= Self.hoard, !loop.isVirtual {
      loop.after(.milliseconds(100), keepsAlive: false) { LinuxMemory.giveBackFree() }
    }
    // These refer to objects of the engine, which may end before this object.
    modules = []
    live = []
    lasts = []
  }

  /// Waits for routines at the end of the script.
  private func unwind(until deadline: Instant, _ isDone: @escaping () -> Bool) async {
    unwinding = loop.start { [loop] in
      // Unwinding itself takes no time; code that suspends while it unwinds waits for timers.
      while !isDone() && loop.now < deadline {
        do { try await loop.sleep(for: .milliseconds(1)) } catch { return }
      }
    }
    await unwinding?.value
    unwinding = nil
  }

  /// Ends the waiting for routines, without which virtual time can't continue: those that have not unwound by
  /// now are dropped.
  public func giveUp() { unwinding?.cancel() }
}

extension Script {
  /// Returns the cause of a command at this moment: the line of the script that runs, or that has started the
  /// running task; nil outside of routines.
  public static func cause(at now: WallTime) -> Cause? {
    guard let routine = LuaRoutine.current, let cause = routine.context as? Cause else { return nil }
    guard let site = routine.routine?.site else { return cause }
    return Cause(
      .script, site.function ?? "", script: site.file, line: site.line, at: now, parent: cause,
      routine: routine.origin)
  }
}

extension Script {
  /// Reports an event that is delivered, to `onEvent`.
  func report(_ payload: LuaValue, of event: String, to function: String?) {
    guard let onEvent, let function, case .record(let fields) = payload else { return }
    onEvent(
      function, event,
      fields.compactMap { field in
        if case .nil = field.value { nil } else { field.name }
      })
  }
}

// MARK: Paths

extension Script {
  /// The identity of the script in all its runs: the absolute path of its file without links, or its name for
  /// text that is not from a file.
  public var identity: String {
    guard folder != nil, let path = realpath(name, nil) else { return name }
    defer { free(path) }
    return String(cString: path)
  }

  /// Returns the path of a file that the script names: `~/` is the home folder; a relative path is searched
  /// in the working directory, then beside the script, then beside the file whose code names it, such as a
  /// routine that a spec starts. A path that is not found stays as it is, so that the error names it.
  func path(of given: String) -> String {
    let path = realPath(of: given)
    return scratch?.path(toRead: path) ?? path
  }

  private func realPath(of given: String) -> String {
    if given.hasPrefix("~/"), let home = getenv("HOME") { return String(cString: home) + given.dropFirst(1) }
    guard !given.isEmpty, !given.hasPrefix("/") else { return given }
    let usual = workingFolder.map { "\($0)/\(given)" } ?? given
    guard !mayExist(usual) else { return usual }
    let file = state.running?.filePath
    let fileFolder = file.flatMap { file in file.lastIndex(of: "/").map { String(file[..<$0]) } }
    return [folder, fileFolder].lazy.compactMap { $0.map { "\($0)/\(given)" } }.first(where: mayExist)
      ?? usual
  }

  /// `true` for a file that exists, or whose remote mount has not answered lately.
  private func mayExist(_ path: String) -> Bool { mounts.areSilent([path]) || access(path, F_OK) == 0 }
}

/// The failures of one callback that is called many times a second. Confined to the loop.
public final class RepeatedFailure {
  private static let interval = Duration.seconds(60)
  private var message: String?
  private var failures = 0
  private var reported: Instant?

  /// Counts a failure.
  /// - Returns: the number of equal failures so far; nil when they were reported less than a minute ago.
  func count(_ error: LuaError, at now: Instant) -> Int? {
    if error.message != message { (message, failures, reported) = (error.message, 0, nil) }
    failures += 1
    if let reported, reported.duration(to: now) < Self.interval { return nil }
    reported = now
    return failures
  }
}
