internal import JSONText

/// The part of a long list that fits into one answer.
struct AnswerPage {
  /// The most bytes of the elements: half of the longest answer.
  static let longest = ControlSession.longestAnswer / 2

  /// The elements.
  let elements: [JSON]
  /// The index of the element after the last of them; nil at the end of the list.
  let next: Int?

  /// Makes the elements of a list from an index on until they fill a page; one at least.
  init<List: RandomAccessCollection>(_ list: List, from first: Int = 0, _ element: (List.Element) -> JSON) {
    var (elements, size) = ([JSON](), 0)
    for item in list.dropFirst(first) {
      let json = element(item)
      size += json.line.utf8.count + 1
      if size > Self.longest, !elements.isEmpty { break }
      elements.append(json)
    }
    self.elements = elements
    next = first + elements.count < list.count ? first + elements.count : nil
  }

  /// The answer to a request for a page: `items`, and `next`, the `from` of the next request.
  var json: JSON {
    .object([("items", .array(elements)), ("next", next.map { .number($0) } ?? .null)])
  }
}
