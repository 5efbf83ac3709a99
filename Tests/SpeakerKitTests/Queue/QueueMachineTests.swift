import TestTraits
import Testing

@testable import SpeakerKit

@Suite("The rules of a queue, without files and clock", .tags(.speaker, .queue))
struct QueueMachineTests {
  private func machine(_ names: String..., loops: Bool = false, seed: UInt64? = nil) throws -> QueueMachine {
    QueueMachine(try #require(FileQueue(names.map { QueueEntry(path: $0) }, loops: loops, seed: seed)))
  }

  /// Returns the names of the files that play, from the current one until the queue ends; at most `limit`.
  private func played(_ machine: QueueMachine, limit: Int = 20) -> String {
    var machine = machine
    var names: [String] = []
    while names.count < limit, let entry = machine.entry {
      names.append(entry.path)
      _ = machine.ended()
    }
    return names.joined(separator: " ")
  }

  @Test("a queue without files is none")
  func empty() { #expect(FileQueue([]) == nil) }

  @Test("files play in the order of the list, and the queue ends behind the last")
  func order() throws {
    var queue = try machine("a", "b", "c")
    #expect(played(queue) == "a b c")
    #expect(queue.index == 0)
    #expect(queue.ended() == .play)
    #expect(queue.next() == .play)
    #expect(queue.index == 2)
    #expect(queue.next() == .end)
    #expect(queue.entry == nil && queue.index == nil)
    #expect(queue.next() == .end)
    #expect(queue.previous(position: 0) == .end)
    #expect(queue.failed() == .end)
  }

  @Test("with loop the first follows the last, by itself and by command")
  func loops() throws {
    var queue = try machine("a", "b", loops: true)
    #expect(played(queue, limit: 5) == "a b a b a")
    #expect(queue.next() == .play)
    #expect(queue.next() == .play)
    #expect(queue.entry?.path == "a")
  }

  @Test(
    "previous means the file before within three seconds, later the beginning of the current one",
    arguments: [(0.0, "a"), (2.99, "a"), (3.0, "b"), (90, "b")])
  func previous(position: Double, expected: String) throws {
    var queue = try machine("a", "b", "c")
    _ = queue.next()
    #expect(queue.previous(position: position) == .play)
    #expect(queue.entry?.path == expected)
  }

  @Test(
    "previous at the first file begins it again; with loop it goes to the last", arguments: [false, true])
  func previousAtFirst(loops: Bool) throws {
    var queue = try machine("a", "b", "c", loops: loops)
    #expect(queue.previous(position: 1) == .play)
    #expect(queue.entry?.path == (loops ? "c" : "a"))
  }

  @Test("a file that gives no sound is passed; the queue fails when none of all files gives any")
  func failures() throws {
    var queue = try machine("a", "b", "c", loops: true)
    #expect(queue.failed() == .play)
    #expect(queue.failed() == .play)
    #expect(queue.entry?.path == "c")
    #expect(queue.failed() == .fail)
    #expect(queue.entry == nil)

    queue = try machine("a", "b", "c", loops: true)
    for _ in 0..<10 {
      #expect(queue.failed() == .play)
      #expect(queue.failed() == .play)
      // One of three gives sound: it goes on for ever.
      #expect(queue.ended() == .play)
    }
    // Without loop, what has sounded before makes the end an ordinary one.
    queue = try machine("a", "b", "c")
    #expect(queue.ended() == .play)
    #expect(queue.failed() == .play)
    #expect(queue.failed() == .end)

    queue = try machine("a")
    #expect(queue.failed() == .fail)
  }

  @Test("a shuffled queue plays every file once, in an order that its seed alone decides")
  func shuffle() throws {
    let list = (0..<12).map { QueueEntry(path: "\($0)") }
    func order(_ seed: UInt64?) throws -> [String] {
      QueueMachine(try #require(FileQueue(list, seed: seed))).entries.map(\.path)
    }
    let plain = list.map(\.path)
    #expect(try order(nil) == plain)
    #expect(try order(1) == order(1))
    #expect(try order(1) != order(2))
    for seed in 0..<50 { #expect(try order(UInt64(seed)).sorted() == plain.sorted()) }
    // Every file is the first one of some order: 5,000 draws of 12, each some 417 times.
    let firsts = try (0..<5_000).map { try order(UInt64($0)).first }
    for name in plain { #expect((320..<520).contains(firsts.count { $0 == name }), "\(name)") }
  }

  @Test("each round of a shuffled loop has an order of its own, and no file follows itself")
  func rounds() throws {
    var queue = try machine("a", "b", "c", "d", loops: true, seed: 3)
    var orders: Set<String> = []
    var last = ""
    for _ in 0..<60 {
      var round: [String] = []
      for _ in 0..<4 {
        let name = try #require(queue.entry?.path)
        #expect(name != last)
        round.append(name)
        last = name
        #expect(queue.ended() == .play)
      }
      #expect(round.sorted() == ["a", "b", "c", "d"])
      orders.insert(round.joined())
    }
    #expect(orders.count > 10)
    // A queue of one may only follow itself.
    var one = try machine("a", loops: true, seed: 1)
    #expect(one.ended() == .play && one.entry?.path == "a")
  }
}
