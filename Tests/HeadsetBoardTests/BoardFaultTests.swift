import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The faults of a board", .tags(.headset, .board)) struct BoardFaultTests {
  private func faults(_ text: String) throws -> BoardFaults {
    var faults = BoardFaults()
    try faults.add(text)
    return faults
  }

  @Test("are read from a line") func reading() throws {
    var expected = BoardFaults()
    (expected.drop, expected.delay, expected.delayTime) = (0.05, 0.2, .milliseconds(250))
    (expected.seed, expected.stays, expected.challengeLength) = (7, 2, 15)
    (expected.hidesBand, expected.disconnectAt) = (true, 4_096)
    (expected.death.step, expected.death.journalEntry) = (12, 3)
    (expected.garblesAnswers, expected.longestPayload) = (true, 64)
    var read = try faults("drop=0.05,delay=0.2:250ms,seed=7,stay=2,challenge=15")
    try read.add("wrong-bands,disconnect-at=4096,die=12,die-journal=3,garble-answer,max-payload=64")
    #expect(read == expected)
    #expect(try faults("delay=1:2s").delayTime == .seconds(2))
    #expect(try faults("delay=1").delayTime == .milliseconds(300))
  }

  @Test(
    "that can't be parsed are reported with a suggestion",
    arguments: [
      ("drp=1", "no fault of the board is called \"drp\"", "did you mean drop?"),
      ("drop", "\"drop\" is not a fault of the board: drop=P expected", "P is a probability from 0 to 1"),
      (
        "drop=1.5", "\"drop=1.5\" is not a fault of the board: drop=P expected",
        "P is a probability from 0 to 1"
      ),
      (
        "delay=0.5:3h", "\"delay=0.5:3h\" is not a fault of the board: delay=P[:TIME] expected",
        "P is a probability from 0 to 1, TIME like 300ms or 2s"
      ),
      (
        "wrong-bands=1", "\"wrong-bands=1\" is not a fault of the board: wrong-bands expected",
        "it has no value"
      ),
      (
        "max-payload=1025",
        "\"max-payload=1025\" is not a fault of the board: max-payload=N expected",
        "N is the largest size of a request in bytes, 0 to 1024"
      ),
      ("garble-answer=1", "\"garble-answer=1\" is not a fault of the board: garble-answer expected", nil),
      ("die=0", "\"die=0\" is not a fault of the board: die=STEP expected", nil),
      ("drop=nan", "\"drop=nan\" is not a fault of the board: drop=P expected", nil),
      ("", "no fault of the board is called \"\"", nil),
    ] as [(String, String, String?)])
  func unreadable(text: String, message: String, hint: String?) {
    #expect {
      var faults = BoardFaults()
      try faults.add(text)
    } throws: { error in
      let error = error as? BoardError
      return error?.kind == .fault && error?.message == message && (hint == nil || error?.hint == hint)
    }
  }

  /// The frames that arrive at both ends of a channel with these faults.
  private func heard(_ text: String, sending frames: [[UInt8]], for time: Duration = .seconds(5)) throws
    -> (there: [[UInt8]], back: [[UInt8]], isEnded: Bool)
  {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_767_225_600)))
    var (there, back, isEnded) = ([[UInt8]](), [[UInt8]](), false)
    try loop.finish {
      let (host, base) = MemoryChannel.pair(loop: loop)
      let board = FaultyChannel(base, FaultDice(try self.faults(text)), loop: loop)
      host.deliver(to: LinkReceiver(bytes: { back.append(Array($0)) }, end: { _ in isEnded = true }))
      board.deliver(to: LinkReceiver(bytes: { there.append(Array($0)) }))
      for frame in frames {
        host.send(frame)
        board.send(frame)
      }
      try await loop.sleep(for: time)
      host.deliver(to: LinkReceiver())
      board.close()
    }
    return (there, back, isEnded)
  }

  private static let frames: [[UInt8]] = (1...100).map { [$0, 101, 102, 0] }

  @Test("leave a link alone that has none") func none() throws {
    let (there, back, isEnded) = try heard("seed=3", sending: Self.frames)
    #expect(there == Self.frames && back == Self.frames && !isEnded)
  }

  @Test("lose and double frames in both directions") func dropAndDuplicate() throws {
    let dropped = try heard("drop=0.3", sending: Self.frames)
    #expect((50..<90).contains(dropped.there.count) && (50..<90).contains(dropped.back.count))
    #expect(try heard("drop=1", sending: Self.frames).there.isEmpty)
    let doubled = try heard("duplicate=1", sending: Self.frames)
    #expect(doubled.there == Self.frames.map { $0 + $0 } && doubled.back == doubled.there)
  }

  @Test("turn one bit") func corrupt() throws {
    let (_, back, _) = try heard("corrupt=1", sending: Self.frames)
    let turned = zip(back, Self.frames).map { frame, before in
      zip(frame, before).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount }
    }
    #expect(turned == [Int](repeating: 1, count: 100))
  }

  @Test("cut and join frames, and change no byte") func pieces() throws {
    let whole = Self.frames.flatMap { $0 }
    let (there, back, _) = try heard("split=0.5,merge=0.3", sending: Self.frames)
    #expect(there.flatMap { $0 } == whole && back.flatMap { $0 } == whole)
    #expect(there.contains { $0.last != 0 } && there.contains { $0.count > 4 })
    #expect(back.contains { $0.last != 0 } && back.contains { $0.count > 4 })
    // The last one is not kept back for ever.
    #expect(try heard("merge=1", sending: [[1, 0]]).there == [[1, 0]])
  }

  @Test("keep frames back, and never let one overtake another") func delay() throws {
    let (there, back, _) = try heard("delay=0.5:40ms", sending: Self.frames, for: .seconds(60))
    #expect(there == Self.frames && back == Self.frames)
    #expect(try heard("delay=1:2s", sending: [[1, 0]], for: .milliseconds(1_900)).there.isEmpty)
    #expect(try heard("delay=1:2s", sending: [[1, 0]], for: .milliseconds(2_100)).there == [[1, 0]])
  }

  @Test("end the link at a byte, once, or at random") func disconnect() throws {
    let (there, back, isEnded) = try heard("disconnect-at=10", sending: [[1, 2, 3, 4, 5, 0], [7, 8, 9, 0]])
    #expect(isEnded)
    #expect(there.joined().count + back.joined().count == 10)
    #expect(try heard("disconnect=0.1", sending: Self.frames).isEnded)

    try withBoard(.with { $0.faults.disconnectAt = 200 }) { board async throws in
      let host = BoardHost(board)
      await #expect(throws: BoardHost.Silence.self) {
        try await host.connect()
        while true { try await host.request(Ping()) }
      }
      #expect(host.isEnded)
      let next = BoardHost(board)
      try await next.connect()
      for _ in 0..<20 { try await next.request(Ping()) }
    }
  }

  @Test("are the same for the same seed") func seeds() throws {
    let text = "drop=0.3,corrupt=0.3,duplicate=0.3,seed="
    let one = try heard(text + "5", sending: Self.frames).back
    #expect(try heard(text + "5", sending: Self.frames).back == one)
    #expect(try heard(text + "6", sending: Self.frames).back != one)
  }
}
