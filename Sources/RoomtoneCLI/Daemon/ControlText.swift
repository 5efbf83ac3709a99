internal import EventLoop
internal import JSONText
internal import Scheduling

/// The results of the daemon for people.
enum ControlText {
  private static let noTime = "-"

  static func status(_ status: JSON) -> [String] {
    var table = TextTable()
    let process =
      "process \(status["process"]?.int ?? 0), version \(status["version"]?.text ?? ""), since \(time(status["started"]))"
    if let folder = status["folder"]?.text {
      table.add(["Daemon", process])
      table.add(["Folder", folder])
    } else {
      table.add(["Daemon", "none"])
      table.add(["Used by", "\(status["name"]?.text ?? ""), \(process)"])
    }
    let speakers = status["speakers"]?.int ?? 0
    let invented = status["invented"]?.bool == true ? "invented " : ""
    table.add([
      "House",
      "\(status["house"]?.text ?? ""), output \(status["output"]?.text ?? ""), \(speakers) \(invented)speakers",
    ])
    if let loss = status["loss"]?.text { table.add(["", loss]) }
    let playing = (status["playing"]?.elements ?? []).map { playing in
      source(of: playing) + (playing["state"]?.text == "paused" ? " (paused)" : "")
    }
    table.add(["Playing", playing.isEmpty ? "nothing" : playing.joined(separator: "; ")])
    if let line = mqtt(status["mqtt"]) { table.add(["MQTT", line]) }
    if let line = homeAssistant(status["home_assistant"]) { table.add(["", line]) }
    if let jobs = status["jobs"]?.int { table.add(["Jobs", "\(jobs)"]) }
    if let page = status["page"] { for row in self.page(page) { table.add(row) } }
    let scripts = status["scripts"] ?? .array([])
    let leftOut = status["scripts_left_out"]?.int ?? 0
    return table.lines + (scripts.elements?.isEmpty == false ? [""] + self.scripts(scripts).lines : [])
      + (leftOut > 0 ? ["and \(leftOut) more: roomtone ctl scripts"] : [])
  }

  /// Returns the rows of the page's server; none where the configuration has no page.
  private static func page(_ page: JSON) -> [[String]] {
    guard let url = page["url"]?.text else { return [] }
    let hooks = page["hooks"]?.int ?? 0
    let state = page["error"]?.text ?? "\(url), \(hooks) webhook\(hooks == 1 ? "" : "s")"
    return [["Page", state]]
      + (page["refused"]?.elements ?? []).map { hook in
        ["", "webhook \(quoted(hook["hook"]?.text ?? "")) is off: \(hook["error"]?.text ?? "")"]
      }
  }

  /// Returns the state of the connection to a broker of MQTT; nil for a process that has not needed one.
  private static func mqtt(_ status: JSON?) -> String? {
    guard let status, let state = status["state"]?.text, state != "idle" else { return nil }
    let broker = status["broker"]?.text ?? ""
    let since = status["since"].flatMap { $0.line == "null" ? nil : " since \(time($0))" } ?? ""
    let reason = status["reason"]?.text.map { ": \($0)" } ?? ""
    return "\(broker) \(state)\(since)\(reason)"
  }

  /// Returns the devices in Home Assistant; nil without it.
  static func homeAssistant(_ status: JSON?) -> String? {
    guard let devices = status?["devices"]?.int else { return nil }
    let seen =
      if status?["present"]?.bool != true {
        "which has not been seen yet"
      } else if let moment = status?["seen"], moment.line != "null" {
        "which was seen at \(time(moment))"
      } else {
        "which is there"
      }
    return "\(devices) devices for Home Assistant, \(seen)"
  }

  static func scripts(_ scripts: JSON) -> TextTable {
    var table = TextTable(["SCRIPT", "STATE", "SINCE", "JOBS", "FAILURES", "LAST ERROR"])
    for script in scripts.elements ?? [] {
      table.add([
        script["name"]?.text ?? "", script["state"]?.text ?? "", time(script["started"]),
        "\(script["jobs"]?.int ?? 0)", "\(script["failures"]?.int ?? 0)",
        script["last_error"]?.text.map { "\(time(script["last_error_at"]))  \($0)" } ?? "",
      ])
    }
    return table
  }

  /// Returns the table of the times that the code of the scripts has run.
  static func top(_ scripts: JSON) -> TextTable {
    var table = TextTable(["SCRIPT", "TIME", "LONGEST", "AT", "MEMORY", "EVENTS"])
    for script in scripts.elements ?? [] {
      table.add([
        script["name"]?.text ?? "", span(script["busy"]), span(script["longest_hold"]),
        script["longest_hold_at"]?.text ?? noTime,
        "\(decimal(Double(script["memory"]?.int ?? 0) / 1e6)) MB", "\(script["events"]?.int ?? 0)",
      ])
    }
    return table
  }

  /// Returns a time in seconds or milliseconds: `1.3 s`, `12.5 ms`.
  private static func span(_ json: JSON?) -> String {
    let seconds = json?.seconds ?? 0
    return seconds >= 1 ? "\(decimal(seconds)) s" : "\(decimal(seconds * 1000)) ms"
  }

  private static func decimal(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }

  static func jobs(_ jobs: JSON) -> TextTable {
    var table = TextTable(["NEXT", "JOB", "SCRIPT", "SCHEDULE", "LAST", "RUNS", "FAILURES"])
    for job in jobs.elements ?? [] {
      table.add([
        (job["running"]?.int ?? 0) > 0 ? "running" : time(job["next"]), job["name"]?.text ?? "",
        job["script"]?.text ?? "", job["schedule"]?.text ?? "", time(job["last"]),
        "\(job["runs"]?.int ?? 0)", "\(job["failures"]?.int ?? 0)",
      ])
    }
    return table
  }

  /// Returns the levels of `volume`, `mute` and `unmute`, or the sessions of the other verbs.
  /// - Parameter silence: the line for an empty list of sessions.
  static func rooms(_ result: JSON, _ verb: String, silence: String = "nothing plays") -> TextTable {
    let elements = result.elements ?? []
    var table = TextTable()
    for element in elements where element["speaker"] != nil {
      table.add([
        element["speaker"]?.text ?? "",
        "\(element["volume"]?.int ?? 0)" + (element["muted"]?.bool == true ? " muted" : "")
          + (element["limit"]?.text.map { ", \($0)" } ?? ""),
      ])
    }
    for element in elements where element["session"] != nil {
      let length = (element["duration"]?.seconds).map { " of \(clock($0))" } ?? ""
      table.add([
        rooms(of: element), element["title"]?.text ?? "",
        (element["state"]?.text ?? "") + " " + clock(element["position"]?.seconds ?? 0) + length,
      ])
    }
    if elements.isEmpty, verb == "now" || verb == "stop" { table.add([silence]) }
    return table
  }

  /// Returns a line of the log: `22:30:00  bedtime  warn: message key=value`.
  static func entry(_ entry: JSON) -> String {
    let level = entry["level"]?.text ?? ""
    var fields = ""
    if case .object(let members)? = entry["fields"] {
      fields = members.map { " \($0.name)=\($0.value.text ?? "")" }.joined()
    }
    let text = (entry["message"]?.text ?? "").split(separator: "\n", omittingEmptySubsequences: false)
    let source = entry["script"]?.text.map { "\($0): " } ?? ""
    let first =
      "\(source)\(level == "print" ? "" : "\(level): ")\(text.first.map(String.init) ?? "")\(fields)"
    return
      ([time(entry["time"]) + "  " + first.withoutTabs.onOneLine]
      + text.dropFirst().map { "  " + String($0).withoutTabs.onOneLine })
      .joined(separator: "\n")
  }

  /// Returns the local date and time of seconds since 1970: `2026-03-28 22:30:00`; a dash without a time.
  static func time(_ json: JSON?) -> String {
    guard let seconds = json?.seconds else { return noTime }
    return "\(ProcessZone().local(WallTime(inSeconds: seconds)))"
  }

  /// Returns the title of a session that plays or is paused, and its rooms.
  static func source(of playing: JSON) -> String {
    "\(playing["title"]?.text ?? "") in \(rooms(of: playing))"
  }

  private static func rooms(of playing: JSON) -> String {
    let rooms = (playing["rooms"]?.elements ?? []).compactMap(\.text)
    return rooms.isEmpty ? "no room" : rooms.joined(separator: ", ")
  }

  private static func clock(_ seconds: Double) -> String {
    clockText(Int(max(0, min(seconds, 1e9))))
  }
}

extension JSON {
  /// A number as seconds; nil for other values.
  fileprivate var seconds: Double? {
    switch self {
    case .number(let number): Double(number)
    case .decimal(let number), .exact(let number): number
    default: nil
    }
  }
}
