import EventLoop
import Testing

@testable import StreamKit

@Suite("What is recorded, on its way to the disk")
struct RecordingFeedTests {
  private static let format = StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2)

  /// Hands over so many frames of 400 bytes, each filled with its number.
  private func come(_ numbers: Range<Int>, into feed: RecordingFeed) {
    for number in numbers {
      let bytes = [UInt8](repeating: UInt8(number), count: 400)
      let frame = StreamFrame(
        offset: number * 400, length: 400, hash: 0, format: Self.format, samples: 1152)
      bytes.withUnsafeBytes { feed.append(frame, $0, gap: nil) }
    }
  }

  @Test("a burst calls for the disk once, and comes in batches that are not larger than others")
  func burst() {
    let calls = Lock(0)
    let feed = RecordingFeed { calls.withLock { $0 += 1 } }
    come(0..<40, into: feed)
    #expect(calls.withLock { $0 } == 0)
    come(40..<160, into: feed)
    #expect(calls.withLock { $0 } == 1)
    let batches = feed.take()
    #expect(batches.count == 4 && batches.allSatisfy { $0.bytes.count <= 16_384 })
    #expect(batches.flatMap(\.bytes) == (0..<160).flatMap { [UInt8](repeating: UInt8($0), count: 400) })
    #expect(batches.flatMap(\.frames).map(\.offset) == (0..<160).map { $0 * 400 })
    come(0..<60, into: feed)
    #expect(calls.withLock { $0 } == 2)
  }

  @Test("marks stand in front of the frames that they were told before")
  func marks() {
    let feed = RecordingFeed()
    come(0..<40, into: feed)
    feed.mark(StreamTitle("A"))
    come(40..<50, into: feed)
    feed.miss(2)
    let batches = feed.take()
    #expect(batches.map(\.frames.count) == [40, 10])
    #expect(batches[0].marks.map(\.frame) == [40] && batches[0].marks[0].mark == .title(StreamTitle("A")))
    #expect(batches[1].marks.map(\.frame) == [10] && batches[1].marks[0].mark == .gap(seconds: 2))
    #expect(feed.take().isEmpty)
  }

  @Test("behind what was lost nothing is taken")
  func overrun() {
    let feed = RecordingFeed()
    let huge = [UInt8](repeating: 0, count: RecordingFeed.byteLimit)
    let frame = StreamFrame(offset: 0, length: huge.count, hash: 0, format: Self.format)
    huge.withUnsafeBytes { feed.append(frame, $0, gap: nil) }
    come(0..<1, into: feed)
    feed.mark(StreamTitle("A"))
    come(1..<2, into: feed)
    let batches = feed.take()
    #expect(batches.last?.isOverrun == true)
    #expect(batches.flatMap(\.frames).count == 1 && batches.allSatisfy(\.marks.isEmpty))
  }
}
