/// A queue, first in, first out, from which each element can also be removed by its number, without a search.
public struct NumberedQueue<Element> {
  private var elements: [Int: Element] = [:]
  /// The number of the oldest element, or a lower one.
  private var oldest = 1
  private var last = 0

  /// Creates an empty queue.
  public init() {}

  /// `true` if no element waits.
  public var isEmpty: Bool { elements.isEmpty }

  /// The oldest element; nil in an empty queue. Its number stays the same when it is replaced.
  public var first: Element? {
    mutating get {
      if elements.isEmpty { oldest = last + 1 }
      while oldest <= last {
        if let element = elements[oldest] { return element }
        oldest += 1
      }
      return nil
    }
    set {
      guard first != nil else { return }
      elements[oldest] = newValue
    }
  }

  /// Appends an element.
  /// - Returns: the number by which it is removed.
  public mutating func append(_ element: Element) -> Int {
    last += 1
    elements[last] = element
    return last
  }

  /// Removes an element; does nothing if it was removed before.
  public mutating func remove(_ number: Int) { elements[number] = nil }

  /// Removes all elements, and returns them in order.
  public mutating func removeAll() -> [Element] {
    defer { (elements, oldest) = ([:], last + 1) }
    return elements.sorted { $0.key < $1.key }.map(\.value)
  }
}
