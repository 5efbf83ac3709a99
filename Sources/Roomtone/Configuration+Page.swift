internal import EventLoop
internal import Home
internal import LuaModules
internal import LuaRuntime
internal import WebServer

// `page { … }`: the server of the page and its webhooks.

extension Configuration {
  private static let usualAddress = "127.0.0.1:8420"

  static func readPage(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["listen", "tls", "names", "hooks"])
    let text = try options.string("listen") ?? usualAddress
    guard let listen = ListenAddress(parsing: text) else {
      throw options.problem(
        "listen", "an address of this machine and a port expected, got \(quoted(text))",
        hint: "\(usualAddress) for this machine alone, 0.0.0.0:8420 or [::]:8420 for the network")
    }
    guard listen.port > 0 else {
      throw options.problem("listen", "a port from 1 to 65535 expected: clients have to know it")
    }
    var page = PageSettings(listen: listen)
    if let value = options["tls"] {
      let tls = try options.nested("tls", value, ["cert", "key"])
      guard let certificate = try tls.path("cert") else { throw tls.problem("cert", "missing") }
      guard let key = try tls.path("key") else { throw tls.problem("key", "missing") }
      page.tls = PageSettings.TLS(certificate: certificate, key: key)
    }
    page.names = try names(options)
    page.hooks = try hooks(options)
    configuration.page = page
  }

  private static func names(_ options: LuaOptions) throws -> [String] {
    let expected =
      "a list of at most \(PageSettings.mostNames) host names or addresses expected, as in { \"radio.home\" }"
    return try texts("names", options, limit: PageSettings.mostNames, expected) { name in
      let isName = name.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: ".")
          || byte == UInt8(ascii: "-")
      }
      let isAddress = NetworkAddress(name) != nil
      return isAddress || !name.isEmpty && name.utf8.count <= 253 && isName
        ? nil : "a host name or an address without a port expected, got \(quoted(name))"
    } ?? []
  }

  private static func hooks(_ options: LuaOptions) throws -> [PageSettings.Hook] {
    guard let value = options["hooks"] else { return [] }
    guard let hooks = options.state.fields(of: value) else {
      throw options.problem(
        "hooks", "a table of at most \(PageSettings.mostHooks) hooks by name expected",
        hint: "hooks = { doorbell = { triggers = { \"doorbell\" } } }")
    }
    return try hooks.sorted { $0.key < $1.key }.map { name, value in
      guard Trigger.problem(withName: name) == nil, !name.hasPrefix(".") else {
        throw options.problem(
          "hooks", "a name of a hook expected, got \(quoted(name))",
          hint: "1 to \(Trigger.longestName) letters, digits, '_', '-' and '.', the first one not '.'")
      }
      let hook = try options.nested("hooks.\(name)", value, ["token_file", "triggers"])
      let expected = "a list of 1 to \(PageSettings.mostTriggers) names of triggers expected"
      let triggers = try texts(
        "triggers", hook, limit: PageSettings.mostTriggers, expected, Trigger.problem(withName:))
      guard let triggers, !triggers.isEmpty else {
        throw hook.problem("triggers", expected, hint: "triggers = { \"\(name)\" }")
      }
      return PageSettings.Hook(name: name, triggers: triggers, tokenFile: try hook.path("token_file"))
    }
  }

  private static func texts(
    _ name: String, _ options: LuaOptions, limit: Int, _ expected: String, _ fault: (String) -> String?
  ) throws -> [String]? {
    guard let value = options[name] else { return nil }
    guard let list = options.state.list(value, limit: limit) else { throw options.problem(name, expected) }
    return try list.map { element in
      guard case .string(let text) = element else { throw options.problem(name, expected) }
      if let fault = fault(text) { throw options.problem(name, fault) }
      return text
    }
  }
}
