internal import EventLoop
internal import Home
internal import LuaRuntime

/// `task`: routines that run side by side, and time.
final class TaskModule {
  private unowned let script: Script
  private let tasks: LuaClass<ScriptTask>

  /// The functions that stand in for programs under simulation, by program.
  private var standIns: [String: LuaReference] = [:]

  /// A routine that a script started, and whether its error has a receiver.
  final class ScriptTask {
    let routine: LuaRoutine
    /// The number of routines that wait for its end now, and receive its error.
    var waiterCount = 0
    /// `true` if its error was delivered to a routine.
    var isDelivered = false
    init(_ routine: LuaRoutine) { self.routine = routine }
  }

  /// Tasks that one call waits for, and that don't outlive the call.
  private final class Crew {
    private let members: [ScriptTask]
    /// The functions that end the waiting for each task.
    var givingUp: [() -> Void] = []
    private(set) var isStopped = false

    init(_ members: [ScriptTask]) { self.members = members }

    /// Cancels all tasks, and calls `ended` when the last one has unwound: none of them runs any more then.
    func stop(_ ended: @escaping () -> Void = {}) {
      isStopped = true
      for giveUp in givingUp { giveUp() }
      givingUp = []
      var open = members.count
      for member in members { member.routine.cancel() }
      for member in members {
        member.routine.whenEnded { _ in
          open -= 1
          if open == 0 { ended() }
        }
      }
    }
  }

  static func register(in script: Script) throws {
    let module = try TaskModule(script)
    script.keep(module)
    script.startsTask = { [unowned module] function, name in
      let task = try module.start(function, [], name: name)
      return (module.tasks(task), task.routine)
    }
    script.state.register(
      "task",
      [
        LuaFunction("spawn", module.spawn),
        LuaFunction("sleep", arity: 1, module.sleep),
        LuaFunction("all", arity: 1, module.all),
        LuaFunction("race", arity: 1, module.race),
        LuaFunction("timeout", module.timeout),
        LuaFunction("exec", arity: 1, module.exec), LuaFunction("stand_in", arity: 2, module.standIn),
        LuaFunction("now", arity: 0) { call in
          call.return(.number(Instant.start.duration(to: call.state.loop.now).inSeconds))
        },
      ], values: [("try", script.state.tryFunction())])
  }

  private init(_ script: Script) throws {
    self.script = script
    tasks = try LuaClass("task", as: "task.Task", in: script.state) { task in
      "task \"\(task.routine.name)\" (\(Self.describe(task.routine.outcome)))"
    }
    tasks.field("done") { task, call in call.return(task.routine.outcome != nil) }
    tasks.field("name") { task, call in call.return(.string(task.routine.name)) }
    tasks.method("cancel", arity: 0) { task, _ in
      task.routine.cancel()
      return .none
    }
    tasks.method("await", arity: 1) { [unowned self] task, call in
      try awaitEnd(task, timeout: call.optionalDuration(2), call)
    }
  }

  private static func describe(_ outcome: LuaRoutine.Outcome?) -> String {
    switch outcome {
    case nil: "running"
    case .returned: "done"
    case .failed: "failed"
    case .cancelled: "cancelled"
    }
  }

  /// - Throws: `script.objects`; `script.flooded` when tasks start tasks faster than they can run.
  private func start(
    _ function: LuaReference, _ arguments: [LuaValue], name: String
  ) throws -> ScriptTask {
    try refuseFlood()
    let held = try script.objects.hold(.task)
    let isFirst = script.state.running == nil && LuaRoutine.current == nil
    let task = ScriptTask(
      script.state.start(
        function, arguments: arguments, name: name,
        context: isFirst ? Cause.current ?? script.beginning : nil))
    task.routine.birthplace = script.state.running?.site.map { "\($0.file):\($0.line)" }
    task.routine.whenEnded { [weak script] outcome in
      held.release()
      guard case .failed(let error) = outcome else { return }
      if task.waiterCount > 0 { task.isDelivered = true }
      // A routine that awaits the task in this turn receives the error, too; otherwise the error is reported.
      script?.loop.next { if !task.isDelivered { script?.report(error) } }
    }
    return task
  }

  /// Ends a flooded script. A routine that itself starts too many tasks gets the error `script.objects`; but
  /// when most tasks wait and other routines have started them, no single routine could fix that.
  private func refuseFlood() throws {
    let (state, waiting) = (script.state, script.state.waitingCount)
    if !script.isFlooded {
      guard 2 * waiting >= state.limits.objects, script.objects.isFull,
        2 * (state.running?.startedInSlice ?? 0) < waiting
      else { return }
      script.report(script.flood)
    }
    throw LuaError(code: "script.flooded", message: "the script ends, as too many calls wait to run")
  }

  /// Calls `body` when the task has ended. Until then its error has a receiver, unless the returned function
  /// is called before.
  private func follow(_ task: ScriptTask, _ body: @escaping (LuaRoutine.Outcome) -> Void) -> () -> Void {
    var isWaiting = true
    if task.routine.outcome == nil { task.waiterCount += 1 } else { task.isDelivered = true }
    let giveUp = {
      if isWaiting && task.routine.outcome == nil { task.waiterCount -= 1 }
      isWaiting = false
    }
    task.routine.whenEnded { outcome in
      if isWaiting { body(outcome) }
      isWaiting = false
    }
    return giveUp
  }

  private func spawn(_ call: LuaCall) throws -> LuaReturn {
    let task = try start(try call.function(1), call.values(from: 2), name: "task")
    return call.return(tasks(task))
  }

  private func sleep(_ call: LuaCall) throws -> LuaReturn {
    let time = try call.duration(1)
    let loop = script.loop
    return try call.suspend { continuation in
      let timer = loop.after(time) { continuation.resume(returning: []) }
      return { timer.cancel() }
    }
  }

  /// Suspends until the task ends, then returns its results or raises its error.
  private func awaitEnd(_ task: ScriptTask, timeout: Duration?, _ call: LuaCall) throws -> LuaReturn {
    let loop = script.loop
    return try call.suspend { continuation in
      var timer: LoopTimer?
      let giveUp = follow(task) { outcome in
        timer?.cancel()
        Self.resume(continuation, with: outcome)
      }
      timer = timeout.map { time in
        loop.after(time) {
          giveUp()
          continuation.resume(throwing: Self.timedOut(time))
        }
      }
      return {
        timer?.cancel()
        giveUp()
      }
    }
  }

  private static func resume(_ continuation: LuaContinuation, with outcome: LuaRoutine.Outcome) {
    switch outcome {
    case .returned(let values): continuation.resume(returning: values)
    case .failed(let error): continuation.resume(throwing: error)
    case .cancelled: continuation.resume(throwing: LuaError.cancelled)
    }
  }

  private static func timedOut(_ time: Duration) -> LuaError {
    LuaError(code: "task.timeout", message: "not done within \(time.inSeconds) s")
  }

  /// The tasks of a list; functions in it are started as tasks.
  private func members(_ call: LuaCall) throws -> [ScriptTask] {
    let values = try call.list(1)
    for (index, value) in values.enumerated() where tasks.object(of: value) == nil {
      guard call.state.typeName(value) == "function" else {
        throw call.problem(
          1, "element \(index + 1): task or function expected, got \(call.state.typeName(value))")
      }
    }
    return try values.enumerated().compactMap { index, value in
      if let task = tasks.object(of: value) { return task }
      guard case .reference(let function) = value else { return nil }
      return try start(function, [], name: "task \(index + 1)")
    }
  }

  /// Waits for all tasks: a list of their first results. When one fails, the others are cancelled and its
  /// error is raised.
  private func all(_ call: LuaCall) throws -> LuaReturn {
    try call.suspend { continuation in
      let members = try members(call)
      guard !members.isEmpty else {
        continuation.resume(returning: [.list([])])
        return nil
      }
      let crew = Crew(members)
      var open = members.count
      var results = [LuaValue](repeating: .bool(false), count: members.count)
      for (index, member) in members.enumerated() where !crew.isStopped {
        crew.givingUp.append(
          follow(member) { outcome in
            open -= 1
            if case .returned(let values) = outcome {
              results[index] = values.first ?? .bool(true)
              if open == 0 { continuation.resume(returning: [.list(results)]) }
            } else {
              crew.stop { Self.resume(continuation, with: outcome) }
            }
          })
      }
      return { crew.stop() }
    }
  }

  /// Waits for the first task to end, and cancels the others: its results, or its error.
  private func race(_ call: LuaCall) throws -> LuaReturn {
    try call.suspend { continuation in
      let members = try members(call)
      guard !members.isEmpty else { throw call.problem(1, "at least one task or function expected") }
      let crew = Crew(members)
      for member in members where !crew.isStopped {
        crew.givingUp.append(
          follow(member) { outcome in crew.stop { Self.resume(continuation, with: outcome) } })
      }
      return { crew.stop() }
    }
  }

  /// Runs a function for at most the given time, then cancels it and raises `task.timeout`.
  private func timeout(_ call: LuaCall) throws -> LuaReturn {
    let time = try call.duration(1)
    let function = try call.function(2)
    let arguments = call.values(from: 3)
    let loop = script.loop
    return try call.suspend { continuation in
      let task = try start(function, arguments, name: "task.timeout")
      let crew = Crew([task])
      var timer: LoopTimer?
      crew.givingUp = [
        follow(task) { outcome in
          timer?.cancel()
          Self.resume(continuation, with: outcome)
        }
      ]
      timer = loop.after(time) {
        crew.stop { continuation.resume(throwing: Self.timedOut(time)) }
      }
      return {
        timer?.cancel()
        crew.stop()
      }
    }
  }
}

// MARK: Programs

extension TaskModule {
  private func exec(_ call: LuaCall) throws -> LuaReturn {
    script.loop.isVirtual
      ? try ProgramRun.simulated(call, { try script.objects.hold(.task) }) { standIns[$0] }
      : try ProgramRun.exec(call, script.programs)
  }

  /// `stand_in(program, fn)`: the function that `exec` calls in place of a program under simulation.
  private func standIn(_ call: LuaCall) throws -> LuaReturn {
    standIns[try call.string(1, .path)] = try call.function(2)
    return .none
  }
}
