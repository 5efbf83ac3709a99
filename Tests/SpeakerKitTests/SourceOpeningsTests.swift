import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("Sources are opened a few at once", .tags(.speaker, .files))
struct SourceOpeningsTests {
  private final class Record {
    var begun: [Int] = []
    var ended: [Int] = []
    var running = 0
    var most = 0
  }

  @Test("calls begin in their order, sixteen at once; a cancelled or failed one passes its turn on")
  func turns() throws {
    struct Failure: Error {}
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_767_225_600)))
    let (openings, record) = (SourceOpenings(), Record())
    let tasks = (0..<50).map { number in
      loop.start {
        do {
          try await openings.perform(on: loop) {
            record.begun.append(number)
            record.running += 1
            record.most = max(record.most, record.running)
            defer { record.running -= 1 }
            try await loop.sleep(for: .seconds(1))
            if number == 3 { throw Failure() }
          }
        } catch {}
        record.ended.append(number)
      }
    }
    loop.after(.milliseconds(500)) { for number in 20..<30 { tasks[number].cancel() } }
    try loop.finish {
      try await loop.sleep(for: .seconds(10))
      #expect(record.begun == Array(0..<20) + Array(30..<50))
      #expect(record.ended.count == 50 && record.most == SourceOpenings.limit)
      // All turns have been given back.
      try await openings.perform(on: loop) { record.begun.append(50) }
      #expect(record.begun.last == 50)
    }
  }
}
