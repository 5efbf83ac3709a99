import AudioCore
import EventLoop
import Home
import JSONText
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

/// The routines and the library of the product as they behave in a daemon: at its start, at a reload, at a failure.
@Suite("shipped routines in a daemon", .waiting, .tags(.daemon, .alarm)) struct ShippedRoutineTests {
  /// The routines that run without arguments.
  private static let names = [
    "bedtime", "button", "doorbell", "eq_by_hour", "focus", "follow_me", "party", "presence", "record_show",
    "saturday_show", "wake_up",
  ]

  /// Returns a daemon of shipped routines, with their sounds beside them.
  private func daemon(_ names: [String]) throws -> DaemonHarness {
    let harness = try DaemonHarness(
      try names.map { name in
        (
          "\(name).lua",
          String(decoding: try readBytes(Fixtures.repository("scripts/\(name).lua")), as: UTF8.self)
        )
      })
    for sound in ["doorbell.mp3", "wake_up.mp3"] {
      _ = try harness.folder.write(readBytes(Fixtures.repository("scripts/\(sound)")), to: sound)
    }
    return harness
  }

  private func plays(_ harness: DaemonHarness) -> [String] {
    harness.daemon.engine.journal.recent.filter { $0.kind == .play }.map(\.name)
  }

  private func level(of speaker: String, _ harness: DaemonHarness) throws -> Int? {
    try harness.call("volume", [("room", .string(speaker))]).elements?.first?["volume"]?.int
  }

  @Test("none of them makes a sound when the daemon starts or its file is written again", arguments: names)
  func silence(_ name: String) throws {
    let harness = try daemon([name])
    try harness.begin()
    harness.pass(.seconds(60))
    #expect(harness.states == ["\(name) running"])
    _ = try harness.call("reload", [("name", .string(name))])
    harness.pass(.seconds(60))
    #expect(harness.states == ["\(name) running"])
    #expect(plays(harness) == [])
  }

  @Test("the doorbell rings for its trigger, each time")
  func doorbell() throws {
    let harness = try daemon(["doorbell"])
    try harness.begin()
    for count in 1...2 {
      _ = try harness.call("trigger", [("name", "doorbell")])
      harness.pass(.seconds(2))
      #expect(plays(harness).count == count)
      #expect(try level(of: "Kitchen", harness) == 28)
      harness.pass(.seconds(60))
      #expect(try level(of: "Kitchen", harness) == 22)
    }
  }

  @Test(
    "a party and a sleep timer end with their script, also if that fails: rooms are as before",
    arguments: [
      ("require 'party'.start { volume = 35 } speaker.play('tone.mp3', { loop = true })", 35),
      (
        "speaker.play('tone.mp3', { loop = true, rooms = 'Kitchen' }) require 'sleep_timer'.start { after = 0, fade = 60, rooms = 'Kitchen' }",
        14
      ),
    ])
  func end(_ code: String, _ meanwhile: Int) throws {
    let head = "local speaker, task = require 'speaker', require 'task' "
    for (rest, next) in [
      ("task.sleep '20s' error 'no guests'", nil), ("task.sleep '1h'", "task = nil"),
      ("task.sleep '20s' os.exit(0)", nil),
    ] {
      let harness = try DaemonHarness([("night.lua", "\(head)\(code) \(rest)")])
      _ = try harness.folder.write(readBytes(Fixtures.repository("scripts/wake_up.mp3")), to: "tone.mp3")
      try harness.begin()
      harness.pass(.seconds(15))
      #expect(try abs((level(of: "Kitchen", harness) ?? 0) - meanwhile) <= 3, "\(rest)")
      if let next {
        try harness.write(next, to: "night.lua")
        _ = try harness.call("reload", [("name", "night")])
      }
      harness.pass(.seconds(10))
      #expect(try level(of: "Kitchen", harness) == 22, "\(rest)")
      let isPlaying = harness.daemon.engine.house.open?.sessions.contains { $0.state == .playing }
      // What it plays goes on over a reload, and stops with a script that ends.
      #expect(isPlaying == (code.contains("sleep_timer") && next != nil), "\(rest)")
    }
  }

  @Test("an evening that is read again in the middle ends when it would have, and not later")
  func bedtime() throws {
    let harness = try daemon([])
    let text = String(
      decoding: try readBytes(Fixtures.repository("scripts/bedtime.lua")), as: UTF8.self
    )
    .replacing("speaker.play_stream(STATION)", with: "speaker.play('wake_up.mp3', { loop = true })")
    try harness.write(text, to: "bedtime.lua")
    try harness.begin()
    harness.pass(.seconds(1))
    _ = try harness.call("run_now", [("job", "bedtime")])
    func isPlaying() -> Bool {
      harness.daemon.engine.house.open?.sessions.contains { $0.state == .playing } == true
    }
    for _ in 1...3 {
      harness.pass(.seconds(7 * 60))
      _ = try harness.call("reload", [("name", "bedtime")])
      #expect(isPlaying())
    }
    harness.pass(.seconds(8 * 60 + 30))
    let faded = try level(of: "Bedroom", harness) ?? 0
    #expect(isPlaying() && faded < 6)
    harness.pass(.seconds(60))
    let restored = try level(of: "Bedroom", harness)
    #expect(!isPlaying() && restored == 12)
  }

  @Test("a fade and a scene end with their script: volumes stay, the rest of a scene is applied")
  func fades() throws {
    for code in [
      "require 'fade'.volume { 'Kitchen', to = 42, over = 20 } task.sleep '1h'",
      "speaker.device 'Kitchen':fade { to = 42, over = 20 }",
      """
      local scene, kitchen = require 'scene', speaker.device 'Kitchen'
      kitchen:set_volume(42) speaker.set_eq 'rock' scene.save 'loud'
      kitchen:set_volume(22) speaker.set_eq 'flat' task.sleep(0.1) scene.apply('loud', { fade = 20 })
      """,
    ] {
      let head = "local speaker, task = require 'speaker', require 'task' "
      let harness = try DaemonHarness([("loud.lua", head + code)])
      try harness.begin()
      harness.pass(.seconds(10))
      try harness.write("", to: "loud.lua")
      _ = try harness.call("reload", [("name", "loud")])
      let half = try level(of: "Kitchen", harness) ?? 0
      #expect(abs(half - 32) <= 1, "\(code)")
      harness.pass(.seconds(60))
      #expect(try level(of: "Kitchen", harness) == half, "\(code)")
      let isRock = harness.daemon.engine.house.open?.sessions.contains { $0.equalizer != .flat }
      #expect(isRock == code.contains("scene"), "\(code)")
    }
  }
}
