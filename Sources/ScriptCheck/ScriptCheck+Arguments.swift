internal import EventLoop
internal import LuaSyntax
internal import Reference

// Values against the types of parameters and options.

/// The expected value of a parameter, an option or an item of a list.
struct Expectation {
  /// The words for the subject in complaints: `'volume' of 'speaker.play'`.
  let subject: String
  let type: ReferenceType
  let isOptional: Bool
  /// The documented range of a number.
  let range: ClosedRange<Double>?
  /// The meaning of a text.
  let content: Content?
  /// The function that is called.
  let owner: String
}

extension ScriptCheck {
  /// Complains about a value that is certainly wrong.
  func check(_ id: LuaExpressionID, _ expected: Expectation) {
    let types = reference.alternatives(of: expected.type)
    let names = Set(types.map(\.text))
    if !names.isDisjoint(with: ["any", "...", "T"]) { return }
    switch tree[id].kind {
    case .parentheses(let inner): return check(inner, expected)
    case .binary(.or, let left, let right):
      // Both operands may be the value: the last one of a chain, and the second one of `a and b or c`.
      if case .binary(.and, _, let second) = tree[left].kind { check(second, expected) }
      return check(right, expected)
    default: break
    }
    let value = value(of: id)
    let offset = tree[id].offset
    if let (function, _) = callee(of: id), function.returns.isEmpty, !expected.isOptional,
      !expected.type.isOptional
    {
      complain(
        .value, at: offset,
        "\(expected.subject): \(words(types)) expected, and '\(function.name)' returns nothing")
      return
    }
    func wrong() {
      complain(
        .value, at: offset,
        "\(expected.subject): \(words(types)) expected, got \(value.kind ?? "another value")")
    }
    switch value {
    case .unknown, .maybe, .list, .fields, .libraryTable, .file: return
    case .null:
      guard case .nil = tree[id].kind, !expected.isOptional, !expected.type.isOptional, !names.contains("nil")
      else { return }
      wrong()
    case .boolean:
      if names.isDisjoint(with: ["boolean", "true", "false"]) { wrong() }
    case .number(let number, let isInteger):
      checkNumber(number, isInteger, expected, names, at: offset, wrong)
    case .text(let text): checkText(text, expected, types, names, at: offset, wrong)
    case .texts(let texts):
      let literals = types.flatMap(\.literals)
      if !names.contains("string"), literals.isEmpty || Set(literals).isDisjoint(with: texts) { wrong() }
    case .object(let owner):
      guard reference.class(owner)?.isObject == true, !names.contains("userdata"), !names.contains("table")
      else { return }
      if !lineage(of: owner).contains(where: names.contains) { wrong() }
    case .module(let module):
      if !names.contains("\(module)lib"), !names.contains("table") { wrong() }
    case .libraryFunction, .documented, .script:
      if !names.contains("function"), !types.contains(where: { $0.signature != nil }) { wrong() }
    case .table(let table): checkTable(table, isInPlace: table == id, expected, types, wrong)
    }
  }

  private func lineage(of owner: String) -> [String] {
    [owner] + (reference.class(owner)?.parent.map { lineage(of: $0) } ?? [])
  }

  private func checkNumber(
    _ number: Double?, _ isInteger: Bool, _ expected: Expectation, _ names: Set<String>, at offset: Int,
    _ wrong: () -> Void
  ) {
    guard !names.isDisjoint(with: ["number", "integer"]) else { return wrong() }
    guard let number else { return }
    if !names.contains("number"), number != number.rounded() {
      return complain(.value, at: offset, "\(expected.subject): a whole number expected, got \(number)")
    }
    let shown = number == number.rounded() && abs(number) < 1e15 ? "\(Int64(number))" : "\(number)"
    if let range = expected.range, !names.contains("string"), !range.contains(number) {
      func shown(_ bound: Double) -> String { bound == bound.rounded() ? "\(Int64(bound))" : "\(bound)" }
      let bounds = "\(shown(range.lowerBound)) to \(shown(range.upperBound))"
      complain(
        .value, at: offset,
        "\(expected.subject): \(bounds) expected, got \(number == number.rounded() ? shown(number) : "\(number)")"
      )
    } else if expected.content == .duration, number < 0,
      !expected.type.alternatives.contains(where: { $0.text == "number" })
    {
      complain(.time, at: offset, "\(expected.subject): a duration can't be negative, got \(shown)")
    }
  }

  private func checkText(
    _ text: String?, _ expected: Expectation, _ types: [ReferenceType], _ names: Set<String>, at offset: Int,
    _ wrong: () -> Void
  ) {
    let literals = types.flatMap(\.literals)
    guard names.contains("string") || !literals.isEmpty else { return wrong() }
    guard let text else { return }
    if literals.contains(text) { return }
    if names.contains("string") {
      if let content = expected.content, let (code, complaint) = complaint(about: text, content, expected) {
        complain(code, at: offset, complaint)
      }
      return
    }
    let isEvent = expected.subject.hasPrefix("'event'")
    let hint =
      nearest(text, among: literals).map { "did you mean \"\($0)\"?" }
      ?? "known: \(literals.map { "\"\($0)\"" }.joined(separator: ", "))"
    if isEvent {
      complain(.name, at: offset, "'\(expected.owner)': no event is called \(quoted(text)); \(hint)")
    } else {
      complain(.value, at: offset, "\(expected.subject): \(quoted(text)) is unknown; \(hint)")
    }
  }

  // MARK: Tables

  private func checkTable(
    _ id: LuaExpressionID, isInPlace: Bool, _ expected: Expectation, _ types: [ReferenceType],
    _ wrong: () -> Void
  ) {
    guard case .table(let fields) = tree[id].kind else { return }
    let isTable = { (type: ReferenceType) in
      type.text == "table" || type.text.hasPrefix("table<") || type.text.hasPrefix("(")
    }
    if types.contains(where: isTable) { return }
    let elements = types.compactMap(\.element)
    let options = reference.tableFields(of: expected.type)
    guard !elements.isEmpty || !options.isEmpty else { return wrong() }
    var count = 0
    var isComplete = isInPlace
    for field in fields {
      guard let key = field.key else {
        count += 1
        checkItem(field.value, count, elements, options, expected)
        continue
      }
      guard case .string(let name) = tree[key].kind else {
        isComplete = false
        checkNumbered(key, field.value, options, expected)
        continue
      }
      checkOption(name, key, field.value, options, hasElements: !elements.isEmpty, expected)
    }
    if case .dots? = fields.last.map({ tree[$0.value].kind }) { isComplete = false }
    guard isComplete, elements.isEmpty else { return }
    let given = Set(
      fields.compactMap { field in
        field.key.flatMap { key in if case .string(let name) = tree[key].kind { name } else { nil } }
      })
    for option in options where !option.isOptional && !option.type.isOptional && !option.name.hasPrefix("[") {
      // There is a complaint about a misspelt option already.
      guard !given.contains(option.name), !given.contains(where: { nearest($0, among: [option.name]) != nil })
      else { continue }
      complain(.arguments, at: tree[id].offset, "option '\(option.name)' of '\(expected.owner)' is missing")
      return
    }
    if let first = options.first(where: { $0.name == "[1]" }), !first.isOptional, count == 0 {
      complain(
        .arguments, at: tree[id].offset, "'\(expected.owner)': the table has no first item: \(first.text)")
    }
  }

  private func checkItem(
    _ value: LuaExpressionID, _ index: Int, _ elements: [ReferenceType], _ options: [ReferenceField],
    _ expected: Expectation
  ) {
    let option = options.first { $0.name == "[\(index)]" } ?? options.first { $0.name == "[integer]" }
    if let option {
      return check(value, expectation(option, expected))
    }
    guard let element = elements.first else {
      if !options.contains(where: { $0.name.hasPrefix("[") }) {
        complain(
          .name, at: tree[value].offset,
          "'\(expected.owner)' expects named options, got an item without a name")
      }
      return
    }
    let type = elements.count == 1 ? element : ReferenceType(elements.map(\.text).joined(separator: "|"))
    check(
      value,
      Expectation(
        subject: "item \(index) of \(expected.subject)", type: type, isOptional: false, range: expected.range,
        content: Content(type: type) ?? expected.content, owner: expected.owner))
  }

  /// Checks a field whose key is an integer.
  private func checkNumbered(
    _ key: LuaExpressionID, _ value: LuaExpressionID, _ options: [ReferenceField], _ expected: Expectation
  ) {
    guard case .number(let number) = tree[key].kind, number.isInteger else { return }
    let numbered = options.filter { $0.name.hasPrefix("[") }
    let name = "[\(Int64(exactly: number.value) ?? 0)]"
    if let option = numbered.first(where: { $0.name == name }) {
      check(value, expectation(option, expected))
    } else if numbered.count > 2 {
      let known = numbered.map { $0.name.dropFirst().dropLast() }.joined(separator: ", ")
      complain(.name, at: tree[key].offset, "'\(expected.owner)' has no \(name); known: \(known)")
    }
  }

  private func checkOption(
    _ name: String, _ key: LuaExpressionID, _ value: LuaExpressionID, _ options: [ReferenceField],
    hasElements: Bool,
    _ expected: Expectation
  ) {
    if let option = options.first(where: { $0.name == name }) {
      return check(value, expectation(option, expected))
    }
    let known = options.map(\.name).filter { !$0.hasPrefix("[") }
    guard !known.isEmpty || hasElements else { return }
    let hint =
      known.isEmpty
      ? "a list is expected"
      : nearest(name, among: known).map { "did you mean '\($0)'?" }
        ?? "known: \(known.sorted().joined(separator: ", "))"
    complain(.name, at: tree[key].offset, "'\(expected.owner)' has no option '\(name)'; \(hint)")
  }

  private func expectation(_ option: ReferenceField, _ expected: Expectation) -> Expectation {
    let name = option.name.hasPrefix("[") ? "item \(option.name)" : "option '\(option.name)'"
    return Expectation(
      subject: "\(name) of '\(expected.owner)'", type: option.type, isOptional: option.isOptional,
      range: option.text.range ?? (option.name.hasPrefix("[") ? equalizerRange(expected) : nil),
      content: Content(option: option, of: expected.owner), owner: expected.owner)
  }

  /// The range of the numbers of a class that documents it once for all its fields.
  private func equalizerRange(_ expected: Expectation) -> ClosedRange<Double>? {
    reference.alternatives(of: expected.type).lazy.compactMap { self.reference.class($0.text)?.summary.range }
      .first
  }

  /// Returns the words for types: `a number, a string or "auto"`.
  private func words(_ types: [ReferenceType]) -> String {
    let words = types.map { type in
      switch type.text {
      case "integer": "a whole number"
      case "number": "a number"
      case "string": "a string"
      case "boolean": "true or false"
      case "true", "false", "nil": type.text
      case _ where type.signature != nil: "a function"
      case _ where type.element != nil: "a list"
      case _ where type.literals.count == 1: type.text
      case _ where reference.class(type.text)?.isObject == true: "a \(type.text)"
      case _ where type.text.hasSuffix("lib"): "the module \(type.text.dropLast(3))"
      default: "a table"
      }
    }
    var unique: [String] = []
    for word in words where !unique.contains(word) { unique.append(word) }
    guard unique.count > 1, let last = unique.last else { return unique.first ?? "another value" }
    return unique.dropLast().joined(separator: ", ") + " or " + last
  }
}

extension ReferenceParameter {
  /// The documented range of a number.
  var range: ClosedRange<Double>? { text.range }
}

extension String {
  /// The first range of numbers in a description: `-6 (left) to 6 (right)`, `0 to 1000`, `10 to 100,000`.
  var range: ClosedRange<Double>? {
    let words = split(separator: " ")
    for (index, word) in words.enumerated() where word == "to" && index > 0 && index + 1 < words.count {
      var before = index - 1
      if words[before].hasSuffix(")") {
        while before > 0, !words[before].hasPrefix("(") { before -= 1 }
        before = Swift.max(0, before - 1)
      }
      guard let lower = words[before].documentedNumber, let upper = words[index + 1].documentedNumber,
        lower < upper
      else { continue }
      return lower...upper
    }
    return nil
  }
}

extension Substring {
  /// The number at the beginning of a word of a description, with commas between thousands: 100000 for
  /// `100,000.`; nil for a word without a number.
  fileprivate var documentedNumber: Double? {
    var digits = String(prefix { "-.,0123456789".contains($0) })
    while let last = digits.last, last == "." || last == "," { digits.removeLast() }
    let groups = digits.split(separator: ",", omittingEmptySubsequences: false)
    guard groups.dropFirst().allSatisfy({ $0.prefix { $0 != "." }.utf8.count == 3 }) else { return nil }
    return Double(groups.joined())
  }
}
