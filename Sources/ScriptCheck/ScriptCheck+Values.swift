internal import LuaSyntax
internal import Reference

// The values of expressions.

extension ScriptCheck {
  /// Returns the knowledge about the value of an expression.
  func value(of id: LuaExpressionID) -> ScriptValue {
    if id == .none { return .null }
    if let known = values[id] { return known }
    guard depth < Self.greatestDepth else { return .unknown }
    depth += 1
    defer { depth -= 1 }
    let value = evaluate(id)
    values[id] = value
    return value
  }

  private func evaluate(_ id: LuaExpressionID) -> ScriptValue {
    switch tree[id].kind {
    case .nil: return .null
    case .true, .false: return .boolean
    case .number(let number): return .number(number.value, isInteger: number.isInteger)
    case .string(let text): return .text(text)
    case .function(let function): return .script(function)
    case .local(let variable): return value(of: variable)
    case .global(let name): return global(name)
    case .index(let object, let key):
      guard case .string(let name) = tree[key].kind else {
        if case .list(let element) = value(of: object).present { return .maybe(element) }
        return .unknown
      }
      return member(name, of: value(of: object).present)
    case .call, .method: return results(of: id).first ?? .unknown
    case .parentheses(let inner): return value(of: inner)
    case .table: return .table(id)
    case .unary(let operation, let operand): return unary(operation, value(of: operand))
    case .binary(let operation, let left, let right): return binary(operation, left, right)
    case .dots: return .unknown
    }
  }

  private func unary(_ operation: LuaOperator, _ operand: ScriptValue) -> ScriptValue {
    switch (operation, operand) {
    case (.not, _): .boolean
    case (.length, _): .number(nil, isInteger: false)
    case (.subtract, .number(let value, let isInteger)): .number(value.map { -$0 }, isInteger: isInteger)
    default: .unknown
    }
  }

  private func binary(_ operation: LuaOperator, _ left: LuaExpressionID, _ right: LuaExpressionID)
    -> ScriptValue
  {
    switch operation {
    case .equal, .notEqual, .less, .greater, .lessOrEqual, .greaterOrEqual: return .boolean
    case .and: return .unknown
    case .or:
      let (first, second) = (value(of: left), value(of: right))
      if case .maybe(let present) = first { return present.merged(with: second).unlessNil }
      return first == .unknown ? .unknown : first.merged(with: second).unlessNil
    case .concat:
      let isText = { (value: ScriptValue) in
        switch value {
        case .text, .texts, .number: true
        default: false
        }
      }
      return isText(value(of: left)) || isText(value(of: right)) ? .text(nil) : .unknown
    default:
      guard case .number = value(of: left), case .number = value(of: right) else { return .unknown }
      return .number(nil, isInteger: false)
    }
  }

  // MARK: Variables

  func value(of variable: LuaVariableID) -> ScriptValue {
    if let known = variableValues[variable] { return known }
    if let given = parameters[variable] { return given }
    guard let all = origins[variable], !all.isEmpty, evaluating.insert(variable).inserted else {
      return .unknown
    }
    defer { evaluating.remove(variable) }
    var value = self.value(of: all[0])
    for origin in all.dropFirst() {
      value = value == .unknown ? .unknown : value.merged(with: self.value(of: origin))
    }
    if all.count > 1 { value = value.general }
    // A parameter that is also assigned has an unknown origin.
    if tree[variable].kind == .parameter { value = .unknown }
    if evaluating.count == 1 { variableValues[variable] = value }
    return value
  }

  private func value(of origin: Origin) -> ScriptValue {
    switch origin {
    case .result(let id, 0): return value(of: id)
    case .result(let id, let index):
      switch tree[id].kind {
      case .call, .method:
        let all = results(of: id)
        return index < all.count ? all[index] : .unknown
      case .dots: return .unknown
      default: return .null
      }
    case .element(let list):
      switch value(of: list).present {
      case .list(let element): return element
      case .table(let id): return item(of: id)
      default: return .unknown
      }
    case .function(let function): return .script(function)
    case .number: return .number(nil, isInteger: false)
    case .unknown: return .unknown
    }
  }

  /// Returns the common knowledge about the items of a table constructor.
  private func item(of table: LuaExpressionID) -> ScriptValue {
    guard case .table(let fields) = tree[table].kind, !fields.isEmpty, fields.allSatisfy({ $0.key == nil })
    else {
      return .unknown
    }
    var value = self.value(of: fields[0].value)
    for field in fields.dropFirst() { value = value.merged(with: self.value(of: field.value)) }
    return fields.count > 1 ? value.general : value
  }

  private func global(_ name: String) -> ScriptValue {
    if declaredGlobals[name] != nil { return .unknown }
    if LuaLibrary.isTable(name) { return .libraryTable(name) }
    if LuaLibrary.arity(name) != nil { return .libraryFunction(name) }
    if checker.hasModuleGlobals, reference.module(name) != nil { return .module(name) }
    return .unknown
  }

  // MARK: Members

  /// Returns the value of a field or a method.
  func member(_ name: String, of object: ScriptValue) -> ScriptValue {
    switch object {
    case .object(let owner):
      if let field = reference.fields(of: owner).first(where: { $0.name == name }) {
        return field.isOptional
          ? .null.merged(with: reference.value(of: field.type)) : reference.value(of: field.type)
      }
      return method(name, of: owner).map { .documented($0.name) } ?? .unknown
    case .module(let module):
      if let function = reference.function("\(module).\(name)") { return .documented(function.name) }
      if !reference.functions(of: "\(module).\(name)").isEmpty { return .module("\(module).\(name)") }
      let found = reference.values(of: module).first { $0.name == "\(module).\(name)" }
      guard let found else { return .unknown }
      if found.value == "nil", let type = found.type { return reference.value(of: type) }
      if let number = Double(found.value) {
        return .number(number, isInteger: found.value.allSatisfy(\.isWholeNumber))
      }
      return found.value.hasPrefix("\"") ? .text(String(found.value.dropFirst().dropLast())) : .unknown
    case .fields(let fields): return fields[name] ?? .unknown
    case .libraryTable(let table):
      if reference.function("\(table).\(name)") != nil { return .documented("\(table).\(name)") }
      return LuaLibrary.arity("\(table).\(name)") == nil ? .unknown : .libraryFunction("\(table).\(name)")
    case .table(let id):
      guard case .table(let fields) = tree[id].kind, !assignedFields.contains(name), !assignsComputedFields
      else { return .unknown }
      let field = fields.first { field in
        guard let key = field.key, case .string(let text) = tree[key].kind else { return false }
        return text == name
      }
      return field.map { value(of: $0.value) } ?? .unknown
    default: return .unknown
    }
  }

  /// Returns the method of a class or of its parents.
  func method(_ name: String, of owner: String) -> ReferenceFunction? {
    if let found = reference.method(class: owner, name: name) { return found }
    return reference.class(owner)?.parent.flatMap { method(name, of: $0) }
  }

  /// Returns the fields and methods of a class, for suggestions.
  func members(of owner: String) -> [String] {
    if let known = membersOfClasses[owner] { return known }
    var names = reference.fields(of: owner).map(\.name)
    var next: String? = owner
    while let name = next {
      names += reference.functions(of: name).map(\.shortName)
      next = reference.class(name)?.parent
    }
    membersOfClasses[owner] = names
    return names
  }

  // MARK: Results

  /// Returns the called function of the reference, and the number of arguments that stand for its object.
  func callee(of id: LuaExpressionID) -> (function: ReferenceFunction, skipped: Int)? {
    switch tree[id].kind {
    case .call(let callee, let arguments):
      guard case .documented(let name) = value(of: callee).present, let function = reference.function(name)
      else {
        return nil
      }
      return (function, function.isMethod && !arguments.isEmpty ? 1 : 0)
    case .method(let object, let name, _, _):
      guard case .object(let owner) = value(of: object).present else { return nil }
      return method(name, of: owner).map { ($0, 0) }
    default: return nil
    }
  }

  /// Returns the results of a call, as far as they are known.
  func results(of id: LuaExpressionID) -> [ScriptValue] {
    if let (function, skipped) = callee(of: id) {
      let given = Array(tree.arguments(of: id).dropFirst(skipped))
      if function.shortName == "wait", let first = given.first, case .text(let event?) = value(of: first),
        let payload = payload(of: event, function.owner)
      {
        return [.maybe(payload)]
      }
      return function.returns.map { $0.name == "..." ? .unknown : reference.value(of: $0.type) }
    }
    guard case .call(let callee, let arguments) = tree[id].kind else { return [] }
    switch value(of: callee) {
    case .script(let function): return [returned(by: function)]
    case .libraryFunction("require"):
      guard arguments.count == 1, case .text(let name?) = value(of: arguments[0]) else { return [] }
      return [module(name)]
    case .libraryFunction("setmetatable"): return []
    case .libraryFunction("tostring"), .libraryFunction("string.format"), .libraryFunction("type"):
      return [.text(nil)]
    case .libraryFunction("math.floor"), .libraryFunction("os.time"): return [.number(nil, isInteger: false)]
    default: return []
    }
  }

  /// Returns the common knowledge about the first results of a function of the script, without paths that
  /// return no result.
  private func returned(by function: LuaFunctionID) -> ScriptValue {
    if let known = returnedValues[function] { return known }
    guard returning.insert(function).inserted else { return .unknown }
    defer { returning.remove(function) }
    var common: ScriptValue?
    for result in tree.results(of: tree[function].body) {
      // The known value of a parameter is that of one call only.
      let value = value(of: result).general
      guard value != .null else { continue }
      common = common.map { $0.merged(with: value) } ?? value
    }
    let value = common?.present ?? .unknown
    if returning.count == 1 { returnedValues[function] = value }
    return value
  }

  /// Returns the value of a module.
  private func module(_ name: String) -> ScriptValue {
    if file(name) != nil { return .file(name) }
    return reference.module(name) == nil ? .unknown : .module(name)
  }

  /// Returns the payload of an event of a module or a class.
  func payload(of event: String, _ owner: String) -> ScriptValue? {
    guard let event = events(of: owner).first(where: { $0.name == event }) else { return nil }
    if let payload = event.payload, reference.class(payload) != nil { return .object(payload) }
    guard !event.fields.isEmpty else { return nil }
    return .fields(
      Dictionary(
        event.fields.map { ($0.name, reference.value(of: $0.type)) }, uniquingKeysWith: { a, _ in a }))
  }

  func events(of owner: String) -> [ReferenceEvent] {
    if let known = eventsByOwner[owner] { return known }
    let events = reference.events(of: owner)
    eventsByOwner[owner] = events
    return events
  }
}

extension LuaTree {
  /// The first results of the `return` statements in a block, without those of the functions in it.
  fileprivate func results(of body: [LuaStatement]) -> [LuaExpressionID] {
    body.flatMap { statement in
      if case .return(let values) = statement.kind { return Array(values.prefix(1)) }
      return blocks(of: statement).flatMap { results(of: $0) }
    }
  }
}

extension ScriptValue {
  /// The value as the result of `or`: not nil if its second operand is not.
  fileprivate var unlessNil: ScriptValue {
    if case .null = self { .unknown } else { self.general }
  }
}
