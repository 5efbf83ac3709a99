import EventLoop
import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing

@Suite("Hostile clients of webhooks", .waiting, .tags(.page, .hostile, .limits)) struct HookLimitTests {
  private static func head(_ token: String) -> String {
    "POST /trigger/doorbell HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n"
  }

  @Test(
    "bodies and heads that never end are ended, also those that send a byte now and then; others are served")
  func endless() throws {
    let house = try HookHome()
    let token = try house.token()
    let silentBody = try RawClient(port: house.port)
    silentBody.send(Self.head(token) + "Content-Length: 1000\r\n\r\nabc")
    let slowBody = try RawClient(port: house.port)
    slowBody.send(Self.head(token) + "Transfer-Encoding: chunked\r\n\r\n")
    let slowHead = try RawClient(port: house.port)
    slowHead.send("POST /trigger/doorbell HTTP/1.1\r\nHost: localhost\r\nX: ")
    let silent = try RawClient(port: house.port)
    let fast = try RawClient(port: house.port)
    fast.send(Self.head(token) + "Transfer-Encoding: chunked\r\n\r\n")
    // As much as the socket takes, without an end.
    let chunk = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
    var sent = 0
    while sent < 1000, fast.send(chunk) { sent += 1 }
    #expect(sent < 1000, "a body without an end is received")
    let begin = ContinuousClock.now
    var isGone = false
    while !isGone, ContinuousClock.now < begin + .seconds(60) {
      isGone = !slowBody.send("1\r\nx\r\n")
      slowHead.send("a")
      usleep(200_000)
    }
    #expect(isGone)
    for client in [silentBody, slowHead, silent] { #expect(client.isClosed(within: 60)) }
    #expect(try house.post(token: token).status == 200)
    try house.process.expect("doorbell http nothing\n")
  }

  @Test("a head that is too long, many headers and broken requests are refused")
  func floods() throws {
    let house = try HookHome()
    let token = try house.token()
    for flood in [
      "X-Long: " + String(repeating: "a", count: 100_000) + "\r\n\r\n",
      String(repeating: "X-Many: a\r\n", count: 10_000) + "\r\n",
    ] {
      let client = try RawClient(port: house.port)
      client.send(Self.head(token) + flood)
      let answer = HookHome.answer(client.receive())
      #expect(answer.status == 0 || (400..<500).contains(answer.status), "\(answer)")
    }
    for request in ["\0\0\0\0\r\n\r\n", "POST\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"]
    {
      let client = try RawClient(port: house.port)
      client.send(request)
      shutdown(client.fd, Int32(SHUT_WR))
      let answer = HookHome.answer(client.receive())
      #expect(answer.status == 0 || answer.status >= 400, "\(answer)")
    }
    #expect(try house.post(token: token).status == 200)
  }

  @Test("a thousand wrong tokens are a line of the log a minute, and the right one is served meanwhile")
  func wrongTokens() throws {
    let house = try HookHome()
    var statuses: [Int: Int] = [:]
    let begin = ContinuousClock.now
    for index in 0..<1000 {
      // A refused request ends its connection.
      let client = try RawClient(port: house.port)
      client.send(Self.head(String(repeating: "\(index % 10)", count: 64)) + "\r\n")
      statuses[HookHome.answer(client.receive()).status, default: 0] += 1
    }
    // At most ten a minute are counted, however long the thousand take; `WebhookTests` has the exact numbers.
    func minutes() -> Int { Int((ContinuousClock.now - begin).components.seconds) / 60 + 1 }
    let counted = statuses[401] ?? 0
    #expect(
      counted >= 10 && counted <= 10 * minutes() && counted + (statuses[429] ?? 0) == 1000, "\(statuses)")
    // The first one may be counted, as the last minute has passed.
    var wrong = try house.post(token: "wrong")
    for _ in 0..<10 where wrong.status == 401 { wrong = try house.post(token: "wrong") }
    #expect(
      wrong.status == 429 && wrong.code == "hook.attempts" && wrong.text.contains("Retry-After: "), "\(wrong)"
    )
    // Another device at the same address.
    #expect(try house.post(token: house.token()).status == 200)
    #expect(try house.home.run("ctl", "status").status == 0)
    let outcome = try house.end()
    let lines = outcome.errors.components(of: "a wrong token from").count - 1
    #expect(lines >= 1 && lines <= minutes(), "\(outcome)")
  }

  @Test("1,000 requests leave descriptors, threads and memory as they were")
  func thousand() throws {
    let house = try HookHome(hooks: "front = { triggers = { \"none\" } }")
    let token = try house.token()
    let process = house.process.process
    func run(_ count: Int) throws {
      let client = try RawClient(port: house.port)
      for index in 0..<count {
        let last = index == count - 1 ? "Connection: close\r\n" : ""
        client.send(
          "POST /trigger/none HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\(last)"
            + "Content-Type: text/plain\r\nContent-Length: 2000\r\n\r\n" + String(repeating: "a", count: 2000)
        )
      }
      #expect(client.receive().split(separator: "HTTP/1.1 ").count == count)
    }
    for _ in 0..<5 { try run(100) }
    func descriptors() throws -> Int { try LinuxFiles.names(in: "/proc/\(process)/fd").count }
    func threads() throws -> Int { try LinuxFiles.names(in: "/proc/\(process)/task").count }
    func memory() throws -> Int {
      let text = String(decoding: try readBytes("/proc/\(process)/statm"), as: UTF8.self)
      return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4
    }
    let before = (try descriptors(), try threads(), try memory())
    for _ in 0..<10 { try run(100) }
    // Each has a connection of its own too.
    for _ in 0..<50 { #expect(try house.post("none", token: token).status > 0) }
    // The house and its archive may have opened some meanwhile.
    try ServeTests.wait("the connections are closed") { try descriptors() <= before.0 + 10 }
    try ServeTests.wait("the threads have ended") { try threads() <= before.1 + 5 }
    // A sanitizer keeps what is free.
    if MemoryTests.slack == 1 { #expect(try memory() - before.2 < 4096, "KiB more than before") }
  }

  @Test("the daemon ends at once beside connections in any state")
  func end() throws {
    let house = try HookHome()
    let token = try house.token()
    let clients = try (0..<8).map { _ in try RawClient(port: house.port) }
    clients[0].send(Self.head(token) + "Content-Length: 10\r\n\r\nabc")
    clients[1].send("POST /tri")
    clients[2].send(Self.head(token) + "\r\n")
    let begin = ContinuousClock.now
    let outcome = try house.end()
    #expect(outcome.status == 143, "\(outcome)")
    #expect(ContinuousClock.now - begin < .seconds(20))
    for client in clients { #expect(client.isClosed(within: 20)) }
    // The port is free at once.
    try house.restart()
    #expect(try house.post(token: token).status == 200)
  }

  @Test("more connections than the limit of an address wait or are closed, and leave room when they go")
  func crowd() throws {
    let house = try HookHome()
    var crowd = try (0..<40).map { _ in try RawClient(port: house.port) }
    for client in crowd { client.send("POST /trig") }
    #expect(try house.home.run("ctl", "status").status == 0)
    crowd = []
    try ServeTests.wait("there is room") { try house.post(token: house.token()).status == 200 }
  }
}

extension String {
  fileprivate func components(of text: String) -> [Substring] {
    split(separator: text, omittingEmptySubsequences: false)
  }
}
