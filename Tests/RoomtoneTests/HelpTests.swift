import LuaModules
import LuaRuntime
import TestTraits
import Testing

@testable import Roomtone

@Suite("help in scripts", .waiting, .tags(.help, .prompt)) struct HelpTests {
  /// Returns what `help` prints in a house that is open.
  private func help(_ code: String) throws -> [String] {
    try EngineHarness.printed("speaker.open { add_all = true }\n" + code)
  }

  @Test("without an argument lists every module with a line") func overview() throws {
    let lines = try help("help()")
    #expect(lines.first == "Modules")
    for name in Script.moduleNames + ["alarm", "zone"] {
      #expect(lines.contains { $0.hasPrefix("  \(name) ") }, "\(name)")
    }
    #expect(lines.contains("Topics") && lines.allSatisfy { $0.count <= 80 })
  }

  @Test(
    "finds a function by its value, wherever it comes from",
    arguments: [
      ("speaker.play", "speaker.play(path [, options])"),
      ("require 'eq'.apply", "eq.apply(target, name [, options]) -> number"),
      ("speaker.device 'Kitchen'.set_volume", "speaker.Device:set_volume(volume)"),
      ("require 'stream'.effect.gain", "stream.effect.gain(decibels) -> stream.Effect"),
      ("os.exit", "os.exit([status])"), ("pcall", "pcall(f [, ...]) -> boolean, any"),
      ("help", "help([about])"),
    ])
  func functions(_ value: String, _ first: String) throws {
    #expect(try help("help(\(value))").first == first)
  }

  @Test("shows signature, description, options with defaults, errors and an example") func parts() throws {
    let text = try help("help 'speaker.play'").joined(separator: "\n")
    for part in [
      "  ⏸ suspends", "Options\n  title ", "(default:", "Errors\n  Raises `speaker.no_active_device`",
      "Example\n",
    ] {
      #expect(text.contains(part), "\(part)")
    }
  }

  @Test("shows an object with its state, its methods and its events") func objects() throws {
    let lines = try help("help(speaker.device 'Kitchen')")
    #expect(lines.first == "speaker \"Kitchen\" (volume 22, active)")
    let text = lines.joined(separator: "\n")
    for part in [
      "speaker.Device\n", "Fields\n", "Methods\n", "  :set_volume(volume)", "Events\n", "  ended ",
    ] {
      #expect(text.contains(part), "\(part)")
    }
    let party = try help("help(require 'party'.start {}) os.exit(0)")
    #expect(party.first == "party (active, 6 speakers)" && party.contains("party.Party"))
    #expect(try help("help(speaker)").first == "Module speaker")
    #expect(try help("help(require 'zone')").first == "Module zone")
  }

  @Test("finds a word in names first, then in descriptions") func words() throws {
    let lines = try help("help 'volume'")
    #expect(lines.first == "Found for \"volume\"")
    let functions = lines.filter { $0.hasPrefix("  speaker.") }
    #expect(functions.first?.hasPrefix("  speaker.volume") == true)
    #expect(lines.last?.hasPrefix("  and ") == true)
    #expect(lines.last?.hasSuffix(" more; a longer word finds fewer") == true)
    #expect(try help("help 'speaker.outranked'").contains { $0.hasPrefix("  speaker.play") })
    #expect(try help("help 'Session:pause'").first == "speaker.Session:pause()")
  }

  @Test("suggests the nearest name, and refuses a value without a description") func unknown() throws {
    let lines = try help(
      """
      for _, about in ipairs { "speaker.plya", "qqqqqq", 5, function() end } do
        local err = select(2, pcall(help, about))
        print(err.code, err.message, err.hint)
      end
      """)
    #expect(
      lines == [
        "argument\tno help has anything on 'speaker.plya'\tdid you mean 'speaker.play'?",
        "argument\tno help has anything on 'qqqqqq'\thelp() lists the modules",
        "argument\tbad argument #1 to 'help' (it has no description)\thelp takes a name, a function of a module, a module or an object",
        "argument\tbad argument #1 to 'help' (it has no description)\thelp takes a name, a function of a module, a module or an object",
      ])
  }
}
