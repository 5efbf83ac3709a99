import Codecs
import EventLoop
import TestTraits
import Testing

@testable import StreamCore

@Suite("The supply of a player", .tags(.stream, .playback)) struct SupplyTests {
  private static let all: [Supply] = [.filling, .dry, .flowing, .readOut, .complete, .ended]

  private static func after(_ event: (inout Supply) -> Void) -> [Supply] {
    all.map { supply in
      var supply = supply
      event(&supply)
      return supply
    }
  }

  @Test("is dry only when the player has nothing left, and for ever at its end when no frame follows")
  func events() {
    #expect(Self.after { _ = $0.resume() } == [.flowing, .flowing, .flowing, .readOut, .complete, .ended])
    #expect(Self.after { _ = $0.readAll() } == [.filling, .dry, .readOut, .readOut, .ended, .ended])
    let continued: [Supply] = [.filling, .dry, .flowing, .flowing, .complete, .complete]
    #expect(Self.after { $0.continueReading() } == continued)
    #expect(Self.after { $0.runDry() } == [.dry, .dry, .dry, .dry, .complete, .ended])
    #expect(Self.after { _ = $0.complete() } == [.complete, .complete, .complete, .ended, .complete, .ended])
  }

  @Test("reports a player that waited, and a reader that has come to the end of what there is, once")
  func reports() {
    func results(_ event: (inout Supply) -> Bool) -> [Bool] {
      Self.all.map { supply in
        var supply = supply
        return event(&supply)
      }
    }
    #expect(results { $0.resume() } == [true, true, false, false, false, false])
    #expect(results { $0.complete() } == [true, true, false, false, false, false])
    #expect(results { $0.readAll() } == [false, false, true, false, true, false])
  }
}

@Suite("A buffer and its player", .tags(.stream, .playback)) struct BufferSupplyTests {
  /// A buffer that is filled with frames of 26 ms, without a station.
  private final class Source {
    let buffer: StreamBuffer
    private let tee = FrameTee()
    private var number = 0

    init(blocks: Int = 200, wait: Double? = nil) {
      buffer = StreamBuffer(blocks: blocks, wait: wait.map { StreamTime(seconds: $0) })
      tee.play(buffer)
    }

    var isDry: Bool { tee.isDry }

    func append(generation: Int? = nil) -> StreamBuffer.Arrival {
      let frame = StreamFrame(
        offset: number * 418, length: 418, hash: UInt64(number),
        format: StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2), samples: 1152)
      number += 1
      let bytes = [UInt8](repeating: UInt8(number % 251), count: 418)
      return bytes.withUnsafeBytes { bytes in
        tee.receive { $0.append(frame, bytes, nil, generation: generation) }
      }
    }

    func append(_ count: Int) -> Bool { (0..<count).reduce(false) { done, _ in append().isEnough || done } }

    /// Appends frames until the player may begin.
    /// - Returns: their number.
    func fill() -> Int { (1...2000).first { _ in append().isEnough } ?? 0 }

    func readAll() -> Int {
      var count = 0
      while case .frame = buffer.read() { count += 1 }
      return count
    }

    func hearAll() -> StreamBuffer.Drained { buffer.drain(at: buffer.range.end, rest: .zero) }
  }

  private static func frames(_ seconds: Double) -> Int { Int((seconds * 44_100 / 1152).rounded(.up)) }

  @Test(
    "the player waits for 0.7 s, or the time that its user has set, also each time that it has run dry",
    arguments: [(nil, 0.7), (0.5, 0.5), (3, 3)] as [(Double?, Double)])
  func wait(requested: Double?, seconds: Double) {
    let source = Source(wait: requested)
    for index in 0..<4 {
      #expect(source.buffer.isFilling && source.isDry == (index > 0))
      #expect(source.fill() == Self.frames(seconds))
      #expect(!source.buffer.isFilling && !source.isDry)
      #expect(source.hearAll() == .waiting)
    }
  }

  @Test("a player that runs dry while it waits for its user's time resumes when that is made shorter")
  func shorterWait() {
    let source = Source(wait: 5)
    _ = source.fill()
    _ = source.hearAll()
    #expect(!source.append(Self.frames(2)) && source.isDry)
    #expect(!source.buffer.want(StreamTime(seconds: 3)) && source.isDry)
    #expect(source.buffer.want(StreamTime(seconds: 1)) && !source.isDry && !source.buffer.isFilling)
  }

  @Test("a player that has read all is not dry before that is heard, and reads on without a wait")
  func readOut() {
    let source = Source(wait: 0.5)
    let notices = Lock(0)
    source.buffer.onReadOut { notices.withLock { $0 += 1 } }
    let count = source.fill()
    #expect(source.readAll() == count && source.readAll() == 0)
    #expect(source.buffer.isReadOut && !source.buffer.isFilling && !source.isDry)
    #expect(notices.withLock { $0 } == 1, "further reads report nothing new")
    #expect(!source.append().isEnough && !source.buffer.isReadOut && source.readAll() == 1)
    #expect(notices.withLock { $0 } == 2)
    #expect(source.buffer.runDry() && source.isDry && source.buffer.isFilling && !source.buffer.isReadOut)
    #expect(!source.buffer.runDry(), "it is dry already")
    #expect(!source.append().isEnough && source.readAll() == 0)
  }

  @Test("a reader that found nothing is woken once, when there is enough") func wakes() {
    let source = Source(wait: 0.5)
    let wakes = Lock(0)
    source.buffer.onFrames { wakes.withLock { $0 += 1 } }
    let count = source.fill()
    #expect(wakes.withLock { $0 } == 0, "it has not read yet")
    #expect(source.readAll() == count && source.buffer.runDry() && source.readAll() == 0)
    #expect(!source.append(Self.frames(0.5) - 1) && wakes.withLock { $0 } == 0)
    #expect(source.append(3) && wakes.withLock { $0 } == 1)
    source.buffer.forgetReader()
    #expect(source.readAll() > 0 && !source.append(1) && wakes.withLock { $0 } == 1)
  }

  @Test("a wait for more than the buffer holds ends when that is full") func fullBuffer() {
    let source = Source(blocks: 10, wait: 60)
    #expect((100...120).contains(source.fill()) && !source.buffer.isFilling)
  }

  @Test("a buffer that no frame follows is played to its end, and is never dry", arguments: [false, true])
  func complete(isFollowed: Bool) {
    let source = Source(wait: 5)
    source.buffer.isFollowed = isFollowed
    #expect(!source.append(20) && source.buffer.isFilling)
    #expect(source.buffer.complete() && !source.buffer.complete(), "the player waits no longer")
    let notices = Lock(0)
    source.buffer.onReadOut { notices.withLock { $0 += 1 } }
    #expect(!source.buffer.isFilling && source.buffer.isComplete && source.readAll() == 20)
    for _ in 0..<3 {
      switch source.buffer.read() {
      case .frame: Issue.record("there is no frame left")
      case .waiting: #expect(isFollowed, "another buffer follows")
      case .end: #expect(!isFollowed)
      }
    }
    #expect(notices.withLock { $0 } == (isFollowed ? 1 : 0))
    #expect(!source.buffer.runDry() && source.hearAll() == .ended && !source.isDry)
    #expect(source.buffer.move(to: .zero) == .zero && source.readAll() == 20)
  }

  @Test("behind a seek the player waits for the new place, as for its first sound") func seek() {
    let source = Source(wait: 0.5)
    _ = source.fill()
    _ = source.hearAll()
    #expect(source.isDry)
    let generation = source.buffer.beginSeek(to: StreamTime(seconds: 100), wanted: StreamTime(seconds: 0.1))
    #expect(!source.isDry && source.buffer.isFilling && !source.buffer.isComplete)
    #expect(!source.append(generation: generation - 1).isAccepted, "a frame of the old place")
    source.buffer.complete(generation: generation - 1)
    #expect(!source.buffer.isComplete && source.buffer.isFilling)
    let arrivals = (0..<4).map { _ in source.append(generation: generation).isEnough }
    #expect(arrivals == [false, false, false, true])
  }

  @Test("frames of a file are held back while enough is ahead, or no room is left, until some has been read")
  func heldBack() {
    for (blocks, seconds) in [(200, 1.0), (4, 60)] {
      let source = Source(blocks: blocks)
      let rooms = Lock(0)
      source.buffer.holdBack(above: StreamTime(seconds: seconds), wanted: .zero) {
        rooms.withLock { $0 += 1 }
      }
      var arrival = source.append()
      while !arrival.isHeldBack { arrival = source.append() }
      #expect(arrival.isAccepted == (blocks == 200) && source.buffer.heldBackUntil != nil)
      #expect(rooms.withLock { $0 } == 0)
      #expect(source.readAll() > 0 && rooms.withLock { $0 } == 1 && source.buffer.heldBackUntil == nil)
      #expect(source.append().isAccepted && !source.isDry)
    }
  }
}
