import Reference
import TestSupport
import TestTraits
import Testing

@Suite("Examples in the documentation", .waiting, .tags(.help)) struct ExampleTests {
  /// A piece of code with its position, whose first line may name its file.
  struct Example: CustomTestStringConvertible, Sendable {
    let place: String
    let code: [String]
    var text: String { code.joined(separator: "\n") + "\n" }
    /// `stations.lua` if the code begins with `-- stations.lua`; `setup.sh` for commands that begin with `# setup.sh`.
    var file: String? {
      guard let first = code.first, first.hasPrefix("-- ") || first.hasPrefix("# ") else { return nil }
      let name = String(first.drop { $0 != " " }.dropFirst().prefix { $0 != ":" && $0 != " " })
      return name.hasSuffix(".lua") || name.hasSuffix(".sh") ? name : nil
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

  /// The blocks of the README, by the word behind their first fence.
  static let readme: [(kind: String, code: [String])] = {
    let text = String(decoding: (try? readBytes(Fixtures.repository("README.md"))) ?? [], as: UTF8.self)
    var blocks: [(kind: String, code: [String])] = []
    var isInside = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
      if line.hasPrefix("```") {
        isInside.toggle()
        if isInside { blocks.append((String(line.dropFirst(3)), [])) }
      } else if isInside {
        blocks[blocks.count - 1].code.append(line)
      }
    }
    return blocks
  }()

  @Test("of the README run in the simulation") func readmeScripts() throws {
    let scripts = Self.readme.filter { $0.kind == "lua" }.map { Example(place: "README.md", code: $0.code) }
    #expect(scripts.map(\.file) == ["week.lua", "hello.lua"])
    let home = try Home()
    for script in scripts {
      let name = try home.script(script.text, as: try #require(script.file))
      let outcome = try home.run(
        "simulate", home.path(name), "--for", "30m", in: Fixtures.repository(""))
      #expect(outcome.status == 0 && outcome.failures.isEmpty, "\(outcome)")
    }
  }

  @Test("of the README print what it shows, but for the lines that it leaves out") func readmePicture() throws
  {
    let shown = try #require(Self.readme.first { $0.code.first?.hasPrefix("$ roomtone simulate") == true })
      .code
    let script = try #require(Self.readme.first { $0.code.first == "-- week.lua" }).code
    let home = try Home()
    try home.script(script.joined(separator: "\n"), as: "week.lua")
    let words = shown[0].split(separator: " ").dropFirst(2).map(String.init)
    let command = try home.start(words).finish()
    #expect(command.status == 0)
    var rest = command.lines[...]
    var isGap = false
    for line in shown.dropFirst() {
      if line == "…" {
        isGap = true
        continue
      }
      if isGap { rest = rest.drop { $0 != line } }
      #expect(rest.first == line)
      (rest, isGap) = (rest.dropFirst(), false)
    }
    #expect(rest.isEmpty)
  }

  @Test("of the README are short, and name commands and pages that there are") func readmeTable() throws {
    let text = String(decoding: try readBytes(Fixtures.repository("README.md")), as: UTF8.self)
    #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
    let home = try Home()
    let calls = text.matches(of: #/`roomtone ((?:help [a-z_]+)|(?:[a-z]+ --help)|--help)`/#).map {
      String($0.1)
    }
    #expect(calls.count > 12)
    for call in Set(calls) {
      let outcome = try home.start(call.split(separator: " ").map(String.init)).finish()
      #expect(outcome.status == 0 && outcome.lines.count > 5, "\(call)")
    }
  }

  @Test("of the shell find what the prompt finds; a name of a command goes first") func shell() throws {
    let home = try Home()
    #expect(try home.run("help", "speaker.play").lines.first == "speaker.play(path [, options])")
    #expect(try home.run("help", "rewind").lines.first == "Found for \"rewind\"")
    let play = try home.run("help", "play")
    #expect(play.lines.first == "Usage: roomtone play [OPTIONS] FILE...")
    #expect(play.lines.last == "In scripts: roomtone help announce.play, roomtone help speaker.play")
    let headset = try home.run("help", "headset")
    #expect(headset.lines.first?.hasPrefix("Usage: roomtone headset") == true)
    #expect(headset.lines.contains("Module headset"))
    let unknown = try home.run("help", "speaker.plya")
    #expect(unknown.status == 2 && unknown.output.isEmpty)
    #expect(unknown.errors.contains("did you mean 'speaker.play'?"))
    #expect(try home.run("help", "rnu").errors.contains("did you mean 'run'?"))
  }
}
