/// Messages that wait for a broker, in order: 1,000 or 1 MB at most, and for a retained topic the newest alone.
struct MQTTOutbox {
  static let mostMessages = 1000
  static let mostBytes = 1_000_000

  /// A message on its way.
  struct Entry: Equatable {
    let message: MQTTMessage
    /// The number by which the sender learns of its end; nil for a sender that does not wait. A message with a number
    /// does not outlive its connection.
    let token: Int?
  }

  private var entries: [Int: Entry] = [:]
  private var retained: [String: Int] = [:]
  private var (first, last) = (0, -1)
  private(set) var bytes = 0

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }

  /// Appends a message.
  /// - Returns: `false` if there is no room.
  mutating func append(_ entry: Entry) -> Bool {
    let replaced = entry.message.isRetained ? retained[entry.message.topic] : nil
    let freed = replaced.flatMap { entries[$0] }.map(\.message.size) ?? 0
    let isOver =
      replaced == nil && entries.count >= Self.mostMessages
      || bytes - freed + entry.message.size > Self.mostBytes
    // One message may be larger than the limit of all.
    guard !isOver || entries.isEmpty else { return false }
    if let replaced { remove(replaced) }
    last += 1
    insert(entry, at: last)
    return true
  }

  /// Puts messages back before all others, in their order, without a limit: they have been in here. A retained one is
  /// dropped where a newer one waits.
  mutating func putBack(_ returned: [Entry]) {
    for entry in returned.reversed() {
      if entry.message.isRetained, retained[entry.message.topic] != nil { continue }
      first -= 1
      insert(entry, at: first)
    }
  }

  /// Removes and returns the first message; nil in an empty box.
  mutating func popFirst() -> Entry? {
    while first <= last {
      defer { first += 1 }
      if let entry = entries[first] {
        remove(first)
        return entry
      }
    }
    return nil
  }

  /// Removes the messages whose senders wait, and returns their numbers in order.
  mutating func removeAwaited() -> [Int] {
    let awaited = entries.filter { $0.value.token != nil }.sorted { $0.key < $1.key }
    for (number, _) in awaited { remove(number) }
    return awaited.compactMap(\.value.token)
  }

  private mutating func insert(_ entry: Entry, at number: Int) {
    entries[number] = entry
    bytes += entry.message.size
    if entry.message.isRetained { retained[entry.message.topic] = number }
  }

  private mutating func remove(_ number: Int) {
    guard let entry = entries.removeValue(forKey: number) else { return }
    bytes -= entry.message.size
    if retained[entry.message.topic] == number { retained[entry.message.topic] = nil }
  }
}
