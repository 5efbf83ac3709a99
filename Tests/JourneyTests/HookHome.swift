import EventLoop
import Glibc
import JSONText
import TestSupport

/// A home whose daemon serves webhooks at a free port.
final class HookHome {
  let home: Home
  let port: Int
  private(set) var process: RunningCommand

  /// Starts a daemon with a script that prints each trigger.
  /// - Parameters:
  ///   - page: the settings of `page` besides `listen` and `hooks`.
  ///   - isServing: `false` for a daemon whose page can't be served.
  init(
    page: String = "", hooks: String = "front = { triggers = { \"doorbell\", \"door\" } }",
    port: Int? = nil, isServing: Bool = true, prepare: (Home) throws -> Void = { _ in }
  ) throws {
    home = try Home()
    self.port = try port ?? LoopbackListener(blocks: false).port
    mkdir(home.path("config/roomtone"), 0o700)
    mkdir(home.path("scripts"), 0o700)
    try prepare(home)
    try home.script(
      "page { listen = \"127.0.0.1:\(self.port)\", \(page) hooks = { \(hooks) } }",
      as: "config/roomtone/config.lua")
    try home.script(
      """
      local json, trigger = require "json", require "trigger"
      for _, name in ipairs { "doorbell", "door" } do
        trigger.on(name, function(event)
          local value = event.value
          if type(value) == "string" and #value > 100 then value = #value .. " bytes" end
          print(event.name, event.origin, value == nil and "nothing" or json.encode(value))
        end)
      end
      print "listening"
      """, as: "scripts/rings.lua")
    process = try Self.serve(home)
    try process.expect("listening\n")
    if isServing { try process.expectError("the page's server listens at ") }
  }

  deinit {
    process.send(SIGTERM)
    _ = try? process.finish()
  }

  private static func serve(_ home: Home) throws -> RunningCommand {
    try home.startInShell("exec $ROOMTONE serve --output null --verbose scripts")
  }

  /// Ends the daemon, and returns what it printed.
  func end() throws -> Outcome {
    process.send(SIGTERM)
    return try process.finish()
  }

  /// Starts the daemon again.
  func restart() throws {
    _ = try end()
    process = try Self.serve(home)
    try process.expect("listening\n")
    try process.expectError("the page's server listens at ")
  }

  /// The token of a hook.
  func token(_ hook: String = "front") throws -> String {
    String(decoding: try readBytes(home.path("state/roomtone/hooks/\(hook).token")), as: UTF8.self)
      .split(separator: "\n").joined()
  }

  /// An answer: its status, its body as JSON, its head.
  struct Answer: CustomStringConvertible {
    let status: Int
    let json: JSON
    let text: String
    var code: String? { json["code"]?.text }
    var description: String { "\(status) \(text)" }
  }

  /// Posts by curl.
  /// - Parameter token: nil for none.
  func post(
    _ name: String = "doorbell", token: String?, body: String? = nil, type: String? = nil,
    _ options: [String] = [], scheme: String = "http"
  ) throws -> Answer {
    var arguments = ["-s", "-i", "-m", "60", "-X", "POST"]
    if let token { arguments += ["-H", "Authorization: Bearer \(token)"] }
    if let body { arguments += ["--data-binary", body] }
    if let type { arguments += ["-H", "Content-Type: \(type)"] }
    let result = try Command.run(
      "curl", arguments + options + ["\(scheme)://127.0.0.1:\(port)/trigger/\(name)"])
    return Self.answer(result.text)
  }

  /// Reads an answer of HTTP/1.1.
  static func answer(_ text: String) -> Answer {
    let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
    let status = parts[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    let body = parts.count > 1 ? parts[1] : ""
    return Answer(status: status, json: JSON(parsing: body.utf8) ?? .null, text: text)
  }
}

/// A connection that sends any bytes. Closed with the object.
final class RawClient {
  let fd: Int32

  init(port: Int) throws {
    fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = UInt16(port).bigEndian
    inet_pton(AF_INET, "127.0.0.1", &place.sin_addr)
    let status = withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw TestFailure("can't connect: \(errno)") }
  }

  deinit { close(fd) }

  /// Sends a text; `false` when the other side has closed.
  @discardableResult
  func send(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return Glibc.send(fd, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }

  /// Returns all that comes until the other side closes, at most for a minute.
  func receive() -> String {
    var received: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let end = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < end {
      var polled = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
      guard poll(&polled, 1, 1000) > 0 else { continue }
      let count = recv(fd, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      received += chunk[..<count]
    }
    return String(decoding: received, as: UTF8.self)
  }

  /// `true` if the other side has closed, at most after the time.
  func isClosed(within seconds: Int) -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while ContinuousClock.now < end {
      var polled = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
      guard poll(&polled, 1, 200) > 0 else { continue }
      if recv(fd, &chunk, chunk.count, 0) <= 0 { return true }
    }
    return false
  }
}
