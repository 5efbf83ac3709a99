internal import EventLoop
internal import ScriptCheck
internal import TestSupport
internal import TestTraits
internal import Testing

@Suite("Checks of hostile scripts", .tags(.check, .hostile)) struct HostileTests {
  static let texts: [String] = {
    func repeated(_ count: Int, _ text: (Int) -> String) -> String { (0..<count).map(text).joined() }
    let modules = "local speaker = require \"speaker\"\n"
    return [
      repeated(5_000) { "x\($0)() " }, repeated(10_000) { _ in "pritn() " },
      repeated(2_500) { "do local function f() y\($0) = 1 end end " },
      modules + repeated(2_500) { "speaker.plya\($0)() " },
      modules + repeated(2_500) { "speaker.on(\"x\($0)\", print) " },
      modules + repeated(1_500) { "speaker.device \"Kitchn\($0)\" " },
      // A variable that depends on many others, and ones that depend on each other.
      "local a0 = {} "
        + repeated(60) { function in
          "local function g\(function)() "
            + repeated(100) { "local a\(function * 100 + $0 + 1) = a\(function * 100 + $0) " }
        } + "print(a6000.x.y) " + repeated(60) { _ in "end " },
      "local a, b; a = b; b = a; print(a.x, b.y) local function f() return f() end local t = { t = t } t.t = t",
      modules + "local x = speaker " + repeated(150) { _ in "x = x or speaker " } + "x.play(x(x)(x))",
      modules + "print(" + String(repeating: "speaker.find(", count: 150) + "1"
        + String(repeating: ")", count: 150) + ")",
      modules + "local t = " + String(repeating: "{ t = ", count: 150) + "1"
        + String(repeating: "}", count: 150) + " print(t.t.t.t)",
      "local t = { " + repeated(20_000) { "k\($0) = \($0), " } + "} print(t.x)",
      "print(" + repeated(390) { _ in "1 + " } + "1)",
      repeated(90) { _ in "do local function f() " } + repeated(90) { _ in "end end " },
    ]
  }()

  @Test("end soon, with a limited number of complaints", arguments: texts.indices)
  func hostile(_ index: Int) {
    let start = ContinuousClock.now
    let found = findings(Self.texts[index])
    #expect(ContinuousClock.now - start < .seconds(60))
    #expect(found.count <= 1_000)
    #expect(
      !found.contains { $0.contains("check.syntax") || $0.contains("check.limit") }, "\(found.first ?? "")")
  }

  @Test("changed scripts of the repository crash no check")
  func mutations() throws {
    var random = SeededRandom(seed: 7)
    let files = try Command.succeed(
      "find",
      [
        Fixtures.repository("scripts"), Fixtures.repository("stdlib"), "-name", "*.lua", "-not", "-path",
        "*/meta/*",
      ])
    var accepted = 0
    for file in files.text.split(separator: "\n").map(String.init).sorted() {
      let text = try Command.succeed("cat", [file]).output
      for _ in 0..<2 {
        let changed = String(decoding: random.mutated(text), as: UTF8.self)
        if !findings(changed, name: file).contains(where: { $0.contains("check.syntax") }) { accepted += 1 }
      }
    }
    #expect(accepted > 10)
  }
}
