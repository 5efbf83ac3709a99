import Codecs
import EventLoop
import TestTraits
import Testing

@testable import StreamCore

@Suite("Frames on their way to the disk", .waiting, .tags(.stream, .recording))
struct RecordingQueueTests {
  private static let format = StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2)

  /// Calls `body` with a frame of 400 bytes, each equal to its number.
  private func withFrame<Result>(
    _ number: Int, _ body: (StreamFrame, UnsafeRawBufferPointer) -> Result
  ) -> Result {
    let bytes = [UInt8](repeating: UInt8(number), count: 400)
    let frame = StreamFrame(offset: number * 400, length: 400, hash: 0, format: Self.format, samples: 1152)
    return bytes.withUnsafeBytes { body(frame, $0) }
  }

  /// Appends frames in one go.
  private func come(_ numbers: Range<Int>, into tee: FrameTee) {
    tee.receive { delivery in
      for number in numbers { _ = withFrame(number) { delivery.append($0, $1, nil) } }
    }
  }

  private func drained(from queue: RecordingQueue) -> [RecordingQueue.Batch] {
    var batches: [RecordingQueue.Batch] = []
    queue.drain(into: &batches)
    return batches
  }

  @Test("the first sound calls for the disk, and a burst once more, in batches of the usual size")
  func burst() {
    let calls = Lock<[RecordingQueue.Arrival]>([])
    let queue = RecordingQueue { arrival in calls.withLock { $0.append(arrival) } }
    let tee = FrameTee()
    tee.record(queue, back: .zero)
    come(0..<40, into: tee)
    #expect(calls.withLock { $0 } == [.some])
    come(40..<160, into: tee)
    #expect(calls.withLock { $0 } == [.some, .burst])
    let batches = drained(from: queue)
    #expect(batches.count == 4 && batches.allSatisfy { $0.bytes.count <= 16_384 })
    #expect(batches.flatMap(\.bytes) == (0..<160).flatMap { [UInt8](repeating: UInt8($0), count: 400) })
    #expect(batches.flatMap(\.frames).map(\.offset) == (0..<160).map { $0 * 400 })
    come(0..<60, into: tee)
    #expect(calls.withLock { $0 } == [.some, .burst, .some, .burst])
  }

  @Test("a stream is held back for its disks only when nothing else receives its sound")
  func held() {
    let (silent, other) = (RecordingQueue(), RecordingQueue())
    let tee = FrameTee()
    tee.record(silent, back: .zero)
    while !silent.isBehind { come(0..<200, into: tee) }
    #expect(tee.isDiskBehind)
    tee.record(other, back: .zero)
    #expect(!tee.isDiskBehind, "another disk has room")
    while !other.isBehind { come(0..<200, into: tee) }
    #expect(tee.isDiskBehind)
    tee.play(StreamBuffer(blocks: 100))
    #expect(!tee.isDiskBehind, "a player is not to fall silent")
  }

  @Test("every recording of a stream gets what comes while it is there") func several() {
    let (first, second) = (RecordingQueue(), RecordingQueue())
    let tee = FrameTee()
    tee.record(first, back: .zero)
    come(0..<10, into: tee)
    tee.record(second, back: .zero)
    come(10..<20, into: tee)
    tee.remove(first)
    come(20..<30, into: tee)
    #expect(drained(from: first).flatMap(\.frames).map(\.offset) == (0..<20).map { $0 * 400 })
    #expect(drained(from: second).flatMap(\.frames).map(\.offset) == (10..<30).map { $0 * 400 })
  }

  @Test("marks precede the frames that follow them")
  func marks() {
    let queue = RecordingQueue()
    let tee = FrameTee()
    tee.record(queue, back: .zero)
    tee.receive { delivery in
      for number in 0..<40 {
        let title = number == 20 ? StreamTitle("A") : nil
        let gap = number == 30 ? PacketBuffer.Discontinuity.gap(seconds: 2) : nil
        _ = withFrame(number) { delivery.append($0, $1, gap, title: title) }
      }
    }
    tee.mark(StreamTitle("B"))
    let batches = drained(from: queue)
    #expect(batches.map(\.frames.count) == [40, 0])
    #expect(batches[0].marks.map(\.frame) == [20, 30])
    #expect(batches[0].marks.map(\.mark) == [.title(StreamTitle("A")), .gap(seconds: 2)])
    #expect(batches[1].marks.map(\.frame) == [0] && batches[1].lastTitle == StreamTitle("B"))
    #expect(drained(from: queue).isEmpty)
  }

  @Test("nothing is accepted after a loss")
  func overrun() {
    let queue = RecordingQueue()
    let huge = [UInt8](repeating: 0, count: RecordingQueue.byteLimit)
    let frame = StreamFrame(offset: 0, length: huge.count, hash: 0, format: Self.format)
    huge.withUnsafeBytes { queue.append(frame, $0) }
    withFrame(0) { queue.append($0, $1) }
    queue.mark(StreamTitle("A"))
    withFrame(1) { queue.append($0, $1) }
    let batches = drained(from: queue)
    #expect(batches.last?.isOverrun == true)
    #expect(batches.flatMap(\.frames).count == 1 && batches.allSatisfy(\.marks.isEmpty))
  }
}
