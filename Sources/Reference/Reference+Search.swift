internal import EventLoop

/// A thing that the reference describes.
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
  /// Returns the entry of a name: of a module, a topic, a function (`speaker.play`, `Session:pause`,
  /// `speaker.Session.pause`), a class (`speaker.Session`, `Session`), a value, an alias or a code.
  public func entry(_ name: String) -> ReferenceEntry? {
    if let module = module(name) { return .module(module) }
    if let topic = topic(name) { return .topic(topic) }
    if let function = function(name) ?? method(named: name) { return .function(function) }
    if let found = self.class(name) { return .type(found) }
    if let value = values.first(where: { $0.name == name }) { return .value(value) }
    if let alias = alias(name) { return .alias(alias) }
    if name.utf8.contains(UInt8(ascii: ".")), codes.contains(name) { return .code(name) }
    // The last part alone, of a class; `Error` and the others without a module have been found already.
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

  /// Returns the entries that a text occurs in, in any case: the best first. Names count more than descriptions, and the
  /// functions of modules more than methods.
  public func search(_ text: String) -> [ReferenceEntry] {
    let wanted = Array(text.lowercased().utf8)
    guard !wanted.isEmpty else { return [] }
    var found: [(score: Int, entry: ReferenceEntry)] = []
    func add(_ entry: ReferenceEntry, _ name: String, _ texts: [String], _ bonus: Int = 0) {
      let score = max(
        Self.score(name, wanted), texts.lazy.map { Self.mentions($0, wanted) ? 10 : 0 }.max() ?? 0)
      if score > 0 { found.append((score + bonus, entry)) }
    }
    for module in modules { add(.module(module), module.name, module.text.compactMap(\.paragraph), 3) }
    for topic in topics { add(.topic(topic), topic.name, topic.text.compactMap(\.paragraph), 3) }
    for function in functions {
      let texts = function.text.compactMap(\.paragraph)
      let options = function.parameters.flatMap { tableFields(of: $0.type) }.map(\.name)
      add(.function(function), function.shortName, texts + options, function.isMethod ? 0 : 2)
    }
    for type in classes where type.isObject {
      add(
        .type(type), Self.lastPart(type.name), type.text.compactMap(\.paragraph) + type.fields.map(\.name), 1)
      for event in events(of: type.name) { add(.event(event, of: type.name), event.name, [event.text], -1) }
    }
    for module in modules {
      for event in events(of: module.name) {
        add(.event(event, of: module.name), event.name, [event.text], -1)
      }
    }
    for value in values { add(.value(value), Self.lastPart(value.name), value.text.compactMap(\.paragraph)) }
    for code in codes { add(.code(code), code, [], -2) }
    return found.enumerated()
      .sorted { ($1.element.score, $0.offset) < ($0.element.score, $1.offset) }.map(\.element.entry)
  }

  /// Returns the name that was probably meant by an unknown one; nil if none resembles it.
  public func suggestion(for name: String) -> String? {
    nearest(
      name,
      among: modules.map(\.name) + topics.map(\.name) + functions.map(\.name) + classes.map(\.name)
        + values.map(\.name) + codes)
  }

  private static func score(_ name: String, _ wanted: [UInt8]) -> Int {
    let name = Array(name.lowercased().utf8)
    if name == wanted { return 100 }
    if name.starts(with: wanted) { return 60 }
    return name.firstRange(of: wanted) == nil ? 0 : 40
  }

  private static func mentions(_ text: String, _ wanted: [UInt8]) -> Bool {
    Array(text.lowercased().utf8).firstRange(of: wanted) != nil
  }

  static func lastPart(_ name: String) -> String {
    String(name.split(separator: ".").last ?? "")
  }
}
