internal import EventLoop

/// The latest changes, by their numbers, which follow each other from 1 on. A struct, so that recording a change is one
/// access to it.
struct ChangeRing {
  /// The most changes that it holds.
  static let capacity = 4096
  /// The most bytes of the changes that it holds, about.
  static let mostBytes = 4 << 20

  /// The number of the latest change; 0 before the first.
  private(set) var last = 0
  /// The bytes of the changes, about.
  private(set) var bytes = 0
  /// The number of the oldest change that it holds, one more than the last for none.
  private var first = 1
  /// The changes; nil for those that were dropped for their bytes.
  private var changes: [Change?] = []
  /// The numbers of the latest refusals, by the names of the things.
  private var refusals: [String: Int] = [:]

  /// The changes, the oldest first.
  var all: [Change] { (first..<(last + 1)).compactMap { changes[slot($0)] } }

  /// The change with a number; nil for one that it no longer holds.
  subscript(number: Int) -> Change? { index(of: number).flatMap { changes[$0] } }

  private func slot(_ number: Int) -> Int { (number - 1) % Self.capacity }
  private func index(of number: Int) -> Int? { first <= number && number <= last ? slot(number) : nil }

  /// Adds a change, whose number is the next, in place of the oldest ones where the ring is full.
  mutating func append(_ change: Change) {
    if change.kind == .refused {
      if refusals.count > 1000 { refusals = refusals.filter { $0.value > last - Self.capacity } }
      refusals[change.name] = change.number
    }
    if last - first + 1 == Self.capacity { dropFirst() }
    last = change.number
    if changes.count < Self.capacity { changes.append(change) } else { changes[slot(last)] = change }
    bytes += change.size
    while bytes > Self.mostBytes, first < last { dropFirst() }
  }

  private mutating func dropFirst() {
    bytes -= changes[slot(first)]?.size ?? 0
    changes[slot(first)] = nil
    first += 1
  }

  /// Returns the number of the latest refusal of a command for a thing; nil before the first.
  func refusal(_ name: String) -> Int? { refusals[name] }

  /// Adds a step to the change with a number, if the ring still holds it and the step continues it.
  /// - Returns: `false` if the step is a change of its own.
  mutating func extend(
    _ number: Int, _ name: String, to: Change.Value, detail: String?, cause: Cause, at now: WallTime
  ) -> Bool {
    guard let index = index(of: number), let before = changes[index], before.name == name else {
      return false
    }
    let isAdded = changes[index]?.add(to, detail: detail, cause: cause, at: now) ?? false
    bytes += (changes[index]?.size ?? 0) - before.size
    return isAdded
  }
}
