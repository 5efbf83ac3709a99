import Reference
import TestSupport
import TestTraits
import Testing

@Suite("Examples in the documentation", .waiting) struct ExampleTests {
  /// A piece of code with its position, whose first line may name its file.
  struct Example: CustomTestStringConvertible, Sendable {
    let place: String
    let code: [String]
    var text: String { code.joined(separator: "\n") + "\n" }
    /// `stations.lua` if the code begins with `-- stations.lua`.
    var file: String? {
      guard let first = code.first, first.hasPrefix("-- ") else { return nil }
      let name = String(first.dropFirst(3).prefix { $0 != ":" && $0 != " " })
      return name.hasSuffix(".lua") ? name : nil
    }
    var testDescription: String { place }
  }

  static let reference: Reference = {
    let folder = Fixtures.repository("stdlib/meta")
    let names = fileNames(in: folder)
    return Reference.load(
      from: names.map { ($0, String(decoding: (try? readBytes("\(folder)/\($0)")) ?? [], as: UTF8.self)) })
  }()

  /// The code of modules, topics and functions.
  static let all: [Example] = {
    let pages = reference.modules + reference.topics
    let blocks =
      pages.flatMap { page in page.text.compactMap(\.code).map { Example(place: page.location, code: $0) } }
    let functions = reference.functions.flatMap { function in
      function.text.compactMap(\.code).map { Example(place: function.location, code: $0) }
    }
    return blocks + functions
  }()

  /// A home with the files that examples name.
  private func home() throws -> Home {
    let home = try Home()
    for name in ["wake_up.mp3", "show.mp3", "evening.mp3", "bell.wav", "gong.wav"] {
      try home.write(try readBytes(Fixtures.repository("scripts/wake_up.mp3")), to: name)
    }
    let stations = try #require(Self.all.first { $0.file == "stations.lua" })
    try home.script(
      stations.text + "station('http://127.0.0.1:8000/show.mp3', { file = 'show.mp3', is_file = true })",
      as: "stations.lua")
    let triggers = try #require(Self.all.first { $0.file == "triggers.lua" })
    try home.script(triggers.text, as: "triggers.lua")
    try home.script("location { latitude = 52.5, longitude = 13.4 }", as: "config.lua")
    return home
  }

  @Test("are found: one for each module at least") func found() {
    for module in Self.reference.modules { #expect(module.example != nil, "\(module.name)") }
    #expect(Self.all.count >= Self.reference.modules.count + 6)
  }

  @Test("run in the simulation without a failure", arguments: all.filter { $0.file == nil })
  func run(_ example: Example) throws {
    let home = try home()
    let modules = Self.reference.modules.map(\.name)
    let prelude = modules.map { "local \($0) = require '\($0)' " }.joined()
    try home.script(prelude + example.text)
    let outcome = try home.run(
      "simulate", "routine.lua", "--from", "2026-01-05T06:40", "--for", "15m", "--stations", "stations.lua",
      "--triggers", "triggers.lua", "--config", "config.lua")
    #expect(outcome.status == 0 && outcome.failures.isEmpty, "\(outcome)")
  }

  @Test("of a configuration are accepted", arguments: all.filter { $0.file == "config.lua" })
  func configuration(_ example: Example) throws {
    let home = try Home()
    try home.script(example.text, as: "config.lua")
    let outcome = try home.run("devices", "--config", "config.lua")
    #expect(outcome.status == 0 && outcome.lines.count > 2, "\(outcome)")
  }

  @Test("of specs pass", arguments: all.filter { $0.file?.hasSuffix("_spec.lua") == true })
  func specs(_ example: Example) throws {
    let home = try Home()
    try home.script(example.text, as: "bedtime_spec.lua")
    let outcome = try home.run(
      "test", home.path("bedtime_spec.lua"), in: Fixtures.repository(""))
    #expect(outcome.status == 0 && outcome.lines.last?.hasSuffix(" 0 failed") == true, "\(outcome)")
  }
}
