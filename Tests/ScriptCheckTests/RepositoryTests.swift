internal import Reference
internal import ScriptCheck
internal import TestSupport
internal import TestTraits
internal import Testing

@Suite("Checked scripts of the repository", .tags(.check)) struct RepositoryTests {
  @Test("all scripts of the repository are silent")
  func silent() throws {
    let found = try Command.succeed(
      "find",
      ["scripts", "stdlib"].map { Fixtures.repository($0) } + ["-name", "*.lua", "-not", "-path", "*/meta/*"])
    let files = found.text.split(separator: "\n").map(String.init).sorted()
    #expect(files.count > 40)
    for file in files {
      let text = String(decoding: try Command.succeed("cat", [file]).output, as: UTF8.self)
      #expect(findings(text, name: file, modules: ["routine": "return function() end"]) == [], "\(file)")
    }
  }

  @Test("correct code in many styles is silent")
  func styles() throws {
    let text = String(
      decoding: try Command.succeed("cat", [Fixtures.path("correct-styles.lua")]).output, as: UTF8.self)
    #expect(findings(text) == [])
  }

  @Test("the examples in the definitions have no mistakes but what they leave out")
  func examples() {
    for module in reference.modules {
      guard let example = module.example else { continue }
      let found = findings(example.joined(separator: "\n"), name: module.name).filter {
        !$0.contains("(check.global)")
      }
      #expect(found == [], "\(module.name)")
    }
  }
}
