internal import JSONText
internal import LuaModules
internal import LuaRuntime

// Methods whose effect is a function of the standard library, called in a script of the daemon.

extension ControlMethods {
  /// The most bytes of a text that is spoken.
  static let longestSpeech = 4096

  /// Announces a text, in a room or everywhere. The answer comes when it has been spoken.
  func say(_ request: ControlRequest) throws -> JSON? {
    let parameters = try ControlParameters(request, "text", "room")
    let text = try parameters.requiredText("text", atMost: Self.longestSpeech)
    let rooms = try parameters.text("room").map { ", rooms = \(Self.literal($0))" } ?? ""
    let code = "require('announce').say { \(Self.literal(text))\(rooms) }"
    return try call(code, in: try daemon.prompt.ready(), nil, request)
  }

  /// Applies a scene that a script has saved. The answer comes when all levels are reached.
  func scene(_ request: ControlRequest) throws -> JSON? {
    let parameters = try ControlParameters(request, "name", "script")
    let name = try parameters.requiredText("name")
    let owner = try parameters.requiredText("script")
    let code = "require('scene').apply(\(Self.literal(name)))"
    if owner == daemon.prompt.name, daemon.hosts[owner] == nil {
      return try call(code, in: try daemon.prompt.ready(), nil, request)
    }
    let script = try running(try daemon.host(owner))
    return try call(code, in: script, try daemon.evaluations.environment(beside: script), request)
  }

  private func call(
    _ code: String, in script: Script, _ environment: LuaReference?, _ request: ControlRequest
  ) throws -> JSON? {
    request.onCancel = try daemon.evaluations.run(code, in: script, environment, onPrint: nil, onLive: nil) {
      request.answer($0.map { _ in .object([]) })
    }
    return nil
  }

  /// Returns a text as a literal of Lua in which only letters and digits stand for themselves.
  static func literal(_ text: String) -> String {
    var result = "'"
    for byte in text.utf8 {
      let scalar = Unicode.Scalar(byte)
      if byte < 0x80, scalar.properties.isAlphabetic || scalar == " " {
        result.unicodeScalars.append(scalar)
      } else {
        result += (byte < 16 ? "\\x0" : "\\x") + String(byte, radix: 16)
      }
    }
    return result + "'"
  }
}
