import EventLoop
import Reference
import TestSupport
import TestTraits
import Testing

@Suite("The definitions in stdlib/meta, as the reference reads them", .tags(.help)) struct MetaTests {
  private let reference: Reference

  init() throws { reference = try Self.reference() }

  static func reference() throws -> Reference {
    let folder = Fixtures.repository("stdlib/meta")
    let names = try Command.succeed("ls", [folder]).text.split(separator: "\n").map(String.init)
    return Reference.load(
      from: try names.map { ($0, String(decoding: try readBytes("\(folder)/\($0)"), as: UTF8.self)) })
  }

  @Test("are regular") func regular() {
    #expect(reference.problems == [])
    #expect(reference.functions.count > 250)
  }

  @Test("name only functions that exist, where errors are those of others") func raisesAs() {
    for function in reference.functions {
      for name in function.raisesAs {
        let codes = reference.codes(of: function.name)
        #expect(!codes.isEmpty, "\(function.location)")
        let isKnown = reference.isKnown(name, beside: function)
        #expect(isKnown, "\(function.location): \(name)")
      }
      if !function.raisesText.isEmpty {
        #expect(!function.raises.isEmpty || !function.raisesAs.isEmpty, "\(function.location): no code")
      }
    }
  }

  @Test("describe each event with its payload") func events() {
    let owners = reference.modules.map(\.name) + reference.classes.map(\.name)
    let all = owners.map { ($0, reference.events(of: $0)) }.filter { !$0.1.isEmpty }
    #expect(all.count == 14)
    for (owner, events) in all {
      for event in events {
        #expect(!event.text.isEmpty && !event.text.contains("`{"), "\(owner) \(event.name)")
        if let payload = event.payload {
          #expect(!reference.fields(of: payload).isEmpty, "\(owner): \(payload)")
        }
      }
    }
    #expect(reference.events(of: "speaker").map(\.name).prefix(3) == ["device", "volume", "state"])
  }

  @Test("name only types that exist") func types() {
    let builtIn: Set<String> = [
      "any", "nil", "boolean", "true", "false", "number", "integer", "string", "table", "function", "thread",
      "userdata", "file*", "osdateparam", "T", "...", "speakerlib",
    ]
    func check(_ type: ReferenceType, _ location: String) {
      for alternative in type.alternatives {
        if let element = alternative.element {
          check(element, location)
        } else if let fields = alternative.fields {
          for field in fields { check(field.type, location) }
        } else if let signature = alternative.signature {
          for parameter in signature.parameters { check(parameter.type, location) }
          for type in signature.returns { check(type, location) }
        } else if alternative.literals.isEmpty, !alternative.text.hasPrefix("table<") {
          let name = alternative.text
          let isKnown = builtIn.contains(name) || reference.class(name) != nil || reference.alias(name) != nil
          #expect(isKnown, "\(location): \(name)")
        }
      }
    }
    for function in reference.functions {
      for parameter in function.parameters { check(parameter.type, function.location) }
      for result in function.returns { check(result.type, function.location) }
      for form in function.overloads {
        for parameter in form.parameters { check(parameter.type, function.location) }
        for type in form.returns { check(type, function.location) }
      }
    }
    for table in reference.classes { for field in table.fields { check(field.type, table.location) } }
    for alias in reference.aliases { check(alias.type, alias.location) }
  }

  @Test("are found by the names that scripts use") func lookUps() throws {
    #expect(reference.function("speaker.play")?.suspends == true)
    #expect(reference.method(class: "speaker.Session", name: "pause")?.suspends == false)
    let options = reference.options(of: "speaker.play").map(\.name)
    #expect(options == ["title", "start", "loop", "shuffle", "priority", "rooms", "resume"])
    #expect(reference.options(of: "stream.Stream:set_url").map(\.name).contains("buffer_wait"))
    #expect(reference.options(of: "speaker.snapshot").map(\.name) == ["devices"])
    #expect(reference.options(of: "alarm.set").first { $0.name == "volume" }?.defaultText == "20")
    #expect(reference.codes(of: "speaker.Session:play").map(\.code).contains("audio.not_found"))
    #expect(reference.codes(of: "stream.Stream:set_url").map(\.code).contains("stream.dns"))
    #expect(reference.function("os.exit") != nil && reference.function("pcall") != nil)
    #expect(reference.module("error") == nil && reference.topic("error") != nil)
  }
}
