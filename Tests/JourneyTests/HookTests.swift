import EventLoop
import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing

@Suite("Webhooks of a daemon", .waiting, .tags(.page, .trigger, .daemon)) struct HookTests {
  @Test("a request with the hook's token fires its triggers with the body as their value, and nothing else")
  func fires() throws {
    let house = try HookHome(
      hooks: """
        front = { triggers = { "doorbell", "door" } }, back = { triggers = { "gate" } }
        """)
    let (front, back) = (try house.token(), try house.token("back"))
    #expect(front.count == 64 && front != back)
    var status = stat()
    #expect(stat(house.home.path("state/roomtone/hooks/front.token"), &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)

    let rung = try house.post(token: front)
    #expect(rung.status == 200 && rung.json["name"]?.text == "doorbell" && rung.json["listeners"]?.int == 1)
    try house.process.expect("doorbell http nothing\n")
    let nobody = try house.post("gate", token: back)
    #expect(nobody.status == 200 && nobody.json["listeners"]?.int == 0, "\(nobody)")
    let json = #"{"button": "front", "at": [1, 2.5]}"#
    #expect(try house.post(token: front, body: json, type: "application/json").status == 200)
    try house.process.expect("doorbell http " + #"{"at":[1,2.5],"button":"front"}"#)
    #expect(
      try house.post(
        "door", token: front, body: "a=1&b=x+y%21&a=2", type: "application/x-www-form-urlencoded"
      ).status == 200)
    try house.process.expect("door http " + #"{"a":["1","2"],"b":"x y!"}"#)
    #expect(
      try house.post("door", token: front, body: "grüß", type: "text/plain; charset=utf-8").status == 200)
    try house.process.expect("door http \"grüß\"\n")

    // The token of another hook, none, and a wrong one.
    let other = try house.post("gate", token: front)
    #expect(other.status == 403 && other.code == "hook.trigger" && !other.text.contains("back"), "\(other)")
    #expect(try house.post("nothing", token: front).status == 403)
    let none = try house.post(token: nil)
    #expect(none.status == 401 && none.text.contains("WWW-Authenticate: Bearer"), "\(none)")
    #expect(none.json["hint"]?.text?.contains("?token=") == true)
    #expect(try house.post(token: String(front.dropLast())).status == 401)
    // A device for which only a URL can be set.
    #expect(try house.post("doorbell?token=\(front)", token: nil).status == 200)
    try house.process.expect("doorbell http nothing\n")
    #expect(try house.post("doorbell?token=\(back)", token: nil).status == 403)
    // No line of the log has a token.
    let outcome = try house.end()
    #expect(outcome.status == 143 && !outcome.errors.contains(front) && !outcome.output.contains(front))
    #expect(outcome.errors.contains("a wrong token from 127.0.0.1"), "\(outcome)")
    #expect(outcome.errors.contains("the webhook \"front\" fires the trigger \"doorbell\""), "\(outcome)")
  }

  @Test("history and why name the hook")
  func causes() throws {
    let house = try HookHome()
    try house.home.script(
      "require('trigger').on('doorbell', function() require('speaker').device('Kitchen'):set_volume(7) end)",
      as: "scripts/louder.lua")
    try house.process.expectError("the page's server listens")
    try ServeTests.wait("the script listens") {
      try house.post(token: house.token()).json["listeners"]?.int == 2
    }
    try ServeTests.wait("the volume is set") {
      try house.home.run("ctl", "why", "Kitchen").output.contains("at 7")
    }
    let history = try house.home.run("ctl", "history")
    #expect(history.output.contains("trigger \"doorbell\" from webhook \"front\""), "\(history)")
    let why = try house.home.run("ctl", "why", "Kitchen")
    #expect(why.output.contains("by trigger \"doorbell\" from webhook \"front\""), "\(why)")
    #expect(!history.output.contains("person") && !why.output.contains("person"), "\(history) \(why)")
  }

  @Test("bodies that are wrong are refused with their fault; 64 KiB are the most")
  func bodies() throws {
    let house = try HookHome()
    let token = try house.token()
    let invalid = try house.post(token: token, body: "{\"a\":\n 1,}", type: "application/json")
    #expect(
      invalid.status == 400 && invalid.json["message"]?.text?.contains("line 2, column 4") == true,
      "\(invalid)")
    let untyped = try house.post(token: token, body: "{\"a\": 1}")
    #expect(
      untyped.status == 400 && untyped.json["hint"]?.text?.contains("application/json") == true, "\(untyped)")
    #expect(try house.post(token: token, body: "a=%zz").status == 400)
    #expect(try house.post(token: token, body: "x", type: "image/png").status == 415)
    usleep(1_000_000)
    let size = 64 << 10
    func text(_ count: Int) throws -> String {
      let name = "body\(count)"
      try house.home.script("\"" + String(repeating: "a", count: count - 2) + "\"", as: name)
      return "@" + house.home.path(name)
    }
    #expect(try house.post(token: token, body: text(size), type: "application/json").status == 200)
    try house.process.expect("doorbell http \"65534 bytes\"\n")
    let large = try house.post(token: token, body: text(size + 1), type: "application/json")
    #expect(large.status == 413 && large.code == "hook.too_large", "\(large)")
    #expect(try house.post(token: token, body: text(size - 1), type: "application/json").status == 200)
    // In chunks the length shows only at the end.
    let chunked = ["-H", "Transfer-Encoding: chunked"]
    #expect(try house.post(token: token, body: text(size), type: "application/json", chunked).status == 200)
    let longer = try house.post(token: token, body: text(size + 1), type: "application/json", chunked)
    #expect(longer.status == 413 && longer.code == "hook.too_large", "\(longer)")
    // As JSON, each quote takes two bytes.
    try house.home.script(String(repeating: "\"", count: 40_000), as: "quotes")
    let quotes = try house.post(token: token, body: "@\(house.home.path("quotes"))", type: "text/plain")
    #expect(quotes.status == 413 && quotes.code == "trigger.too_large", "\(quotes)")
  }

  @Test("a name comes twenty times a second, the next one is refused with the time to wait")
  func rate() throws {
    let house = try HookHome()
    let token = try house.token()
    // Until one is refused, however slow they are; `WebhookTests` has the exact numbers.
    var admitted = 0
    var answer: HookHome.Answer
    let begin = ContinuousClock.now
    repeat {
      let client = try RawClient(port: house.port)
      client.send(
        "POST /trigger/doorbell HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n"
          + "Connection: close\r\n\r\n")
      answer = HookHome.answer(client.receive())
      if answer.status == 200 { admitted += 1 }
    } while answer.status == 200 && admitted < 1000
    let seconds = Int((ContinuousClock.now - begin).components.seconds) + 1
    #expect(admitted >= 20 && admitted <= 20 * seconds, "\(admitted) within \(seconds) s")
    #expect(answer.status == 429 && answer.code == "hook.rate", "\(answer)")
    #expect(answer.text.contains("Retry-After: 1\r\n"), "\(answer)")
    #expect(try house.post("door", token: token).status == 200)
    usleep(1_100_000)
    #expect(try house.post(token: token).status == 200)
  }

  @Test("names of others, pages of other sites, other paths and other methods are refused")
  func hosts() throws {
    let house = try HookHome(page: "names = { \"radio.home\" },")
    let token = try house.token()
    #expect(try house.post(token: token, ["-H", "Host: evil.example"]).status == 421)
    #expect(try house.post(token: token, ["-H", "Host: radio.home:80"]).status == 200)
    #expect(try house.post(token: token, ["-H", "Origin: http://evil.example"]).status == 403)
    #expect(try house.post(token: token, ["-H", "Origin: http://127.0.0.1:\(house.port)"]).status == 200)
    #expect(try house.post(token: token, ["-H", "Host:"]).status == 400)
    let get = try house.post(token: token, ["-X", "GET"])
    #expect(get.status == 405 && get.text.contains("Allow: POST"), "\(get)")
    #expect(try house.post("../etc/passwd", token: token, ["--path-as-is"]).status == 403)
    let elsewhere = try Command.run("curl", ["-s", "-i", "http://127.0.0.1:\(house.port)/"]).text
    #expect(HookHome.answer(elsewhere).status == 404, "\(elsewhere)")
  }

  @Test("over TLS the line of roomtone page --curl works; a new certificate is used after SIGHUP")
  func tls() throws {
    func certificate(_ home: Home, days: Int) throws {
      try Command.succeed(
        "openssl",
        [
          "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
          home.path("key's.pem"), "-out", home.path("a cert.pem"), "-subj", "/CN=127.0.0.1", "-addext",
          "subjectAltName=IP:127.0.0.1", "-days", "\(days)",
        ])
    }
    let house = try HookHome(
      page: "tls = { cert = os_cert, key = os_key },".replacing("os_cert", with: "'~/a cert.pem'").replacing(
        "os_key", with: "\"~/key's.pem\"")
    ) {
      try certificate($0, days: 90)
    }
    let address = "https://127.0.0.1:\(house.port)"
    #expect(try house.home.run("page").output == address + "\n")
    let line = try house.home.run("page", "--curl", "front")
    #expect(
      line.lines.count == 2 && line.lines[0].contains("--cacert '\(house.home.path("a cert.pem"))'"),
      "\(line)")
    let token = try house.token()
    #expect(line.output.contains("$(cat ") && !line.output.contains(token))
    let called = try house.home.runInShell(line.lines[0])
    #expect(called.status == 0 && called.output.contains("\"listeners\": 1"), "\(called)")
    try house.process.expect("doorbell http nothing\n")
    #expect(try house.post(token: house.token(), ["-k"], scheme: "https").status == 200)
    #expect(try house.post(token: house.token()).status != 200)
    let old = try house.post(token: house.token(), ["-k", "--tlsv1.0", "--tls-max", "1.1"], scheme: "https")
    #expect(old.status == 0)
    let doctor = try house.home.run("doctor", "--offline")
    #expect(doctor.output.contains("the daemon listens at \(address), with 1 webhook"), "\(doctor)")

    try certificate(house.home, days: 5)
    let soon = try house.home.run("doctor", "--offline")
    #expect(soon.output.contains("a cert.pem expires on "), "\(soon)")
    func begins() throws -> String {
      try Command.run(
        "sh",
        [
          "-c",
          "echo | openssl s_client -connect 127.0.0.1:\(house.port) 2>/dev/null | openssl x509 -noout -serial",
        ]
      ).text
    }
    let before = try begins()
    house.process.send(SIGHUP)
    try ServeTests.wait("the new certificate is used") { try begins() != before }
    #expect(try house.home.runInShell(line.lines[0]).status == 0)
  }

  @Test("a token file that others can read turns its hook off, with the remedy; SIGHUP turns it on again")
  func tokenFiles() throws {
    let house = try HookHome(
      hooks:
        "front = { triggers = { \"doorbell\" }, token_file = \"~/open.token\" }, back = { triggers = { \"door\" } }"
    ) {
      try $0.script("a-token-of-one's-own\n", as: "open.token")
      chmod($0.path("open.token"), 0o644)
    }
    let path = house.home.path("open.token")
    try house.process.expectError("the webhook \"front\" is off: ")
    try house.process.expectError("chmod 600 \(path)")
    #expect(try house.post(token: "a-token-of-one's-own").status == 401)
    #expect(try house.post("door", token: house.token("back")).status == 200)
    let status = try house.home.run("ctl", "status")
    #expect(status.output.contains("http://127.0.0.1:\(house.port), 1 webhook"), "\(status)")
    #expect(status.output.contains("webhook 'front' is off"), "\(status)")
    let doctor = try house.home.run("doctor", "--offline")
    #expect(doctor.status == 1 && doctor.output.contains("→ chmod 600 \(path)"), "\(doctor)")
    chmod(path, 0o600)
    house.process.send(SIGHUP)
    try ServeTests.wait("the hook is on") { try house.post(token: "a-token-of-one's-own").status == 200 }
    // A token that was replaced is of no use any more.
    try house.home.script("another-token-of-mine\n", as: "open.token")
    house.process.send(SIGHUP)
    try ServeTests.wait("the new token is read") {
      try house.post(token: "another-token-of-mine").status == 200
    }
    #expect(try house.post(token: "a-token-of-one's-own").status == 401)
  }

  @Test("page --curl and doctor say when the daemon has another token than the file, or not the hook")
  func staleTokens() throws {
    let house = try HookHome(
      hooks:
        "front = { triggers = { \"doorbell\" } }, own = { triggers = { \"door\" }, token_file = \"~/own.token\" }"
    ) {
      try $0.script("a-token-of-one's-own\n", as: "own.token")
      chmod($0.path("own.token"), 0o644)
    }
    let silent = try house.home.run("page", "--curl", "front")
    #expect(silent.status == 0 && silent.errors == "", "\(silent)")
    let old = try house.token()
    unlink(house.home.path("state/roomtone/hooks/front.token"))
    let removed = try house.home.run("doctor", "--offline")
    #expect(removed.output.contains("with 1 webhook") && !removed.output.contains("2 webhooks"), "\(removed)")
    #expect(
      removed.output.contains("of the webhook 'front' has changed since the daemon read it"), "\(removed)")
    let made = try house.home.run("page", "--curl", "front")
    #expect(made.status == 0 && made.lines.count == 1, "\(made)")
    #expect(
      made.errors.contains("the token file of the webhook 'front' has changed since the daemon read it")
        && made.errors.contains("`roomtone ctl reload`"), "\(made)")
    #expect(try house.post(token: old).status == 200)
    // The file is right by now, but the daemon has not read it.
    chmod(house.home.path("own.token"), 0o600)
    let off = try house.home.run("doctor", "--offline")
    #expect(off.status == 1 && off.output.contains("the webhook 'own' is off: "), "\(off)")
    #expect(try house.home.run("ctl", "reload").status == 0)
    try ServeTests.wait("the new token is read") { try house.post(token: house.token()).status == 200 }
    #expect(try house.post(token: old).status == 401)
    for hook in ["front", "own"] {
      #expect(try house.home.run("page", "--curl", hook).errors == "", "\(hook)")
    }
    let mended = try house.home.run("doctor", "--offline")
    #expect(mended.output.contains("with 2 webhooks") && !mended.output.contains("the webhook"), "\(mended)")

    try house.home.script(
      "page { listen = \"127.0.0.1:\(house.port)\", hooks = { new = { triggers = { \"gate\" } } } }",
      as: "config/roomtone/config.lua")
    for unknown in [try house.home.run("page", "--curl", "new"), try house.home.run("doctor", "--offline")] {
      #expect(
        (unknown.output + unknown.errors).contains("the daemon does not know the webhook 'new'"), "\(unknown)"
      )
    }
  }

  @Test("a port in use is said, the daemon runs, and listens when the port is free")
  func portInUse() throws {
    var holder: LoopbackListener? = try LoopbackListener(blocks: false)
    let port = try #require(holder?.port)
    let house = try HookHome(port: port, isServing: false)
    try house.process.expectError("the page is not served: port \(port) of 127.0.0.1 is in use (web.busy)")
    let status = try house.home.run("ctl", "status")
    #expect(status.output.contains("port \(port) of 127.0.0.1 is in use"), "\(status)")
    let doctor = try house.home.run("doctor", "--offline")
    #expect(doctor.status == 1 && doctor.output.contains("port \(port) of 127.0.0.1 is in use"), "\(doctor)")
    holder = nil
    house.process.send(SIGHUP)
    try house.process.expectError("the page's server listens at ")
    #expect(try house.post(token: house.token()).status == 200)
  }

  @Test("without page nothing listens; page says so, and an unknown hook is named with the nearest one")
  func withoutPage() throws {
    let home = try Home()
    let none = try home.run("page")
    #expect(none.status == 1 && none.errors.contains("page.none"), "\(none)")
    mkdir(home.path("config/roomtone"), 0o700)
    try home.script(
      "page { hooks = { front = { triggers = { 'a', 'b' } } } }", as: "config/roomtone/config.lua")
    #expect(try home.run("page").output == "http://127.0.0.1:8420\n")
    let unknown = try home.run("page", "--curl", "frnt")
    #expect(unknown.status == 1 && unknown.errors.contains("did you mean 'front'?"), "\(unknown)")
    let line = try home.run("page", "--curl", "front")
    let token = home.path("state/roomtone/hooks/front.token")
    #expect(
      line.lines
        == ["a", "b"].map {
          "curl -fsS -X POST -H \"Authorization: Bearer $(cat \(token))\" http://127.0.0.1:8420/trigger/\($0)"
        }, "\(line)")
  }
}
