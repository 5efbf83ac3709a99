import EventLoop
import Home
import JSONText
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

/// The daemon's answers to why and what has changed.
@Suite("why of the daemon", .waiting, .tags(.history, .daemon)) struct DaemonWhyTests {
  private static let wake = "require 'schedule'.at('06:45', { days = 'daily', name = 'wake up' }, print)"

  /// Returns the lines of an answer.
  private func why(_ thing: String, _ harness: DaemonHarness) throws -> [String] {
    (try harness.call("why", [("thing", .string(thing))])["lines"]?.elements ?? []).compactMap(\.text)
      .map { $0.split(separator: harness.folder.path + "/", omittingEmptySubsequences: false).joined() }
  }

  /// Returns a daemon that has opened its house.
  private func harness(_ text: String) throws -> DaemonHarness {
    let harness = try DaemonHarness([("a.lua", text)])
    try harness.begin()
    _ = try harness.call("volume", [("room", "Kitchen")])
    return harness
  }

  @Test("a person at the shell, who sets a level, fires a trigger, evaluates code, runs and skips a job")
  func person() throws {
    let harness = try harness(
      "require 'trigger'.on('bell', function() require 'speaker'.device 'Kitchen':set_volume(9) end) "
        + Self.wake)
    _ = try harness.call("volume", [("room", "Kitchen"), ("volume", "20")])
    harness.pass(.seconds(1))
    check(
      try why("kitchen", harness),
      [
        "Kitchen is at 20 (was 22)", "  00:00:00  person at ctl",
      ])
    _ = try harness.call("eval", [("code", "speaker.device 'Kitchen':set_volume(3)")])
    harness.pass(.seconds(1))
    check([try why("kitchen", harness)[1]], ["  00:00:01  set_volume(3), by person at ctl"])
    _ = try harness.call("trigger", [("name", "bell")])
    harness.pass(.seconds(1))
    check(
      try why("kitchen", harness),
      [
        "Kitchen is at 9 (was 3)",
        #"  00:00:02  a.lua:1  set_volume(9), by trigger "bell" from ctl, by person at ctl"#,
        "  00:00:01  before that, 3: set_volume(3), by person at ctl",
      ])
    check(try why("bell", harness), [#"trigger "bell""#, "  00:00:02  came, and 1 listened: person at ctl"])
    _ = try harness.call("run_now", [("job", "wake up")])
    _ = try harness.call("skip", [("job", "wake up")])
    check(
      try why("wake up", harness),
      [
        #"job "wake up": it runs"#,
        "  00:00:03  leaves out its run of 2026-01-05 06:45, as requested: person at ctl",
        "  00:00:03  runs: person at ctl",
      ])
  }

  @Test("a script that does not load, fails, is stale, asks for its end, or is gone")
  func scripts() throws {
    let harness = try DaemonHarness([
      ("a.lua", Self.wake), ("b.lua", "error 'no b'"), ("c.lua", "local x = ="),
    ])
    try harness.begin()
    check(try why("b", harness), ["b.lua", "  00:00:00  does not run: b.lua:1: no b", "  00:00:00  starts"])
    check(
      try why("c.lua", harness),
      ["c.lua", "  00:00:00  does not run: c.lua:1: unexpected symbol near '=' (script.syntax)"])
    harness.pass(.seconds(1))
    try harness.write("local x = =", to: "a.lua")
    _ = try? harness.call("reload", [("name", "a")])
    check(
      try why("a", harness),
      [
        "a.lua",
        "  00:00:01  does not load, its version before runs on: a.lua:1: unexpected symbol near '=' (script.syntax): "
          + "person at ctl", "  00:00:00  starts",
      ])
    harness.pass(.seconds(1))
    try harness.write("\(Self.wake) error 'no wake'", to: "a.lua")
    _ = try? harness.call("reload", [("name", "a")])
    harness.pass(.seconds(1))
    check(
      try why("a", harness),
      [
        "a.lua", "  00:00:02  does not run: a.lua:1: no wake", "  00:00:02  starts: person at ctl",
        "  00:00:01  does not load, its version before runs on: a.lua:1: unexpected symbol near '=' (script.syntax): "
          + "person at ctl", "  00:00:00  starts",
      ])
    check(
      try why("wake up", harness),
      [
        #"job "wake up": no run is scheduled"#, "  00:00:02  its script a.lua does not run: a.lua:1: no wake",
      ])
    try harness.write("os.exit(3)", to: "b.lua")
    _ = try? harness.call("restart", [("name", "b")])
    harness.pass(.seconds(1))
    check(
      try why("b", harness),
      [
        "b.lua",
        "  00:00:03  ended with status 3: b.lua:1  exit(), by b.lua, started 00:00:03, by person at ctl",
        "  00:00:03  starts: person at ctl", "  00:00:00  does not run: b.lua:1: no b", "  00:00:00  starts",
      ])
    try harness.remove("b.lua")
    _ = try harness.call("reload")
    check(Array(try why("b", harness).prefix(2)), ["b.lua", "  00:00:04  ended, as its file is gone"])
  }

  @Test("the history has the changes of a time, a room and a kind, as JSON and as lines")
  func history() throws {
    let harness = try harness("")
    _ = try harness.call("volume", [("room", "Kitchen"), ("volume", "20")])
    harness.pass(.seconds(3600))
    _ = try harness.call("mute", [("room", "Bathroom")])
    harness.pass(.seconds(1))
    func texts(_ parameters: [(name: String, value: JSON)]) throws -> [String] {
      (try harness.call("history", parameters).elements ?? []).compactMap { $0["text"]?.text }
    }
    #expect(
      try texts([("since", "30m")]) == ["01:00:00  Bathroom  muted  person at ctl"])
    #expect(
      try texts([("room", "Kitchen")]) == ["00:00:00  Kitchen  volume 22 → 20  person at ctl"])
    #expect(try texts([("kind", "mute")]).count == 1 && texts([("kind", "unmute")]).isEmpty)
    let first = try harness.call("history", [("kind", "volume")]).elements?.first
    #expect(first?["from"]?.int == 22 && first?["to"]?.int == 20 && first?["subject"]?.text == "speaker")
    #expect(first?["cause"]?["kind"]?.text == "person" && first?["cause"]?["name"]?.text == "ctl")
    for (name, value, part) in [
      ("kind", "volum", "did you mean 'volume'?"), ("since", "soon", "is not a duration"),
      ("room", "Attic", "Attic"), ("rooms", "Kitchen", "did you mean \"room\"?"),
    ] {
      let error = #expect(throws: RPCError.self) { try harness.call("history", [(name, .string(value))]) }
      #expect("\(error.map { "\($0)" } ?? "")".contains(part), "\(name)")
    }
    #expect(throws: RPCError.self) { try harness.call("why", [("thing", "Attic")]) }
    #expect(throws: RPCError.self) { try harness.call("why") }
  }
}
