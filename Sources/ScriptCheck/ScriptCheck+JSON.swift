internal import LuaSyntax
internal import Reference

// Values that JSON can't hold, in arguments that accept only values of JSON.

extension ScriptCheck {
  /// The parameter with the value, from 0, of each function that accepts only values of JSON.
  private static let jsonParameters = ["trigger.fire": 1, "store.set": 1, "json.encode": 0]

  func checkJSON(_ function: ReferenceFunction, _ arguments: [LuaExpressionID]) {
    guard let index = Self.jsonParameters[function.name], index < arguments.count else { return }
    checkJSON(arguments[index], function.name, depth: 0)
  }

  private func checkJSON(_ id: LuaExpressionID, _ function: String, depth: Int) {
    guard depth < 64 else { return }
    func refuse(_ kind: String, at offset: Int) {
      complain(.value, at: offset, "'\(function)': JSON can't hold \(kind)")
    }
    switch value(of: id) {
    case .script, .documented, .libraryFunction: refuse("a function", at: tree[id].offset)
    case .module, .libraryTable: refuse(value(of: id).kind ?? "a module", at: tree[id].offset)
    case .object(let owner) where reference.class(owner)?.isObject == true:
      refuse("a \(owner)", at: tree[id].offset)
    case .list(.object(let owner)) where reference.class(owner)?.isObject == true:
      refuse("a \(owner)", at: tree[id].offset)
    case .number(let number?, _) where !number.isFinite: refuse("\(number)", at: tree[id].offset)
    case .table(let table):
      guard table == id, case .table(let fields) = tree[table].kind else { return }
      let hasNames = fields.contains { $0.key.map(isText) ?? false }
      for field in fields {
        if let key = field.key {
          switch tree[key].kind {
          case .true, .false: refuse("a boolean as a key", at: tree[key].offset)
          case .number where hasNames:
            refuse("a table with keys of text and others", at: tree[key].offset)
          default: break
          }
        } else if hasNames {
          refuse("a table with items and named fields", at: tree[field.value].offset)
        }
        checkJSON(field.value, function, depth: depth + 1)
      }
    default:
      if case .index(let object, let key) = tree[id].kind, case .string("huge") = tree[key].kind,
        case .libraryTable("math") = value(of: object)
      {
        refuse("an infinite number", at: tree[id].offset)
      }
    }
  }

  private func isText(_ key: LuaExpressionID) -> Bool {
    if case .string = tree[key].kind { true } else { false }
  }
}
