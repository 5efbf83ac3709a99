import Glibc
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("http", .waiting, .tags(.http))
struct HTTPModuleTests {
  private let station: Station

  init() throws { station = try Station() }

  /// Returns the lines that `code` printed in real time, with the station's root in `root`.
  private func printed(_ code: String) throws -> [String] {
    try EngineHarness(wall: true).printed(
      "local http, json, root = require 'http', require 'json', '\(station.url(""))'\n" + code)
  }

  /// Waits until no connection to the station is open.
  private func connectionsEnd() throws {
    let end = ContinuousClock.now + .seconds(30)
    while station.openConnections > 0 {
      guard ContinuousClock.now < end else { throw TestFailure("a connection stays open") }
      usleep(10_000)
    }
  }

  @Test("get returns status, headers by lower case and body; its own headers are sent")
  func get() throws {
    station.answer(
      "/a", with: .page("{\"rain\":true}", type: "application/json").with("X-One", "1").with("x-one", "2"))
    station.answer("/b", with: .redirect(to: "/a"))
    #expect(
      try printed(
        """
        local a = http.get(root .. "/b", { headers = { ["X-Key"] = "secret", ["User-Agent"] = "me", Empty = "" } })
        print(a.status, a.headers["content-type"], a.headers["x-one"], json.decode(a.body).rain)
        """) == ["200\tapplication/json\t1, 2\ttrue"])
    let visit = try #require(station.visits.last)
    #expect(visit.method == "GET" && visit["X-Key"] == "secret" && visit["User-Agent"] == "me")
    #expect(visit["Empty"] == "")
  }

  @Test("post sends a text as it is, a table as JSON, and nothing; the type can be set")
  func post() throws {
    for path in ["/table", "/text", "/bytes", "/none", "/own"] { station.answer(path, with: .page("done")) }
    #expect(
      try printed(
        #"""
        print(http.post(root .. "/table", { on = true, list = {}, next = json.null }).body)
        http.post(root .. "/text", "é")
        http.post(root .. "/bytes", ("\xff\0"):rep(100000))
        http.post(root .. "/none")
        http.post(root .. "/own", "{}", { headers = { ["content-type"] = "application/json" } })
        """#) == ["done"])
    let visits = station.visits
    #expect(visits.map(\.method) == Array(repeating: "POST", count: 5))
    #expect(
      visits.map { $0["Content-Type"] ?? "" } == [
        "application/json", "text/plain; charset=utf-8", "application/octet-stream",
        "application/octet-stream", "application/json",
      ])
    #expect(visits.map(\.body.count) == [33, 2, 200_000, 0, 2])
    #expect(String(decoding: visits[0].body, as: UTF8.self) == #"{"list":[],"next":null,"on":true}"#)
    #expect(visits.allSatisfy { $0["Expect"] == nil })
  }

  @Test("a status of 400 and more raises, with what is known, unless raise is false")
  func status() throws {
    station.answer("/a", with: .status("503 Service Unavailable", retryAfter: "120"))
    #expect(
      try printed(
        """
        local err = failure(http.get, root .. "/a")
        print(err.code, err.status, err.retry_after, err.url == root .. "/a", err.message == root .. "/a answers with status 503")
        print(http.get(root .. "/a", { raise = false }).status, code(http.post, root .. "/gone", "x"))
        """) == ["http.status\t503\t120\ttrue\ttrue", "503\thttp.status"])
  }

  @Test(
    "no error has the password or the query of a URL",
    arguments: [
      ("http.get(root .. '/down?token=sesame')", "http.status"),
      ("http.post(root .. '/away?token=sesame', 'x')", "http.status"),
      ("http.get(root .. '/large?token=sesame', { max_bytes = 1 })", "http.too_large"),
      ("http.get(root .. '/slow?token=sesame', { timeout = '100ms' })", "http.timeout"),
      ("http.get(root .. '/wrong?token=sesame')", "http.network"),
      ("http.get 'http://bob:sesame@127.0.0.1:1/?token=sesame#sesame'", "http.network"),
      ("http.get 'http://bob:sesame@host name/?token=sesame'", "argument"),
      ("http.get 'http://bob:sesame@/?token=sesame'", "argument"),
      ("http.get 'ftp://bob:sesame@host/?token=sesame'", "argument"),
      ("http.get('http://bob:sesame@host/?token=sesame', { timeout = 0 })", "argument"),
    ])
  func secrets(_ call: String, _ code: String) throws {
    station.answer("/down?token=sesame", with: .status("503 Service Unavailable"))
    station.answer("/away?token=sesame", with: .redirect(to: "/gone?token=sesame&user=sesame"))
    station.answer("/large?token=sesame", with: .page("hello"))
    station.answer("/slow?token=sesame", with: .page("hello").stalling(at: 2))
    station.answer("/wrong?token=sesame", with: .redirect(to: "file:///etc/passwd?token=sesame"))
    let lines = try printed(
      """
      root = root:gsub("//", "//bob:sesame@")
      local err = failure(function() \(call) end)
      print(err.code, err, err.message, err.hint, err.url, err.traceback)
      """)
    #expect(lines.first?.hasPrefix("\(code)\t") == true && !"\(lines)".contains("sesame"), "\(lines)")
  }

  @Test("a server that is gone, wrong, slow or endless ends in one clear error")
  func hostile() throws {
    station.answer("/large", with: .page("x").claiming(64 << 20))
    station.answer("/endless", with: .live(Live(.noise(seed: 1))))
    station.answer("/slow", with: .page("hello").stalling(at: 2))
    station.answer("/short", with: .page("hello").claiming(9))
    station.answer("/loop", with: .redirect(to: "/loop"))
    station.answer("/away", with: .redirect(to: "file:///etc/passwd"))
    station.answer("/raw", with: .raw("220 mail.example ESMTP\r\n"))
    station.answer("/hello", with: .page("hello"))
    let lines = try printed(
      """
      local function try(path, options)
        local err = failure(http.get, root .. path, options)
        print(err.code, (tostring(err):match ": (.*)"))
        assert(not tostring(err):find "\\n" and (err.url == root .. path or err.code == "none"))
      end
      try "/large"
      try("/endless", { max_bytes = "100kB" })
      try("/slow", { timeout = "200ms" })
      try "/short"
      try "/loop"
      try "/away"
      try "/raw"
      try("/hello", { max_bytes = 4 })
      try("/hello", { max_bytes = 5 })
      print(code(http.get, "http://127.0.0.1:1/"), code(http.get, "http://nowhere.invalid/"))
      """)
    let codes = lines.map { String($0.prefix { $0 != "\t" }) }
    #expect(
      codes == [
        "http.too_large", "http.too_large", "http.timeout", "http.network", "http.network", "http.network",
        "http.network", "http.too_large", "none", "http.network",
      ], "\(lines)")
    #expect(lines.last == "http.network\thttp.network")
    #expect(lines[0].contains("max_bytes sets another limit"), "\(lines[0])")
    try connectionsEnd()
  }

  @Test("a certificate that nobody signed is refused in one line")
  func certificate() throws {
    let server = try SecureServer()
    let lines = try printed(
      "print((tostring(failure(http.get, 'https://localhost:\(server.port)/')):gsub('.-: ', '', 1)))")
    #expect(lines.count == 1)
    #expect(lines[0].hasPrefix("no secure connection to localhost"), "\(lines)")
    #expect(lines[0].hasSuffix("(http.network)"), "\(lines)")
  }

  @Test("a request ends with the routine that waits for it, and others go on meanwhile")
  func cancelled() throws {
    station.answer("/slow", with: .page("hello").stalling(at: 2))
    station.answer("/quick", with: .page("quick"))
    #expect(
      try printed(
        """
        local slow = task.spawn(function() http.get(root .. "/slow", { timeout = "1h" }) end)
        print(http.get(root .. "/quick").body)
        print(code(task.timeout, "100ms", function() http.get(root .. "/slow") end))
        slow:cancel()
        """) == ["quick", "task.timeout"])
    try connectionsEnd()
  }

  @Test("a user and a password in the URL are sent, and shown nowhere")
  func credentials() throws {
    station.answer("/a", with: .page("in").requiring(user: "me", password: "hush"))
    #expect(
      try printed(
        """
        local mine = root:gsub("//", "//me:hush@")
        print(http.get(mine .. "/a").body, tostring(failure(http.get, mine .. "/gone")):find "hush", code(http.get, root .. "/a"))
        """) == ["in\tnil\thttp.status"])
  }

  @Test(
    "wrong use is refused by name",
    arguments: [
      ("get, 'ftp://x/'", "only http and https"), ("get, 'x y'", "this is not a URL"),
      ("get, 5", "string expected"),
      ("get, 'http://x', { timeot = 1 }", "did you mean 'timeout'?"),
      ("get, 'http://x', { timeout = 0 }", "more than 0"),
      ("get, 'http://x', { max_bytes = '65MB' }", "64MB at most"),
      ("get, 'http://x', { raise = 1 }", "boolean expected"),
      ("get, 'http://x', { headers = 'a' }", "a table of names and values"),
      ("get, 'http://x', { headers = { Host = 'y' } }", "Host is set by the transfer itself"),
      ("get, 'http://x', { headers = { ['a b'] = 'y' } }", "is not the name of a header"),
      ("get, 'http://x', { headers = { a = 'x\\r\\ny: z' } }", "without control characters"),
      ("get, 'http://x', { headers = { a = 1 } }", "a needs a text, got number"),
      ("get, 'http://x', { headers = { a = 'x', A = 'y' } }", "A and a are one header"),
      ("post, 'http://x', 5", "string or table expected, got number"),
      ("post, 'http://x', { f = print }", "http.post: body.f is a function"),
    ])
  func misuse(_ call: String, _ part: String) throws {
    let lines = try EngineHarness.printed("local http = require 'http' print(message(http.\(call)))")
    #expect(lines.first?.contains(part) == true, "\(lines)")
  }

  @Test("a simulation answers from the stations file, and refuses what is not in it")
  func simulated() throws {
    var harness = try EngineHarness()
    harness.stations = """
      answer("http://Weather.example", { body = { rain = true, list = {} } })
      answer("http://weather.example/down?x=1", { status = 503, headers = { ["Retry-After"] = "60" }, body = "no" })
      answer("http://weather.example/empty")
      """
    let lines = try harness.printed(
      """
      local http, json = require "http", require "json"
      local a = http.get "http://weather.example/#here"
      print(a.status, a.headers["content-type"], json.decode(a.body).rain)
      local err = failure(http.post, "http://weather.example/down?x=1", "x")
      print(err.code, err.status, err.retry_after)
      print(http.get("http://weather.example/down?x=1", { raise = false }).body, #http.get "http://weather.example/empty".body)
      print(code(http.get, "http://weather.example/", { max_bytes = 5 }))
      print(failure(http.get, "http://me:hush@other.example/a?token=hush").url)
      print(failure(http.get, "http://me:hush@other.example/a?token=hush"))
      print(failure(http.get, "http://me:hush@other.example/a"))
      """)
    #expect(
      lines.prefix(5) == [
        "200\tapplication/json\ttrue", "http.status\t503\t60", "no\t0", "http.too_large",
        "http://other.example/a?…",
      ] && !lines.contains { $0.contains("hush") })
    #expect(
      lines.last?.contains(
        "http://other.example/a is outside of the simulation (simulate.not_here); give it an answer in the file of "
          + "--stations: answer(\"http://other.example/a\", { body = \"…\" })") == true, "\(lines)")
  }

  @Test(
    "answers in a stations file are checked at their line",
    arguments: [
      ("answer('x y')", "this is not a URL"), ("answer('http://x', { status = 99 })", "200 to 599 expected"),
      ("answer('http://x', { boddy = 1 })", "did you mean 'body'?"),
      ("answer('http://x', { body = 1 })", "string or table expected"),
      ("answer('http://x', { body = { f = answer } })", "body.f is a function"),
      ("answer('http://x', { headers = { a = 1 } })", "a needs a text"),
      ("answer('http://x') answer('http://x/')", "is listed twice"),
      ("answer('http://x', { body = ('x'):rep(2000000) })", "at most 1 MiB"),
    ])
  func wrongAnswers(_ text: String, _ part: String) throws {
    var harness = try EngineHarness()
    harness.stations = "\n" + text
    let error = #expect(throws: LuaError.self) { try harness.run("") }
    let description = try #require(error).description
    #expect(description.contains("stations.lua:2: ") && description.contains(part), "\(description)")
  }
}
