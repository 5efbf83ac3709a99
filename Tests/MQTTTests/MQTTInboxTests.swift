import EventLoop
import TestTraits
import Testing

@testable import MQTT

@Suite("Messages on their way to a loop", .tags(.mqtt))
struct MQTTInboxTests {
  @Test("large messages leave the loop time for other work, and all arrive in order")
  func turns() {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    var (received, most, turn): ([String], Int, Int) = ([], 0, 0)
    let inbox = MQTTInbox(on: loop, onDropped: { _ in }) {
      received.append($0.message.topic)
      turn += 1
      most = max(most, turn)
    }
    let payload = [UInt8](repeating: 1, count: 200_000)
    for number in 0..<20 { inbox.send(.init(message: MQTTMessage("\(number)", payload), filter: nil)) }
    // A step of other work after each turn of the inbox.
    var isOver = false
    func count() {
      turn = 0
      if received.count < 20 { loop.next(count) } else { isOver = true }
    }
    loop.next(count)
    _ = loop.run(until: { isOver })
    #expect(received == (0..<20).map { "\($0)" })
    #expect(most <= 4)
    inbox.close()
  }
}
