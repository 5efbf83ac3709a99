import Codecs
import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite(
  "A player that runs dry while a recording waits for a connection that stalls", .waiting,
  .tags(.stream, .reconnection, .recording))
struct DetourTests {
  /// The frames that a recording received, and the gaps between them by the number of the frame behind each.
  private func recorded(_ queue: RecordingQueue) -> (frames: [[UInt8]], gaps: [Int]) {
    var batches: [RecordingQueue.Batch] = []
    queue.drain(into: &batches)
    var (frames, gaps) = ([[UInt8]](), [Int]())
    for batch in batches {
      for (frame, mark) in batch.marks {
        if case .gap = mark { gaps.append(frames.count + frame) }
      }
      var start = 0
      for frame in batch.frames {
        frames.append(Array(batch.bytes[start..<(start + frame.length)]))
        start += frame.length
      }
    }
    return (frames, gaps)
  }

  @Test("plays what the second connection brings at once; the recording gets the same later, and all once")
  func player() throws {
    let (audience, programme) = (try Audience(), try FrameProgramme(.mp3, seconds: 70, silence: []))
    var seat = Audience.Seat(start: 20)
    let rate = Double(programme.bytes.count) / programme.seconds
    let position = 65_535 + Int(rate * 12)
    seat.changes = [{ $0.stalling(at: position) }, { $0 }]
    // Without a burst the second connection does not join the first.
    seat.bursts = [65_535, 0]
    let queue = RecordingQueue()
    let receiver = try audience.add(programme, seat, queue: queue).receiver
    try audience.pass(17)
    let before = receiver.frames().count
    #expect(receiver.gaps.isEmpty && receiver.runDry())
    try audience.pass(0.5)
    #expect(receiver.gaps.count == 1 && (1.2...2.6).contains(receiver.gaps.first ?? 0), "\(receiver.gaps)")
    var heard = receiver.frames()
    #expect(heard.count > 60, "what was held sounds")
    try audience.pass(5)
    heard += receiver.frames()
    #expect(heard.count > 240, "and so does what comes")
    let early = recorded(queue)
    #expect(early.gaps.isEmpty && early.frames.count == before, "the recording waits")
    try audience.pass(20)
    heard += receiver.frames()
    let late = recorded(queue)
    #expect(late.gaps == [0] && receiver.gaps.count == 1)
    #expect(late.frames.count > 700 && heard == late.frames, "\(late.frames.count), \(heard.count)")
  }

  @Test("waits with the recording where all is to be heard") func keep() throws {
    var detour = ReceiverOptions()
    #expect(detour.catchUp == .skip)
    detour.catchUp = .keep
    let (audience, programme) = (try Audience(), try FrameProgramme(.mp3, seconds: 70, silence: []))
    var seat = Audience.Seat(start: 20)
    let rate = Double(programme.bytes.count) / programme.seconds
    let position = 65_535 + Int(rate * 12)
    seat.changes = [{ $0.stalling(at: position) }, { $0 }]
    seat.bursts = [65_535, 0]
    let receiver = try audience.add(programme, seat, options: detour).receiver
    try audience.pass(17)
    _ = receiver.frames()
    #expect(receiver.runDry())
    try audience.pass(2)
    #expect(receiver.gaps.isEmpty && receiver.frames().isEmpty)
    try audience.pass(22)
    #expect(receiver.gaps.count == 1 && receiver.frames().count > 700)
  }

  /// Frames of which the first are silence, all alike.
  private func frames(_ hashes: [UInt64]) -> [StreamFrame] {
    hashes.enumerated().map { index, hash in
      StreamFrame(
        offset: index * 418, length: 418, hash: hash,
        format: StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2), samples: 1152)
    }
  }

  private func detour(_ hashes: [UInt64]) -> PlayerDetour {
    let head = HTTPResponse(status: 200, url: "http://a.example/live", headers: HTTPHeaders())
    var detour = PlayerDetour(of: StreamBuffer(blocks: 10), ReceivedSound(), head, lossTime: 100)
    for hash in hashes { detour.note(hash) }
    return detour
  }

  @Test("skips what the stalled connection still brings, up to the last frame that it has heard")
  func comesBack() {
    // Of the programme, frames 300 to 420 were heard; the stalled connection brings all from 10 on.
    var detour = detour(Array(300...420))
    let passages = frames(Array(10...430)).map { detour.pass($0, at: 115) }
    #expect(passages.firstIndex(of: .rejoins) == 410 && passages[..<410].allSatisfy { $0 == .past })
  }

  @Test("hears the stalled connection again when that brings nothing of what was heard, and is live")
  func comesBackOther() throws {
    var detour = detour(Array(1_000...1_100))
    let passages = frames(Array(1...900)).map { detour.pass($0, at: 115) }
    let lost = try #require(passages.firstIndex(of: .lost))
    #expect(passages[..<lost].allSatisfy { $0 == .past })
    // 15 s are missing, and a burst may be 5 s ahead.
    #expect(abs(Double(lost) * 1152 / 44_100 - 20) < 0.1)
  }
}
