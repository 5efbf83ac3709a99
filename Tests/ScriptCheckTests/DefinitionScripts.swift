internal import LuaSyntax
internal import Reference

/// A short script for each function of the reference, with a value for each parameter and option.
enum DefinitionScripts {
  /// Expressions for objects of classes.
  private static let objects = [
    "speaker.Device": "speaker.device \"Kitchen\"", "speaker.Group": "speaker.group \"Kitchen\"",
    "speaker.Session": "speaker.own", "speaker.Snapshot": "speaker.snapshot()",
    "speaker.House": "speaker.house()", "stream.Stream": "stream.new \"morning\"",
    "headset.Headset": "headset.connect()", "task.Task": "task.spawn(function() end)",
    "schedule.Job": "schedule.every(\"1h\", function() end)", "zone.Zone": "zone.get \"Kitchen\"",
    "alarm.Alarm": "alarm.set { at = \"06:45\", rooms = \"Kitchen\", sources = { \"morning\" } }",
    "fade.Fade": "fade.volume { \"Kitchen\", to = 5, over = \"5s\" }",
    "sleep_timer.Timer": "sleep_timer.start { after = \"30m\" }", "party.Party": "party.start {}",
    "recorder.Show":
      "recorder.schedule { url = \"morning\", cron = \"0 20 * * sat\", duration = \"2h\", name = \"show\" }",
    "stream.Recording": "stream.new(\"morning\"):record \"a.mp3\"",
  ]

  private static let texts = [
    "schedule.at.time": "06:45", "schedule.cron.line": "0 6 * * *", "alarm.set.at": "06:45",
    "recorder.schedule.cron": "0 20 * * sat", "speaker.device.id_or_name": "Kitchen",
    "speaker.group.name_or_id": "Kitchen",
  ]

  private static let optionTexts = [
    "days": "mon-fri", "timezone": "Europe/Berlin", "at": "06:45", "cron": "0 20 * * sat", "until": "22:30",
    "url": "morning", "grace": "5m", "early": "5m",
  ]

  /// The scripts by the names of their functions.
  static func all(_ reference: Reference) -> [(name: String, text: String)] {
    let modules = reference.modules.map(\.name).filter { reference.functions(of: $0).first != nil }
    let head =
      "local \(modules.joined(separator: ", ")) = "
      + modules.map { "require \"\($0)\"" }.joined(separator: ", ") + "\n"
    return reference.functions.compactMap { function in
      let owner = function.owner
      var line = head
      let call: String
      if function.isMethod {
        guard let object = objects[owner] else { return nil }
        line += "local object = \(object)\n"
        call = "object:\(function.shortName)"
      } else {
        guard modules.contains(owner) else { return nil }
        call = function.name
      }
      var arguments: [String] = []
      for parameter in function.parameters where parameter.name != "..." {
        guard
          let value = value(
            parameter.type, parameter.text, "\(function.name).\(parameter.name)", function, reference)
        else { return nil }
        arguments.append(value)
      }
      let whole = "\(call)(\(arguments.joined(separator: ", ")))"
      return (function.name, line + (function.returns.isEmpty ? whole : "print(\(whole))") + "\n")
    }
  }

  private static func value(
    _ type: ReferenceType, _ text: String, _ path: String, _ function: ReferenceFunction,
    _ reference: Reference
  ) -> String? {
    if let known = texts[path] { return "\"\(known)\"" }
    let name = String(path.split(separator: ".").last ?? "")
    let isText = reference.alternatives(of: type).contains { $0.text == "string" }
    if isText, let known = optionTexts[name] { return "\"\(known)\"" }
    if type.alternatives.contains(where: { ($0.element?.text ?? $0.text).hasSuffix(".Target") }) {
      return "\"Kitchen\""
    }
    let isStation = ["url", "url_or_stream", "sources", "fallbacks"].contains(name)
    for alternative in reference.alternatives(of: type) {
      if let literal = alternative.literals.first { return "\"\(literal)\"" }
      if alternative.signature != nil || alternative.text == "function" { return "function() end" }
      if let element = alternative.element {
        guard let item = value(element, text, path, function, reference) else { continue }
        return "{ \(item) }"
      }
      switch alternative.text {
      case "integer", "number":
        if type.text.hasPrefix("Duration") { return "\"5s\"" }
        return "\(MistakeMaker.range(text)?.0 ?? 1)"
      case "boolean", "true", "false": return "true"
      case "string": return isStation ? "\"morning\"" : "\"text\""
      case "any": return "1"
      case let name where name.hasPrefix("table<"): return "{}"
      case let name:
        if let object = objects[name] { return object }
        let fields = reference.tableFields(of: alternative)
        guard !fields.isEmpty else { continue }
        let items = fields.compactMap { field -> String? in
          guard field.name != "[integer]" else { return nil }
          let path = "\(function.name).\(field.name)"
          guard let value = value(field.type, field.text, path, function, reference) else { return nil }
          if field.name == "[1]" { return value }
          return LuaKeywords.all.contains(field.name)
            ? "[\"\(field.name)\"] = \(value)" : "\(field.name) = \(value)"
        }
        return "{ \(items.joined(separator: ", ")) }"
      }
    }
    return nil
  }

  /// A script for each field of each event that a wait with a timeout may return, and of other results that may be nil;
  /// one half by way of a variable.
  static func nilUses(_ reference: Reference) -> [MadeMistake] {
    var uses: [(call: String, field: String)] = reference.fields(of: "speaker.Device").map {
      ("speaker.find(arg[1])", $0.name)
    }
    for function in reference.functions where function.shortName == "wait" {
      let object = objects[function.owner].map { "(\($0)):" } ?? "\(function.owner)."
      guard function.isMethod == (objects[function.owner] != nil) else { continue }
      let events = reference.events(of: function.owner)
      for event in events {
        uses += event.fields.map { ("\(object)wait(\"\(event.name)\", \"5m\")", $0.name) }
      }
      if function.owner == "trigger" { uses.append(("trigger.wait(\"bell\", \"5m\")", "value")) }
    }
    return uses.enumerated().map { index, use in
      let owner = use.call.drop { $0 == "(" }.prefix { $0.isLetter || $0 == "_" }
      let modules = Set([String(owner), "speaker"]).sorted()
      let head =
        "local \(modules.joined(separator: ", ")) = "
        + modules.map { "require \"\($0)\"" }.joined(separator: ", ") + "\n"
      let body =
        index % 2 == 0
        ? "print(speaker.volume(), \(use.call).\(use.field))"
        : "local event = \(use.call)\nprint(speaker.volume(), event.\(use.field))"
      return MadeMistake(
        kind: .nilUsed, source: "\(use.call)", script: head + body, change: "\(use.call): \(use.field)")
    }
  }
}
