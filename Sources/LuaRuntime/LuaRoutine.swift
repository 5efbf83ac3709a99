internal import CLua
internal import CLuaShim
internal import EventLoop

/// A thread of execution of a script: a chunk, a callback, a task. Runs in slices on the loop's thread; each
/// slice lasts until the next function that suspends.
public final class LuaRoutine {
  /// The end of a routine.
  public enum Outcome {
    case returned([LuaValue])
    case failed(LuaError)
    case cancelled
  }

  enum Resumption {
    case starting(arguments: [LuaValue])
    case returning([LuaValue])
    case raising(LuaError)
  }

  private enum Phase {
    case queued(Resumption)
    case running
    case waiting(LuaContinuation)
    case ended(Outcome)
  }

  /// The name in messages: the script's file, the event that it handles.
  public let name: String
  /// The name of the routine that the host started and that led to this one: the tasks of a job also have
  /// `job "alarm"`.
  public let origin: String
  /// The routine that runs, also in the tasks that it starts in Swift; nil outside of routines.
  @TaskLocal public static var current: Reference?
  /// The origin of the routine that runs, also in the tasks that it starts in Swift; nil outside of routines.
  public static var currentOrigin: String? { current?.origin }
  /// The value that the routine was started with, or that of the routine that led to it.
  public var context: (any Sendable)? { reference.context }
  private var reference: Reference
  /// The state of the routine.
  public unowned let state: LuaState
  let number: Int
  fileprivate let function: LuaReference
  private var thread: LuaReference?
  private let L: OpaquePointer
  private var phase: Phase
  private let mark: UnsafeMutablePointer<shim_routine>
  private var cancellation: LuaError?
  /// `true` until it begins or ends; counted by its state.
  private(set) var isWaiting = true
  /// Routines that the current slice has started.
  public fileprivate(set) var startedInSlice = 0
  private var isUnwinding = false
  private var onEnd = Listeners<(Outcome) -> Void>()
  private let isWanted: () -> Bool
  /// The `file:line` of the script that started the routine: the location of errors of a routine in which no
  /// code of the script runs. Nil if it is unknown.
  public var birthplace: String?
  /// `true` if functions that suspend may be called; `false` if a caller may be waiting for the end.
  let maySuspend: Bool

  // @unchecked Sendable: read on the loop of the routine only, by its slices and the tasks that they start there.
  /// A routine for the tasks that it starts in Swift, with the values that they may need after its end.
  public final class Reference: @unchecked Sendable {
    /// The routine; nil once it was released.
    public fileprivate(set) weak var routine: LuaRoutine?
    /// The origin of the routine.
    public let origin: String
    /// The context of the routine.
    public let context: (any Sendable)?

    fileprivate init(origin: String, context: (any Sendable)?) {
      (self.origin, self.context) = (origin, context)
    }
  }

  /// Starts `function` in a later turn of the loop.
  fileprivate init(
    _ function: LuaReference, arguments: [LuaValue], name: String, in state: LuaState,
    isWanted: @escaping () -> Bool, maySuspend: Bool, context: (any Sendable)?
  ) {
    self.name = name
    origin = state.running?.origin ?? name
    reference = Reference(
      origin: origin, context: context ?? state.running?.context ?? Self.current?.context)
    self.maySuspend = maySuspend
    self.isWanted = isWanted
    self.state = state
    self.function = function
    number = state.nextRoutine()
    let main = state.main
    main.push(.reference(function), in: state)
    L = shim_new_routine(main.L)
    thread = main.reference(-1, in: state)
    main.pop()
    mark = .allocate(capacity: 1)
    mark.initialize(to: shim_routine())
    phase = .queued(.starting(arguments: arguments))
    reference.routine = self
  }

  deinit { mark.deallocate() }

  /// The end of the routine, nil before it.
  public var outcome: Outcome? {
    guard case .ended(let outcome) = phase else { return nil }
    return outcome
  }

  /// Calls `body` when the routine has ended, at once if it already has.
  /// - Returns: a function that removes `body` again.
  @discardableResult
  public func whenEnded(_ body: @escaping (Outcome) -> Void) -> () -> Void {
    if let outcome {
      body(outcome)
      return {}
    }
    let number = onEnd.add(body)
    return { [weak self] in self?.onEnd.remove(number) }
  }

  /// Unwinds the routine with `error` where it is suspended, or at its next suspension. `<close>` variables
  /// run and may suspend. A routine that has not begun ends at once. A second call does nothing.
  public func cancel(with error: LuaError = .cancelled) {
    guard cancellation == nil, !isUnwinding else { return }
    switch phase {
    case .ended: return
    case .queued(.starting):
      cancellation = error
      end(.cancelled)
    case .queued:
      cancellation = error
      phase = .queued(.raising(error))
    case .running: cancellation = error
    case .waiting(let continuation):
      cancellation = error
      continuation.abandon()
      enqueue(.raising(error))
    }
  }

  fileprivate func begin() {
    state.waitingCount += 1
    schedule()
  }

  private func leaveQueue() {
    guard isWaiting else { return }
    isWaiting = false
    state.waitingCount -= 1
  }

  func continued(with resumption: Resumption) {
    guard case .waiting = phase else {
      // The resumption came before the end of the slice that suspends.
      if case .running = phase { early = resumption }
      return
    }
    enqueue(resumption)
  }
  private var early: Resumption?

  /// Changes the context of the routine, and of the routines that it starts from now on.
  func leadOn(with context: any Sendable) {
    reference = Reference(origin: origin, context: context)
    reference.routine = self
  }

  private func enqueue(_ resumption: Resumption) {
    phase = .queued(resumption)
    schedule()
  }

  private func schedule() {
    state.loop.next { [self] in
      guard case .queued(let resumption) = phase, !state.isClosed else { return }
      if case .starting = resumption, !isWanted() { return end(.cancelled) }
      run(resumption)
    }
  }

  /// Runs one slice.
  private func run(_ resumption: Resumption) {
    let state = state  // retained once
    state.settle()
    leaveQueue()
    startedInSlice = 0
    phase = .running
    guard let arguments = push(resumption) else {
      return end(.failed(LuaError(code: "script.stack", message: "too many arguments to start with")))
    }
    state.running = self
    var results: Int32 = 0
    let status = Self.$current.withValue(reference) { shim_resume(L, mark, arguments, &results) }
    state.running = nil
    state.lastRoutine = self
    let continuation = state.pendingContinuation
    state.pendingContinuation = nil
    switch status {
    case Int32(SHIM_YIELD):
      guard let continuation else {
        return end(
          .failed(LuaError(code: "internal", message: "a routine yielded without anything to wait for")))
      }
      suspend(on: continuation)
    case Int32(SHIM_OK):
      let stack = Stack(L: L)
      let first = stack.top - results + 1
      end(.returned((0..<results).map { stack.value(first + $0, in: state) }))
    default:
      // The main thread's stack has room to examine it.
      lua_xmove(L, state.main.L, 1)
      if let birthplace { state.main.locate(at: birthplace) }
      let error = state.main.takeError(status: status, in: state)
      // A cancelled routine has ended as cancelled, unless its unwinding failed.
      end(error.code == cancellation?.code ? .cancelled : .failed(error))
    }
  }

  private func suspend(on continuation: LuaContinuation) {
    phase = .waiting(continuation)
    let early = early
    self.early = nil
    if let cancellation, !isUnwinding {
      continuation.abandon()
      enqueue(.raising(cancellation))
    } else if let early {
      enqueue(early)
    }
  }

  /// Pushes the values of a resumption. Returns their number; nil when they are more than a stack can hold.
  private func push(_ resumption: Resumption) -> Int32? {
    let stack = Stack(L: L)
    switch resumption {
    case .starting(let arguments):
      guard stack.reserve(arguments.count + 8) else { return nil }
      for argument in arguments { stack.push(argument, in: state) }
      return Int32(arguments.count)
    case .returning(let values):
      guard stack.reserve(values.count + 8) else {
        return push(.raising(LuaCall.stackOverflow(values.count)))
      }
      lua_pushboolean(L, 1)
      for value in values { stack.push(value, in: state) }
      return Int32(values.count) + 1
    case .raising(let error):
      if cancellation != nil && !isUnwinding {
        isUnwinding = true
        shim_begin_unwinding(L, mark)
      }
      // The function that suspended reserved room for these two.
      lua_pushboolean(L, 0)
      stack.push(.error(error), in: state)
      return 2
    }
  }

  private func end(_ outcome: Outcome) {
    guard self.outcome == nil else { return }
    leaveQueue()
    phase = .ended(outcome)
    thread = nil
    state.routines[number] = nil
    for callback in onEnd.removeAll() { callback(outcome) }
  }

  /// Ends the routine without its callbacks: its state closes.
  func drop() {
    if case .waiting(let continuation) = phase { continuation.abandon() }
    leaveQueue()
    phase = .ended(.cancelled)
    thread = nil
    _ = onEnd.removeAll()
  }

  /// The `file:line` where the routine is suspended. Before its beginning, while it runs and after its end:
  /// where its function begins.
  public var location: String? {
    switch phase {
    case .queued(.starting), .running, .ended: return state.location(of: function)
    case .queued, .waiting:
      let stack = Stack(L: L)
      shim_push_where(L, 0)
      defer { stack.pop() }
      return stack.string(-1).flatMap { $0.isEmpty ? nil : $0 }
    }
  }

  /// The line of the script at which the routine is, and the function that it calls there: code of the
  /// library counts as the line that called it. Nil when all its functions are the library's, before its
  /// beginning and after its end.
  public var site: LuaSite? {
    guard let site = findSite(), let file = site.file else { return nil }
    let text = UnsafeRawBufferPointer(start: file, count: site.length)
    return LuaSite(
      file: String(decoding: text, as: UTF8.self), line: Int(site.line),
      function: site.called.map { String(cString: $0) })
  }

  /// The path of the file that `site` is in, as the call of `dofile` has it; nil for text that is not from a
  /// file, and where `site` is nil.
  public var filePath: String? { findSite()?.path.map { String(cString: $0) } }

  /// The site in C, whose texts live as long as the stack is not changed.
  private func findSite() -> shim_site? {
    guard thread != nil, !state.isClosed else { return nil }
    var site = shim_site()
    let isFound = state.libraryChunks.withUnsafeBufferPointer { library in
      shim_find_site(L, library.count > 1 ? library.baseAddress : nil, &site)
    }
    return isFound ? site : nil
  }

  /// `true` if `L` is the routine's own Lua thread.
  func runs(in other: OpaquePointer) -> Bool { L == other }

  func beginUnwinding() {
    isUnwinding = true
    shim_begin_unwinding(L, mark)
  }
}

/// A line of a script, and the function that it calls.
public struct LuaSite: Sendable, Equatable {
  /// The name of the file without folders.
  public let file: String
  /// The number of the line, from 1.
  public let line: Int
  /// The name of the function, as the line calls it; nil if the line calls no function.
  public let function: String?
}

extension LuaState {
  /// Starts a routine in the next turn of the loop.
  /// - Parameters:
  ///   - isWanted: called in that turn; a routine that is no longer wanted ends without beginning.
  ///   - maySuspend: `true` if it may call functions that suspend.
  ///   - context: a value for the routine and those that it starts; nil for the value of the running routine.
  @discardableResult
  public func start(
    _ function: LuaReference, arguments: [LuaValue] = [], name: String,
    isWanted: @escaping () -> Bool = { true }, maySuspend: Bool = true, context: (any Sendable)? = nil
  ) -> LuaRoutine {
    settle()
    let routine = LuaRoutine(
      function, arguments: arguments, name: name, in: self, isWanted: isWanted, maySuspend: maySuspend,
      context: context)
    routines[routine.number] = routine
    running?.startedInSlice += 1
    routine.begin()
    return routine
  }

  /// Returns the name of the routine that runs in the Lua thread `L`, for messages.
  func routineName(_ L: OpaquePointer) -> String {
    routines.values.first { $0.runs(in: L) }?.name ?? (L == main.L ? "main" : "ended")
  }

  /// The `file:line` of the routine that ran last, as `LuaRoutine.location`.
  public var lastLocation: String? { isClosed ? nil : lastRoutine?.location }

  /// Returns the `file:line` where a function is defined; the file alone for a main chunk, nil for a C
  /// function.
  func location(of function: LuaReference) -> String? {
    let stack = main
    stack.push(.reference(function), in: self)
    shim_push_definition(stack.L)
    defer { stack.pop() }
    return stack.string(-1).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The number of routines that have not ended.
  public var routineCount: Int { routines.count }

  /// The most frequent function among routines that have not begun: their number, their name, and the
  /// `file:line` where the function begins.
  public var mostWaiting: (count: Int, name: String, location: String?) {
    var kinds: [String: (count: Int, routine: LuaRoutine, location: String?)] = [:]
    for routine in routines.values where routine.isWaiting {
      let location = location(of: routine.function)
      let key = "\(routine.name) \(location ?? "")"
      let kind = kinds[key] ?? (0, routine, location)
      kinds[key] = (kind.count + 1, kind.routine, location)
    }
    guard let most = kinds.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) })?.value else {
      return (0, "", nil)
    }
    return (most.count, most.routine.name, most.location)
  }

  /// Ends the routines that have not begun.
  public func dropWaiting() {
    for routine in routines.values.filter(\.isWaiting).sorted(by: { $0.number < $1.number }) {
      routine.cancel()
    }
  }

  /// Cancels every routine, the oldest first; each unwinds in a turn of its own.
  public func cancelAll(with error: LuaError = .cancelled) {
    for routine in routines.sorted(by: { $0.key < $1.key }) { routine.value.cancel(with: error) }
  }

  /// Makes the running routine unwind with the error that is about to be raised.
  func beginUnwinding() { running?.beginUnwinding() }
}
