internal import EventLoop

/// An item that the reference describes.
public enum ReferenceEntry: Sendable {
  case module(ReferenceModule)
  /// A page of text.
  case topic(ReferenceModule)
  case function(ReferenceFunction)
  case type(ReferenceClass)
  case value(ReferenceValue)
  /// A set of texts: `speaker.Role`.
  case alias(ReferenceAlias)
  /// A code of errors.
  case code(String)
  /// An event of a module or a class.
  case event(ReferenceEvent, of: String)

  /// The name in lists: `speaker.play`, `event "ended" of speaker.Session`.
  public var name: String {
    switch self {
    case .module(let module), .topic(let module): module.name
    case .function(let function): function.name
    case .type(let type): type.name
    case .value(let value): value.name
    case .alias(let alias): alias.name
    case .code(let code): code
    case .event(let event, let owner): "event \"\(event.name)\" of \(owner)"
    }
  }

  /// The first sentence of the description.
  public var summary: String {
    let text =
      switch self {
      case .module(let module), .topic(let module): module.summary
      case .function(let function): function.summary
      case .type(let type): type.summary
      case .value(let value): value.text.lazy.compactMap(\.paragraph).first ?? ""
      case .alias(let alias): alias.text.lazy.compactMap(\.paragraph).first ?? ""
      case .code: "a code of errors"
      case .event(let event, _): event.text
      }
    return MetaReader.firstSentence(text)
  }
}

extension Reference {
  /// Returns the entry with a name: a module, a topic, a function (`speaker.play`, `Session:pause`,
  /// `speaker.Session.pause`), a class (`speaker.Session`, `Session`), a value, an alias or a code.
  public func entry(_ name: String) -> ReferenceEntry? {
    guard name.utf8.count <= longestName else { return nil }
    if let module = module(name) { return .module(module) }
    if let topic = topic(name) { return .topic(topic) }
    if let function = function(name) ?? method(named: name) { return .function(function) }
    if let found = self.class(name) { return .type(found) }
    if let value = values.first(where: { $0.name == name }) { return .value(value) }
    if let alias = alias(name) { return .alias(alias) }
    if name.utf8.contains(UInt8(ascii: ".")), codes.contains(name) { return .code(name) }
    // The last part of a class's name alone; `Error` and other classes without a module were found above.
    let named = classes.filter { $0.name.hasSuffix("." + name) }
    return named.count == 1 ? .type(named[0]) : nil
  }

  /// Returns the method of `Session:pause` or `speaker.Session.pause`.
  private func method(named name: String) -> ReferenceFunction? {
    guard let mark = name.utf8.lastIndex(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }) else {
      return nil
    }
    let (owner, method) = (String(name[..<mark]), String(name[name.utf8.index(after: mark)...]))
    if let found = self.method(class: owner, name: method) { return found }
    let owners = classes.filter { $0.isObject && $0.name.hasSuffix("." + owner) }
    return owners.count == 1 ? self.method(class: owners[0].name, name: method) : nil
  }

  /// Returns the entries in which all words of a text occur, else those in which some of them occur, the best
  /// first; upper and lower case are equal. Names count more than further words of modules, those more than
  /// descriptions, and the functions of modules more than methods.
  public func search(_ text: String) -> [ReferenceEntry] { find(text).entries }

  /// The relation of an entry to a text; the later ones are better.
  enum Match: Int, Comparable {
    /// Some of several words occur in the entry.
    case part
    /// All words occur, but only as further words of a module, which is near to the text's meaning.
    case near
    /// All words occur, at least one of them in the name or the description.
    case whole

    static func < (one: Match, other: Match) -> Bool { one.rawValue < other.rawValue }
  }

  /// Searches for a text.
  /// - Returns: the entries, and the best relation among them. Entries with a part of the words are left out
  ///   if there are better ones.
  func find(_ text: String) -> (entries: [ReferenceEntry], match: Match) {
    let wanted = text.lowercased().split(whereSeparator: \.isWhitespace).map { Array($0.utf8) }
    guard !wanted.isEmpty, text.utf8.count <= longestName else { return ([], .whole) }
    let name = Array(wanted.joined(separator: [UInt8(ascii: "_")]))
    var found: [(match: Match, score: Int, entry: ReferenceEntry)] = []
    for item in searchItems {
      let named = wanted.count > 1 ? SearchItem.score(item.name, name) * wanted.count : 0
      let matched = wanted.map { item.score($0) }.filter { $0.score > 0 }
      guard named > 0 || !matched.isEmpty else { continue }
      let match: Match =
        if named > 0 { .whole } else if matched.count < wanted.count { .part } else {
          matched.allSatisfy(\.isFurther) ? .near : .whole
        }
      let score = max(named, matched.map(\.score).reduce(0, +))
      found.append((match, score + item.bonus, item.entry))
    }
    guard let best = found.map(\.match).max() else { return ([], .whole) }
    let shown = found.filter { best == .part || $0.match != .part }
    let entries = shown.enumerated()
      .sorted { ($1.element.score, $0.offset) < ($0.element.score, $1.offset) }.map(\.element.entry)
    return (entries, best)
  }

  /// An entry in the form for searches.
  private struct SearchItem {
    let entry: ReferenceEntry
    let name: String
    var texts: [String] = []
    var words: [String] = []
    var bonus = 0

    /// Returns the score of a word, 0 if it does not occur; `isFurther` is `true` if it does not occur in the
    /// name or the texts.
    func score(_ wanted: [UInt8]) -> (score: Int, isFurther: Bool) {
      let direct = max(
        Self.score(name, wanted), texts.contains { Reference.mentions($0, wanted) } ? 10 : 0)
      let isFurther = words.contains { word in
        let word = Array(word.utf8)
        return word == wanted || word + [UInt8(ascii: "s")] == wanted
      }
      return (max(direct, isFurther ? 30 : 0), direct == 0)
    }

    static func score(_ name: String, _ wanted: [UInt8]) -> Int {
      let name = Array(name.lowercased().utf8)
      if name == wanted { return 100 }
      if name.starts(with: wanted) { return 60 }
      return name.firstRange(of: wanted) == nil ? 0 : 40
    }
  }

  private var searchItems: [SearchItem] {
    var items: [SearchItem] = []
    func add(_ entry: ReferenceEntry, _ module: ReferenceModule) {
      items.append(
        SearchItem(
          entry: entry, name: module.name, texts: module.text.compactMap(\.paragraph), words: module.words,
          bonus: 3))
    }
    func add(_ events: [ReferenceEvent], of owner: String) {
      for event in events {
        items.append(
          SearchItem(entry: .event(event, of: owner), name: event.name, texts: [event.text], bonus: -1))
      }
    }
    for module in modules { add(.module(module), module) }
    for topic in topics { add(.topic(topic), topic) }
    for function in functions {
      let options = function.parameters.flatMap { tableFields(of: $0.type) }.map(\.name)
      items.append(
        SearchItem(
          entry: .function(function), name: function.shortName,
          texts: function.text.compactMap(\.paragraph) + options, bonus: function.isMethod ? 0 : 2))
    }
    for type in classes where type.isObject {
      items.append(
        SearchItem(
          entry: .type(type), name: Self.lastPart(type.name),
          texts: type.text.compactMap(\.paragraph) + type.fields.map(\.name), bonus: 1))
      add(events(of: type.name), of: type.name)
    }
    for module in modules { add(events(of: module.name), of: module.name) }
    for value in values {
      items.append(
        SearchItem(
          entry: .value(value), name: Self.lastPart(value.name), texts: value.text.compactMap(\.paragraph)))
    }
    for code in codes { items.append(SearchItem(entry: .code(code), name: code, bonus: -2)) }
    return items
  }

  /// Returns the known name that an unknown one probably stands for; nil if no name resembles it.
  public func suggestion(for name: String) -> String? {
    nearest(
      name,
      among: modules.map(\.name) + topics.map(\.name) + functions.map(\.name) + classes.map(\.name)
        + values.map(\.name) + codes)
  }

  fileprivate static func mentions(_ text: String, _ wanted: [UInt8]) -> Bool {
    Array(text.lowercased().utf8).firstRange(of: wanted) != nil
  }

  static func lastPart(_ name: String) -> String {
    String(name.split(separator: ".").last ?? "")
  }
}
