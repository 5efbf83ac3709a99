internal import EventLoop
internal import Home
internal import LuaModules
internal import LuaRuntime
internal import StreamCore

// `stations { … }`: stations by name, each a URL or a table with more.

extension Configuration {
  static func readStations(_ configuration: inout Configuration, _ call: LuaCall) throws {
    for (key, value) in try call.entries(1) {
      guard case .string(let name) = key, NamedStations.isName(name) else {
        throw call.problem(
          1, "a station's name expected, got \(call.state.text(key)): it has no / or : and begins with no -")
      }
      func problem(_ text: String, hint: String? = nil) -> any Error {
        call.problem(1, "station '\(name)': \(text)", hint: hint)
      }
      var url: String?
      if case .string(let given) = value {
        url = given
      } else {
        guard call.state.typeName(value) == "table" else {
          throw problem("a URL or a table expected, got \(call.state.typeName(value))")
        }
        let given = try call.option(1, as: name).nested("station '\(name)'", value, stationOptions)
        url = try given.string("url", .url)
        configuration.stations.settings[name] = try settings(given)
      }
      guard let url else { throw problem("url is missing") }
      do throws(StreamError) {
        configuration.stations.addresses[name] = try StreamAddress(url)
      } catch {
        throw problem(error.message, hint: error.hint)
      }
    }
  }

  private static let stationOptions = [
    "url", "charset", "user_agent", "auth", "user", "password_file", "ca_file",
  ]

  private static func settings(_ given: LuaOptions) throws -> StationSettings {
    var settings = StationSettings()
    if let charset = try given.string("charset") {
      guard let encoding = MetadataEncoding(name: charset) else {
        throw given.problem("charset", "no encoding is called '\(charset)'", hint: "names that iconv has do")
      }
      settings.charset = encoding
    }
    if let agent = try given.string("user_agent") {
      settings.userAgent = try given.line("user_agent", agent)
    }
    settings.certificateFile = try given.path("ca_file")
    if let auth = given["auth"] {
      guard let list = given.state.list(auth, limit: 2), list.count == 2, case .string(let user) = list[0],
        case .string(let password) = list[1]
      else { throw given.problem("auth", "{user, password} expected") }
      settings.user = try given.userName("auth", user)
      settings.password = .text(try given.line("auth", password))
    }
    let (user, file) = (try given.string("user"), try given.path("password_file"))
    guard (user == nil) == (file == nil) else {
      throw given.problem(user == nil ? "user" : "password_file", "user and password_file go together")
    }
    if let user, let file {
      guard settings.user == nil else {
        throw given.problem("auth", "auth and password_file exclude each other")
      }
      settings.user = try given.userName("user", user)
      settings.password = .file(file)
    }
    return settings
  }
}
