/// Listeners in the order of their subscription, each of which can be removed by its number.
///
/// Inlinable: code that is generic at run time would look up the types of its arrays at each call.
public struct Listeners<Listener> {
  @usableFromInline var entries: [(number: Int, listener: Listener?)] = []
  @usableFromInline var removed = 0
  @usableFromInline var last = 0

  /// The number of the last subscription; 0 before the first.
  public var lastNumber: Int { last }

  /// Creates an empty list.
  @inlinable public init() {}

  /// The number of listeners.
  public var count: Int { entries.count - removed }

  /// All listeners, in order.
  @inlinable public var all: [Listener] { entries.compactMap { $0.listener } }

  /// Returns the listeners that subscribed up to a number, in order: those that existed when it was the last
  /// one.
  public func all(upTo number: Int) -> [Listener] {
    entries.prefix { $0.number <= number }.compactMap { $0.listener }
  }

  /// Adds a listener after all others.
  /// - Returns: the number by which it is removed.
  @inlinable public mutating func add(_ listener: Listener) -> Int {
    last += 1
    entries.append((last, listener))
    return last
  }

  /// Removes a listener; does nothing if it was removed before.
  public mutating func remove(_ number: Int) {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    guard low < entries.count, entries[low].number == number, entries[low].listener != nil else { return }
    entries[low].listener = nil
    removed += 1
    // Gaps are closed together, so that removing all of many listeners costs no more than adding them.
    guard removed * 2 > entries.count else { return }
    entries.removeAll { $0.listener == nil }
    removed = 0
  }

  /// Removes all listeners, and returns them in order.
  @inlinable public mutating func removeAll() -> [Listener] {
    defer { (entries, removed) = ([], 0) }
    return all
  }
}

extension Listeners: Sendable where Listener: Sendable {}
