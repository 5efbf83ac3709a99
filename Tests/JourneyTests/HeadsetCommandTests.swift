import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("roomtone headset", .waiting, .tags(.headset, .command))
struct HeadsetCommandTests {
  @Test("shows a headset, for people and for programs, and sets what it does")
  func sets() throws {
    let home = try Home()
    let board = try EmulatedBoard(in: home)
    try home.write(Array("headset { transport = '\(board.address)' }".utf8), to: "config.lua")
    func headset(_ words: String...) throws -> Outcome {
      try home.start(["headset", "--config", "config.lua"] + words).finish()
    }
    #expect(
      try headset().lines.prefix(9) == [
        "Headset           Roomtone RT-1", "Model             RT-1", "Address           \(board.address)",
        "Firmware          1.0.0",
        "Battery           80 %", "Noise cancelling  off", "Ambient           left 0 of 7, right 0 of 7",
        "Equalizer         music", "  31.25 Hz        +4",
      ])
    for words in [
      ["anc", "on"], ["ambient", "5", "-"], ["ambient", "-", "2"], ["eq", "voice"], ["eq", "3"],
    ] {
      let outcome = try home.start(["headset", "--transport", board.address] + words).finish()
      #expect(outcome.status == 0 && outcome.output.isEmpty, "\(words): \(outcome)")
      // A key that everybody has causes a warning.
      #expect(
        outcome.errorLines.count == 1
          && outcome.errors.contains("reached with the development key, which everybody has"), "\(outcome)")
    }
    let state = try board.state()
    #expect(state.contains("\"noise_cancelling\": true") && state.contains("\"preset\": 3"), "\(state)")
    #expect(state.contains("\"ambient\": {\"left\": 5, \"right\": 2}"), "\(state)")
    #expect(try headset("anc").output == "on\n")
    #expect(try headset("ambient").output == "left 5 of 7, right 2 of 7\n")
    #expect(try headset("eq").output == "user\n")
    let json = try headset("status", "--json").output
    for part in [
      "\"name\": \"Roomtone RT-1\"", "\"address\": \"\(board.address)\"", "\"image_type\": \"application\"",
      "\"noise_cancelling\": true",
      "\"battery\": {\"percent\": 80, \"charging\": false}", "\"preset_name\": \"user\"",
      "\"hertz\": [31.25, 62.5, 125.0,", "\"max\": {\"left\": 7, \"right\": 7}",
    ] { #expect(json.contains(part), "\(part) is missing: \(json)") }
  }

  @Test("a headset that lacks something shows what it has")
  func lacks() throws {
    let home = try Home()
    let board = try EmulatedBoard(in: home, .unix, "--profile", "no-bands", "--battery", "7")
    let outcome = try home.run("headset", "--transport", board.address)
    #expect(outcome.status == 0 && outcome.lines.contains("Battery           7 %"), "\(outcome)")
    #expect(!outcome.output.contains("Equalizer"), "\(outcome)")
    let refused = try home.run("headset", "eq", "movie", "--transport", board.address)
    #expect(refused.status == 1 && refused.errorLines.count == 2, "\(refused)")
    #expect(refused.errors.contains("(headset.no_bands)"), "\(refused)")
  }

  @Test("updates firmware, and shows on a terminal how far it is")
  func updates() throws {
    let home = try Home()
    let board = try EmulatedBoard(in: home)
    try home.firmware("v2.rtfw", version: "2.0.0")
    let command = try home.start(
      ["headset", "update", "v2.rtfw", "--transport", board.address], input: .terminal)
    try command.expect("updating Roomtone RT-1   50 %")
    try command.expect("RT-1 runs firmware 2.0.0\r\n")
    #expect(try command.finish().status == 0)
    #expect(try board.state().contains("\"version\": \"2.0.0\""))
    let again = try home.run("headset", "update", "v2.rtfw", "--transport", board.address)
    #expect(again.status == 0 && again.output == "Roomtone RT-1 runs firmware 2.0.0 already\n", "\(again)")
    // Warnings for the link and for the firmware.
    #expect(again.errorLines.count == 2, "\(again)")
    for line in again.errorLines { #expect(line.contains("the development key, which everybody has")) }
    #expect(try home.run("headset", "reboot", "--transport", board.address).status == 0)
  }

  @Test("an impossible action is reported in one line, and the exit status distinguishes usage from failure")
  func failures() throws {
    let home = try Home()
    let board = try EmulatedBoard(in: home)
    try home.write(Array("no firmware".utf8), to: "text.rtfw")
    let cases: [(String, Int32, String)] = [
      ("anc maybe", 2, "'on' or 'off' expected, got 'maybe'"), ("eq musik", 2, "did you mean 'music'?"),
      ("eq 4", 2, "known: music, movie, voice, user"), ("ambient 5", 2, "ambient needs a RIGHT"),
      ("ambient 5 loud", 2, "a whole number from 0 or - expected, got 'loud'"),
      ("ambient 8 0", 1, "the left side takes 0 to 7, not 8 (headset.range)"),
      ("update", 2, "headset update needs a FILE"), ("update text.rtfw", 1, "(headset.update_failed)"),
      ("update nowhere.rtfw", 1, "(headset.update_failed)"),
      ("volume 3", 2, "headset: unknown action 'volume'"),
    ]
    for (words, status, part) in cases {
      let outcome = try home.start(
        ["headset", "--transport", board.address] + words.split(separator: " ").map(String.init)
      ).finish()
      #expect(outcome.status == status && outcome.failures.count == 1, "\(words): \(outcome)")
      #expect(outcome.errors.contains(part) && outcome.output.isEmpty, "\(words): \(outcome)")
    }
    for (words, part) in [
      (["headset"], "no headset is configured"),
      (["headset", "--transport", "unix:nowhere"], "no headset at"),
      (["headset", "--transport", board.address, "--key-file", "text.rtfw"], "(headset.auth)"),
    ] {
      let outcome = try home.start(words).finish()
      #expect(outcome.status == 1 && outcome.failures.count == 1, "\(outcome)")
      #expect(outcome.errors.contains(part) && !outcome.errors.contains("no firmware"), "\(outcome)")
    }
  }

  @Test("Ctrl-C ends an update that can be resumed")
  func interrupted() throws {
    let home = try Home()
    let board = try EmulatedBoard(in: home, .unix, "--profile", "slow")
    try home.firmware("v2.rtfw", version: "2.0.0")
    let command = try home.start(
      ["headset", "update", "v2.rtfw", "--transport", board.address], input: .terminal,
      deadline: .seconds(120))
    try command.expect("updating Roomtone RT-1   1")
    command.send(SIGINT)
    #expect(try command.finish().status == 130)
    let outcome = try home.run(
      "headset", "update", "v2.rtfw", "--transport", board.address, deadline: .seconds(120))
    #expect(outcome.status == 0 && outcome.lines.last == "Roomtone RT-1 runs firmware 2.0.0", "\(outcome)")
  }

  @Test("an update over a bad link says how long it takes: in lines off a terminal, in its line on one")
  func estimates() throws {
    let home = try Home()
    let fault = "drop=0.1,delay=0.2:300ms,seed=5"
    let board = try EmulatedBoard(in: home, .unix, "--profile", "slow", "--fault", fault)
    try home.firmware("v2.rtfw", version: "2.0.0")
    let update = ["headset", "update", "v2.rtfw", "--transport", board.address]
    let outcome = try home.start(update, deadline: .seconds(300)).finish()
    #expect(outcome.status == 0 && outcome.lines.last == "Roomtone RT-1 runs firmware 2.0.0", "\(outcome)")
    let lines = outcome.lines.dropLast()
    #expect(lines.first?.hasPrefix("updating Roomtone RT-1: 0 %, about ") == true, "\(outcome)")
    #expect(lines.count >= 2 && lines.allSatisfy { $0.hasPrefix("updating Roomtone RT-1: ") }, "\(outcome)")

    try home.firmware("v3.rtfw", version: "3.0.0")
    let shown = try home.start(
      ["headset", "update", "v3.rtfw", "--transport", board.address], input: .terminal,
      deadline: .seconds(300))
    try shown.expect(", about ")
    try shown.expect(" left")
    shown.send(SIGINT)
    #expect(try shown.finish().status == 130)
  }
}
