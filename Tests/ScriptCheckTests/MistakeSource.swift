internal import LuaSyntax
internal import Reference

/// A text of Lua in which mistakes are made: its tokens, the modules that its variables hold, and its calls of functions
/// of the reference. All by its tokens alone, so that a mistake does not depend on what the check knows of values.
struct MistakeSource {
  /// An argument, or the value of an option: its tokens, and what the reference expects.
  struct Value {
    let tokens: Range<Int>
    let type: ReferenceType
    let text: String
    let isOptional: Bool
  }

  /// A call of a function of the reference.
  struct Call {
    let function: ReferenceFunction
    /// The index of the function's name.
    let name: Int
    /// The tokens of the arguments, with their parentheses; of a text or a table without them, that one.
    let arguments: Range<Int>
    let hasParentheses: Bool
    let values: [Value]
    /// Indices of the names of options.
    let options: [Int]
  }

  let name: String
  let bytes: [UInt8]
  let tokens: [LuaToken]
  let calls: [Call]
  /// Indices of the names of fields that are read, and not called.
  let fields: [Int]
  /// Names that the text itself gives to fields.
  let ownNames: Set<String>

  init(name: String, text: String, reference: Reference) {
    self.name = name
    bytes = Array(text.utf8)
    tokens = LuaFragment(text).tokens
    var reader = Reader(tokens: tokens, reference: reference)
    reader.read()
    (calls, fields, ownNames) = (reader.calls, reader.fields, reader.ownNames)
  }

  /// Returns the text with the bytes of some tokens replaced.
  func replacing(_ range: Range<Int>, with text: String) -> String {
    let (start, end) = (tokens[range.lowerBound].start, tokens[range.upperBound - 1].end)
    return String(decoding: bytes[..<start] + Array(text.utf8) + bytes[end...], as: UTF8.self)
  }

  private struct Reader {
    let tokens: [LuaToken]
    let reference: Reference
    var calls: [Call] = []
    var fields: [Int] = []
    var ownNames: Set<String> = []
    private var modules: [String: String] = [:]
    /// Methods of the reference by their names, if all of a name have the same parameters.
    private var methods: [String: ReferenceFunction] = [:]
    private var partners: [Int: Int] = [:]
    private var expected: [Range<Int>] = []

    init(tokens: [LuaToken], reference: Reference) {
      (self.tokens, self.reference) = (tokens, reference)
      for (name, same) in Dictionary(grouping: reference.functions.filter(\.isMethod), by: \.shortName) {
        let forms = Set(same.map { $0.parameters.map { "\($0.name) \($0.type)" }.joined(separator: ",") })
        if forms.count == 1 { methods[name] = same[0] }
      }
    }

    private func kind(_ index: Int) -> LuaToken.Kind? {
      tokens.indices.contains(index) ? tokens[index].kind : nil
    }
    private func text(_ index: Int) -> String { tokens.indices.contains(index) ? tokens[index].text : "" }

    mutating func read() {
      match()
      for index in tokens.indices { readModule(index) }
      for index in tokens.indices where kind(index) == .name { readExpected(index) }
      for index in tokens.indices
      where kind(index) == .name && !expected.contains(where: { $0.contains(index) }) {
        readName(index)
      }
      for index in tokens.indices where kind(index) == .name && kind(index + 1) == .assign {
        ownNames.insert(text(index))
      }
      for index in tokens.indices where kind(index) == .function {
        // `function a.b()`, `function a:b()`
        var next = index + 1
        while kind(next) == .name {
          ownNames.insert(text(next))
          next += 2
        }
      }
    }

    private mutating func match() {
      var open: [Int] = []
      for index in tokens.indices {
        switch tokens[index].kind {
        case .openParenthesis, .openBrace, .openBracket: open.append(index)
        case .closeParenthesis, .closeBrace, .closeBracket:
          if let first = open.popLast() { partners[first] = index }
        default: break
        }
      }
    }

    /// `local a, b = require "x", require "y"`
    private mutating func readModule(_ index: Int) {
      guard kind(index) == .local else { return }
      var names: [String] = []
      var next = index + 1
      while kind(next) == .name {
        names.append(text(next))
        next += kind(next + 1) == .comma ? 2 : 1
      }
      guard kind(next) == .assign else { return }
      next += 1
      for name in names {
        guard text(next) == "require", kind(next) == .name else { return }
        let hasParentheses = kind(next + 1) == .openParenthesis
        let module = text(next + (hasParentheses ? 2 : 1))
        if reference.module(module) != nil { modules[name] = module }
        next += hasParentheses ? 4 : 2
        guard kind(next) == .comma else { return }
        next += 1
      }
    }

    /// `expect(…):to_raise`, `pcall(…)`, `task.try(…)`: mistakes that are meant.
    private mutating func readExpected(_ index: Int) {
      guard kind(index + 1) == .openParenthesis, let end = partners[index + 1] else { return }
      switch text(index) {
      case "expect" where text(end + 2) == "to_raise": expected.append(index..<end)
      case "expect":
        for first in index..<end where kind(first) == .function {
          expected.append(first..<functionEnd(first))
        }
      case "pcall", "xpcall": expected.append(index..<end)
      case "try" where kind(index - 1) == .dot: expected.append(index..<end)
      default: break
      }
    }

    /// The index of the `end` of a function.
    private func functionEnd(_ first: Int) -> Int {
      var (index, depth) = (first, 0)
      while index < tokens.count {
        switch tokens[index].kind {
        case .function, .do, .if, .repeat: depth += 1
        case .end, .until: depth -= 1
        default: break
        }
        if depth == 0 { return index }
        index += 1
      }
      return index
    }

    private mutating func readName(_ index: Int) {
      let before = kind(index - 1)
      guard before == .dot || before == .colon, kind(index - 2) != .function else { return }
      let isCall = [.openParenthesis, .string, .openBrace].contains(kind(index + 1))
      let function: ReferenceFunction?
      if before == .dot, kind(index - 2) == .name, kind(index - 3) != .dot,
        let module = modules[text(index - 2)]
      {
        function = reference.function("\(module).\(text(index))")
      } else {
        function = before == .colon ? methods[text(index)] : nil
      }
      if isCall, let function {
        readCall(index, function)
      } else if before == .dot, !isCall {
        fields.append(index)
      }
    }

    private mutating func readCall(_ index: Int, _ function: ReferenceFunction) {
      let first = index + 1
      let hasParentheses = kind(first) == .openParenthesis
      let end = kind(first) == .string ? first : partners[first] ?? first
      var given: [Range<Int>] = hasParentheses ? split(first, end) : [first..<end + 1]
      if given == [first + 1..<first + 1] { given = [] }
      let form =
        ([function.parameters] + function.overloads.map(\.parameters)).first { $0.count == given.count }
        ?? function.parameters
      var values: [Value] = []
      var options: [Int] = []
      for (argument, parameter) in zip(given, form) where parameter.name != "..." {
        values.append(
          Value(
            tokens: argument, type: parameter.type, text: parameter.text, isOptional: parameter.isOptional))
        guard kind(argument.lowerBound) == .openBrace,
          partners[argument.lowerBound] == argument.upperBound - 1
        else { continue }
        let known = reference.tableFields(of: parameter.type)
        for item in split(argument.lowerBound, argument.upperBound - 1)
        where item.count > 2 && kind(item.lowerBound) == .name && kind(item.lowerBound + 1) == .assign {
          guard let option = known.first(where: { $0.name == text(item.lowerBound) }) else { continue }
          options.append(item.lowerBound)
          values.append(
            Value(
              tokens: item.lowerBound + 2..<item.upperBound, type: option.type, text: option.text,
              isOptional: option.isOptional))
        }
      }
      calls.append(
        Call(
          function: function, name: index, arguments: first..<end + 1, hasParentheses: hasParentheses,
          values: values, options: options))
    }

    /// Returns the parts between two brackets that commas separate.
    private func split(_ open: Int, _ close: Int) -> [Range<Int>] {
      var parts: [Range<Int>] = []
      var (start, index, depth) = (open + 1, open + 1, 0)
      while index < close {
        switch tokens[index].kind {
        case .openParenthesis, .openBrace, .openBracket:
          index = partners[index] ?? index
        case .function, .do, .then, .repeat: depth += 1
        case .end, .until, .elseif: depth -= 1
        case .comma, .semicolon:
          if depth == 0 {
            parts.append(start..<index)
            start = index + 1
          }
        default: break
        }
        index += 1
      }
      if start <= close { parts.append(start..<close) }
      return parts.filter { !$0.isEmpty || parts.count == 1 }
    }
  }
}
