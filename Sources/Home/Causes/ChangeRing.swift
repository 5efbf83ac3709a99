internal import EventLoop

/// The latest changes, by their numbers. A struct, so that recording a change is one access to it.
struct ChangeRing {
  /// The most changes that it holds.
  static let capacity = 4096

  /// The number of the latest change; 0 before the first.
  private(set) var last = 0
  private var changes: [Change] = []
  /// The index of the oldest change, once the ring is full.
  private var start = 0
  /// The numbers of the latest refusals, by the names of the things.
  private var refusals: [String: Int] = [:]

  /// The changes, the oldest first.
  var all: [Change] { Array(changes[start...] + changes[..<start]) }

  /// The change with a number; nil for one that it no longer holds.
  subscript(number: Int) -> Change? { index(of: number).map { changes[$0] } }

  private func index(of number: Int) -> Int? {
    let age = last - number
    guard age >= 0, age < changes.count else { return nil }
    return (start + changes.count - 1 - age) % changes.count
  }

  /// Adds a change, whose number is the next, in place of the oldest where the ring is full.
  mutating func append(_ change: Change) {
    if change.kind == .refused {
      if refusals.count > 1000 { refusals = refusals.filter { $0.value > last - Self.capacity } }
      refusals[change.name] = change.number
    }
    last = change.number
    if changes.count < Self.capacity {
      changes.append(change)
    } else {
      changes[start] = change
      start = (start + 1) % Self.capacity
    }
  }

  /// Returns the number of the latest refusal of a command for a thing; nil before the first.
  func refusal(_ name: String) -> Int? { refusals[name] }

  /// Adds a step to the change with a number, if the ring still holds it and the step continues it.
  /// - Returns: `false` if the step is a change of its own.
  mutating func extend(
    _ number: Int, _ name: String, to: Change.Value, detail: String?, cause: Cause, at now: WallTime
  ) -> Bool {
    guard let index = index(of: number), changes[index].name == name else { return false }
    return changes[index].add(to, detail: detail, cause: cause, at: now)
  }
}
