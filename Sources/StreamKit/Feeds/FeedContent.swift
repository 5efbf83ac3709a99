internal import EventLoop

/// What one answer of a feed says.
struct FeedContent: Sendable, Equatable {
  /// Entries that are kept.
  static let entryLimit = 1000

  /// Something that is played.
  struct Entry: Sendable, Equatable {
    let title: StreamTitle
    /// When it begins, delay included; nil when it is what is played now.
    var start: WallTime?
    /// When it ends; nil when that is not known.
    var end: WallTime?
  }

  /// In the order of their starts.
  var entries: [Entry] = []
  /// What the feed asks to wait before the next request.
  var refresh: Duration?

  /// What is played at a moment; nil when nothing is known of it.
  func entry(at now: WallTime) -> Entry? {
    guard let entry = entries.last(where: { $0.start.map { $0 <= now } ?? true }) else { return nil }
    // Systems are late with what comes next, and what ended long ago is no news.
    if let end = entry.end, end.duration(to: now) > .seconds(300) { return nil }
    return entry
  }

  /// When the next entry begins.
  func nextStart(after now: WallTime) -> WallTime? { entries.compactMap(\.start).first { $0 > now } }

  /// How far what it says reaches: to the end of the last entry, or its start where no end is told.
  var knownUntil: WallTime? { entries.last.flatMap { $0.end ?? $0.start } }
}

/// Why an answer of a feed can't be used.
struct FeedFlaw: Error, Equatable {
  let words: String
  var hint: String?

  /// There is none of the elements that were looked for.
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

  /// Nothing that could be XML.
  static let notXML = FeedFlaw(words: "it is no XML that can be read", hint: "open it in a browser")
}

extension XMLDocument.Element {
  /// The text of the first element in it with that name, or of an attribute; nil when there is none, or it is empty.
  func value(_ name: String) -> String? {
    for element in children.flatMap({ $0.elements(named: name) }) where !element.text.isEmpty {
      return element.text
    }
    return attribute(name)
  }

  /// The attribute of it or of one in it whose name is that in lower case.
  private func attribute(_ name: String) -> String? {
    let own = attributes.filter { $0.key.lowercased() == name }.min { $0.key < $1.key }?.value.trimmingEnds()
    if let own, !own.isEmpty { return own }
    for child in children { if let value = child.attribute(name) { return value } }
    return nil
  }
}
