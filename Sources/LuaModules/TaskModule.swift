internal import EventLoop
internal import LuaRuntime

/// `task`: routines that run side by side, and time.
final class TaskModule {
  private unowned let script: Script
  private let tasks: LuaClass<ScriptTask>

  /// A routine that a script started, and whether its end concerns anybody.
  final class ScriptTask {
    let routine: LuaRoutine
    var isAwaited = false
    init(_ routine: LuaRoutine) { self.routine = routine }
  }

  static func register(in script: Script) throws {
    let module = try TaskModule(script)
    script.keep(module)
    script.state.register(
      "task",
      [
        LuaFunction("spawn", module.spawn),
        LuaFunction("sleep", module.sleep),
        LuaFunction("all", module.all),
        LuaFunction("race", module.race),
        LuaFunction("timeout", module.timeout),
        LuaFunction("now") { call in
          call.return(.number(Instant.start.duration(to: call.state.loop.now).luaSeconds))
        },
      ], values: [("try", script.state.tryFunction())])
  }

  private init(_ script: Script) throws {
    self.script = script
    tasks = try LuaClass("task", in: script.state) { task in
      "task \"\(task.routine.name)\" (\(Self.describe(task.routine.outcome)))"
    }
    tasks.field("done") { task, call in call.return(task.routine.outcome != nil) }
    tasks.field("name") { task, call in call.return(.string(task.routine.name)) }
    tasks.method("cancel") { task, _ in
      task.isAwaited = true
      task.routine.cancel()
      return .none
    }
    tasks.method("await") { [unowned self] task, call in
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

  private func start(_ function: LuaReference, _ arguments: [LuaValue], name: String) -> ScriptTask {
    let task = ScriptTask(script.state.start(function, arguments: arguments, name: name))
    task.routine.whenEnded { [weak script] outcome in
      guard case .failed(let error) = outcome else { return }
      // Whoever awaits it in this turn or has done so before takes the error; else it is told.
      script?.loop.next { if !task.isAwaited { script?.report(error) } }
    }
    return task
  }

  private func spawn(_ call: LuaCall) throws -> LuaReturn {
    let task = start(try call.function(1), call.values(from: 2), name: "task")
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

  /// Resumes with what the task returns, or raises what it failed with.
  private func awaitEnd(_ task: ScriptTask, timeout: Duration?, _ call: LuaCall) throws -> LuaReturn {
    task.isAwaited = true
    let loop = script.loop
    return try call.suspend { continuation in
      let timer = timeout.map { time in
        loop.after(time) { continuation.resume(throwing: Self.timedOut(time)) }
      }
      task.routine.whenEnded { outcome in
        timer?.cancel()
        switch outcome {
        case .returned(let values): continuation.resume(returning: values)
        case .failed(let error): continuation.resume(throwing: error)
        case .cancelled: continuation.resume(throwing: LuaError.cancelled)
        }
      }
      return { timer?.cancel() }
    }
  }

  private static func timedOut(_ time: Duration) -> LuaError {
    LuaError(code: "task.timeout", message: "not done within \(time.luaSeconds) s")
  }

  /// The tasks of a list, in which functions are started.
  private func members(_ call: LuaCall) throws -> [ScriptTask] {
    let members = try call.list(1).enumerated().map { index, value in
      if let task = tasks.object(of: value) { return task }
      guard case .reference(let function) = value, call.state.typeName(value) == "function" else {
        throw call.problem(
          1, "element \(index + 1): task or function expected, got \(call.state.typeName(value))")
      }
      return start(function, [], name: "task \(index + 1)")
    }
    for member in members { member.isAwaited = true }
    return members
  }

  /// Waits for all: a list of their first results. When one fails the others are cancelled and its error is raised.
  private func all(_ call: LuaCall) throws -> LuaReturn {
    let members = try members(call)
    guard !members.isEmpty else { return call.return(.list([])) }
    return try call.suspend { continuation in
      var open = members.count
      var results = [LuaValue](repeating: .bool(false), count: members.count)
      for (index, member) in members.enumerated() {
        member.routine.whenEnded { outcome in
          open -= 1
          switch outcome {
          case .returned(let values): results[index] = values.first ?? .bool(true)
          case .failed(let error):
            for other in members { other.routine.cancel() }
            continuation.resume(throwing: error)
          case .cancelled:
            for other in members { other.routine.cancel() }
            continuation.resume(throwing: LuaError.cancelled)
          }
          if open == 0 { continuation.resume(returning: [.list(results)]) }
        }
      }
      return { for member in members { member.routine.cancel() } }
    }
  }

  /// Waits for the first to end, and cancels the others: its results, or its error.
  private func race(_ call: LuaCall) throws -> LuaReturn {
    let members = try members(call)
    guard !members.isEmpty else { throw call.problem(1, "at least one task or function expected") }
    return try call.suspend { continuation in
      for member in members {
        member.routine.whenEnded { outcome in
          switch outcome {
          case .returned(let values): continuation.resume(returning: values)
          case .failed(let error): continuation.resume(throwing: error)
          case .cancelled: continuation.resume(throwing: LuaError.cancelled)
          }
          for other in members where other !== member { other.routine.cancel() }
        }
      }
      return { for member in members { member.routine.cancel() } }
    }
  }

  /// Runs a function for at most a time, then cancels it and raises task.timeout.
  private func timeout(_ call: LuaCall) throws -> LuaReturn {
    let time = try call.duration(1)
    let task = start(try call.function(2), call.values(from: 3), name: "task.timeout")
    task.isAwaited = true
    let loop = script.loop
    return try call.suspend { continuation in
      let timer = loop.after(time) {
        continuation.resume(throwing: Self.timedOut(time))
        task.routine.cancel()
      }
      task.routine.whenEnded { outcome in
        timer.cancel()
        switch outcome {
        case .returned(let values): continuation.resume(returning: values)
        case .failed(let error): continuation.resume(throwing: error)
        case .cancelled: continuation.resume(throwing: LuaError.cancelled)
        }
      }
      return {
        timer.cancel()
        task.routine.cancel()
      }
    }
  }
}
