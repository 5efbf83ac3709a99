internal import EventLoop
internal import Home
internal import LuaRuntime
internal import Scheduling
internal import SpeakerKit

/// The journal of the house, and the questions about it.
extension SpeakerModule {
  /// `history{device=, since=, kind=}`
  func history(_ zone: any LocalZone) -> LuaFunction {
    withHouse("history", arity: 1) { [unowned self] house, call in
      let options = try call.options(1, ["device", "since", "kind"])
      var filter = JournalFilter()
      filter.speakers = try targets(options, "device", house).map { Set($0.map(\.id)) }
      filter.since = try options.duration("since").map { script.loop.wallNow.advanced(by: .zero - $0) }
      if let name = try options.string("kind", .name) {
        guard let kind = JournalEntry.Kind(rawValue: name), kind.isKept else {
          throw options.problem("kind", unknown("kind", name, among: JournalEntry.Kind.keptNames))
        }
        filter.kinds = [kind]
      }
      let text = JournalText(zone: zone, now: script.loop.wallNow)
      return call.return(.list(journal.history(filter).map { Self.value($0, text) }))
    }
  }

  private static func value(_ change: JournalEntry, _ text: JournalText) -> LuaValue {
    var fields: [(name: String, value: LuaValue)] = [
      ("time", .number(change.at.inSeconds)), ("kind", .string(change.kind.rawValue)),
      ("subject", .string(change.subject.rawValue)), ("name", .string(change.name)),
      ("from", value(change.from)), ("to", value(change.to)), ("detail", .optional(change.detail)),
      ("count", .int(change.count)), ("text", .string(text.line(change))),
    ]
    if let cause = change.cause { fields.append(("cause", value(cause))) }
    return .described(fields)
  }

  private static func value(_ value: JournalEntry.Value) -> LuaValue {
    switch value {
    case .none: .nil
    case .number(let number): .int(number)
    case .decimal(let number): .number(number)
    case .text(let text): .string(text)
    case .time(let time): .number(time.inSeconds)
    }
  }

  private static func value(_ cause: Cause) -> LuaValue {
    var fields: [(name: String, value: LuaValue)] = [
      ("kind", .string(cause.kind.rawValue)), ("at", .number(cause.at.inSeconds)),
      ("detail", .optional(cause.detail)), ("script", .optional(cause.script)),
      ("line", cause.line > 0 ? .int(cause.line) : .nil),
    ]
    if !cause.name.isEmpty { fields.append((Cause.key(cause.kind), .string(cause.name))) }
    if let parent = cause.parent { fields.append(("parent", value(parent))) }
    return .record(fields)
  }

  /// `why(thing)`: prints the answer.
  func why(_ jobs: JobTable, _ zone: any LocalZone) -> LuaFunction {
    LuaFunction("why", arity: 1) { [unowned self] call in
      let name: String
      switch call.value(1) {
      case .string: name = try call.string(1, .name)
      case let value where !call.isNil(1):
        // Objects print as `speaker "Kitchen" (…)`.
        let text = script.state.text(value)
        guard let start = text.firstIndex(of: "\""), let end = text.firstRange(of: "\" (")?.lowerBound,
          start < end
        else { throw call.mismatch(1, "name, speaker, group, session or job") }
        name = String(text[text.index(after: start)..<end])
      default: throw call.mismatch(1, "name, speaker, group, session or job")
      }
      let why = Why(journal, house: door.open, jobs: jobs.jobs(), zone: zone)
      for line in try why.answer(name) { call.state.onPrint(line) }
      return .none
    }
  }

  /// The codes of refusals that are due to the state of the house, about which a person may ask.
  private static let refusals: Set<String> = [
    "speaker.outranked", "speaker.no_active_device", "speaker.unavailable", "speaker.no_stream",
    "speaker.unsupported", "stream.in_use",
  ]

  /// Records a command of the script that the house has refused.
  func recordRefusal(_ function: String, _ error: LuaError) {
    guard Self.refusals.contains(error.code), let house = door.open else { return }
    var concerned: [Device] = []
    if case .string(let name)? = error.facts.first(where: { $0.name == "device" })?.value {
      concerned = house.devices.filter { $0.name == name }
    } else if error.code == "speaker.no_active_device" {
      concerned = house.devices.filter { !$0.isActive || !$0.isAvailable }
    }
    journal.record(
      .refused, of: concerned.count == 1 ? .speaker : .house,
      concerned.count == 1 ? concerned[0].name : "house", speakers: concerned.map(\.id),
      detail: error.message.hasPrefix(function) ? error.message : "\(function): \(error.message)",
      cause: journal.current)
  }
}
