import EventLoop
import TestTraits
import Testing

@testable import RoomtoneCLI

/// A wrong command line, with the expected message.
struct Mistake: Sendable, CustomTestStringConvertible {
  let words: [String]
  let code: String
  let message: String
  let help: String

  init(_ line: String, _ code: String, _ message: String, help: String = "see roomtone --help") {
    words = line.split(separator: " ").map { $0 == "''" ? "" : String($0) }
    (self.code, self.message, self.help) = ("usage." + code, message, help)
  }

  static func run(_ line: String, _ code: String, _ message: String) -> Mistake {
    Mistake("run " + line, code, message, help: "see roomtone run --help")
  }

  static func simulate(_ line: String, _ code: String, _ message: String) -> Mistake {
    Mistake("simulate " + line, code, message, help: "see roomtone simulate --help")
  }

  var testDescription: String { words.joined(separator: " ") }
}

@Suite(.tags(.error, .command)) struct UsageErrorTests {
  private func expect(_ mistake: Mistake) {
    let error = #expect(throws: UsageError.self) { try ArgumentParser().parse(mistake.words) }
    #expect(error?.code == mistake.code)
    #expect(error?.message == mistake.message)
    #expect(error?.hint == mistake.help)
    let line = "roomtone: \(mistake.message) (\(mistake.help))\n"
    #expect(Invocation(mistake.words) == .show(line, on: .error, status: 2))
  }

  @Test(
    "the first word in place of the command",
    arguments: [
      Mistake("rum", "command", "no command is called 'rum'; did you mean 'run'?"),
      Mistake("sim", "command", "no command is called 'sim'; did you mean 'simulate'?"),
      Mistake("smiulate a.lua", "command", "no command is called 'smiulate'; did you mean 'simulate'?"),
      Mistake(
        "wake_up.lua", "command",
        "no command is called 'wake_up.lua'; a script is run with 'roomtone run SCRIPT'"),
      Mistake("''", "command", "no command is called ''"),
      Mistake("dance", "command", "no command is called 'dance'"),
      Mistake("-", "command", "no command is called '-'"),
      Mistake("help run now", "operand", "nothing is expected after 'help run', but there is 'now'"),
      Mistake("--version run", "operand", "nothing is expected after '--version', but there is 'run'"),
      Mistake(
        "--versoin", "option", "there is no option '--versoin' before the command; did you mean '--version'?"),
      Mistake("-x", "option", "there is no option '-x' before the command"),
      Mistake("--", "option", "there is no option '--' before the command"),
      Mistake("-v run a.lua", "option", "'-v' goes after the command that it belongs to: run, serve"),
      Mistake("devcies", "command", "no command is called 'devcies'; did you mean 'devices'?"),
      Mistake("--on=bath play a.mp3", "option", "'--on' goes after the command that it belongs to: play"),
      Mistake(
        "--for=1h run", "option", "'--for' goes after the command that it belongs to: run, simulate, record"),
    ])
  func command(mistake: Mistake) { expect(mistake) }

  @Test(
    "options that do not exist",
    arguments: [
      .run("--ouput null a.lua", "option", "run has no option '--ouput'; did you mean '--output'?"),
      .run("--verb a.lua", "option", "run has no option '--verb'; did you mean '--verbose'?"),
      .run("-for 1h a.lua", "option", "run has no option '-for'; did you mean '--for'?"),
      .run("--OUTPUT=null a.lua", "option", "run has no option '--OUTPUT'; did you mean '--output'?"),
      .run("--seed 1 a.lua", "option", "run has no option '--seed'; it is an option of simulate"),
      .run("--loudness a.lua", "option", "run has no option '--loudness'"),
      .run("-vx a.lua", "option", "run has no option '-x'"),
      .run("--=1 a.lua", "option", "run has no option '--'"),
      .run("--version", "option", "run has no option '--version'; without a command there is one"),
      .simulate("a.lua -v", "option", "simulate has no option '-v'; it is an option of run, serve"),
      .simulate("a.lua --rendre o", "option", "simulate has no option '--rendre'; did you mean '--render'?"),
      .simulate(
        "a.lua -7", "option", "simulate has no option '-7'; options of the script go after '--'"),
    ] as [Mistake])
  func unknownOption(mistake: Mistake) { expect(mistake) }

  @Test(
    "repeated options, and options that exclude each other",
    arguments: [
      .run("--for 1h --for=2h a.lua", "option", "--for is given twice"),
      .run("-e 1 -e 2", "option", "--execute is given twice"),
    ] as [Mistake])
  func conflict(mistake: Mistake) { expect(mistake) }

  @Test(
    "values that are missing or wrong",
    arguments: [
      .run("--for", "value", "--for needs a value: DURATION"),
      .run("-e", "value", "-e needs a value: CODE"),
      .run("-ve", "value", "-e needs a value: CODE"),
      .run("--output --", "value", "--output needs a value: OUTPUT, but the option '--' follows"),
      .run("--config --for=1h a", "value", "--config needs a value: FILE, but the option '--for=1h' follows"),
      .run("--config -v a", "value", "--config needs a value: FILE, but the option '-v' follows"),
      .run("--config= a.lua", "value", "--config: needs a value that is not empty"),
      .run("--for '' a.lua", "value", "--for: needs a value that is not empty"),
      .run("--verbose=yes a.lua", "value", "--verbose takes no value"),
      .run("--help=yes", "value", "--help takes no value"),
      .run(
        "--for 90 a.lua", "value",
        "--for: \"90\" is not a duration: a unit is missing after 90 (as in 90s, 5m, 1h30m, 250ms or 7d expected)"
      ),
      .run(
        "--output speaker a.lua", "value",
        "--output: \"speaker\" is not an output; outputs are null, wav:DIR, alsa and alsa:DEVICE"),
      .simulate(
        "a.lua --from 2026-02-30", "value",
        "--from: \"2026-02-30\" is not a date (days 01 to 28 expected in 2026-02)"),
      .simulate(
        "a.lua --seed -1", "value",
        "--seed: '-1' is not a whole number from 0 to 18446744073709551615"),
      .simulate(
        "a.lua --seed=18446744073709551616", "value",
        "--seed: '18446744073709551616' is not a whole number from 0 to 18446744073709551615"),
      Mistake(
        "play a.mp3 --volume 51", "value", "--volume: '51' is not a whole number from 0 to 50",
        help: "see roomtone play --help"),
      Mistake(
        "play a.mp3 --on kitchen --on", "value", "--on needs a value: ROOM", help: "see roomtone play --help"),
      .simulate(
        "a.lua --seed +1", "value", "--seed: '+1' is not a whole number from 0 to 18446744073709551615"),
    ] as [Mistake])
  func value(mistake: Mistake) { expect(mistake) }

  @Test(
    "operands that are missing, empty or one too many",
    arguments: [
      .run("", "operand", "run needs a SCRIPT: a Lua file, or - for standard input"),
      .run("-v --for 1h", "operand", "run needs a SCRIPT: a Lua file, or - for standard input"),
      .run("''", "operand", "SCRIPT is empty"),
      .simulate("--json", "operand", "simulate needs a SCRIPT: a Lua file, or - for standard input"),
      Mistake(
        "repl a.lua b.lua", "operand", "unexpected argument 'b.lua'; repl takes one operand",
        help: "see roomtone repl --help"),
      Mistake(
        "play", "operand",
        "play needs a FILE: WAV, AIFF, CAF, MP3, AAC, M4A, FLAC, Ogg; a folder, a playlist; a station's URL or name",
        help: "see roomtone play --help"),
      Mistake(
        "devices kitchen", "operand", "unexpected argument 'kitchen'; devices takes no operand",
        help: "see roomtone devices --help"),
    ] as [Mistake])
  func operand(mistake: Mistake) { expect(mistake) }

  @Test(
    "unknown actions, and options that an action does not have",
    arguments: [
      ("cron ad", "operand", "cron: unknown action 'ad'; did you mean 'add'?"),
      ("cron dance", "operand", "cron: unknown action 'dance'; known: list, add, run, remove"),
      ("cron list now", "operand", "unexpected argument 'now'; cron list takes no operand"),
      ("cron remove a b", "operand", "unexpected argument 'b'; cron remove takes one operand"),
      ("cron add", "operand", "cron add needs an EXPR: when to run it, in quotes: '30 20 * * 6'"),
      ("cron remove ''", "operand", "NAME is empty"),
      ("cron --name a", "option", "cron list has no option '--name'; it is an option of cron add"),
    ])
  func action(_ line: String, _ code: String, _ message: String) {
    expect(Mistake(line, code, message, help: "see roomtone cron --help"))
  }

  @Test("the first action is the default, and options may precede or follow it")
  func actionMeant() throws {
    guard case .perform(let none) = try ArgumentParser().parse(["cron", "--json"]),
      case .perform(let add) = try ArgumentParser().parse(
        ["cron", "add", "@daily", "--name", "a", "a.lua", "--", "--name"])
    else { throw UsageError(.command, "no command", help: "") }
    #expect(none.action?.name == "list" && none.operands == [])
    #expect(add.action?.name == "add" && add.operands == ["@daily", "a.lua", "--", "--name"])
    #expect(add.text(.jobName) == "a")
  }

  @Test(
    "mistakes about recordings",
    arguments: [
      (
        "record", "record", "operand",
        "record needs a URL: a station, a playlist that leads to one, or the name of a station of the configuration"
      ),
      ("record a b", "record", "operand", "unexpected argument 'b'; record takes one operand"),
      ("record a --for 1h --until 22:00", "record", "option", "--for and --until do not go together"),
      ("record a --append --split", "record", "option", "--append and --split do not go together"),
      (
        "record a --until 25:00", "record", "value",
        "--until: \"25:00\" is not a time of day (00:00 to 23:59 expected); write two digits each, as in 06:45 or 06:45:30"
      ),
      (
        "record a --until 2026-02-30T10:00", "record", "value",
        "--until: \"2026-02-30T10:00\" is not a date (days 01 to 28 expected in 2026-02)"
      ),
      ("record a --out b", "record", "option", "record has no option '--out'; did you mean '--output'?"),
      ("recordings --limit 0", "recordings", "value", "--limit: '0' is not a whole number from 1 to 1000000"),
      (
        "recordings list --state open", "recordings", "value",
        "--state: 'open' is not known; known: recording, joining, finished, recovered, failed, interrupted"
      ),
      (
        "recordings verify --station a", "recordings", "option",
        "recordings verify has no option '--station'; it is an option of recordings list"
      ),
      (
        "recordings forget", "recordings", "operand",
        "recordings forget needs a FILE: recordings; 'verify' checks all of the catalogue without one"
      ),
    ])
  func recording(_ line: String, _ command: String, _ code: String, _ message: String) {
    expect(Mistake(line, code, message, help: "see roomtone \(command) --help"))
  }

  @Test("typed control characters cannot spoil the message")
  func hostile() throws {
    for words in [["\u{1b}[31m\n"], ["run", "--\u{1b}x\n"], [String(repeating: "x", count: 5000)]] {
      let error = try #require(throws: UsageError.self) { try ArgumentParser().parse(words) }
      #expect(!error.line.contains("\n") && !error.line.contains("\u{1b}"))
      #expect(error.line.count < 200)
    }
  }

  @Test("as an error for programs it names its code")
  func coded() throws {
    let error: any CodedError = try #require(throws: UsageError.self) { try ArgumentParser().parse(["rum"]) }
    #expect(
      error.description
        == "no command is called 'rum'; did you mean 'run'? (usage.command); see roomtone --help")
  }
}
