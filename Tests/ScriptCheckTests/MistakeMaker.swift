internal import EventLoop
internal import LuaSyntax
internal import Reference

/// A mistake that was made by machine.
struct MadeMistake {
  /// The classes of mistakes.
  enum Kind: String, CaseIterable {
    case misspelt = "a misspelt field, function, method or option"
    case wrongKind = "a value of a wrong kind"
    case outOfRange = "a number out of range"
    case nilUsed = "a result used that may be nil"
    case wrongCount = "a wrong number of arguments"
    case unknownName = "an unknown room or station"
  }

  let kind: Kind
  /// The text it was made in.
  let source: String
  /// The text with it.
  let script: String
  /// The words for a person: `volume → volmue`.
  let change: String
}

/// Makes one mistake in a text, of a class, at a place that a random source chooses.
struct MistakeMaker {
  let reference: Reference
  let rooms: [String]
  let stations: [String]
  var random: SeededRandom
  /// All names of the reference, none of which a misspelling may be.
  private let names: Set<String>
  private let fieldNames: Set<String>

  init(reference: Reference, rooms: [String], stations: [String], seed: UInt64) {
    (self.reference, self.rooms, self.stations) = (reference, rooms, stations)
    random = SeededRandom(seed: seed)
    let payloads = reference.classes.flatMap { reference.events(of: $0.name) }.flatMap(\.fields)
    fieldNames = Set((reference.classes.flatMap { reference.fields(of: $0.name) } + payloads).map(\.name))
    names = fieldNames.union(reference.functions.map(\.shortName)).union(
      reference.functions.flatMap { reference.options(of: $0.name) }.map(\.name))
  }

  /// Returns all mistakes of a class that can be made in a text, but for the letters of misspellings.
  mutating func mistakes(_ kind: MadeMistake.Kind, in source: MistakeSource) -> [MadeMistake] {
    switch kind {
    case .misspelt: misspellings(source)
    case .wrongKind: wrongKinds(source)
    case .outOfRange: outOfRange(source)
    case .nilUsed: []
    case .wrongCount: wrongCounts(source)
    case .unknownName: unknownNames(source)
    }
  }

  private func made(
    _ kind: MadeMistake.Kind, _ source: MistakeSource, _ tokens: Range<Int>, _ new: String
  ) -> MadeMistake {
    let old = String(
      decoding: source.bytes[
        source.tokens[tokens.lowerBound].start..<source.tokens[tokens.upperBound - 1].end],
      as: UTF8.self)
    let line = source.bytes[..<source.tokens[tokens.lowerBound].start].count { $0 == UInt8(ascii: "\n") } + 1
    let word = tokens.lowerBound > 1 ? source.tokens[tokens.lowerBound - 2].text : ""
    return MadeMistake(
      kind: kind, source: source.name, script: source.replacing(tokens, with: new),
      change: "\(source.name):\(line): \(word) \(old) → \(new)")
  }

  // MARK: Misspellings

  private mutating func misspellings(_ source: MistakeSource) -> [MadeMistake] {
    let fields = source.fields.filter {
      fieldNames.contains(source.tokens[$0].text) && !source.ownNames.contains(source.tokens[$0].text)
    }
    let names = names.union(source.ownNames)
    var mistakes: [MadeMistake] = []
    for index in source.calls.map(\.name) + source.calls.flatMap(\.options) + fields {
      guard let new = misspelt(source.tokens[index].text, avoiding: { names.contains($0) }) else { continue }
      mistakes.append(made(.misspelt, source, index..<index + 1, new))
    }
    return mistakes
  }

  /// Returns a word with one letter left out, doubled, replaced or exchanged with the next one.
  private mutating func misspelt(_ word: String, avoiding isKnown: (String) -> Bool) -> String? {
    guard word.utf8.count > 2 else { return nil }
    for _ in 0..<20 {
      var letters = Array(word)
      let index = Int.random(in: 1..<letters.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: letters.remove(at: index)
      case 1: letters.insert(letters[index], at: index)
      case 2: letters[index] = "abdeghiklmnoprstuvw".randomElement(using: &random) ?? "x"
      default: letters.swapAt(index - 1, index)
      }
      let new = String(letters)
      if new != word, !isKnown(new), !LuaKeywords.all.contains(new), letters[0].isLetter { return new }
    }
    return nil
  }

  // MARK: Values

  private mutating func wrongKinds(_ source: MistakeSource) -> [MadeMistake] {
    var made: [MadeMistake] = []
    for value in source.calls.flatMap(\.values)
    where value.tokens.count == 1 || isTableOrFunction(value, source) {
      let types = Set(reference.alternatives(of: value.type).map(\.text))
      guard types.isDisjoint(with: ["any", "...", "T", "userdata"]) else { continue }
      let all = reference.alternatives(of: value.type)
      var wrong: [String] = []
      if types.isDisjoint(with: ["number", "integer"]) { wrong.append("77") }
      if !types.contains("string"), !all.contains(where: { !$0.literals.isEmpty }),
        !types.contains(where: { $0.contains("Target") })
      {
        wrong.append("\"some text\"")
      }
      if types.isDisjoint(with: ["boolean", "true", "false"]) { wrong.append("true") }
      if !all.contains(where: { $0.signature != nil }), !types.contains("function") { wrong.append("print") }
      guard let new = wrong.randomElement(using: &random) else { continue }
      made.append(self.made(.wrongKind, source, value.tokens, new))
    }
    return made
  }

  private func isTableOrFunction(_ value: MistakeSource.Value, _ source: MistakeSource) -> Bool {
    guard !value.tokens.isEmpty else { return false }
    let (first, last) = (
      source.tokens[value.tokens.lowerBound].kind, source.tokens[value.tokens.upperBound - 1].kind
    )
    return first == .openBrace && last == .closeBrace || first == .function && last == .end
  }

  private mutating func outOfRange(_ source: MistakeSource) -> [MadeMistake] {
    source.calls.flatMap(\.values).compactMap { value in
      guard value.tokens.count == 1, source.tokens[value.tokens.lowerBound].kind == .number,
        let (lower, upper) = Self.range(value.text),
        !reference.alternatives(of: value.type).contains(where: { $0.text == "string" })
      else { return nil }
      let new = Bool.random(using: &random) ? lower - 1 : upper + 1 + Int.random(in: 0..<50, using: &random)
      return made(.outOfRange, source, value.tokens, "\(new)")
    }
  }

  /// The range in a description, whole numbers alone: `1 to 50`, `10 to 100,000`.
  static func range(_ text: String) -> (Int, Int)? {
    let words = text.split(separator: " ")
    func number(_ word: Substring) -> Int? {
      Int(word.filter { $0 != "," && $0 != "." && $0 != ";" && $0 != ":" && $0 != ")" })
    }
    for index in words.indices.dropFirst().dropLast() where words[index] == "to" {
      if let lower = number(words[index - 1]), let upper = number(words[index + 1]) { return (lower, upper) }
    }
    return nil
  }

  // MARK: Calls

  private mutating func wrongCounts(_ source: MistakeSource) -> [MadeMistake] {
    source.calls.compactMap { call in
      let forms = [call.function.parameters] + call.function.overloads.map(\.parameters)
      let least =
        forms.map { form in
          (form.lastIndex { !$0.isOptional && !$0.type.isOptional && $0.name != "..." } ?? -1) + 1
        }.min() ?? 0
      let isOpen = forms.contains { $0.last?.name == "..." }
      let most = forms.map(\.count).max() ?? 0
      var wrong: [String] = []
      if least > 0 { wrong.append("()") }
      if !isOpen, call.hasParentheses {
        let inside = String(
          decoding: source.bytes[
            source.tokens[call.arguments.lowerBound].end..<source.tokens[call.arguments.upperBound - 1].start],
          as: UTF8.self)
        let more = Array(repeating: "1", count: most + 1).joined(separator: ", ")
        wrong.append("(\(inside.contains { $0 != " " } ? inside + ", " : "")\(more))")
      }
      return wrong.randomElement(using: &random).map { made(.wrongCount, source, call.arguments, $0) }
    }
  }

  // MARK: Names of the house

  private mutating func unknownNames(_ source: MistakeSource) -> [MadeMistake] {
    let known = rooms + stations
    var made: [MadeMistake] = []
    for call in source.calls where call.function.name != "speaker.find" {
      for value in call.values {
        let types = reference.alternatives(of: value.type).map(\.text)
        let isPlace =
          value.type.description.contains("Target") || call.function.name == "speaker.device"
          || call.function.name == "speaker.group"
        let isStation = ["play_stream", "new"].contains(call.function.shortName) && types.contains("string")
        guard isPlace || isStation else { continue }
        for index in value.tokens
        where source.tokens[index].kind == .string && known.contains(source.tokens[index].text) {
          let word = source.tokens[index].text
          let new = misspelt(word) { text in
            known.contains { $0.lowercased().contains(text.lowercased()) }
          }
          if let new { made.append(self.made(.unknownName, source, index..<index + 1, "\"\(new)\"")) }
        }
      }
    }
    return made
  }
}
