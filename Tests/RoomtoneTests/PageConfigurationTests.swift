import EventLoop
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("page { … } of the configuration", .waiting, .tags(.page, .configuration))
struct PageConfigurationTests {
  private func page(_ text: String) throws -> PageSettings? {
    try Configuration(text: Array(text.utf8), path: "config.lua").page
  }

  private func failure(_ text: String) throws -> String {
    let error = #expect(throws: LuaError.self, "\(text)") { try page(text) }
    return try #require(error).description
  }

  @Test("is absent by default, and listens on this machine alone")
  func usual() throws {
    #expect(try page("") == nil)
    let settings = try #require(try page("page {}"))
    #expect(settings.url == "http://127.0.0.1:8420" && settings.hooks == [] && settings.tls == nil)
  }

  @Test("has an address, a certificate, names and hooks")
  func all() throws {
    let settings = try #require(
      try page(
        """
        page { listen = "[::1]:9000", tls = { cert = "/c", key = "/k" }, names = { "radio.home" },
          hooks = { front = { triggers = { "doorbell", "door" } }, b = { triggers = { "x" }, token_file = "/b" } } }
        """))
    #expect(settings.url == "https://[::1]:9000" && settings.names == ["radio.home"])
    #expect(settings.tls == PageSettings.TLS(certificate: "/c", key: "/k"))
    #expect(
      settings.hooks.map(\.name) == ["b", "front"] && settings.hooks[1].triggers == ["doorbell", "door"])
    #expect(settings.tokenFile(of: settings.hooks[0], stateFolder: "/s") == "/b")
    #expect(settings.tokenFile(of: settings.hooks[1], stateFolder: "/s") == "/s/hooks/front.token")
    #expect(settings.tokenFile(of: settings.hooks[1], stateFolder: nil) == nil)
    let everywhere = try #require(try page("page { listen = '0.0.0.0:80', names = { 'radio.home' } }"))
    #expect(everywhere.url == "http://radio.home:80")
    let forwarded = try #require(
      try page("page { listen = '[::]:80', names = { '2001:db8::5', '192.168.1.5' } }"))
    #expect(forwarded.url == "http://[2001:db8::5]:80" && forwarded.names.count == 2)
  }

  @Test(
    "refuses unknown keys and wrong values by their place",
    arguments: [
      ("page { token_file = '/t' }", "no option is called 'token_file'; known: hooks, listen, names, tls"),
      ("page { listn = '127.0.0.1:80' }", "did you mean 'listen'?"),
      ("page { hooks = { a = { trigers = {} } } }", "triggers"),
      ("page { tls = { cert = '/c', kee = '/k' } }", "key"),
      ("page { tls = { cert = '/c' } }", "option 'key' of tls: missing"),
      ("page { tls = { key = '/c' } }", "option 'cert' of tls: missing"),
      ("page { tls = { cert = 'c', key = '/k' } }", "an absolute path"),
      ("page { listen = '8420' }", "an address of this machine and a port expected"),
      ("page { listen = 'kitchen:8420' }", "an address of this machine and a port expected"),
      ("page { listen = '127.0.0.1:0' }", "a port from 1 to 65535"),
      ("page { listen = 8420 }", "string expected"),
      ("page { names = 'radio' }", "a list of at most 64 host names or addresses"),
      ("page { names = { 'radio:80' } }", "a host name or an address without a port"),
      ("page { names = { '[::1]' } }", "a host name or an address without a port"),
      ("page { names = { '' } }", "a host name or an address without a port"),
      ("page { hooks = { a = {} } }", "option 'triggers' of hooks.a: a list of 1 to 100"),
      ("page { hooks = { a = { triggers = {} } } }", "a list of 1 to 100"),
      ("page { hooks = { a = { triggers = { 'x y' } } } }", "a name of a trigger expected"),
      ("page { hooks = { ['../x'] = { triggers = { 'x' } } } }", "a name of a hook expected"),
      ("page { hooks = { ['.x'] = { triggers = { 'x' } } } }", "a name of a hook expected"),
      ("page { hooks = { { triggers = { 'x' } } } }", "a name of a hook expected"),
      ("page { hooks = { a = 1 } }", "table expected"),
      ("page { hooks = 'a' }", "a table of at most 1000 hooks"),
    ])
  func wrong(_ text: String, _ message: String) throws {
    let shown = try failure(text)
    #expect(shown.hasPrefix("config.lua:1: ") && shown.contains(message), "\(shown)")
  }

  @Test("a certificate that is none, and a key that is not its own, are told apart")
  func certificates() throws {
    let folder = try TemporaryFolder()
    func make(_ name: String, days: Int = 30) throws {
      try Command.succeed(
        "openssl",
        [
          "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
          folder.file("\(name).key"), "-out", folder.file("\(name).pem"), "-subj", "/CN=\(name)", "-days",
          "\(days)",
        ])
    }
    func tls(_ certificate: String, _ key: String) -> PageSettings.TLS {
      PageSettings.TLS(certificate: folder.file(certificate), key: folder.file(key))
    }
    try make("a")
    try make("b")
    let now = EventLoop().wallNow
    let facts = try PageFiles.facts(of: tls("a.pem", "a.key"), at: now)
    #expect(facts.isSelfSigned && !facts.isInvalid)
    #expect(abs(facts.expires - Int(now.seconds) - 30 * 86_400) < 3600)
    let late = WallTime(seconds: Int64(facts.expires) + 1)
    #expect(try PageFiles.facts(of: tls("a.pem", "a.key"), at: late).isInvalid)
    try Command.succeed(
      "openssl",
      [
        "ec", "-in", folder.file("a.key"), "-out", folder.file("locked.key"), "-aes128", "-passout",
        "pass:secret",
      ])
    for (pair, message) in [
      (tls("a.pem", "b.key"), "is not that of the certificate"),
      (tls("a.key", "a.key"), "holds no certificate"),
      (tls("a.pem", "a.pem"), "holds no private key"), (tls("a.pem", "locked.key"), "without a password"),
      (tls("none", "a.key"), "can't read"),
    ] {
      let error = #expect(throws: PageError.self) { try PageFiles.facts(of: pair, at: now) }
      #expect(error?.message.contains(message) == true && error?.kind == .certificate, "\(message)")
    }
  }
}
