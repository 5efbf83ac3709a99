internal import EventLoop
internal import LuaSyntax
internal import Reference

// Several jobs with one name.

extension ScriptCheck {
  /// The parameter with the options of each function that makes a job.
  private static let jobMakers = [
    "schedule.at": 1, "schedule.cron": 1, "schedule.every": 1, "alarm.set": 0, "recorder.schedule": 0,
  ]

  /// Complains about a second job with the same name in the main routine, as long as the first one can't have
  /// ended: no call between them suspends or is unknown, and the script cancels nothing.
  func checkJobNames() {
    let cancels = tree.expressionIDs.contains { id in
      switch tree[id].kind {
      case .method(_, "cancel", _, _): true
      case .index(_, let key): if case .string("cancel") = tree[key].kind { true } else { false }
      default: false
      }
    }
    guard !cancels else { return }
    var names: [String: Int] = [:]
    noteJobs(tree[LuaFunctionID.main].body, &names)
  }

  private func noteJobs(_ body: [LuaStatement], _ names: inout [String: Int]) {
    for statement in body {
      switch statement.kind {
      case .block(let inner): noteJobs(inner, &names)
      case .if, .while, .repeat, .numericFor, .genericFor, .goto, .label:
        if calls(in: [statement]).contains(where: mayEndJobs) { names = [:] }
      default:
        for call in calls(in: [statement]) {
          noteJob(call, &names)
          if mayEndJobs(call) { names = [:] }
        }
      }
    }
  }

  private func mayEndJobs(_ call: LuaExpressionID) -> Bool {
    if let (function, _) = callee(of: call) { return function.suspends || function.name == "pcall" }
    guard case .call(let callee, _) = tree[call].kind, case .libraryFunction(let name) = value(of: callee)
    else {
      return true
    }
    return name == "pcall" || name == "xpcall"
  }

  private func noteJob(_ call: LuaExpressionID, _ names: inout [String: Int]) {
    guard let (function, _) = callee(of: call), let index = Self.jobMakers[function.name] else { return }
    let arguments = tree.arguments(of: call)
    guard index < arguments.count, case .table(let options) = tree[arguments[index]].kind else { return }
    for option in options {
      guard let key = option.key, case .string("name") = tree[key].kind,
        case .text(let name?) = value(of: option.value)
      else { continue }
      if let first = names[name] {
        complain(
          .job, at: tree[option.value].offset,
          "there is already a job \(quoted(name)), at line \(lines.line(of: first)); names are unique in a script"
        )
      }
      names[name] = names[name] ?? tree[option.value].offset
    }
  }
}
