import LuaModules
import LuaRuntime
import Reference
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("The definitions in stdlib/meta and the host", .waiting, .tags(.help)) struct ReferenceHostTests {
  private let reference = ReferenceCheck.reference

  /// The names that the host registers, with the most arguments of each.
  private func registered() throws -> [String: Int?] {
    let engine = try EngineHarness().engine()
    let script = try engine.makeScript("test.lua", isFile: false)
    let all = script.state.definitions.filter { entry in
      !["roomtone.", "io.", "os.", "package.", "table."].contains { entry.name.hasPrefix($0) }
    }
    return Dictionary(all.map { ($0.name, $0.arity) }, uniquingKeysWith: { first, _ in first })
  }

  @Test("have the same functions, methods and fields") func names() throws {
    let owners = try registered().keys.map { String($0.split { $0 == "." || $0 == ":" }[0]) }
    let isOfHost = { (name: String) in owners.contains(String(name.split { $0 == "." || $0 == ":" }[0])) }
    let fields = reference.classes.filter(\.isObject).flatMap { type in
      type.fields.map { "\(type.name).\($0.name)" }
    }
    let described = (reference.functions.map(\.name) + fields).filter(isOfHost)
    let library = ["alarm", "fade", "party", "sleep_timer", "zone", "recorder"]
    #expect(!owners.contains { library.contains($0) })
    // `task.try` is the shim's own.
    let names = try Set(["task.try"]).union(
      registered().keys.filter { reference.functions.map(\.owner).contains(Self.owner($0)) || isOfHost($0) })
    #expect(names.subtracting(described).sorted() == [])
    #expect(Set(described).subtracting(names).sorted() == [])
  }

  private static func owner(_ name: String) -> String {
    name.lastIndex { $0 == "." || $0 == ":" }.map { String(name[..<$0]) } ?? ""
  }

  @Test("have the same functions of the prompt") func ofPrompt() throws {
    let engine = try EngineHarness().engine()
    let prompt = try Prompt(engine: engine, isInteractive: true)
    let plain = try engine.makeScript("test.lua", isFile: false, global: true)
    let names = Set(prompt.script.state.globalNames).subtracting(plain.state.globalNames)
    #expect(names == Set(reference.functions.filter(\.isOfPrompt).map(\.name)))
  }

  @Test("have the same number of arguments") func arity() throws {
    for (name, arity) in try registered().sorted(by: { $0.key < $1.key }) {
      guard let function = reference.function(name) else { continue }
      let isOpen = function.parameters.last?.name == "..."
      let forms = [function.parameters] + function.overloads.map(\.parameters)
      #expect(arity == (isOpen ? nil : forms.map(\.count).max()), "\(name)")
    }
  }

  @Test("have the same parameters in the modules written in Lua") func library() throws {
    let modules = reference.modules.map(\.name).filter { !Script.moduleNames.contains($0) }
    #expect(!modules.isEmpty)
    let lines = try EngineHarness.printed(
      """
      for _, name in ipairs { \(modules.map { "'\($0)'" }.joined(separator: ", ")) } do
        for key, value in pairs(require(name)) do
          if type(value) == "function" then
            local info = debug.getinfo(value, "u")
            print(name .. "." .. key .. " " .. info.nparams .. (info.isvararg and " ..." or ""))
          end
        end
      end
      """)
    let functions = reference.functions.filter { modules.contains($0.owner) }
    #expect(lines.sorted() == functions.map { "\($0.name) \($0.parameters.count)" }.sorted())
    // Methods, as the sources have them: `function Alarm.methods.snooze(own)`.
    let method = #/function (\w+)\.methods\.(\w+)\(own(?:, )?([^)]*)\)/#
    // The methods of a party are one function.
    for module in modules where module != "party" {
      let text = String(decoding: try readBytes(Fixtures.repository("stdlib/\(module).lua")), as: UTF8.self)
      let written = text.matches(of: method).map { match in
        "\(module).\(match.1):\(match.2) \(match.3.split(separator: ",").count)"
      }
      let described = reference.functions.filter { function in
        function.owner.hasPrefix(module + ".") && function.isMethod
          && !["on", "once", "wait"].contains(function.shortName)
      }
      #expect(written.sorted() == described.map { "\($0.name) \($0.parameters.count)" }.sorted())
    }
  }

  @Test("have the same events with the same fields in the modules written in Lua") func emitted() throws {
    let emit = #/object\.emit\(own, "(\w+)", \{([^}]*)\}/#
    let key = #/(\w+) = /#
    for owner in ["alarm.Alarm", "fade.Fade", "party.Party", "recorder.Show", "sleep_timer.Timer"] {
      let module = owner.split(separator: ".")[0]
      let text = String(decoding: try readBytes(Fixtures.repository("stdlib/\(module).lua")), as: UTF8.self)
      var written: [String: Set<String>] = [:]
      for match in text.matches(of: emit) {
        let fields = Set(match.2.matches(of: key).map { String($0.1) })
        #expect(written[String(match.1)].map { $0 == fields } ?? true, "\(owner) \(match.1)")
        written[String(match.1)] = fields
      }
      let described = reference.events(of: owner).map { ($0.name, Set($0.fields.map(\.name))) }
      #expect(written == Dictionary(described, uniquingKeysWith: { first, _ in first }), "\(owner)")
    }
  }

  /// Codes that never reach a script, or are no failure of a function, each with the reason.
  private static let internalCodes: Set<String> = [
    "script.exit",  // what os.exit unwinds with
    "script.error", "script.watchdog",  // of the host: a value without a code, no thread for the watchdog
    "internal", "simulate.stuck", "script.stuck",  // the end of a run, reported by the command
    "speaker.renamed_while_playing",  // of the event `error` alone
    "script.missing", "speaker.ended",  // of the command
    "spec.incomplete", "spec.expectation",  // of tests
    "database.statement",  // set aside and logged
    "loop.descriptor", "loop.signal", "loop.thread",  // of the engine's start
  ]

  @Test("have the same error codes") func codes() throws {
    let paths = try Command.succeed(
      "grep",
      ["-rlE", "\"[a-z_]+[.][a-z_]+\"", Fixtures.repository("Sources"), Fixtures.repository("stdlib")]
    ).text.split(separator: "\n").map(String.init)
    var written: Set<String> = []
    let swift = #/(?:code: |case \w+ = |: )"([a-z_]+\.[a-z_]+)"/#
    let lua = #/"([a-z_]+\.[a-z_]+)"/#
    for path in paths {
      // The shim raises those of the limits.
      let isLibrary =
        path.hasSuffix(".lua") && !path.contains("/meta/") && !path.contains("/spec/")
        || path.hasSuffix(".c") && path.contains("/CLuaShim/")
      let isHost =
        path.hasSuffix(".swift")
        && !["RoomtoneCLI", "RoomtoneBench", "HeadsetBoard", "/HTTP/"].contains(where: path.contains)
      guard isLibrary || isHost else { continue }
      for line in String(decoding: try readBytes(path), as: UTF8.self).split(separator: "\n") {
        if isHost {
          guard !line.contains("//") || line.firstRange(of: "//")!.lowerBound > line.startIndex else {
            continue
          }
          written.formUnion(line.matches(of: swift).map { String($0.1) })
        } else if !line.contains("require"), !line.contains("checks.module"), !line.contains("sealed("),
          !line.hasPrefix("--")
        {
          written.formUnion(line.matches(of: lua).map { String($0.1) })
        }
      }
    }
    let areas = Set(reference.codes.map { $0.split(separator: ".")[0] })
    let codes = written.filter {
      areas.contains($0.split(separator: ".")[0]) && reference.function($0) == nil
        || reference.codes.contains($0)
    }
    #expect(codes.subtracting(Self.internalCodes).subtracting(reference.codes).sorted() == [])
    #expect(Set(reference.codes).subtracting(written).subtracting(["argument"]).sorted() == [])
  }

  @Test("have the same classes, option tables and events as the tests that compare them one by one")
  func complete() {
    let objects = Set(DefinitionTests.objects.map(\.0))
    // A block lives in a tap's function, a program outside of simulations; their members are compared above.
    #expect(
      Set(reference.classes.filter(\.isObject).map(\.name)) == objects.union(["stream.Block", "Program"]))
    let options = reference.functions.flatMap(\.parameters).flatMap { reference.alternatives(of: $0.type) }
      .compactMap { reference.class($0.text) }.filter { type in
        !type.isObject && type.fields.contains { !$0.name.hasPrefix("[") }
      }.map(\.name)
    let inline = reference.functions.filter { function in
      function.parameters.contains { $0.type.alternatives.contains { $0.fields != nil } }
    }.map(\.name)
    #expect(Set(options + inline).subtracting(DefinitionTests.optionTables.map(\.0)).sorted() == [])
    let owners = reference.modules.map(\.name) + reference.classes.map(\.name)
    let events = owners.filter { !reference.events(of: $0).isEmpty }
      .compactMap {
        (reference.function("\($0):on") ?? reference.function("\($0).on"))?.parameters[0].type.text
      }
    #expect(Set(events) == Set(DefinitionTests.eventLists.map(\.0)))
  }
}
