import EventLoop
import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing

/// Clients of the control socket that do what they should not.
@Suite("hostile clients of the daemon", .waiting, .tags(.control, .hostile)) struct ControlSocketTests {
  private static let status = #"{"jsonrpc":"2.0","id":1,"method":"status"}"# + "\n"

  private static func path(_ home: Home) -> String { home.path("runtime/roomtone/control.sock") }

  @Test("each gets a clear error, and the daemon answers the others")
  func hostile() throws {
    let (home, process) = try ServeTests.serve([("a.lua", "print 'on'")])
    let path = Self.path(home)
    let good = try SocketClient(path)
    func check() throws {
      try good.send(Self.status)
      #expect(try good.line()["result"]?["version"] != nil)
    }
    try check()

    // Split and interleaved.
    let (one, other) = (try SocketClient(path), try SocketClient(path))
    for byte in Self.status.utf8 {
      try one.send([byte])
      try other.send([byte])
    }
    #expect(try one.line()["id"]?.int == 1 && other.line()["id"]?.int == 1)

    // Malformed, and still served.
    try one.send("}{\n" + Self.status)
    #expect(try one.line()["error"]?["code"]?.int == -32700 && one.line()["result"] != nil)

    // Without an end.
    let endless = try SocketClient(path)
    var isRefused = false
    for _ in 0..<40 where !isRefused {
      isRefused = (try? endless.send([UInt8](repeating: 0x20, count: 65_536))) == nil
    }
    #expect(try endless.line()["error"]?["message"]?.text?.contains("longer than 1 MiB") == true)
    try check()

    // Closed in the middle of a request, and of a long evaluation.
    for text in [
      String(Self.status.dropLast(5)),
      #"{"jsonrpc":"2.0","id":1,"method":"eval","params":{"code":"task.sleep '1h'"}}"# + "\n",
    ] {
      let gone = try SocketClient(path)
      try gone.send(text)
      usleep(50_000)
      gone.close()
    }
    try check()

    // Never reads.
    let deaf = try SocketClient(path)
    var isDropped = false
    for _ in 0..<20_000 where !isDropped { isDropped = (try? deaf.send(Self.status)) == nil }
    #expect(isDropped)
    try check()

    // 200 at once, and more than there is room for.
    let crowd = try (0..<200).map { _ in try SocketClient(path) }
    for client in crowd { try client.send(Self.status) }
    for client in crowd { #expect(try client.line()["result"] != nil) }
    let more = try (0..<100).map { _ in try SocketClient(path) }
    #expect(try more[99].line()["error"]?["message"]?.text?.contains("no room") == true)
    for client in crowd + more { client.close() }
    try check()

    process.send(SIGTERM)
    let outcome = try process.finish()
    #expect(outcome.errors == "", "\(outcome)")
  }

  @Test("a half-closed client is answered; descriptors and routines are as before when clients have gone")
  func leaks() throws {
    let (home, process) = try ServeTests.serve([("a.lua", "print 'on'")])
    let path = Self.path(home)
    func descriptors() throws -> Int { try LinuxFiles.names(in: "/proc/\(process.process)/fd").count }
    let first = try SocketClient(path)
    try first.send(Self.status)
    first.endInput()
    #expect(try first.line()["result"] != nil && first.isAtEnd())
    try ServeTests.wait("the clients are gone") {
      usleep(200_000); return true
    }
    let before = try descriptors()
    for _ in 0..<300 {
      let client = try SocketClient(path)
      try client.send(Self.status)
      _ = try client.line()
      client.close()
    }
    try ServeTests.wait("the descriptors are closed") { try descriptors() <= before }
    process.send(SIGTERM)
    _ = try process.finish()
  }

  @Test("a request takes at most a few milliseconds")
  func speed() throws {
    let (home, process) = try ServeTests.serve([("a.lua", "print 'on'")])
    let client = try SocketClient(Self.path(home))
    let request = #"{"jsonrpc":"2.0","id":1,"method":"jobs"}"# + "\n"
    var times: [Duration] = []
    for _ in 0..<200 {
      let start = ContinuousClock.now
      try client.send(request)
      _ = try client.line()
      times.append(start.duration(to: .now))
    }
    let median = times.sorted()[100]
    print("a request of the control socket: \(median) in the middle of 200")
    // The promise is 1 ms of an optimized build on an idle machine.
    #expect(median < .milliseconds(20))
    process.send(SIGTERM)
    _ = try process.finish()
  }
}

/// A client of a Unix socket, which waits 30 s at most.
final class SocketClient {
  private var fd: Int32
  private var input: [UInt8] = []

  init(_ path: String) throws {
    fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard let address = UnixAddress(path), address.withPointer({ connect(fd, $0, $1) }) == 0 else {
      throw TestFailure("cannot connect to \(path): \(String(cString: strerror(errno)))")
    }
    var time = timeval(tv_sec: 120, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(fd, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  deinit { close() }

  func close() {
    if fd >= 0 { Glibc.close(fd) }
    fd = -1
  }

  func endInput() { shutdown(fd, Int32(SHUT_WR)) }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) throws {
    guard Glibc.send(fd, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw TestFailure("the daemon does not receive: \(String(cString: strerror(errno)))")
    }
  }

  /// Returns the next line.
  func line() throws -> JSON {
    while true {
      if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
        let line = JSON(parsing: input[..<end])
        input.removeFirst(end + 1)
        guard let line else { throw TestFailure("no JSON") }
        return line
      }
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = recv(fd, &bytes, bytes.count, 0)
      guard count > 0 else { throw TestFailure("the daemon has closed the connection") }
      input += bytes[..<count]
    }
  }

  /// Returns `true` if the daemon closes the connection without another byte.
  func isAtEnd() -> Bool {
    var byte: UInt8 = 0
    return recv(fd, &byte, 1, 0) == 0
  }
}
