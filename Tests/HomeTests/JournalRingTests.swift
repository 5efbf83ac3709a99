import EventLoop
import TestTraits
import Testing

@testable import Home

@Suite("The ring of changes", .tags(.history)) struct JournalRingTests {
  private static let capacity = JournalRing.capacity

  private func change(_ number: Int, _ kind: JournalEntry.Kind = .trigger, _ name: String? = nil)
    -> JournalEntry
  {
    let now = WallTime(seconds: Int64(number))
    return JournalEntry(
      kind, of: .trigger, name ?? "\(number)", at: now, number: number, cause: Cause(.person, "ctl", at: now))
  }

  /// Returns a ring of so many changes.
  private func ring(_ count: Int) -> JournalRing {
    var ring = JournalRing()
    for number in 1...count { ring.append(change(number)) }
    return ring
  }

  @Test("holds the latest changes in order, however often it has gone round")
  func order() {
    var ring = JournalRing()
    for number in 1...3 * Self.capacity + 7 {
      ring.append(change(number))
      // At each turn, in the middle of one, and beside both.
      guard number % (Self.capacity / 2) < 2 || number % (Self.capacity / 2) == Self.capacity / 2 - 1 else {
        continue
      }
      let first = max(1, number - Self.capacity + 1)
      #expect(ring.all.map(\.number) == Array(first...number), "after \(number)")
      #expect((first...number).allSatisfy { ring[$0]?.number == $0 }, "after \(number)")
    }
  }

  @Test(
    "a number that it does not hold has no change: before the first, behind the last, and of one that went",
    arguments: [1, 3, 4096, 4097, 5000, 8192, 8193])
  func others(count: Int) {
    let ring = ring(count)
    let first = max(1, count - Self.capacity + 1)
    #expect(ring[first]?.number == first && ring[count]?.number == count)
    for number in [first - 1, count + 1, -1] { #expect(ring[number] == nil, "\(number) of \(count)") }
  }

  @Test("of many refusals those that it no longer holds are forgotten")
  func refusals() {
    var ring = JournalRing()
    ring.append(change(1, .refused, "early"))
    for number in 2...Self.capacity { ring.append(change(number)) }
    #expect(ring.refusal("early") == 1)
    for number in Self.capacity + 1...Self.capacity + 1100 { ring.append(change(number, .refused)) }
    #expect(ring.refusal("early") == nil && ring.refusal("\(Self.capacity + 1)") == Self.capacity + 1)
  }

  @Test("a step continues a change of its own thing alone")
  func steps() {
    var ring = ring(2)
    let now = WallTime(seconds: 2)
    let cause = Cause(.person, "ctl", at: now)
    let isForeign = ring.extend(2, "another", to: .none, detail: nil, cause: cause, at: now)
    let isAbsent = ring.extend(3, "3", to: .none, detail: nil, cause: cause, at: now)
    #expect(!isForeign && !isAbsent && ring[2]?.count == 1)
    let isOwn = ring.extend(2, "2", to: .none, detail: nil, cause: cause, at: now)
    #expect(isOwn && ring[2]?.count == 2)
  }
}
