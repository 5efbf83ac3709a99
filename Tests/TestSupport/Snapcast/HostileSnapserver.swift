internal import Glibc

/// A server on loopback that accepts connections as a snapserver's control does, and misbehaves. Ends with the object.
public final class HostileSnapserver {
  /// Answer to each request.
  public enum Behaviour: Sendable {
    /// No answer at all.
    case silence
    /// A line of so many bytes.
    case flood(Int)
    /// A line of this text.
    case line(String)
    /// A byte of an answer each 10 ms.
    case slow
    /// The end of the connection.
    case hangUp
    /// To the first request this line, in which `%` is the request's id; then another behaviour.
    indirect case first(String, then: Behaviour)
    /// To the requests of these methods, in this order and over all connections, these actions; to each other request an
    /// empty result.
    case script([(method: String, actions: [Action])])
  }

  /// A part of the answer to a request.
  public enum Action: Sendable {
    /// Sends a line, in which `%` is the request's id.
    case line(String)
    /// Waits for so many milliseconds.
    case pause(UInt32)
    /// Ends the connection.
    case hangUp
  }

  /// Port of the control.
  public let port: Int
  private let door: CInt
  private var thread: TestThread?

  /// Listens.
  public init(_ behaviour: Behaviour) throws {
    port = try SnapcastRig.freePorts(1)[0]
    let door = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.door = door
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(door, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0, listen(door, 16) == 0 else { throw TestFailure("no port for a server") }
    thread = try TestThread { Self.run(door, behaviour) }
  }

  deinit {
    shutdown(door, Int32(SHUT_RDWR))
    thread?.join()
    close(door)
  }

  private static func run(_ door: CInt, _ behaviour: Behaviour) {
    var left = behaviour
    while true {
      let connection = accept(door, nil, nil)
      guard connection >= 0 else { return }
      // A script continues with the next connection; each other behaviour begins anew.
      if case .script = behaviour {} else { left = behaviour }
      serve(connection, door, &left)
      close(connection)
    }
  }

  private static func serve(_ connection: CInt, _ door: CInt, _ behaviour: inout Behaviour) {
    var input: [UInt8] = []
    while true {
      var requests = [
        pollfd(fd: connection, events: Int16(POLLIN), revents: 0),
        pollfd(fd: door, events: Int16(POLLHUP), revents: 0),
      ]
      poll(&requests, 2, -1)
      if requests[1].revents & Int16(POLLHUP) != 0 { return }
      var chunk = [UInt8](repeating: 0, count: 4096)
      let count = read(connection, &chunk, chunk.count)
      guard count > 0 else { return }
      input += chunk[..<count]
      while let end = input.firstIndex(of: 10) {
        let line = String(decoding: input[..<end], as: UTF8.self)
        input.removeFirst(end + 1)
        let digits = line.drop { !$0.isNumber }.dropFirst(3).drop { !$0.isNumber }.prefix { $0.isNumber }
        guard answer(&behaviour, line, String(digits), connection) else { return }
      }
    }
  }

  private static func answer(
    _ behaviour: inout Behaviour, _ request: String, _ id: String, _ connection: CInt
  ) -> Bool {
    switch behaviour {
    case .script(var steps):
      guard let step = steps.first, request.contains("\"\(step.method)\"") else {
        return send(#"{"jsonrpc":"2.0","id":\#(id),"result":{}}"# + "\n", connection)
      }
      steps.removeFirst()
      behaviour = .script(steps)
      return step.actions.allSatisfy { perform($0, id, connection) }
    case .silence: return true
    case .hangUp: return false
    case .line(let text): return send("\(text)\n", connection)
    case .first(let text, let then):
      behaviour = then
      return perform(.line(text), id, connection)
    case .slow:
      for _ in 0..<2000 {
        usleep(10_000)
        if !send(" ", connection) { return false }
      }
      return true
    case .flood(let bytes):
      let chunk = String(repeating: "x", count: 65_536)
      for _ in 0..<bytes / 65_536 where !send(chunk, connection) { return false }
      return send("\n", connection)
    }
  }

  private static func perform(_ action: Action, _ id: String, _ connection: CInt) -> Bool {
    switch action {
    case .line(let text):
      return send(
        text.split(separator: "%", omittingEmptySubsequences: false).joined(separator: id) + "\n", connection)
    case .pause(let milliseconds):
      usleep(1000 * milliseconds)
      return true
    case .hangUp: return false
    }
  }

  private static func send(_ text: String, _ connection: CInt) -> Bool {
    let bytes = Array(text.utf8)
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes {
        Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      done += count
    }
    return true
  }
}
