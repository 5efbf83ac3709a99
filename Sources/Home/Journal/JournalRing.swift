internal import EventLoop

/// The latest entries, by their numbers, which are consecutive from 1 on. A struct, so that recording an
/// entry is one access to it.
struct JournalRing {
  /// The most entries that it holds.
  static let capacity = 4096
  /// The most bytes of the entries that it holds, about.
  static let mostBytes = 4 << 20

  /// The number of the latest entry; 0 before the first.
  private(set) var last = 0
  /// The bytes of the entries, about.
  private(set) var bytes = 0
  /// The number of the oldest entry that it holds; one more than the last when it is empty.
  private var first = 1
  /// The entries; nil for entries that were dropped for their size.
  private var entries: [JournalEntry?] = []
  /// The numbers of the latest refusals, by the names of the things.
  private var refusals: [String: Int] = [:]

  /// The entries, the oldest first.
  var all: [JournalEntry] { (first..<(last + 1)).compactMap { entries[slot($0)] } }

  /// The entry with a number; nil for one that it no longer holds.
  subscript(number: Int) -> JournalEntry? { index(of: number).flatMap { entries[$0] } }

  private func slot(_ number: Int) -> Int { (number - 1) % Self.capacity }
  private func index(of number: Int) -> Int? { first <= number && number <= last ? slot(number) : nil }

  /// Adds an entry, whose number is the next, in place of the oldest ones where the ring is full.
  mutating func append(_ entry: JournalEntry) {
    if entry.kind == .refused {
      if refusals.count > 1000 { refusals = refusals.filter { $0.value > last - Self.capacity } }
      refusals[entry.name] = entry.number
    }
    if last - first + 1 == Self.capacity { dropFirst() }
    last = entry.number
    if entries.count < Self.capacity { entries.append(entry) } else { entries[slot(last)] = entry }
    bytes += entry.size
    while bytes > Self.mostBytes, first < last { dropFirst() }
  }

  private mutating func dropFirst() {
    bytes -= entries[slot(first)]?.size ?? 0
    entries[slot(first)] = nil
    first += 1
  }

  /// Returns the number of the latest refusal of a command for a thing; nil before the first.
  func refusal(_ name: String) -> Int? { refusals[name] }

  /// Adds a step to the entry with a number, if the ring still holds it and the step continues it.
  /// - Returns: `false` if the step is a change of its own.
  mutating func extend(
    _ number: Int, _ name: String, to: JournalEntry.Value, detail: String?, cause: Cause, at now: WallTime
  ) -> Bool {
    guard let index = index(of: number), let before = entries[index], before.name == name else {
      return false
    }
    let isAdded = entries[index]?.add(to, detail: detail, cause: cause, at: now) ?? false
    bytes += (entries[index]?.size ?? 0) - before.size
    return isAdded
  }

  /// Replaces the values of the entry with a number.
  /// - Returns: `false` for an entry that the ring no longer holds.
  mutating func amend(_ number: Int, to: JournalEntry.Value, facts: [JournalEntry.Fact]) -> Bool {
    guard let index = index(of: number), var entry = entries[index] else { return false }
    (entry.to, entry.facts) = (to, facts)
    entries[index] = entry
    return true
  }
}
