import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

/// A call of `play` in a task of its own.
private final class Playing {
  private(set) var task: Task<Void, Never>?
  private var failure: String?

  init(_ harness: HubHarness, _ path: String) {
    task = harness.loop.start { [unowned self] in
      failure = await harness.code { try await harness.house.session.play(path) }
    }
  }

  /// Waits for the end of the call, and returns the code of its error; nil for none.
  func code() async -> String? {
    await task?.value
    return failure
  }
}

extension RealTimeTests {
  @Suite("The answer of a hub to a sound that is to play", .tags(.hub))
  struct HubAnswerTests {
    private static let play = "play_web_media_selected_speakers"

    /// Returns an answer that comes so much later.
    private func late(_ seconds: Double, result: Bool = true) -> Answer {
      .page("{\"Result\":\"\(result)\"}").stalling(at: 0, for: .seconds(seconds))
    }

    @Test("play returns when the hub has answered")
    func waits() throws {
      try HubHarness.run { harness in
        let path = try harness.ramp(seconds: 20)
        harness.hub.fault(Self.play, late(1))
        let start = harness.loop.now
        try await harness.house.session.play(path)
        #expect(start.duration(to: harness.loop.now) >= .milliseconds(900))
        #expect(harness.house.session.state == .playing)
      }
    }

    @Test("a refusal is raised by play, and is no event; nothing plays then")
    func refuses() throws {
      try HubHarness.run { harness in
        let (session, path) = (harness.house.session, try harness.ramp(seconds: 20))
        harness.hub.fault(Self.play, late(0, result: false))
        #expect(await harness.code { try await session.play(path) } == "speaker.unavailable")
        #expect(session.state == .stopped)
        #expect(try await session.finish(timeout: .seconds(20)) == .idle)
        try await harness.wait(0.05)
        #expect(!harness.reported.contains { $0.hasPrefix("error") }, "\(harness.reported)")
        #expect(harness.reported.contains("ended failed"))
        // Nobody waits for the answer to a seek: its refusal is an event.
        harness.hub.fault(Self.play, nil)
        try await session.play(path)
        harness.hub.fault(Self.play, late(0, result: false))
        try session.seek(toSeconds: 5)
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.failed))
        try await harness.wait { harness.reported.contains("error speaker.unavailable") }
      }
    }

    @Test("another play, or a stop, before the answer supersedes; a pause does not")
    func superseded() throws {
      try HubHarness.run { harness in
        let (session, path) = (harness.house.session, try harness.ramp(seconds: 20))
        harness.hub.fault(Self.play, late(0.5))
        func playing() -> Playing { Playing(harness, path) }
        func asked(_ count: Int) async throws {
          try await harness.wait { harness.hub.orders.count { $0 == Self.play } >= count }
        }
        let first = playing()
        try await asked(1)
        let second = playing()
        #expect(await first.code() == "speaker.superseded")
        #expect(await second.code() == nil && session.state == .playing)
        let third = playing()
        try await asked(3)
        session.stop()
        #expect(await third.code() == "speaker.superseded" && session.state == .stopped)
        let fourth = playing()
        try await asked(4)
        session.pause()
        #expect(await fourth.code() == nil && session.state == .paused)
      }
    }

    @Test("a play that is cancelled before the answer stops")
    func cancelled() throws {
      try HubHarness.run { harness in
        let (session, path) = (harness.house.session, try harness.ramp(seconds: 20))
        harness.hub.fault(Self.play, late(1))
        let playing = Playing(harness, path)
        try await harness.wait { harness.hub.orders.contains(Self.play) }
        playing.task?.cancel()
        #expect(await playing.code() == "\(CancellationError())")
        #expect(session.state == .stopped)
        try await harness.wait { harness.hub.orders.contains("stop_play") }
      }
    }

    @Test("a hub that is lost before its answer is raised, and does not play it when it is back")
    func lost() throws {
      try HubHarness.run(set: { $0.responseTime = .milliseconds(500) }) { harness in
        let (session, path) = (harness.house.session, try harness.ramp(seconds: 20))
        harness.hub.fault(Self.play, late(30))
        #expect(await harness.code { try await session.play(path) } == "speaker.lost")
        #expect(session.state == .stopped)
        harness.hub.fault(Self.play, nil)
        try await harness.wait { harness.house.devices.allSatisfy(\.isAvailable) }
        try await harness.wait { harness.hub.orders.contains("stop_play") }
        #expect(harness.hub.orders.count { $0 == Self.play } == 1 && harness.hub.mediaURL == nil)
      }
    }
  }
}
