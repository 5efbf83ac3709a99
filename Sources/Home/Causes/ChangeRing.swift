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
  /// The numbers of the latest changes of levels and of refusals, by the things: what a step may continue.
  private var latest: [StepKey: Int] = [:]

  private struct StepKey: Hashable {
    /// `false` for a refusal. A kind would be hashed by its text.
    let isLevel: Bool
    let name: String

    /// The key of a change; nil for one of a kind that has no steps.
    init?(_ kind: Change.Kind, _ name: String) {
      guard kind == .volume || kind == .refused else { return nil }
      (isLevel, self.name) = (kind == .volume, name)
    }
  }

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
    if let key = StepKey(change.kind, change.name) {
      if latest.count > 1000 { latest = latest.filter { $0.value > last - Self.capacity } }
      latest[key] = change.number
    }
    last = change.number
    if changes.count < Self.capacity {
      changes.append(change)
    } else {
      changes[start] = change
      start = (start + 1) % Self.capacity
    }
  }

  /// Adds a step to the latest change of a level, or refusal, of a thing, if it continues that.
  /// - Returns: the number of the change; nil if the step is a change of its own.
  mutating func extend(
    _ kind: Change.Kind, _ name: String, to: Change.Value, detail: String?, cause: Cause, at now: WallTime
  ) -> Int? {
    guard let key = StepKey(kind, name), let number = latest[key], let index = index(of: number),
      changes[index].add(to, detail: detail, cause: cause, at: now)
    else { return nil }
    return number
  }
}
