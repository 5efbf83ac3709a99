internal import StreamCore

/// The names of a feed that are looked for, in lower case.
struct FeedNames {
  /// The elements that stand for items.
  let event: String
  /// The elements with facts of an item.
  let fields: Set<String>
}

/// The elements that are open at a byte of a feed, by the rule of libxml2's parser of HTML: an end tag closes the last
/// open element of its name with all in it, and one without such an element closes nothing.
///
/// libxml2 ends at 256 open elements, so that all later events would be lost. Here deep elements are omitted, which leaves
/// their text to the element around them; an event that is deep ends all that is open before it, for its start tag
/// proves that their end tags are missing. Linear in the number of tags.
struct FeedNesting {
  /// The limit of open elements. The document adds three: the root, and those of HTML around it.
  static let depthLimit = XMLDocument.depthLimit - 4
  /// The limit for elements that are no fields, so that fields in them remain.
  static let otherLimit = depthLimit - 8

  private let names: FeedNames
  private var open: [(name: String, isKept: Bool)] = []
  private var keptCount = 0
  /// The number of open elements by name.
  private var counts: [String: Int] = [:]

  init(_ names: FeedNames) { self.names = names }

  /// Opens an element.
  /// - Returns: the elements that end before it, the innermost first; `isKept` is `false` if its tags are omitted.
  mutating func begin(_ name: String) -> (ended: [String], isKept: Bool) {
    let isEvent = name == names.event
    let ended = isEvent && keptCount >= Self.otherLimit ? close(downTo: 0) : []
    let isKept = keptCount < (names.fields.contains(name) ? Self.depthLimit : Self.otherLimit)
    open.append((name, isKept))
    counts[name, default: 0] += 1
    if isKept { keptCount += 1 }
    return (ended, isKept)
  }

  /// Applies an end tag.
  /// - Returns: the elements that end and are not omitted, the innermost first.
  mutating func end(_ name: String) -> [String] {
    // Without the count, end tags that close nothing would each search all open elements.
    guard counts[name, default: 0] > 0, let index = open.lastIndex(where: { $0.name == name }) else {
      return []
    }
    return close(downTo: index)
  }

  private mutating func close(downTo index: Int) -> [String] {
    var ended: [String] = []
    while open.count > index {
      let (name, isKept) = open.removeLast()
      counts[name, default: 1] -= 1
      guard isKept else { continue }
      keptCount -= 1
      ended.append(name)
    }
    return ended
  }
}
