import EventLoop
import Scheduling
import SpeakerKit
import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite(.tags(.command)) struct ArgumentParserTests {
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
    "a value follows its option, or an equals sign",
    arguments: [["--for", "1h30m"], ["--for=1h30m"], ["--for", "90m"]])
  func values(words: [String]) throws {
    let arguments = try parse(["run"] + words + ["a.lua"])
    #expect(arguments.duration(.longest) == .seconds(5400) && arguments.operands == ["a.lua"])
  }

  @Test(
    "a short option has its value in the same word or the next one",
    arguments: [
      ["-e", "print(1)"], ["-eprint(1)"], ["-veprint(1)"], ["-ve", "print(1)"], ["-v", "-e", "print(1)"],
      ["--execute=print(1)"], ["--execute", "print(1)"],
    ])
  func shortValues(words: [String]) throws {
    let arguments = try parse(["run"] + words)
    #expect(arguments.text(.execute) == "print(1)" && arguments.script == nil)
    #expect(arguments.has(.verbose) == (words[0].hasPrefix("-v")))
  }

  @Test("the value begins after the first equals sign, and may contain more")
  func equalsSigns() throws {
    #expect(try parse("run", "--execute=x = 1 == 2").text(.execute) == "x = 1 == 2")
    #expect(try parse("run", "-e=1").text(.execute) == "=1")
  }

  @Test("a date alone is its first moment, and now is the time of day")
  func dates() throws {
    let date = try parse("simulate", "a.lua", "--from", "2026-03-28")
    #expect(date.dateTime(.from) == (try LocalDateTime(parsing: "2026-03-28 00:00")))
    let before = ProcessZone().local(Timestamp.now)
    let now = try #require(try parse("simulate", "a.lua", "--from", "now").dateTime(.from))
    #expect(before <= now && now <= ProcessZone().local(Timestamp.now))
  }

  @Test("every option of every command is read into the type of its value")
  func types() throws {
    let run = try parse(
      "run", "--output", "wav:out", "--config", "c.lua", "--verbose", "a.lua")
    #expect(run.text(.config) == "c.lua" && run.has(.verbose))
    #expect(run.output(.output) == .wav(folder: "out") && run.text(.output) == "wav:out")

    let simulate = try parse(
      "simulate", "a.lua", "--from", "2026-03-28T00:00", "--for", "7d", "--timezone", "Europe/Berlin",
      "--stations", "s.lua", "--render", "out", "--json", "--html=w.html", "--seed", "18446744073709551615",
      "--config=c.lua", "x", "--", "-y")
    #expect(simulate.dateTime(.from) == (try LocalDateTime(parsing: "2026-03-28 00:00")))
    #expect(simulate.duration(.span) == .seconds(604_800) && simulate.text(.timezone) == "Europe/Berlin")
    #expect(simulate.text(.render) == "out" && simulate.has(.json) && simulate.number(.seed) == .max)
    #expect(simulate.text(.stations) == "s.lua" && simulate.text(.html) == "w.html")
    #expect(simulate.script == "a.lua" && simulate.scriptArguments == ["x", "-y"])

    let repl = try parse("repl", "--output", "alsa:hw:1", "--config", "-")
    #expect(repl.output(.output) == .alsa(device: "hw:1") && repl.script == nil)
  }

  @Test("an option that may be repeated keeps all its values, in their order")
  func repeated() throws {
    let play = try parse("play", "--on", "Kitchen", "a.mp3", "--on=bed left", "--volume", "0", "--on", "x")
    #expect(play.texts(.on) == ["Kitchen", "bed left", "x"] && play.number(.volume) == 0)
    #expect(play.operands == ["a.mp3"])
    #expect(try parse("play", "a.mp3", "--volume=50").texts(.on) == [])
  }

  @Test(
    "options of run and simulate precede or follow the script, the script's own follow two dashes")
  func scriptArguments() throws {
    for command in ["run", "simulate"] {
      for words in [
        ["--for", "1h", "a.lua", "x", "--", "--for", "2h", "--help", "-x", ""],
        ["a.lua", "x", "--for=1h", "--", "--for", "2h", "--help", "-x", ""],
      ] {
        let arguments = try parse([command] + words)
        #expect(arguments.script == "a.lua" && arguments.given.map(\.text) == ["1h"])
        #expect(arguments.scriptArguments == ["x", "--for", "2h", "--help", "-x", ""])
      }
      let error = #expect(throws: UsageError.self) { try parse(command, "a.lua", "-5") }
      #expect(
        error?.message == "\(command) has no option '-5'; options of the script go after '--'")
    }
  }

  @Test("the command of a job keeps its options, wherever those of cron are")
  func innerCommand() throws {
    for words in [
      ["@daily", "--name", "a", "record", "morning", "--for", "2h", "-q"],
      ["@daily", "record", "morning", "--for", "2h", "-q", "--name", "a"],
      ["--name=a", "@daily", "record", "morning", "--for", "2h", "-q"],
    ] {
      let add = try parse(["cron", "add"] + words)
      #expect(add.operands == ["@daily", "record", "morning", "--for", "2h", "-q"], "\(words)")
      #expect(add.text(.jobName) == "a")
    }
    #expect(
      try parse("cron", "add", "@daily", "a.lua", "--", "--name").operands.suffix(2) == ["--", "--name"])
  }

  @Test("a line of Lua replaces the script, and may be empty")
  func execute() throws {
    let arguments = try parse("run", "-e", "", "one", "--", "--for")
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

  @Test("options of simulate and repl may follow the script")
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

  @Test("a flag may be repeated")
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
      ["run", "--help"], ["run", "-h"], ["run", "-vh"], ["run", "-hx"],
      ["run", "-h", "--nonsense"], ["run", "-v", "--help", "a.lua"],
    ] {
      #expect(try parser.parse(words) == .help(.run), "\(words)")
    }
    for words in [["help", "run"], ["--help", "run"]] {
      #expect(try parser.parse(words) == .topic("run", .run), "\(words)")
    }
    #expect(try parser.parse(["help", "speaker.play"]) == .topic("speaker.play", nil))
    #expect(try parser.parse(["simulate", "a.lua", "--help"]) == .help(.simulate))
    let add = try #require(CommandSpec.cron.actions.first { $0.name == "add" })
    for words in [
      ["help", "cron", "add"], ["--help", "cron", "add"], ["cron", "add", "--help"],
      ["cron", "add", "@daily", "record", "-h"],
    ] {
      #expect(try parser.parse(words) == .actionHelp(.cron, add), "\(words)")
    }
    #expect(throws: UsageError.self) { try parser.parse(["help", "cron", "ad"]) }
    #expect(throws: UsageError.self) { try parser.parse(["help", "run", "now"]) }
    #expect(try parser.parse(["help", "run", "x"]) == .topic("run x", nil))
    #expect(try parser.parse(["--version"]) == .version)
  }
}
