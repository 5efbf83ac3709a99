internal import CLua
internal import CLuaShim
internal import EventLoop

/// The form of values for a person.
public struct InspectionStyle {
  /// The most columns of a line.
  public var width = 72
  /// Returns the text of a number under a name, with its unit; nil for a name without one.
  public var number: (_ name: String, _ value: Double) -> String? = { _, _ in nil }
  /// Returns the fields that a table of objects of a class shows; nil for a class that is shown line by line.
  public var columns: (_ className: String) -> [String]? = { _ in nil }

  /// The usual form: numbers without units, no tables of objects.
  public init() {}
}

/// The text of values for a person at the prompt. Uses raw accessors only, except for `__tostring` and fields
/// of objects.
extension LuaState {
  /// Returns the text of a value: strings in quotes inside tables; tables nested and sorted by key, cyclic
  /// ones marked, long ones cut with a count; objects by their description, a list of objects of one class as
  /// a table.
  /// - Parameter name: the name of the value, for its unit.
  public func inspect(
    _ value: LuaValue, name: String? = nil, style: InspectionStyle = InspectionStyle()
  ) -> String {
    let stack = main
    stack.push(value, in: self)
    defer { stack.pop() }
    if case .string(let text) = value { return text }
    var inspector = Inspector(stack: stack, style: style)
    return inspector.table(ofObjects: stack.top) ?? inspector.text(of: stack.top, name: name, indent: 0)
  }
}

private struct Inspector {
  static let longest = 50
  static let mostRows = 20
  static let deepest = 6

  let stack: Stack
  let style: InspectionStyle
  var seen: Set<UnsafeRawPointer> = []

  mutating func text(of index: Int32, name: String?, indent: Int) -> String {
    switch stack.type(index) {
    case LUA_TSTRING: return quoted(stack.string(index) ?? "")
    case LUA_TNUMBER:
      guard let name else { return stack.text(index) }
      return style.number(name, lua_tonumberx(stack.L, index, nil)) ?? stack.text(index)
    case LUA_TTABLE where !hasText(index):
      guard pushModule(index) else { return table(index, indent: indent) }
      defer { stack.pop() }
      return table(stack.top, indent: indent)
    // The address of a function means nothing among the fields of a table.
    case LUA_TFUNCTION where indent > 0: return "function"
    default: return stack.text(index)
    }
  }

  private func hasText(_ index: Int32) -> Bool {
    guard luaL_getmetafield(stack.L, index, "__tostring") != LUA_TNIL else { return false }
    stack.pop()
    return true
  }

  /// Pushes the table that a module's proxy stands for, see `LuaState.seal`.
  /// - Returns: `false`, with nothing pushed, when the value is not a module.
  private func pushModule(_ index: Int32) -> Bool {
    guard luaL_getmetafield(stack.L, index, "__newindex") != LUA_TNIL else { return false }
    stack.pop()
    let type = luaL_getmetafield(stack.L, index, "__index")
    if type != LUA_TTABLE, type != LUA_TNIL { stack.pop() }
    return type == LUA_TTABLE
  }

  private mutating func table(_ index: Int32, indent: Int) -> String {
    guard let address = lua_topointer(stack.L, index) else { return "{}" }
    guard seen.insert(address).inserted else { return "{…again}" }
    defer { seen.remove(address) }
    guard indent < Self.deepest, stack.reserve(8) else { return "{…}" }
    let length = Int(lua_rawlen(stack.L, index))
    var entries: [String] = []
    for number in 0..<min(length, Self.longest) {
      lua_rawgeti(stack.L, index, lua_Integer(number + 1))
      entries.append(text(of: stack.top, name: nil, indent: indent + 1))
      stack.pop()
    }
    let (named, count) = fields(index, after: length, room: Self.longest - entries.count, indent: indent)
    entries += named
    let hidden = max(0, length - Self.longest) + count - named.count
    if hidden > 0 { entries.append("… \(hidden) more") }
    if entries.isEmpty { return "{}" }
    let line = "{ " + entries.joined(separator: ", ") + " }"
    if line.columns + indent * 2 <= style.width && !line.contains("\n") { return line }
    let margin = String(repeating: "  ", count: indent + 1)
    return "{\n" + entries.map { margin + $0 }.joined(separator: ",\n") + "\n" + margin.dropLast(2) + "}"
  }

  /// Returns the fields outside the list part, sorted by type and value; at most `room` of them, and their
  /// total number.
  private mutating func fields(_ index: Int32, after length: Int, room: Int, indent: Int) -> ([String], Int) {
    // The keys are turned into text after the walk only: that may run script code, which may change the
    // table.
    var found: [(type: Int32, number: Double, reference: Int32)] = []
    lua_pushnil(stack.L)
    while lua_next(stack.L, index) != 0 {
      stack.pop()
      let type = stack.type(-1)
      let number = type == LUA_TNUMBER ? lua_tonumberx(stack.L, -1, nil) : 0
      let isInList =
        type == LUA_TNUMBER && lua_isinteger(stack.L, -1) != 0 && number >= 1 && number <= Double(length)
      if !isInList {
        lua_pushvalue(stack.L, -1)
        found.append((type, number, luaL_ref(stack.L, registryIndex)))
      }
    }
    var keys = found.map { type, number, reference in
      lua_rawgeti(stack.L, registryIndex, lua_Integer(reference))
      defer { stack.pop() }
      let name = type == LUA_TSTRING ? stack.string(-1) ?? "" : nil
      let label = name.map(key) ?? "[\(stack.text(-1))]"
      return (rank: Int(type), number: number, text: label, name: name, reference: reference)
    }
    keys.sort { ($0.rank, $0.number, $0.text) < ($1.rank, $1.number, $1.text) }
    var entries: [String] = []
    for key in keys {
      if entries.count < room {
        lua_rawgeti(stack.L, registryIndex, lua_Integer(key.reference))
        lua_rawget(stack.L, index)
        entries.append("\(key.text) = \(text(of: stack.top, name: key.name, indent: indent + 1))")
        stack.pop()
      }
      luaL_unref(stack.L, registryIndex, key.reference)
    }
    return (entries, keys.count)
  }

  private func key(_ name: String) -> String { name.isLuaName ? name : "[\(quoted(name))]" }

  private func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      case _ where scalar.value < 32 || scalar.value == 127: result += "\\\(scalar.value)"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  // MARK: Objects

  /// Returns the table of a list of objects of one class: a row for each, with columns that fit; nil for another value.
  mutating func table(ofObjects index: Int32) -> String? {
    guard stack.type(index) == LUA_TTABLE, stack.reserve(8), !hasText(index) else { return nil }
    let length = Int(lua_rawlen(stack.L, index))
    guard length > 0, let className = className(ofList: index, length: length),
      var names = style.columns(className)
    else { return nil }
    let shown = min(length, Self.mostRows)
    var rows = [names]
    for number in 0..<shown {
      lua_rawgeti(stack.L, index, lua_Integer(number + 1))
      let object = stack.top
      rows.append(names.map { field($0, of: object) })
      stack.pop()
    }
    while names.count > 1, Self.width(of: rows) > style.width {
      names.removeLast()
      rows = rows.map { Array($0.dropLast()) }
    }
    var lines = Self.aligned(rows, width: style.width)
    if length > shown { lines.append("… \(length - shown) more") }
    return lines.joined(separator: "\n")
  }

  /// Returns the class of the objects of a list that contains nothing else.
  private func className(ofList index: Int32, length: Int) -> String? {
    let top = stack.top
    defer { stack.setTop(top) }
    var common: String?
    var count = 0
    lua_pushnil(stack.L)
    while lua_next(stack.L, index) != 0 {
      count += 1
      guard count <= length, stack.type(-1) == LUA_TUSERDATA,
        luaL_getmetafield(stack.L, -1, "__name") == LUA_TSTRING
      else { return nil }
      let name = stack.string(-1)
      guard common == nil || common == name else { return nil }
      common = name
      stack.pop(2)  // the name and the value; the key stays
    }
    return count == length ? common : nil
  }

  /// Returns the text of a field of an object; empty for nil, and for one that can't be read now.
  private func field(_ name: String, of object: Int32) -> String {
    let top = stack.top
    defer { stack.setTop(top) }
    let text = "local object, name = ... return object[name]"
    guard shim_load(stack.L, text, text.utf8.count, "=prompt") == LUA_OK else { return "" }
    lua_pushvalue(stack.L, object)
    stack.push(name)
    guard shim_call(stack.L, 2, 1) == LUA_OK else { return "" }
    switch stack.type(-1) {
    case LUA_TNIL: return ""
    case LUA_TBOOLEAN: return lua_toboolean(stack.L, -1) != 0 ? "yes" : "no"
    case LUA_TNUMBER: return style.number(name, lua_tonumberx(stack.L, -1, nil)) ?? stack.text(-1)
    case LUA_TTABLE where !hasText(-1): return "\(lua_rawlen(stack.L, -1))"
    default: return stack.text(-1).onOneLine
    }
  }

  private static let gap = 2

  private static func widths(of rows: [[String]]) -> [Int] {
    (0..<(rows.first?.count ?? 0)).map { column in rows.map { $0[column].columns }.max() ?? 0 }
  }

  private static func width(of rows: [[String]]) -> Int {
    let widths = widths(of: rows)
    return widths.reduce(0, +) + gap * (widths.count - 1)
  }

  private static func aligned(_ rows: [[String]], width: Int) -> [String] {
    let widths = widths(of: rows)
    return rows.map { row in
      let cells = zip(row.dropLast(), widths).map { $0.padded(toColumns: $1 + gap) }
      return (cells.joined() + (row.last ?? "")).cut(toColumns: width)
    }
  }
}
