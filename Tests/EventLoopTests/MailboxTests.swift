import EventLoop
import TestTraits
import Testing

@Suite(.tags(.loop)) struct MailboxTests {
  @Test("many sends arrive in one call, in order")
  func drainsOnce() {
    let loop = virtualLoop()
    var seen: [[Int]] = []
    let mailbox = Mailbox<Int>(on: loop, capacity: 100) { seen.append($0) }
    for number in 0..<10 { #expect(mailbox.send(number)) }
    var steps = 0
    _ = loop.run {
      steps += 1
      return false
    }
    #expect(steps < 5, "one thing ran, not ten")
    #expect(mailbox.send(10))
    drain(loop)
    #expect(seen == [Array(0..<10), [10]])
  }

  @Test("a full mailbox refuses, counts the refusals, and accepts again once drained")
  func full() {
    let loop = virtualLoop()
    var seen: [String] = []
    let mailbox = Mailbox<Int>(on: loop, capacity: 2, onFull: { seen.append("refused \($0)") }) {
      seen.append("\($0)")
    }
    #expect((0..<5).map { mailbox.send($0) } == [true, true, false, false, false])
    drain(loop)
    #expect(mailbox.send(5))
    drain(loop)
    #expect(seen == ["refused 3", "[0, 1]", "[5]"])
  }

  @Test("a closed mailbox refuses and delivers nothing more")
  func closed() {
    let loop = virtualLoop()
    var seen: [Int] = []
    let mailbox = Mailbox<Int>(on: loop, capacity: 2) { seen += $0 }
    mailbox.send(1)
    mailbox.close()
    #expect(!mailbox.send(2))
    drain(loop)
    #expect(seen.isEmpty)
  }

  @Test("every message of four threads arrives, or is refused and counted")
  func threads() {
    let loop = EventLoop()
    let accepted = Counter()
    let holds = (0..<4).map { _ in loop.hold("sender") }
    var (arrived, refused) = (0, 0)
    let mailbox = Mailbox<Int>(on: loop, capacity: 16, onFull: { refused += $0 }) { arrived += $0.count }
    let threads = holds.map { hold in
      TestThread {
        for number in 0..<5_000 where mailbox.send(number) { accepted.add() }
        hold.release()
      }
    }
    #expect(drain(loop) == .idle)
    for thread in threads { thread.join() }
    #expect(arrived == accepted.value && arrived + refused == 20_000)
  }
}
