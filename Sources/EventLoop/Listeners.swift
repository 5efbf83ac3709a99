/// Listeners in the order of their subscription, each of which can be removed by its number.
public struct Listeners<Listener> {
  private var entries: [(number: Int, listener: Listener?)] = []
  private var removed = 0
  /// The number of the last subscription; 0 before the first.
  public private(set) var lastNumber = 0

  /// Creates an empty list.
  public init() {}

  /// The number of listeners.
  public var count: Int { entries.count - removed }

  /// All listeners, in order.
  public var all: [Listener] {
    // A key path would be made anew at each call, as the code is generic.
    entries.compactMap { $0.listener }
  }

  /// The listeners that subscribed up to a number, in order: those that were there when it was the last one.
  public func all(upTo number: Int) -> [Listener] {
    entries.prefix { $0.number <= number }.compactMap { $0.listener }
  }

  /// Adds a listener behind all others.
  /// - Returns: the number by which it is removed.
  public mutating func add(_ listener: Listener) -> Int {
    lastNumber += 1
    entries.append((lastNumber, listener))
    return lastNumber
  }

  /// Removes a listener; does nothing if it is gone.
  public mutating func remove(_ number: Int) {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    guard low < entries.count, entries[low].number == number, entries[low].listener != nil else { return }
    entries[low].listener = nil
    removed += 1
    // Gaps are closed together, so that removing all of many costs no more than adding them.
    guard removed * 2 > entries.count else { return }
    entries.removeAll { $0.listener == nil }
    removed = 0
  }

  /// Removes all listeners, and returns them in order.
  public mutating func removeAll() -> [Listener] {
    defer { (entries, removed) = ([], 0) }
    return all
  }
}
