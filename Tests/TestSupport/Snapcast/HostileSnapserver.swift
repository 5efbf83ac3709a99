internal import EventLoop
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
  public var port: Int { listener.port }
  /// The requests so far, a line each.
  public var requests: [String] { log.withLock { $0 } }
  private let listener: LoopbackListener
  private let log = Lock<[String]>([])
  private var thread: TestThread?

  /// Listens.
  public init(_ behaviour: Behaviour) throws {
    let listener = try LoopbackListener(blocks: true)
    self.listener = listener
    thread = try TestThread { [log] in Self.run(listener, behaviour, log) }
  }

  deinit {
    listener.shutDown()
    thread?.join()
  }

  private static func run(_ listener: LoopbackListener, _ behaviour: Behaviour, _ log: Lock<[String]>) {
    var left = behaviour
    while let connection = listener.accept() {
      // A script continues with the next connection; each other behaviour begins anew.
      if case .script = behaviour {} else { left = behaviour }
      serve(connection, listener.descriptor, &left, log)
      close(connection)
    }
  }

  private static func serve(
    _ connection: CInt, _ door: CInt, _ behaviour: inout Behaviour, _ log: Lock<[String]>
  ) {
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
        log.withLock { $0.append(line) }
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
