import Glibc
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("The standard library inside the program", .waiting, .tags(.scripts, .help))
struct StandardLibraryTests {
  /// The files of a folder and its folders, relative to it.
  private func files(in folder: String) throws -> [String] {
    let listed = try Command.succeed("find", [folder, "-type", "f", "-printf", "%P\\n"]).text
    return listed.split(separator: "\n").map(String.init)
  }

  @Test("has every file of stdlib that is no spec, as it is") func files() throws {
    let folder = Fixtures.repository("stdlib")
    let paths = try files(in: folder).filter { !$0.hasPrefix("spec/") }.sorted()
    #expect(StandardLibrary.paths.sorted() == paths)
    for path in paths {
      let bytes = try readBytes("\(folder)/\(path)")
      let isSame = StandardLibrary.file(path) == bytes
      #expect(isSame, "\(path)")
    }
  }

  @Test("is found without any file") func modules() throws {
    var harness = try EngineHarness()
    harness.standardLibrary = nil
    let lines = try harness.printed(
      """
      print(type(require "eq".presets), type(require "recorder".schedule))
      print(select(2, pcall(require "eq".apply, 5)).where, select(2, pcall(require, "recordr")).hint)
      """)
    #expect(lines == ["function\tfunction", "test.lua:2\tdid you mean 'recorder'?"])
  }

  @Test("supplies the files that a folder in its place lacks") func lacking() throws {
    var harness = try EngineHarness()
    harness.standardLibrary = "/nowhere"
    let lines = try harness.printed(
      """
      speaker.open { add_all = true }
      speaker.play(require "roomtone.files".path "sounds/bell.mp3")
      print(speaker.is_playing())
      """)
    #expect(lines == ["true"])
  }

  @Test("supplies the tune of simulated stations without any file") func tune() throws {
    var harness = try EngineHarness()
    harness.standardLibrary = nil
    let outcome = try harness.run(
      """
      speaker.open { add_all = true }
      speaker.play_stream(require "stream".new "http://a.example/b.mp3")
      task.sleep "20s"
      print(speaker.is_playing())
      speaker.stop()
      """)
    #expect(outcome.failures.isEmpty && outcome.lines == ["true"])
  }
}
