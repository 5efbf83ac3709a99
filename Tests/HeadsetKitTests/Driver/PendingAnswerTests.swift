import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("Answers to come", .tags(.headset, .link)) struct PendingAnswerTests {
  @Test("an answer in the very turn in which it is waited for is not missed by any waiter")
  func turns() throws {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    try loop.finish {
      for turn in 0..<10 {
        let answer = PendingAnswer<Int>()
        var seen: [Int] = []
        for _ in 0..<3 {
          loop.start { seen.append((try? await answer.value()) ?? -1) }
        }
        func resolve(after turns: Int) {
          if turns == 0 { answer.resolve(.success(turn)) } else { loop.next { resolve(after: turns - 1) } }
        }
        resolve(after: turn)
        #expect(try await answer.value() == turn)
        answer.resolve(.success(99))
        try await loop.sleep(for: .milliseconds(1))
        #expect(seen == [turn, turn, turn])
      }
    }
  }
}
