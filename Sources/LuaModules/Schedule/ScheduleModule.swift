internal import EventLoop
internal import Home
internal import LuaRuntime
internal import Scheduling

/// `schedule.at`, `schedule.cron`, `schedule.every`: jobs on the wall clock, or on the virtual one.
final class ScheduleModule {
  private unowned let script: Script
  private let table: JobTable
  private let zone: any LocalZone
  private let location: Location?
  private let journal: Journal
  /// The identity of the script, under which its jobs are remembered; nil for text that comes from no file.
  private let identity: String?
  private let jobs: LuaClass<Job>
  /// The largest `early` of a job.
  private static let maximumEarly = Duration.seconds(86_400)

  static func register(
    in script: Script, table: JobTable, zone: any LocalZone, location: Location?, journal: Journal,
    events: ScriptEvents
  ) throws {
    let module = try ScheduleModule(script, table, zone, location, journal)
    events.add(to: module.jobs, Self.events(of: script.loop, journal))
    let number = script.number
    script.state.register(
      "schedule",
      [
        LuaFunction("at", arity: 3, module.at),
        LuaFunction("cron", arity: 3, module.cron),
        LuaFunction("every", arity: 3, module.every),
        LuaFunction("jobs", arity: 0) { call in
          call.return(.list(table.jobs(of: number).map { module.jobs($0) }))
        },
      ])
    script.staysAlive { table.count(of: number) > 0 }
    script.root { table.endAll(of: number) }
  }

  private init(
    _ script: Script, _ table: JobTable, _ zone: any LocalZone, _ location: Location?, _ journal: Journal
  ) throws {
    (self.script, self.table, self.zone, self.location, self.journal) =
      (script, table, zone, location, journal)
    identity = script.folder == nil ? nil : script.identity
    jobs = try LuaClass("job", as: "schedule.Job", in: script.state) { job in
      guard job.isActive else { return "job \"\(job.name)\" (ended)" }
      let next = job.next.map { "next \(zone.local($0))" } ?? "no next run"
      return "job \"\(job.name)\" (\(next), runs \(job.runs), failures \(job.failures))"
    }
    let seconds = { (time: WallTime?) in LuaValue.optional(time.map { $0.inSeconds }) }
    jobs.field("name") { job, call in call.return(.string(job.name)) }
    jobs.field("next") { job, call in call.return(seconds(job.isActive ? job.next : nil)) }
    jobs.field("last") { job, call in call.return(seconds(job.last)) }
    jobs.field("due") { job, call in call.return(seconds(job.lastDue)) }
    jobs.field("runs") { job, call in call.return(job.runs) }
    jobs.field("failures") { job, call in call.return(job.failures) }
    jobs.field("active", changedBy: "cancel") { job, call in call.return(job.isActive) }
    jobs.method("cancel", arity: 0) { job, _ in
      job.cancel()
      return .none
    }
    jobs.method("run_now", arity: 0) { job, call in call.return(job.runNow()) }
    jobs.method("skip", arity: 0) { job, call in call.return(seconds(job.skipNext())) }
  }

  /// `at(time, [options,] fn)`
  private func at(_ call: LuaCall) throws -> LuaReturn {
    let text = try call.string(1, .header)
    let (options, function) = try arguments(call, ["catch_up", "days", "early", "grace", "name", "overlap"])
    let days = try options.string("days", .name)
    if let days {
      do {
        _ = try Weekdays(parsing: days)
      } catch {
        throw options.problem("days", error.message, code: error.code, hint: error.hint)
      }
    }
    let recurrence: Recurrence
    do {
      recurrence = try Recurrence.at(
        text, days: days, now: script.loop.wallNow, in: zone, location: location, acceptsPast: true)
    } catch {
      guard error.kind == .syntax else { throw error }
      throw call.problem(1, error.message, code: error.code, hint: error.hint)
    }
    return try add(recurrence, options, function, call)
  }

  /// `cron(expression, [options,] fn)`
  private func cron(_ call: LuaCall) throws -> LuaReturn {
    let text = try call.string(1, .header)
    let (options, function) = try arguments(
      call, ["catch_up", "early", "grace", "name", "overlap", "timezone"])
    let expression: CronExpression
    do {
      expression = try CronExpression(parsing: text)
    } catch {
      throw call.problem(1, error.message, code: error.code, hint: error.hint)
    }
    guard expression.next(after: script.loop.wallNow, in: zone) != nil else {
      throw call.problem(
        1, "\(expression) is not a time: a script begins when it is run", code: "schedule.syntax")
    }
    var zone: ZoneFile?
    if let name = try options.string("timezone", .name) {
      do {
        zone = try ZoneFile(meaning: name)
      } catch {
        throw options.problem("timezone", error.message, code: error.code, hint: error.hint)
      }
    }
    return try add(.cron(expression), in: zone, options, function, call)
  }

  /// `every(duration, [options,] fn)`
  private func every(_ call: LuaCall) throws -> LuaReturn {
    let distance = try call.duration(1, code: "schedule.syntax")
    let (options, function) = try arguments(call, ["align", "name", "overlap"])
    return try add(.every(distance, aligned: try options.bool("align") ?? false), options, function, call)
  }

  private func arguments(_ call: LuaCall, _ known: [String]) throws -> (LuaOptions, LuaReference) {
    let hasOptions = call.count >= 3
    // Without options a number beyond the last argument is read, which is absent.
    return (try call.options(hasOptions ? 2 : call.count + 1, known), try call.function(hasOptions ? 3 : 2))
  }

  private func early(_ options: LuaOptions) throws -> Duration {
    guard let early = try options.duration("early") else { return .zero }
    guard early <= Self.maximumEarly else { throw options.problem("early", "at most 24h expected") }
    return early
  }

  private func lateRuns(_ options: LuaOptions) throws -> LateRunPolicy {
    let grace = try options.duration("grace")
    switch try options.string("catch_up", .name) {
    case nil, "skip": return LateRunPolicy(grace: grace)
    case "run_once": return LateRunPolicy(catchesUp: true, grace: grace)
    case let name?: throw options.problem("catch_up", "\"skip\" or \"run_once\" expected, got \"\(name)\"")
    }
  }

  private func overlap(_ options: LuaOptions) throws -> OverlapPolicy {
    guard let name = try options.string("overlap", .name) else { return .skip }
    guard let policy = OverlapPolicy(rawValue: name) else {
      throw options.problem("overlap", "\"skip\", \"queue\" or \"parallel\" expected, got \"\(name)\"")
    }
    return policy
  }

  private func add(
    _ recurrence: Recurrence, in zone: ZoneFile? = nil, _ options: LuaOptions, _ function: LuaReference,
    _ call: LuaCall
  ) throws -> LuaReturn {
    let script = script
    let name = try options.string("name", .name)
    let isOdd = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
    if let name, name.isEmpty || name.unicodeScalars.contains(where: isOdd) {
      throw options.problem("name", "a name expected that is not empty and has no control characters")
    }
    let held = try script.objects.hold(.job)
    let job = try table.add(
      recurrence, name: name, owner: script.number, identity: identity, zone: zone,
      overlap: try overlap(options), early: try early(options), lateRuns: try lateRuns(options)
    ) { [unowned script, journal] run in
      // Until the job ends, and with it this closure.
      withExtendedLifetime(held) {}
      let cause = journal.cause(of: run.job)
      guard let routine = script.call(function, name: "job \"\(run.job.name)\"", cause: cause) else {
        return run.succeed()
      }
      routine.whenEnded { [weak script] outcome in
        // os.exit is not a failure.
        if case .failed(let error) = outcome, script?.isExit(error) != true {
          run.fail(error.description)
        } else {
          run.succeed()
        }
      }
    }
    journal.declare(job, script: script.fileName, line: script.state.running?.site?.line ?? 0)
    return call.return(jobs(job))
  }
}

// MARK: Events

extension ScheduleModule {
  private static let eventNames = ["started", "finished", "failed", "failing", "missed", "skipped", "ended"]

  fileprivate static func events(of loop: EventLoop, _ journal: Journal) -> EventSource<Job> {
    EventSource(
      names: eventNames,
      cause: { _, event, place, now in
        Cause(.event, event, script: place?.file, line: place?.line ?? 0, at: now, parent: journal.jobEvent)
      }
    ) { job, name, deliver, closed in
      var isWanted = true
      // In the next turn, when the listeners have received the last events.
      let close = { loop.next { if isWanted { closed() } } }
      if !job.isActive { close() }
      let forget = job.onEvent { event in
        if let fields = fields(of: event, named: name) {
          deliver(.record([("name", .string(name))] + fields))
        }
        if event == .ended { close() }
      }
      return {
        isWanted = false
        forget()
      }
    }
  }

  /// Returns the fields of an event if it is the one called `name`.
  private static func fields(of event: JobEvent, named name: String) -> [(name: String, value: LuaValue)]? {
    func due(_ time: WallTime) -> [(name: String, value: LuaValue)] { [("due", .number(time.inSeconds))] }
    switch (name, event) {
    case ("started", .started), ("finished", .succeeded), ("ended", .ended): return []
    case ("failed", .failed(let reason)): return [("error", .string(reason))]
    case ("failing", .failing(let runs, let reason)):
      return [("failures", .int(runs)), ("error", .string(reason))]
    case ("missed", .missed(let time)): return due(time)
    case ("skipped", .skipped(let time)), ("skipped", .omitted(let time)): return due(time)
    default: return nil
    }
  }
}
