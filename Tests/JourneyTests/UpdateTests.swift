import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("scripts/update_headset.lua", .waiting, .tags(.firmware)) struct UpdateTests {
  private let home: Home
  private var transport: String { "unix:" + home.path("board.sock") }

  init() throws {
    home = try Home()
    var random = SeededRandom(seed: 41)
    try home.write(random.bytes(20_000), to: "app.bin")
    for (name, model) in [("app.rtfw", "RT-1"), ("other.rtfw", "RT-9")] {
      let packed = try home.run(
        "firmware", "pack", "app.bin", "-o", name, "--model", model, "--version", "2.0")
      guard packed.status == 0 else { throw TestFailure("\(packed)") }
    }
  }

  private func board(state: String = "board", _ arguments: String...) throws -> RunningCommand {
    let board = try home.start(
      ["board", "--listen", transport, "--state", home.path(state), "--ready-after", "200"] + arguments,
      input: .pipe)
    try board.expect("listening on \(transport)\n")
    return board
  }

  private func script(_ file: String) throws -> RunningCommand {
    try home.start(["run", Fixtures.repository("scripts/update_headset.lua"), file, transport])
  }

  private func image(of board: RunningCommand) throws -> String {
    try board.type("state\n")
    try board.expect("\"confirmed\": ")
    return try board.consume(upTo: "\n")
  }

  /// Returns the number of steps of the board's store.
  private func steps(of board: RunningCommand) throws -> Int {
    try board.type("state\n")
    try board.expect("\"steps\": ")
    return try #require(Int(try board.consume(upTo: ",")))
  }

  private var hash: String {
    get throws { String(try Command.succeed("sha256sum", [home.path("app.bin")]).text.prefix(64)) }
  }

  @Test("updates a headset, reports that it is installed, and refuses a file for another") func whole()
    throws
  {
    let board = try board()
    let updated = try script("app.rtfw").finish()
    #expect(
      updated.status == 0 && updated.errorLines.allSatisfy { $0.contains("development key") }, "\(updated)")
    #expect(updated.lines.first == "Roomtone RT-1 at \(transport) runs firmware 1.0.0")
    #expect(updated.lines.suffix(2) == ["100 %", "updated: it runs firmware 2.0"])
    #expect(try image(of: board).contains(hash))
    let there = try script("app.rtfw").finish()
    #expect(there.status == 0 && there.lines.last == "it runs this version already", "\(there)")
    let other = try script("other.rtfw").finish()
    #expect(other.status == 1)
    #expect(
      other.lines.suffix(2) == [
        "not updated, step check: the firmware is for RT-9, and this is RT-1",
        "get the firmware for this model",
      ])
    #expect(other.failures.count == 1 && other.errors.contains("headset.update_failed"))
  }

  @Test("resumes when the headset loses its power and comes back") func powerLoss() throws {
    let dying = try board("--fault", "die-journal=4")
    let script = try script("app.rtfw")
    #expect(try dying.finish().status == 9)
    let board = try board()
    let updated = try script.finish()
    #expect(updated.status == 0, "\(updated)")
    #expect(updated.lines.last == "updated: it runs firmware 2.0")
    #expect(try image(of: board).contains(hash))
  }

  /// Cuts the board's power at six steps; at each step with `ROOMTONE_POWER=all`.
  @Test("resumes whenever the headset loses its power, which then runs the old or the new image")
  func anyPowerLoss() throws {
    let untouched = try board()
    let first = try steps(of: untouched) + 1
    let whole = try script("app.rtfw").finish()
    try #require(whole.status == 0, "\(whole)")
    let last = try steps(of: untouched)
    untouched.send(SIGKILL)
    _ = try untouched.finish()
    try #require(last - first > 40)
    let isAll = getenv("ROOMTONE_POWER").map { String(cString: $0) } == "all"
    for step in stride(from: first, through: last, by: isAll ? 1 : (last - first) / 5) {
      let dying = try board(state: "board-\(step)", "--fault", "die=\(step)")
      let script = try script("app.rtfw")
      #expect(try dying.finish().status == 9, "step \(step)")
      let board = try board(state: "board-\(step)")
      try board.type("state\n")
      let state = try board.consume(upTo: "\n")
      #expect(
        state.contains(#""running": true"#) && state.contains(#""whole": true"#), "step \(step): \(state)")
      #expect(!state.contains(#""whole": false"#), "step \(step): \(state)")
      #expect(
        state.contains(#""version": "1.0.0", "mode""#) || state.contains(#""version": "2.0", "mode""#),
        "step \(step)")
      let updated = try script.finish()
      #expect(
        updated.status == 0 && updated.lines.last == "updated: it runs firmware 2.0",
        "step \(step): \(updated)")
      #expect(try image(of: board).contains(hash), "step \(step)")
      board.send(SIGKILL)
      _ = try board.finish()
    }
  }

  @Test("resumes where it was when it was killed") func killed() throws {
    // 300 ms for each answer: there is time to be killed.
    let board = try board("--profile", "slow")
    let first = try script("app.rtfw")
    try first.expect("50 %\n")
    first.send(SIGKILL)
    _ = try first.finish()
    let second = try script("app.rtfw").finish()
    #expect(second.status == 0, "\(second)")
    #expect(second.lines.last == "updated: it runs firmware 2.0")
    let percent = second.lines.dropFirst().first.flatMap { Int($0.filter(\.isNumber)) }
    #expect(percent.map { $0 >= 40 } == true, "\(second)")
    #expect(try image(of: board).contains(hash))
  }
}
