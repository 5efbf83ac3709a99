internal import EventLoop
internal import Glibc
internal import JSONText
internal import Roomtone

/// A connection to the control socket of the daemon; each call waits for its answer. For one thread.
final class ControlClient {
  /// The longest line that is received, in bytes.
  private static let longestLine = 32 << 20
  private let fd: Int32
  private var input: [UInt8] = []
  private var calls = 0

  /// Connects to the daemon of this user.
  /// - Returns: nil when none runs.
  /// - Throws: `ctl.socket` when there is one that can't be reached.
  static func connect() throws -> ControlClient? {
    guard let path = UserFolders.controlSocket, let address = UnixAddress(path) else { return nil }
    let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard fd >= 0 else { throw CommandFailure(.socket, "can't make a socket: \(SystemError(errno).text)") }
    guard address.withPointer({ Glibc.connect(fd, $0, $1) }) == 0 else {
      let number = errno
      close(fd)
      if [ENOENT, ECONNREFUSED, ENOTDIR].contains(number) { return nil }
      throw CommandFailure(.socket, "can't reach the daemon at \(path): \(SystemError(number).text)")
    }
    return ControlClient(fd)
  }

  /// Connects to the daemon of this user.
  /// - Throws: `ctl.none` when none runs; `ctl.socket`.
  static func required() throws -> ControlClient {
    if let client = try connect() { return client }
    throw CommandFailure(.noDaemon, "no daemon runs", hint: "start one: roomtone serve")
  }

  private init(_ fd: Int32) { self.fd = fd }

  deinit { close(fd) }

  /// The descriptor, for waiting until there is something to `receive`.
  var descriptor: Int32 { fd }
  /// `true` if a message has arrived that was not received yet.
  var hasMessage: Bool { input.contains(UInt8(ascii: "\n")) }

  /// Sends a request.
  /// - Returns: the id of its answer.
  @discardableResult
  func start(_ method: String, _ parameters: [(name: String, value: JSON)] = []) throws -> Int {
    calls += 1
    try send(RPCRequest(id: .number(calls), method: method, parameters: .object(parameters)).line + "\n")
    return calls
  }

  /// Performs a method, and returns its result.
  /// - Parameter onNotification: receives the notifications before the result.
  /// - Throws: the error that the daemon answered; `ctl.socket` when the connection ends.
  func call(
    _ method: String, _ parameters: [(name: String, value: JSON)] = [],
    onNotification: (_ method: String, _ parameters: JSON) -> Void = { _, _ in }
  ) throws -> JSON {
    try start(method, parameters)
    while let message = try receive() {
      if let method = message["method"]?.text {
        onNotification(method, message["params"] ?? .null)
        continue
      }
      // Before the first answer: the daemon refused the connection.
      guard message["id"]?.int == calls || message["error"] != nil else { continue }
      if let error = message["error"].flatMap(RPCError.init) { throw error }
      return message["result"] ?? .null
    }
    throw CommandFailure(.socket, "the daemon has closed the connection")
  }

  /// Returns the next message; nil when the daemon has closed the connection.
  func receive() throws -> JSON? {
    while true {
      if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
        let line = input[..<end]
        input.removeFirst(end + 1)
        guard let message = JSON(parsing: line) else {
          throw CommandFailure(.socket, "the daemon answers what is not JSON")
        }
        return message
      }
      guard input.count <= Self.longestLine else {
        throw CommandFailure(.socket, "the daemon answers a line without an end")
      }
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let count = read(fd, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        if errno == ECONNRESET { return nil }
        throw CommandFailure(.socket, "can't read from the daemon: \(SystemError(errno).text)")
      }
      if count == 0 { return nil }
      input += chunk[..<count]
    }
  }

  private func send(_ text: String) throws {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count < 0, errno == EINTR { continue }
      // A daemon that refuses the connection has answered why before it closed it.
      if count < 0, errno == EPIPE { return }
      guard count > 0 else {
        throw CommandFailure(.socket, "can't write to the daemon: \(SystemError(errno).text)")
      }
      rest = rest.dropFirst(count)
    }
  }
}
