import EventLoop
import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing
import WebServer

@testable import Roomtone

@Suite("Webhooks by the heads of their requests", .tags(.page, .trigger, .hostile)) struct WebhookTests {
  private static let front = "front-token-0123456789", back = "back-token-0123456789"

  private static func webhooks(onWrong: @escaping @Sendable (String) -> Void = { _ in }) -> Webhooks {
    Webhooks(
      [
        Webhooks.Hook(name: "front", triggers: ["doorbell", "door"], token: TokenHash(front)),
        Webhooks.Hook(name: "back", triggers: ["gate"], token: TokenHash(back)),
      ], Webhooks.Limits(), onWrongToken: onWrong, fire: { _, _ in })
  }

  private static func head(
    _ authorization: String?, argument: String? = nil, peer: String = "192.0.2.7"
  ) -> RequestHead {
    RequestHead(
      method: "POST", path: "/trigger/doorbell",
      headers: authorization.map { [("authorization", $0)] } ?? [],
      arguments: argument.map { [("token", $0)] } ?? [], peer: NetworkAddress(peer))
  }

  /// Returns the status of a refusal; 0 for a request whose body is received.
  private static func status(
    _ webhooks: Webhooks, _ head: RequestHead, _ name: String = "doorbell", at milliseconds: Int64 = 0
  ) -> Int {
    switch webhooks.decide(head, name, at: Instant(nanoseconds: milliseconds * 1_000_000)) {
    case .answer(let answer): answer.status
    case .receive(let limit, _): limit.bytes == 65_536 ? 0 : -1
    }
  }

  @Test("a token fires its own triggers; the header counts before the argument")
  func tokens() {
    let webhooks = Self.webhooks()
    #expect(Self.status(webhooks, Self.head("Bearer \(Self.front)")) == 0)
    #expect(Self.status(webhooks, Self.head("bearer   \(Self.front)")) == 0)
    #expect(Self.status(webhooks, Self.head(nil, argument: Self.front)) == 0)
    #expect(Self.status(webhooks, Self.head("Bearer \(Self.front)"), "gate") == 403)
    #expect(Self.status(webhooks, Self.head("Bearer \(Self.back)")) == 403)
    #expect(Self.status(webhooks, Self.head("Bearer \(Self.back)"), "gate") == 0)
    #expect(Self.status(webhooks, Self.head("Bearer \(Self.front)"), "../x") == 403)
    for wrong in [nil, "", "Bearer", "Basic \(Self.front)", Self.front] {
      #expect(Self.status(webhooks, Self.head(wrong)) == 401, "\(wrong ?? "none")")
    }
    #expect(Self.status(webhooks, Self.head("Bearer x", argument: Self.front)) == 401)
    #expect(Self.status(webhooks, Self.head("Bearer \(Self.front) ")) == 401)
  }

  @Test(
    "after ten wrong tokens further ones of an address wait for a minute, right ones do not; the first is said"
  )
  func attempts() {
    let said = Lock<[String]>([])
    let webhooks = Self.webhooks { peer in said.withLock { $0.append(peer) } }
    let right = Self.head("Bearer \(Self.front)")
    for index in 0..<1000 {
      let expected = index < 10 ? 401 : 429
      #expect(Self.status(webhooks, Self.head("Bearer wrong"), at: Int64(index)) == expected)
    }
    // A device with an old token does not shut out others at its address.
    #expect(Self.status(webhooks, right, at: 1000) == 0)
    #expect(Self.status(webhooks, Self.head("Bearer \(Self.back)"), "gate", at: 1000) == 0)
    #expect(Self.status(webhooks, Self.head("Bearer wrong", peer: "192.0.2.8"), at: 1000) == 401)
    #expect(Self.status(webhooks, Self.head("Bearer wrong"), at: 59_999) == 429)
    #expect(Self.status(webhooks, Self.head("Bearer wrong"), at: 60_000) == 401)
    #expect(said.withLock { $0 } == ["192.0.2.7", "192.0.2.8"])
    // A missing token is no guess.
    for _ in 0..<20 { #expect(Self.status(webhooks, Self.head(nil), at: 200_000) == 401) }
    #expect(Self.status(webhooks, Self.head("Bearer wrong"), at: 200_000) == 401)
  }

  @Test("twenty requests a second for a name are admitted, whatever the hook")
  func rate() {
    let webhooks = Self.webhooks()
    let right = Self.head("Bearer \(Self.front)")
    for index in 0..<20 { #expect(Self.status(webhooks, right, at: Int64(index)) == 0) }
    #expect(Self.status(webhooks, right, at: 999) == 429)
    #expect(Self.status(webhooks, right, "door", at: 999) == 0)
    #expect(Self.status(webhooks, right, at: 1000) == 0)
  }

  private static func read(_ body: String, _ type: String?) -> String {
    read(Array(body.utf8), type)
  }

  private static func read(_ body: [UInt8], _ type: String?) -> String {
    switch TriggerBody.read(body, contentType: type) {
    case .value(let value): value?.line ?? "none"
    case .refused(let answer): "\(answer.status)"
    }
  }

  @Test("the content type decides what the value is")
  func bodies() {
    for type in ["application/json", "Application/JSON ; charset=utf-8", "application/ld+json"] {
      #expect(Self.read(#"{"a": [1, true]}"#, type) == #"{"a": [1, true]}"#)
      #expect(
        Self.read("", type) == "none" && Self.read("{", type) == "400"
          && Self.read([0x22, 0xFF, 0x22], type) == "400")
    }
    #expect(Self.read(String(repeating: "[", count: 65_536), "application/json") == "400")
    #expect(Self.read("hello", "text/plain") == #""hello""# && Self.read("hello", nil) == #""hello""#)
    #expect(Self.read([0xFF], "text/plain") == "400")
    let form = "application/x-www-form-urlencoded"
    #expect(Self.read("a=1&b=%C3%BC+x&c&=d&a=2", form) == #"{"a": ["1", "2"], "b": "ü x", "c": "", "": "d"}"#)
    #expect(Self.read("a=1&&b=2&", form) == #"{"a": "1", "b": "2"}"#)
    for wrong in ["a=%", "a=%4", "a=%zz", "%ff=1", "{\"a\": 1}", "[1]"] {
      #expect(Self.read(wrong, form) == "400", "\(wrong)")
    }
    for type in ["multipart/form-data; boundary=x", "image/png", "json", ""] {
      #expect(Self.read("x", type) == "415", "\(type)")
    }
  }

  @Test("a trigger of a webhook has the hook as its cause, and no person")
  func cause() throws {
    let harness = try DaemonHarness([
      ("a.lua", "local t = require 'trigger' t.on('doorbell', function(e) print(e.origin) end)")
    ])
    try harness.begin()
    let methods = ControlMethods(daemon: harness.daemon)
    var answered: JSON?
    let request = ControlRequest(
      RPCRequest(id: .null, method: "trigger", parameters: .object([("name", "doorbell"), ("value", 5)])),
      by: .webhook("front"), respond: { answered = try? $0.get() }, push: { _, _ in false })
    harness.loop.next { methods.perform(request) }
    harness.run { answered != nil && !harness.printed.isEmpty }
    #expect(answered?["listeners"]?.int == 1 && harness.printed == ["a: http"])
    let history = try harness.call("history", [("kind", "trigger")])
    let text = history.elements?.last?["text"]?.text ?? ""
    #expect(
      text.hasSuffix(#"came with 5, and 1 listened  trigger "doorbell" from webhook "front""#), "\(text)")
    _ = try harness.call("trigger", [("name", "doorbell")])
    let person = try harness.call("history", [("kind", "trigger")]).elements?.last?["text"]?.text ?? ""
    #expect(person.hasSuffix("person at ctl"), "\(person)")
  }
}

@Suite("Tokens in files", .tags(.page)) struct TokenFileTests {
  @Test("a token is made once, for its owner alone, and read without the end of its line")
  func make() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("hooks/front.token")
    #expect(try TokenFile.make(path))
    let token = try TokenFile.read(path)
    #expect(token.count == 64)
    #expect(try !TokenFile.make(path))
    #expect(try TokenFile.read(path) == token)
    try TokenFile.make(folder.file("other"))
    #expect(try TokenFile.read(folder.file("other")) != token)
  }

  @Test("a token that is missing, short, long or with blanks is refused with a command that makes one")
  func refused() throws {
    let folder = try TemporaryFolder()
    for text in [
      "", "short", "with a blank 0123456789", "0123456789012345\n0123456789", "grüß-0123456789-012",
    ] {
      let path = try folder.write(Array(text.utf8), to: "token")
      chmod600(path)
      let error = #expect(throws: PageError.self) { try TokenFile.read(path) }
      #expect(error?.kind == .token && error?.hint?.contains("openssl rand") == true, "\(text)")
    }
    let path = try folder.write([UInt8](repeating: 0x61, count: 513), to: "token")
    chmod600(path)
    #expect(throws: PageError.self) { try TokenFile.read(path) }
    let missing = #expect(throws: PageError.self) { try TokenFile.read(folder.file("none")) }
    #expect(missing?.hint?.contains(folder.file("none")) == true)
  }
}

private func chmod600(_ path: String) { chmod(path, 0o600) }
