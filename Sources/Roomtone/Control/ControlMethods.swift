internal import EventLoop
internal import Home
internal import JSONText
internal import LuaModules
internal import LuaRuntime
internal import Scheduling
internal import SpeakerKit

/// The methods of the control socket of a daemon: those on the house, and those on its scripts. Confined to the loop.
final class ControlMethods {
  typealias Method = HouseMethods.Method
  unowned let daemon: Daemon
  let house: HouseMethods

  init(daemon: Daemon) {
    self.daemon = daemon
    house = HouseMethods(of: daemon.engine, isDaemon: true)
  }

  /// The methods by name, made for one request: they retain this object.
  private var methods: [String: Method] {
    let own: [String: Method] = [
      "status": status, "scripts": scripts, "top": top, "restart": restart, "reload": reload, "jobs": jobs,
      "run_now": runNow, "skip": skip, "trigger": trigger, "eval": evaluate,
      "end_live": endLive, "log": log, "say": say, "scene": scene,
      "run": { [self] in
        try daemon.attach($0)
        return nil
      },
    ]
    return house.methods.merging(house.ofPlayback) { $1 }.merging(own) { _, own in own }
  }

  /// Performs a request, and has it answered at once or later.
  func perform(_ request: ControlRequest) {
    let methods = methods
    house.perform(request, by: methods) {
      let meant = nearest(request.method, among: methods.keys.sorted()).map { "did you mean \"\($0)\"?" }
      return RPCError(
        .unknownMethod, "no method is called \"\(request.method.prefix(60).description.onOneLine)\"",
        hint: meant)
    }
  }

  // MARK: Scripts

  private func status(_ request: ControlRequest) throws -> JSON? {
    _ = try ControlParameters(request)
    return DaemonReport(daemon).status
  }

  private func scripts(_ request: ControlRequest) throws -> JSON? {
    let report = DaemonReport(daemon)
    return try list(daemon.scripts, request) { report.script($0) }
  }

  /// Returns a list as a whole, or with the parameter `from` the page that begins there.
  private func list<Element>(
    _ elements: [Element], _ request: ControlRequest, _ element: (Element) -> JSON
  ) throws -> JSON {
    guard let first = try ControlParameters(request, "from").int("from") else {
      return .array(elements.map(element))
    }
    guard (0...elements.count).contains(first) else {
      throw RPCError(
        .invalidParameters, "\(request.method): the parameter \"from\" is 0 to \(elements.count)")
    }
    return AnswerPage(elements, from: first, element).json
  }

  private func top(_ request: ControlRequest) throws -> JSON? {
    _ = try ControlParameters(request)
    return DaemonReport(daemon).top
  }

  private func restart(_ request: ControlRequest) throws -> JSON? {
    let name = try ControlParameters(request, "name").requiredText("name")
    if name == daemon.prompt.name, daemon.hosts[name] == nil {
      daemon.prompt.end()
      return .object([("name", .string(name))])
    }
    return load(try daemon.host(name), request)
  }

  private func reload(_ request: ControlRequest) throws -> JSON? {
    if let name = try ControlParameters(request, "name").text("name") {
      return load(try daemon.host(name), request)
    }
    let loop = daemon.engine.loop
    daemon.reload()
    daemon.whenSettled { [unowned daemon] in
      loop.next(turns: 3) {
        daemon.whenSettled {
          request.answer(.success(.array(daemon.scripts.map { DaemonReport(daemon).script($0) })))
        }
      }
    }
    return nil
  }

  private func load(_ host: ScriptHost, _ request: ControlRequest) -> JSON? {
    host.load(anyway: true)
    let loop = daemon.engine.loop
    daemon.whenSettled { [unowned daemon] in
      // In the turns until then, the main routine runs up to its first suspension.
      loop.next(turns: 3) {
        daemon.whenSettled {
          if let error = host.machine.error {
            request.answer(.failure(error.located))
          } else {
            request.answer(.success(DaemonReport(daemon).script(host)))
          }
        }
      }
    }
    return nil
  }

  // MARK: Jobs and triggers

  private func jobs(_ request: ControlRequest) throws -> JSON? {
    let report = DaemonReport(daemon)
    // Jobs without a next run are last; those with the same next run keep the order in which they were added.
    let sorted = daemon.engine.scheduledJobs.enumerated().sorted { left, right in
      let (first, second) = (report.next(left.element), report.next(right.element))
      guard first != second else { return left.offset < right.offset }
      return first.map { first in second.map { first < $0 } ?? true } ?? false
    }
    return try list(sorted.map(\.element), request) { report.job($0) }
  }

  private func runNow(_ request: ControlRequest) throws -> JSON? {
    let job = try job(ControlParameters(request, "job").requiredText("job"))
    _ = job.runNow()
    return DaemonReport(daemon).job(job)
  }

  private func skip(_ request: ControlRequest) throws -> JSON? {
    let job = try job(ControlParameters(request, "job").requiredText("job"))
    guard let skipped = job.skipNext() else {
      throw DaemonError(
        .unknownJob, "the job \"\(job.name)\" has no run to skip",
        hint: "a job that repeats by an interval has no moments; cancel it in its script")
    }
    return .object([("job", DaemonReport(daemon).job(job)), ("skipped", .decimal(skipped.inSeconds))])
  }

  /// Returns the job called `text`, or `script/job` where several scripts have one of that name.
  private func job(_ text: String) throws -> Job {
    let all = daemon.engine.scheduledJobs
    func fullName(_ job: Job) -> String { "\(daemon.scriptName(job.owner) ?? "")/\(job.name)" }
    let found = all.filter { $0.name == text || fullName($0) == text }
    if found.count == 1 { return found[0] }
    let shown = text.prefix(100).description.onOneLine
    guard found.isEmpty else {
      throw DaemonError(
        .unknownJob, "several scripts have a job \"\(shown)\"",
        hint: "one of " + found.map { "\"\(fullName($0))\"" }.joined(separator: ", "))
    }
    let names = all.map(\.name)
    let hint =
      nearest(text, among: names).map { "did you mean \"\($0)\"?" }
      ?? (names.isEmpty
        ? "no script has a job" : "there are \(names.map { "\"\($0)\"" }.joined(separator: ", "))")
    throw DaemonError(.unknownJob, "no job is called \"\(shown)\"", hint: hint)
  }

  private func trigger(_ request: ControlRequest) throws -> JSON? {
    let parameters = try ControlParameters(request, "name", "value")
    let name = try parameters.requiredText("name")
    if let problem = Trigger.problem(withName: name) {
      throw LuaError(code: "trigger.name", message: problem)
    }
    let value = parameters.value("value")?.line
    guard value?.utf8.count ?? 0 <= Trigger.largestValue else {
      throw LuaError(
        code: "trigger.too_large",
        message: "the value takes more than \(Trigger.largestValue >> 10) KiB as JSON")
    }
    let listeners = daemon.engine.triggers.listenerCount(name)
    daemon.engine.triggers.fire(
      Trigger(
        name, value: value, origin: request.hook == nil ? .ctl : .http,
        sender: request.hook.map { "webhook \(quoted($0, atMost: Trigger.longestName))" }))
    return .object([("name", .string(name)), ("listeners", .number(listeners))])
  }

  // MARK: Code and log

  private func evaluate(_ request: ControlRequest) throws -> JSON? {
    let parameters = try ControlParameters(request, "code", "script", "follow", "live")
    let code = try parameters.requiredText("code", atMost: ControlSession.longestRequest)
    let name = try parameters.text("script")
    let script = try name.map { try running(try daemon.host($0)) } ?? daemon.prompt.ready()
    do {
      let environment = try name.map { _ in try daemon.evaluations.environment(beside: script) }
      let onPrint: ((String) -> Void)? =
        try parameters.flag("follow")
        ? { [weak request] in _ = request?.notify("print", .object([("text", .string($0))])) } : nil
      let onLive: (([String], Int) -> Void)? =
        try parameters.flag("live")
        ? { [weak request] rows, number in
          _ = request?.notify(
            "live", .object([("rows", .array(rows.map { .string($0) })), ("live", .number(number))]))
        } : nil
      request.onCancel = try daemon.evaluations.run(
        code, in: script, environment, onPrint: onPrint, onLive: onLive
      ) { request.answer($0) }
    } catch { throw LuaError(error).located }
    return nil
  }

  private func endLive(_ request: ControlRequest) throws -> JSON? {
    let number = try ControlParameters(request, "live").int("live") ?? 0
    return .bool(daemon.evaluations.endLive(number))
  }

  func running(_ host: ScriptHost) throws -> Script {
    if let script = host.script { return script }
    throw DaemonError(
      .notRunning, "the script \"\(host.name)\" does not run: it is \(host.machine.name)",
      hint: "roomtone ctl scripts says why")
  }

  private func log(_ request: ControlRequest) throws -> JSON? {
    let parameters = try ControlParameters(request, "script", "follow")
    let name = try parameters.text("script")
    // The log may have lines of a script that no longer exists.
    if let name, name != daemon.prompt.name, !daemon.log.kept.contains(where: { $0.script == name }) {
      _ = try daemon.host(name)
    }
    if try parameters.flag("follow") {
      request.isFollowed = true
      var end: () -> Void = {}
      end = daemon.log.follow { entry in
        if name == nil || entry.script == name, !request.notify("log", DaemonReport.entry(entry)) { end() }
      }
      request.onCancel = { end() }
    }
    let entries = daemon.log.kept.filter { name == nil || $0.script == name }
    return .array(entries.map(DaemonReport.entry))
  }
}
