internal import EventLoop
internal import Glibc
internal import JSONText
internal import Roomtone

/// A connection to the control socket of the process that has the house; each call waits for its answer. For one thread.
final class ControlClient {
  /// The process at the other end, as it describes itself.
  struct Process {
    let id: Int
    let name: String
    /// `true` for a daemon; another process answers about its house alone.
    let isDaemon: Bool
    /// The name of the driver of its house; nil when it does not say.
    let driver: String?
    /// The path of its configuration; nil for the defaults.
    let configuration: String?
  }

  /// The longest line that is received, in bytes.
  private static let longestLine = 32 << 20
  /// The time after which a process that does not answer is given up.
  static let usualTimeout = Duration.seconds(10)

  private let fd: Int32
  private let timeout: Duration
  private var input: [UInt8] = []
  private var calls = 0
  /// The process at the other end; nil before it has answered.
  private(set) var process: Process?

  // MARK: Connecting

  /// Connects to the process of this user that has the house, and waits for its first answer.
  /// - Parameters:
  ///   - path: the path of the socket.
  ///   - timeout: the time after which a silent process is given up.
  /// - Returns: nil when no process listens.
  /// - Throws: `ctl.socket` for a process that can't be reached, is silent, or is another user's.
  static func connect(
    to path: String? = UserFolders.controlSocket, timeout: Duration = usualTimeout
  ) throws -> ControlClient? {
    guard let path, let address = UnixAddress(path) else { return nil }
    let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard fd >= 0 else { throw CommandFailure(.socket, "can't make a socket: \(SystemError(errno).text)") }
    let client = ControlClient(fd, timeout)
    // The limit of the waits of `connect`, for a process that accepts no client, and of `send`.
    var limit = timeval(
      tv_sec: Int(timeout.components.seconds),
      tv_usec: Int(timeout.components.attoseconds / 1_000_000_000_000))
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    guard address.withPointer({ Glibc.connect(fd, $0, $1) }) == 0 else {
      let number = errno
      if [ENOENT, ECONNREFUSED, ENOTDIR].contains(number) { return nil }
      if number == EAGAIN { throw client.silence }
      throw CommandFailure(.socket, "can't reach the daemon at \(path): \(SystemError(number).text)")
    }
    // Requests may contain code or the text of a script, which only this user may read, and root can anyway.
    guard let peer = LinuxSockets.peer(of: fd), [0, geteuid()].contains(peer.user) else {
      throw CommandFailure(
        .socket,
        "the socket \(path) is not this user's: process \(client.peerText) of another user listens there",
        hint: "set XDG_RUNTIME_DIR to a folder that is this user's alone")
    }
    client.process = try client.greet()
    return client
  }

  /// Connects to the process that has the house of a configuration.
  /// - Parameter file: the configuration that the command line names; nil for the user's own. A daemon has
  ///   the house of the user's own, whatever it was started with.
  /// - Returns: nil when no such process runs, or the running one has another house.
  static func connect(
    toHouseOf file: String?, timeout: Duration = usualTimeout
  ) throws -> ControlClient? {
    guard let client = try connect(timeout: timeout), let process = client.process else { return nil }
    if let file { return isSame(file, process.configuration) ? client : nil }
    // A run may have a house other than the configured one.
    guard !process.isDaemon, let driver = process.driver else { return client }
    return try EngineSetup.configuration(file: nil).driverName == driver ? client : nil
  }

  private static func isSame(_ file: String, _ other: String?) -> Bool {
    guard let other else { return false }
    return file == other || OutputFile.areSame(file, other)
  }

  /// Connects to the daemon of this user.
  /// - Returns: nil when no daemon runs.
  static func daemon() throws -> ControlClient? {
    guard let client = try connect(), client.process?.isDaemon == true else { return nil }
    return client
  }

  /// Connects to the daemon of this user.
  /// - Throws: `ctl.none` when no daemon runs; `ctl.socket`.
  static func required() throws -> ControlClient {
    let client = try connect()
    if let client, client.process?.isDaemon == true { return client }
    let owner = client?.process.map { ": \($0.name) (process \($0.id)) has the house" } ?? ""
    throw CommandFailure(
      .noDaemon, "no daemon runs\(owner)",
      hint: owner.isEmpty ? "start one: roomtone serve" : "end it, and start one: roomtone serve")
  }

  /// Connects to the process that has the house, a daemon or a run.
  /// - Throws: `ctl.none` when no such process runs; `ctl.socket`.
  static func ofHouse() throws -> ControlClient {
    if let client = try connect() { return client }
    throw CommandFailure(.noDaemon, "no daemon runs", hint: "start one: roomtone serve")
  }

  private init(_ fd: Int32, _ timeout: Duration) { (self.fd, self.timeout) = (fd, timeout) }

  deinit { close(fd) }

  private var peerText: String { LinuxSockets.peer(of: fd).map { "\($0.process)" } ?? "?" }

  private var silence: CommandFailure {
    CommandFailure(
      .socket,
      "the daemon (process \(peerText)) has not answered for \(timeout.components.seconds) s",
      hint: "it is busy or hangs: look at its log, or start it anew")
  }

  /// Asks the process at the other end to describe itself.
  private func greet() throws -> Process {
    do {
      let answer = try call("process")
      return Process(
        id: answer["process"]?.int ?? 0, name: answer["name"]?.text ?? Engine.serviceName,
        isDaemon: answer["daemon"]?.bool ?? true, driver: answer["driver"]?.text,
        configuration: answer["configuration"]?.text)
    } catch let error as RPCError where error.number == RPCError.Kind.unknownMethod.rawValue {
      // The daemon is of an earlier version: an update has left it running.
      return Process(
        id: Int(LinuxSockets.peer(of: fd)?.process ?? 0), name: Engine.serviceName, isDaemon: true,
        driver: nil,
        configuration: nil)
    }
  }

  // MARK: Calls

  /// The descriptor, for waiting until a message can be received.
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
  /// - Parameters:
  ///   - isLasting: `true` for a method that answers when its work has ended.
  ///   - onNotification: receives the notifications before the result.
  /// - Throws: the error that the daemon answered; `ctl.socket` when the connection ends, or no answer comes.
  func call(
    _ method: String, _ parameters: [(name: String, value: JSON)] = [], isLasting: Bool = false,
    onNotification: (_ method: String, _ parameters: JSON) -> Void = { _, _ in }
  ) throws -> JSON {
    let end = isLasting ? nil : ContinuousClock.now + timeout
    try start(method, parameters)
    while let message = try receive(before: end) {
      if let method = message["method"]?.text {
        onNotification(method, message["params"] ?? .null)
        continue
      }
      // An error without this id precedes the first answer: the daemon has refused the connection.
      guard message["id"]?.int == calls || message["error"] != nil else { continue }
      if let error = message["error"].flatMap(RPCError.init) { throw error }
      return message["result"] ?? .null
    }
    throw CommandFailure(.socket, "the daemon has closed the connection")
  }

  /// Receives the messages that have arrived while a request lasts, at least one.
  /// - Parameters:
  ///   - id: the id of the request.
  ///   - onNotification: receives the notifications, and the failure of another request as `warning`.
  /// - Returns: the result of the request; nil before it has come.
  /// - Throws: the error that the daemon answered; `ctl.socket` when the connection ends.
  func receive(
    answerTo id: Int, _ onNotification: (_ method: String, _ parameters: JSON) -> Void
  ) throws -> JSON? {
    repeat {
      guard let message = try receive() else {
        throw CommandFailure(.socket, "the daemon has closed the connection")
      }
      let error = message["error"].flatMap(RPCError.init)
      if let method = message["method"]?.text {
        onNotification(method, message["params"] ?? .null)
      } else if let other = message["id"]?.int, other != id {
        if let error { onNotification("warning", .object([("message", .string(error.description))])) }
      } else {
        // An error without an id refuses the connection.
        if let error { throw error }
        return message["result"] ?? .null
      }
    } while hasMessage
    return nil
  }

  /// Returns the next message; nil when the daemon has closed the connection.
  /// - Parameter end: the moment at which a silent daemon is given up; nil for never.
  func receive(before end: ContinuousClock.Instant? = nil) throws -> JSON? {
    while true {
      if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
        let line = input[..<end]
        input.removeFirst(end + 1)
        guard let message = JSON(parsing: line) else {
          throw CommandFailure(.socket, "the daemon's answer is not JSON")
        }
        return message
      }
      guard input.count <= Self.longestLine else {
        throw CommandFailure(.socket, "the daemon's answer is a line without an end")
      }
      if let end { try awaitInput(before: end) }
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

  private func awaitInput(before end: ContinuousClock.Instant) throws {
    while true {
      let left = ContinuousClock.now.duration(to: end)
      guard left > .zero else { throw silence }
      var waiting = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
      if poll(&waiting, 1, Int32(min(left.inSeconds * 1000, 60_000)) + 1) > 0 { return }
    }
  }

  private func send(_ text: String) throws {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count < 0, errno == EINTR { continue }
      // A daemon that refuses the connection has sent the reason before it closed it.
      if count < 0, errno == EPIPE { return }
      if count < 0, errno == EAGAIN { throw silence }
      guard count > 0 else {
        throw CommandFailure(.socket, "can't write to the daemon: \(SystemError(errno).text)")
      }
      rest = rest.dropFirst(count)
    }
  }
}
