import AudioCore
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("Sessions and the streams of the driver", .tags(.speaker, .sessions))
struct SessionStreamTests {
  /// A speaker more than the driver has streams.
  private static let speakers = (0..<33).map { SpeakerSpec(name: "S\($0)", volume: 50) }

  /// Makes a session of each speaker, and plays on all but the last: no stream is left.
  private func fillStreams(of harness: HouseHarness) async throws -> (sessions: [Session], path: String) {
    let path = try harness.source("a.wav", Signal.constant(0.5, frames: 4_800_000))
    let sessions = try harness.house.devices.enumerated().map { index, device in
      try harness.house.makeSession(name: "s\(index)", devices: [device])
    }
    for session in sessions[..<32] { try await session.play(path) }
    return (sessions, path)
  }

  @Test("a hundred silent sessions cost no stream: each of them can play")
  func silent() throws {
    try HouseHarness.run(output: .null) { harness in
      let sessions = try (0..<100).map { try harness.house.makeSession(name: "s\($0)") }
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 960))
      for session in sessions {
        try await harness.house.devices[0].join(session)
        try await session.play(path)
        #expect(try await session.finish() == .ended(.finished))
      }
    }
  }

  @Test("thirty-two sessions sound at a time; one more is refused with their names, and plays after an end")
  func limit() throws {
    try HouseHarness.run(speakers: Self.speakers, output: .null) { harness in
      let (sessions, path) = try await fillStreams(of: harness)
      sessions[3].pause()
      harness.record()
      let error = await harness.failure { try await sessions[32].play(path) }
      #expect(error?.code == "speaker.no_stream")
      #expect(error?.message == "32 sessions play, and the driver has no stream for one more")
      #expect(error?.hint?.hasPrefix("stop one of: \"s0\" in S0, \"s1\" in S1, ") == true)
      #expect(error?.hint?.contains("\"s3\" in S3") == true)
      #expect(sessions[32].state == .stopped && sessions[..<32].allSatisfy { $0.state != .stopped })
      sessions[3].stop()
      try await sessions[32].play(path)
      // The one that has stopped has nothing any more, and waits for the next stream.
      #expect(await harness.failure { try await sessions[3].play(path) }?.code == "speaker.no_stream")
      sessions[0].close()
      try await sessions[3].play(path)
      try await harness.wait(0.01)
      #expect(
        harness.reported == [
          "state stopped", "ended a.wav stopped", "state playing", "device S32 playing", "state stopped",
          "ended a.wav stopped", "device S0 playing", "device S0 left", "state playing", "device S3 playing",
        ])
    }
  }

  @Test("the stream of the session that was stopped first is given away; without one, nothing is connected")
  func firstStopped() throws {
    try HouseHarness.run(speakers: Self.speakers, output: .null) { harness in
      let (sessions, path) = try await fillStreams(of: harness)
      #expect(await harness.failure { try sessions[32].requireRooms() }?.code == "speaker.no_stream")
      sessions[5].stop()
      try await harness.wait(0.1)
      sessions[2].stop()
      try sessions[32].requireRooms()
      try await sessions[32].play(path)
      #expect(sessions[5].stream == nil && sessions[2].stream != nil)
    }
  }

  @Test(
    "an alarm replaces a session of lower priority when all streams are taken: a paused one, then that of its room"
  )
  func replaced() throws {
    try HouseHarness.run(speakers: Self.speakers, output: .null) { harness in
      let (house, (sessions, _)) = (harness.house, try await fillStreams(of: harness))
      sessions[7].pause()
      let equal = await harness.failure {
        try await house.interrupt(devices: [house.devices[3]], priority: 100) { _ in }
      }
      #expect(equal?.code == "speaker.no_stream")
      try await house.interrupt(devices: [house.devices[3]], priority: 200) { alarm in
        #expect(alarm.stream != nil && sessions[7].state == .stopped && sessions[3].isSuspended)
        try await house.interrupt(devices: [house.devices[4]], priority: 200) { _ in
          #expect(sessions[4].state == .stopped && sessions[3].state == .playing)
        }
      }
      let playing = sessions.indices.filter { sessions[$0].state == .playing }
      #expect(playing == (0..<32).filter { $0 != 7 && $0 != 4 })
      // People who play have an interruption each; they are replaced last, and only by a higher priority.
      for session in sessions { session.stop() }
      let path = try harness.source("b.wav", Signal.constant(0.5, frames: 480_000))
      for index in 0..<32 {
        harness.loop.start {
          try? await house.interrupt(devices: [house.devices[index]], name: "play \(index)") { person in
            try await person.play(path)
            _ = try await person.finish()
          }
        }
      }
      try await harness.wait(0.1)
      try await house.interrupt(devices: [house.devices[32]], priority: 200) { alarm in
        #expect(alarm.stream != nil)
        try await harness.wait(0.1)
        #expect(house.sessions.count { $0.state == .playing } == 31)
      }
    }
  }

  @Test("a gain that is set while a session has no stream is heard, and no other session has it")
  func levels() throws {
    let harness = try HouseHarness.run(addAll: false) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 9600))
      let quiet = try house.makeSession(name: "quiet")
      try quiet.setGain(-20)
      // The others have all streams in turn; `quiet` has lost its own.
      for _ in 0..<40 { _ = try house.makeSession() }
      for session in house.sessions where session !== quiet {
        try await house.devices[1].join(session)
        try await session.play(path)
        _ = try await session.finish()
      }
      try await house.devices[0].join(quiet)
      try await quiet.play(path)
      _ = try await quiet.finish()
      // The stream of `quiet` goes on to another session, which is as loud as its source.
      try await house.devices[0].join()
      try await house.session.play(path)
      _ = try await house.session.finish()
    }
    let played = try harness.played("A").channels[0]
    let first = try #require(played.firstIndex { $0 != 0 })
    // Ramps of one block lie between the levels.
    #expect(played[(first + 960)..<(first + 8640)].allSatisfy { abs($0 - 0.05) < 0.001 })
    let second = try #require(played.firstIndex { $0 > 0.1 })
    #expect(second >= first + 9600)
    #expect(played[(second + 960)..<(second + 8640)].allSatisfy { abs($0 - 0.5) < 0.001 })
  }
}
