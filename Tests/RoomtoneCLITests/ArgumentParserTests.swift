import Scheduling
import SpeakerKit
import Testing

@testable import RoomtoneCLI

@Suite struct ArgumentParserTests {
  private func parse(_ words: String...) throws -> ParsedArguments { try parse(words) }

  private func parse(_ words: [String]) throws -> ParsedArguments {
    let request = try ArgumentParser().parse(words)
    guard case .perform(let arguments) = request else {
      Issue.record("\(words) asks for \(request)")
      throw UsageError(.command, "", help: "")
    }
    return arguments
  }

  @Test("a script alone is run with what it needs and nothing else")
  func plain() throws {
    let arguments = try parse("run", "wake_up.lua")
    #expect(arguments.command == .run && arguments.script == "wake_up.lua")
    #expect(arguments.scriptArguments.isEmpty && arguments.given.isEmpty)
    #expect(
      arguments.duration(.longest) == nil && arguments.output(.output) == nil && !arguments.has(.verbose))
  }

  @Test(
    "a value stands behind its option, or behind an equals sign",
    arguments: [["--for", "1h30m"], ["--for=1h30m"], ["--for", "90m"]])
  func values(words: [String]) throws {
    let arguments = try parse(["run"] + words + ["a.lua"])
    #expect(arguments.duration(.longest) == .seconds(5400) && arguments.operands == ["a.lua"])
  }

  @Test(
    "a short option takes its value from the same word or the next one",
    arguments: [
      ["-e", "print(1)"], ["-eprint(1)"], ["-veprint(1)"], ["-ve", "print(1)"], ["-v", "-e", "print(1)"],
      ["--execute=print(1)"], ["--execute", "print(1)"],
    ])
  func shortValues(words: [String]) throws {
    let arguments = try parse(["run"] + words)
    #expect(arguments.text(.execute) == "print(1)" && arguments.script == nil)
    #expect(arguments.has(.verbose) == (words[0].hasPrefix("-v")))
  }

  @Test("what is behind the first equals sign is the value, with all other ones")
  func equalsSigns() throws {
    #expect(try parse("run", "--execute=x = 1 == 2").text(.execute) == "x = 1 == 2")
    #expect(try parse("run", "-e=1").text(.execute) == "=1")
  }

  @Test("every option of every command is read into the type of its value")
  func types() throws {
    let run = try parse(
      "run", "--house", "house", "--output", "wav:out", "--config", "c.lua", "--verbose", "a.lua")
    #expect(run.text(.house) == "house" && run.text(.config) == "c.lua" && run.has(.verbose))
    #expect(run.output(.output) == .wav(folder: "out") && run.text(.output) == "wav:out")

    let simulate = try parse(
      "simulate", "a.lua", "--from", "2026-03-28T00:00", "--for", "7d", "--timezone", "Europe/Berlin",
      "--stations", "s.lua", "--render", "out", "--json", "--seed", "18446744073709551615", "--config=c.lua",
      "x", "--", "-y")
    #expect(simulate.dateTime(.from) == (try LocalDateTime(parsing: "2026-03-28 00:00")))
    #expect(simulate.duration(.span) == .seconds(604_800) && simulate.text(.timezone) == "Europe/Berlin")
    #expect(simulate.text(.render) == "out" && simulate.has(.json) && simulate.number(.seed) == .max)
    #expect(simulate.text(.stations) == "s.lua")
    #expect(simulate.script == "a.lua" && simulate.scriptArguments == ["x", "-y"])

    let repl = try parse("repl", "--output", "alsa:hw:1", "--house=house", "--config", "-")
    #expect(repl.output(.output) == .alsa(device: "hw:1") && repl.script == nil)
    #expect(try parse("run", "--attach", "--for", "1s", "a.lua").has(.attach))
  }

  @Test("an option that may be repeated keeps all its values, in their order")
  func repeated() throws {
    let play = try parse("play", "--on", "Kitchen", "a.mp3", "--on=bed left", "--volume", "0", "--on", "x")
    #expect(play.texts(.on) == ["Kitchen", "bed left", "x"] && play.number(.volume) == 0)
    #expect(play.operands == ["a.mp3"])
    #expect(try parse("play", "a.mp3", "--volume=50").texts(.on) == [])
  }

  @Test("for run, all that follows the script belongs to the script")
  func scriptArguments() throws {
    let arguments = try parse("run", "-v", "a.lua", "--for", "1h", "--help", "--", "-x", "")
    #expect(arguments.script == "a.lua" && arguments.given.map(\.option) == [.verbose])
    #expect(arguments.scriptArguments == ["--for", "1h", "--help", "--", "-x", ""])
  }

  @Test("a line of Lua takes the place of the script, and may be empty")
  func execute() throws {
    let arguments = try parse("run", "-e", "", "one", "--for")
    #expect(arguments.text(.execute) == "" && arguments.script == nil)
    #expect(arguments.scriptArguments == ["one", "--for"])
    #expect(try parse("run", "--execute=").text(.execute) == "")
  }

  @Test("a dash is an operand, and two dashes end the options")
  func dashes() throws {
    #expect(try parse("run", "-", "x").script == "-")
    #expect(try parse("run", "--", "-v").script == "-v")
    #expect(try parse("run", "--", "--", "x").operands == ["--", "x"])
    #expect(try parse("simulate", "--json", "--", "a.lua", "--json").scriptArguments == ["--json"])
  }

  @Test("options of simulate and repl may stand behind the script")
  func mixed() throws {
    let arguments = try parse("simulate", "a.lua", "--json", "x", "--for=1d", "y")
    #expect(arguments.has(.json) && arguments.scriptArguments == ["x", "y"])
    #expect(try parse("repl", "a.lua", "--output", "null").output(.output) == .null)
  }

  @Test("a value may begin with a dash, as long as it is none of the command's options")
  func dashedValues() throws {
    #expect(try parse("run", "-e", "-- a comment").text(.execute) == "-- a comment")
    #expect(try parse("run", "--config", "--odd", "a.lua").text(.config) == "--odd")
    #expect(try parse("run", "--config=--for", "a.lua").text(.config) == "--for")
  }

  @Test("a flag may be given twice")
  func repeatedFlag() throws {
    #expect(try parse("run", "-vv", "--verbose", "a.lua").given.count == 1)
  }

  @Test("help is asked for in many ways")
  func help() throws {
    let parser = ArgumentParser()
    #expect(try parser.parse([]) == .nothing)
    for words in [["help"], ["--help"], ["-h"], ["help", "help"], ["help", "--help"]] {
      #expect(try parser.parse(words) == .help(nil), "\(words)")
    }
    for words in [
      ["help", "run"], ["--help", "run"], ["run", "--help"], ["run", "-h"], ["run", "-vh"], ["run", "-hx"],
      ["run", "-h", "--nonsense"], ["run", "-v", "--help", "a.lua"],
    ] {
      #expect(try parser.parse(words) == .help(.run), "\(words)")
    }
    #expect(try parser.parse(["simulate", "a.lua", "--help"]) == .help(.simulate))
    #expect(try parser.parse(["--version"]) == .version)
  }
}
