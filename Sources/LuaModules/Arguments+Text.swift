internal import LuaRuntime

extension LuaCall {
  /// Text without zero bytes: what is handed to the system would end there, and name something else.
  func nameText(_ number: Int) throws -> String {
    let text = try string(number)
    guard !text.utf8.contains(0) else { throw problem(number, "contains a zero byte") }
    return text
  }
}
