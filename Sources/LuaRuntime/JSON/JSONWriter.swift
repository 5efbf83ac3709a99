internal import CLua
internal import CLuaShim
internal import EventLoop
internal import JSONText

/// The reason why a Lua value can't be written as JSON.
public enum JSONProblem: Error, Equatable {
  /// The text exceeds its limit.
  case tooLong
  /// A part of the value has no form in JSON: `value.alarms[2].fn` `is a function`.
  case unwritable(path: String, reason: String)
}

extension LuaCall {
  /// Returns an argument as JSON (RFC 8259): the same text for the same value, as fields are sorted by name.
  /// A whole number has no point and no exponent, any other number has one, so that parsing restores the
  /// value.
  ///
  /// Lists and tables with names are read raw; one with a metatable is refused.
  /// - Parameters:
  ///   - name: the root of a problem's path.
  ///   - limit: the most bytes of the text; the memory in use is bounded by a few times that.
  ///   - pretty: `true` for a line for each element and member, indented by two spaces a level.
  ///   - null: the class of the value that stands for null; without one only nil does.
  public func json(
    _ number: Int, called name: String, limit: Int, pretty: Bool = false, null: LuaClass<JSONNull>? = nil
  ) throws(JSONProblem) -> [UInt8] {
    let top = stack.top
    defer { stack.setTop(top) }
    var writer = JSONWriter(stack: stack, limit: limit, name: name, isPretty: pretty, null: null?.type)
    try writer.write(Int32(number))
    return writer.text
  }
}

extension LuaOptions {
  /// Returns an option as JSON, as `LuaCall.json` does; nil when it is absent.
  public func json(_ name: String, limit: Int) throws(JSONProblem) -> [UInt8]? {
    guard let value = fields[name] else { return nil }
    let (stack, top) = (call.stack, call.stack.top)
    defer { stack.setTop(top) }
    stack.push(value, in: call.state)
    var writer = JSONWriter(stack: stack, limit: limit, name: name)
    try writer.write(Int32(stack.top))
    return writer.text
  }
}

/// The value that stands for null in scripts, where a nil would leave no member and no element.
public final class JSONNull {
  /// Creates a null; all are alike.
  public init() {}
}

/// Writes a value, part by part, by raw accessors only. After a throw the caller cleans up the stack.
struct JSONWriter {
  /// The deepest nesting of tables.
  static let deepest = JSON.deepest

  private enum Step {
    case name([UInt8])
    case index(Int)
  }
  private enum Shape {
    case list(count: Int)
    case record([[UInt8]])
  }

  private let stack: Stack
  private let limit: Int
  private let name: String
  private let isPretty: Bool
  /// The type of the userdata that stands for null.
  private let null: Int32?
  private(set) var text: [UInt8] = []
  private var path: [Step] = []
  private var open: [UnsafeRawPointer] = []

  init(stack: Stack, limit: Int, name: String, isPretty: Bool = false, null: Int32? = nil) {
    (self.stack, self.limit, self.name) = (stack, limit, name)
    (self.isPretty, self.null) = (isPretty, null)
  }

  /// Writes the value at `index`, counted from the bottom.
  mutating func write(_ index: Int32) throws(JSONProblem) {
    switch stack.type(index) {
    case LUA_TNIL: try append("null")
    case LUA_TBOOLEAN: try append(lua_toboolean(stack.L, index) != 0 ? "true" : "false")
    case LUA_TNUMBER: try number(index)
    case LUA_TSTRING:
      guard let bytes = stack.bytes(index) else { throw problem("is not a text") }
      try string(bytes, "is text that is not UTF-8")
    case LUA_TTABLE: try table(index)
    case LUA_TUSERDATA where isNull(index): try append("null")
    default: throw problem("is \(article(stack.typeName(index)))")
    }
  }

  private func isNull(_ index: Int32) -> Bool {
    null.map { shim_test_object(stack.L, index, $0) != nil } ?? false
  }

  private mutating func number(_ index: Int32) throws(JSONProblem) {
    if lua_isinteger(stack.L, index) != 0 { return try append("\(lua_tointegerx(stack.L, index, nil))") }
    let value = lua_tonumberx(stack.L, index, nil)
    guard value.isFinite else { throw problem("is \(value), no finite number") }
    // The shortest digits that identify this number.
    try append("\(value)")
  }

  private mutating func string(
    _ bytes: some Collection<UInt8>, _ otherwise: String
  ) throws(JSONProblem) {
    guard bytes.count <= limit else { throw .tooLong }
    guard String(validating: bytes, as: UTF8.self) != nil else { throw problem(otherwise) }
    try append("\"")
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\""): text += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\\"): text += [byte, byte]
      case 0..<32: text += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
      default: text.append(byte)
      }
    }
    try append("\"")
  }

  private mutating func append(_ part: String) throws(JSONProblem) {
    text += part.utf8
    if text.count > limit { throw .tooLong }
  }

  // MARK: Tables

  private mutating func table(_ index: Int32) throws(JSONProblem) {
    guard let address = lua_topointer(stack.L, index), stack.reserve(8) else { throw .tooLong }
    if open.contains(address) { throw problem("is a table that holds itself") }
    guard open.count < Self.deepest else { throw problem("is more than \(Self.deepest) tables deep") }
    if lua_getmetatable(stack.L, index) != 0 {
      let name = stack.typeName(index)
      throw problem("is " + (name == "table" ? "a table with a metatable" : article(name)))
    }
    open.append(address)
    defer { open.removeLast() }
    switch try shape(index) {
    case .list(let count):
      try append("[")
      for element in 1..<(count + 1) {
        try begin(element - 1)
        lua_rawgeti(stack.L, index, lua_Integer(element))
        try self.element(.index(element))
      }
      try end(count, "]")
    case .record(let names):
      try append("{")
      for (count, name) in names.enumerated() {
        try begin(count)
        try string(name, "has a name that is not UTF-8")
        try append(isPretty ? ": " : ":")
        name.withUnsafeBytes { raw in
          _ = lua_pushlstring(stack.L, raw.bindMemory(to: CChar.self).baseAddress, raw.count)
        }
        lua_rawget(stack.L, index)
        try element(.name(name))
      }
      try end(names.count, "}")
    }
  }

  /// Begins the element or member with `index`.
  private mutating func begin(_ index: Int) throws(JSONProblem) {
    if index > 0 { try append(",") }
    try newLine(depth: open.count)
  }

  /// Ends a list or a table with names of `count` parts.
  private mutating func end(_ count: Int, _ sign: String) throws(JSONProblem) {
    if count > 0 { try newLine(depth: open.count - 1) }
    try append(sign)
  }

  private mutating func newLine(depth: Int) throws(JSONProblem) {
    if isPretty { try append("\n" + String(repeating: "  ", count: depth)) }
  }

  /// Writes the value on the top, and pops it.
  private mutating func element(_ step: Step) throws(JSONProblem) {
    path.append(step)
    try write(stack.top)
    path.removeLast()
    stack.pop()
  }

  /// Returns the shape of a table, a list or names; an empty one is a list.
  private func shape(_ index: Int32) throws(JSONProblem) -> Shape {
    var (names, count, last, room) = ([[UInt8]](), 0, 0, limit)
    lua_pushnil(stack.L)
    while lua_next(stack.L, index) != 0 {
      stack.pop()
      switch stack.type(-1) {
      case LUA_TSTRING:
        let name = stack.bytes(-1).map { Array($0) } ?? []
        room -= name.count + 4
        names.append(name)
      case LUA_TNUMBER where lua_isinteger(stack.L, -1) != 0 && lua_tointegerx(stack.L, -1, nil) > 0:
        room -= 2
        count += 1
        last = max(last, Int(lua_tointegerx(stack.L, -1, nil)))
      case LUA_TNUMBER: throw problem("has the key \(stack.text(-1)), neither a name nor a place in a list")
      default: throw problem("has a key that is \(article(stack.typeName(-1)))")
      }
      if room < 0 { throw .tooLong }
    }
    if names.isEmpty && count == last { return .list(count: count) }
    if count == 0 { return .record(names.sorted { $0.lexicographicallyPrecedes($1) }) }
    guard names.isEmpty else { throw problem("has both names and places in a list") }
    let gap = (1...count).first { element in
      defer { stack.pop() }
      return lua_rawgeti(stack.L, index, lua_Integer(element)) == LUA_TNIL
    }
    throw problem("is a list without element \(gap ?? count)")
  }

  // MARK: Problems

  private func problem(_ reason: String) -> JSONProblem {
    var text = name
    for step in path {
      switch step {
      case .index(let number): text += "[\(number)]"
      case .name(let name):
        let key = String(decoding: name, as: UTF8.self)
        text += Self.isIdentifier(name) ? ".\(short(key))" : "[\"\(short(key))\"]"
      }
    }
    if text.count > 120 { text = "\(text.prefix(80))…\(text.suffix(30))" }
    return .unwritable(path: text, reason: reason)
  }

  private func short(_ text: String) -> String {
    text.count > 40 ? "\(text.prefix(40).description.onOneLine)…" : text.onOneLine
  }

  private func article(_ name: String) -> String {
    name.first.map { "aeiou".contains($0) } == true ? "an \(short(name))" : "a \(short(name))"
  }

  /// `true` if the name may follow a point.
  private static func isIdentifier(_ name: [UInt8]) -> Bool {
    func isLetter(_ byte: UInt8) -> Bool {
      byte == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    return name.first.map(isLetter) == true && name.allSatisfy { isLetter($0) || isDigit($0) }
  }
}
