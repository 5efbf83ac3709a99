internal import EventLoop
public import JSONText

/// Entries as JSON, for the archive, the control socket and programs. Times are seconds since 1970.
extension JournalEntry {
  /// The entry: `time`, `until` of steps, `kind`, `subject`, `name`, `speakers`, `from`, `to`, `detail`,
  /// `facts`, `count` if it is more than one, `cause`.
  public var json: JSON {
    var members: [(name: String, value: JSON)] = [
      ("time", .decimal(at.inSeconds)), ("kind", .string(kind.rawValue)),
      ("subject", .string(subject.rawValue)), ("name", .string(name)),
    ]
    if until != at { members.append(("until", .decimal(until.inSeconds))) }
    if !speakers.isEmpty { members.append(("speakers", .array(speakers.map { .string($0) }))) }
    if from != .none { members.append(("from", from.json)) }
    if to != .none { members.append(("to", to.json)) }
    if let detail { members.append(("detail", .string(detail))) }
    if !facts.isEmpty { members.append(("facts", .object(facts.map { ($0.name, $0.value) }))) }
    if count > 1 { members.append(("count", .number(count))) }
    members.append(("cause", cause?.json ?? .null))
    return .object(members)
  }

  /// Reads an entry; nil for other JSON.
  init?(_ json: JSON, number: Int) {
    guard let at = json["time"]?.time, let kind = json["kind"]?.text.flatMap(Kind.init),
      let subject = json["subject"]?.text.flatMap(Subject.init), let name = json["name"]?.text
    else { return nil }
    var facts: [Fact] = []
    if case .object(let members)? = json["facts"] { facts = members.map { Fact($0.name, $0.value) } }
    self.init(
      kind, of: subject, name, at: at, until: json["until"]?.time, number: number,
      speakers: (json["speakers"]?.elements ?? []).compactMap(\.text), from: Value(json["from"]),
      to: Value(json["to"]), detail: json["detail"]?.text, facts: facts,
      cause: json["cause"].flatMap(Cause.init(json:)))
    count = json["count"]?.int ?? 1
  }
}

extension JournalEntry.Value {
  /// The value; a time as `{"time": …}`.
  var json: JSON {
    switch self {
    case .none: .null
    case .number(let number): .number(number)
    case .decimal(let number): .exact(number)
    case .text(let text): .string(text)
    case .time(let time): .object([("time", .decimal(time.inSeconds))])
    }
  }

  init(_ json: JSON?) {
    switch json {
    case .number(let number): self = .number(number)
    case .decimal(let number), .exact(let number): self = .decimal(number)
    case .string(let text): self = .text(text)
    case .object: self = json?["time"]?.time.map { .time($0) } ?? .none
    default: self = .none
    }
  }
}

extension Cause {
  /// The name of the member that `name` is, by the kind: `job`, `event`, `trigger`, `call` of a script; `name` else.
  public static func key(_ kind: Kind) -> String {
    switch kind {
    case .job, .event, .trigger: kind.rawValue
    case .script: "call"
    case .interruption, .controller, .person, .start, .driver, .limit: "name"
    }
  }

  /// The cause with its parents: `kind`, the name by the kind, `detail`, `script`, `line`, `at`, `shortened` if causes were
  /// left out before the parent, `parent`.
  public var json: JSON {
    var members: [(name: String, value: JSON)] = [("kind", .string(kind.rawValue))]
    if !name.isEmpty { members.append((Self.key(kind), .string(name))) }
    if let detail { members.append(("detail", .string(detail))) }
    if let script { members.append(("script", .string(script))) }
    if line > 0 { members.append(("line", .number(line))) }
    members.append(("at", .decimal(at.inSeconds)))
    if isShortened { members.append(("shortened", true)) }
    if let parent { members.append(("parent", parent.json)) }
    return .object(members)
  }

  /// Reads a cause; nil for other JSON.
  convenience init?(json: JSON) {
    guard let kind = json["kind"]?.text.flatMap(Kind.init), let at = json["at"]?.time else { return nil }
    self.init(
      kind, json[Self.key(kind)]?.text ?? "", detail: json["detail"]?.text, script: json["script"]?.text,
      line: json["line"]?.int ?? 0, at: at, parent: json["parent"].flatMap(Cause.init(json:)),
      isShortened: json["shortened"]?.bool ?? false)
  }
}

extension JSON {
  /// A number as seconds since 1970; nil for other values.
  fileprivate var time: WallTime? {
    switch self {
    case .number(let number): WallTime(seconds: Int64(number))
    case .decimal(let number), .exact(let number): WallTime(inSeconds: number)
    default: nil
    }
  }
}
