internal import EventLoop
internal import StreamCore

/// The contents of one answer of a feed.
struct FeedContent: Sendable, Equatable {
  /// The limit of entries that are kept.
  static let entryLimit = 1000

  /// An item that is played.
  struct Entry: Sendable, Equatable {
    let title: StreamTitle
    /// The time at which it begins, delay included; nil for the item that is played now.
    var start: WallTime?
    /// The time at which it ends; nil when unknown.
    var end: WallTime?
  }

  /// The entries, in the order of their starts.
  var entries: [Entry] = []
  /// The time that the feed asks to wait before the next request.
  var refresh: Duration?

  /// Returns the item that is played at a moment; nil when that is unknown.
  func entry(at now: WallTime) -> Entry? {
    guard let entry = entries.last(where: { $0.start.map { $0 <= now } ?? true }) else { return nil }
    // Systems are late with the next item; an item that ended minutes ago is out of date.
    if let end = entry.end, end.duration(to: now) > .seconds(300) { return nil }
    return entry
  }

  /// Returns the start of the next entry.
  func nextStart(after now: WallTime) -> WallTime? { entries.compactMap(\.start).first { $0 > now } }

  /// The time up to which the answer is known: the end of the last entry, or its start when it has no end.
  var knownUntil: WallTime? { entries.last.flatMap { $0.end ?? $0.start } }
}

/// The reason why an answer of a feed can't be used.
struct FeedFlaw: Error, Equatable {
  let words: String
  var hint: String?

  /// Returns the flaw of an answer without the elements that were searched for.
  static func missing(_ name: String, in document: XMLDocument, hint: String) -> FeedFlaw {
    var names: [String] = []
    func collect(_ element: XMLDocument.Element) {
      for child in element.children where names.count < 8 {
        if !names.contains(child.name) { names.append(child.name) }
        collect(child)
      }
    }
    collect(document.root)
    let found = names.isEmpty ? "no elements" : names.map { "<\($0)>" }.joined(separator: ", ")
    return FeedFlaw(words: "it has no <\(name)>; found \(found)", hint: hint)
  }

  /// The flaw of an answer that is not XML.
  static let notXML = FeedFlaw(words: "it is not XML that can be read", hint: "open it in a browser")
}

extension XMLDocument.Element {
  /// Returns the text of the first element within this one with that name, or of an attribute; nil if neither
  /// exists, or it is empty.
  func value(_ name: String) -> String? {
    for element in children.flatMap({ $0.elements(named: name) }) where !element.text.isEmpty {
      return element.text
    }
    return attribute(name)
  }

  /// Returns the attribute of the element, or of one in it, whose name in lower case is `name`.
  private func attribute(_ name: String) -> String? {
    let own = attributes.filter { $0.key.lowercased() == name }.min { $0.key < $1.key }?.value.trimmingEnds()
    if let own, !own.isEmpty { return own }
    for child in children { if let value = child.attribute(name) { return value } }
    return nil
  }
}
