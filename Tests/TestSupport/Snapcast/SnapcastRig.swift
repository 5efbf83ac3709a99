internal import AudioCore
internal import Glibc

/// A real snapserver on loopback with clients that write what they play to files. Both end with the object. For one
/// thread.
public final class SnapcastRig {
  /// Port of the control.
  public let controlPort: Int
  /// Port for clients.
  public let clientPort: Int
  private let folder = try? TemporaryFolder()
  private let configuration: String
  private let records: Bool
  private var server: pid_t = 0
  private var clients: [String: pid_t] = [:]

  /// Starts a server with streams for so many sessions and an idle one, and clients by their ids; returns when all are
  /// connected.
  /// - Parameters:
  ///   - buffer: the buffer of the server in milliseconds.
  ///   - records: `false` for clients that write nothing.
  /// - Throws: `TestFailure` when the programs are missing or do not start.
  public init(
    clients: [String] = ["kitchen", "bedroom"], sessions: Int = 3, buffer: Int = 1000, records: Bool = true
  ) throws {
    self.records = records
    let ports = try Self.freePorts(sessions + 3)
    (controlPort, clientPort) = (ports[0], ports[1])
    guard let folder else { throw TestFailure("no folder for a snapserver") }
    let sources = ports[2...].enumerated().map { index, port in
      "source = tcp://127.0.0.1:\(port)?name=roomtone-\(index == 0 ? "idle" : "\(index)")&mode=server"
    }
    let text = """
      [server]
      datadir = \(folder.path)
      [http]
      enabled = false
      [tcp]
      bind_to_address = 127.0.0.1
      port = \(controlPort)
      [stream]
      bind_to_address = 127.0.0.1
      port = \(clientPort)
      buffer = \(buffer)
      \(sources.joined(separator: "\n"))
      [logging]
      sink = null

      """
    configuration = try folder.write(Array(text.utf8), to: "snapserver.conf")
    try startServer()
    for client in clients { try startClient(client) }
    try awaitClients()
  }

  deinit {
    for client in clients.keys { stopClient(client) }
    killServer()
  }

  /// Starts the server on the ports of before.
  public func startServer() throws {
    server = try Self.start(["snapserver", "--config=\(configuration)"])
    for _ in 0..<500 {
      if (try? SnapcastController(port: controlPort)) != nil { return }
      usleep(10_000)
    }
    throw TestFailure("the snapserver does not start")
  }

  /// Ends the server with SIGKILL.
  public func killServer() {
    guard server > 0 else { return }
    Self.end(server)
    server = 0
  }

  /// Starts a client on a port of loopback. It is started again when it crashes, as Debian's service is: snapclient 0.26
  /// now and then does when its server is killed.
  /// - Parameter file: path of the file that receives what it plays; by default one of its own.
  public func startClient(_ id: String, port: Int? = nil) throws {
    clients[id] = try Self.start([
      "sh", "-c", #"for start in 1 2 3 4 5; do setpriv --pdeathsig KILL "$@" && break; sleep 0.1; done"#,
      "sh", "snapclient", "--host", "127.0.0.1", "--port", "\(port ?? clientPort)", "--hostID", id,
      "--player",
      "file:filename=\(records ? path(of: id) : "null"),mode=a", "--logsink", "null",
    ])
  }

  /// Ends a client.
  public func stopClient(_ id: String) {
    if let client = clients.removeValue(forKey: id) { Self.end(client) }
  }

  /// Waits until all clients are connected.
  /// - Throws: `TestFailure` after 20 s.
  public func awaitClients() throws {
    let controller = try SnapcastController(port: controlPort)
    for _ in 0..<1000 {
      let status = try controller.request("Server.GetStatus")
      if status.split(separator: "\"connected\":true", omittingEmptySubsequences: false).count > clients.count
      {
        return
      }
      usleep(20_000)
    }
    throw TestFailure("the clients \(clients.keys.sorted()) do not connect")
  }

  private func path(of client: String) -> String { (folder?.path ?? "/tmp") + "/\(client).pcm" }

  /// Begins to observe when the clients play what.
  public func playTimes() throws -> PlayTimes {
    try PlayTimes(Dictionary(uniqueKeysWithValues: clients.keys.map { ($0, path(of: $0)) }))
  }

  /// Returns what a client has played so far, from its start.
  /// - Parameter frames: the frames of the file that are of interest, as far as they are there; all by default.
  public func played(by client: String, frames: Range<Int>? = nil) throws -> Sound {
    let bytes = try readBytes(path(of: client), frames.map { 4 * $0.lowerBound..<4 * $0.upperBound })
    let samples = (0..<bytes.count / 4 * 2).map { place in
      SampleConversion.float(Int16(bitPattern: UInt16(bytes[2 * place]) | UInt16(bytes[2 * place + 1]) << 8))
    }
    return Sound(interleaved: samples, format: AudioFormat(sampleRate: 48_000, channels: 2))
  }

  /// Returns the silences of a client's file, which are longer than 2 ms.
  /// - Parameter start: the first frame that is examined.
  public func silences(of client: String, from start: Int) throws -> [Range<Int>] {
    var (silences, first, place): ([Range<Int>], Int?, Int) = ([], nil, start)
    while true {
      let bytes = try readBytes(path(of: client), 4 * place..<4 * (place + 480_000))
      let count = bytes.count / 4
      bytes.withUnsafeBytes { bytes in
        for frame in 0..<count {
          if bytes.loadUnaligned(fromByteOffset: 4 * frame, as: UInt32.self) == 0 {
            first = first ?? place + frame
          } else if let begin = first {
            if place + frame - begin > 96 { silences.append(begin..<place + frame) }
            first = nil
          }
        }
      }
      place += count
      guard count == 480_000 else { return silences }
    }
  }

  /// The id of the server's process.
  public var serverProcess: Int32 { server }

  private static func start(_ arguments: [String]) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor: CInt in 0...2 {
      posix_spawn_file_actions_addopen(
        &actions, descriptor, "/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY, 0)
    }
    return try spawn("setpriv", ["--pdeathsig", "KILL"] + arguments, &actions)
  }

  private static func end(_ process: pid_t) {
    kill(process, SIGKILL)
    while waitpid(process, nil, 0) < 0 && errno == EINTR {}
  }

  /// Returns ports of loopback that are free at this moment.
  public static func freePorts(_ count: Int) throws -> [Int] {
    let sockets = (0..<count).map { _ in
      socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }
    defer { for socket in sockets { close(socket) } }
    return try sockets.map { socket in
      var address = loopback(port: 0)
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let status = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          bind(socket, pointer, length) == 0 ? getsockname(socket, pointer, &length) : -1
        }
      }
      guard status == 0 else { throw TestFailure("no port is free") }
      return Int(UInt16(bigEndian: address.sin_port))
    }
  }
}

/// Another controller of a snapserver, as an app on a telephone is. For one thread.
public final class SnapcastController {
  private let socket: CInt
  private var input: [UInt8] = []

  /// Connects to the control at a port of loopback.
  /// - Throws: `TestFailure`.
  public init(port: Int) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = loopback(port: port)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    // The socket is closed by deinit, also now.
    guard status == 0 else { throw TestFailure("nothing listens at port \(port)") }
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(socket) }

  /// Sends a request with parameters as JSON text, and returns the line of its response.
  @discardableResult
  public func request(_ method: String, _ parameters: String = "{}") throws -> String {
    let line = "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"\(method)\",\"params\":\(parameters)}\r\n"
    let bytes = Array(line.utf8)
    guard send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw TestFailure("the snapserver accepts no request")
    }
    while true {
      if let end = input.firstIndex(of: 10) {
        let text = String(decoding: input[..<end], as: UTF8.self)
        input.removeFirst(end + 1)
        if text.contains("\"id\":77") { return text }
        continue
      }
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let count = read(socket, &chunk, chunk.count)
      guard count > 0 else { throw TestFailure("the snapserver does not answer \(method)") }
      input += chunk[..<count]
    }
  }

  /// Returns the id of the group of a client.
  public func group(of client: String) throws -> String {
    let status = try request("Server.GetStatus")
    // Groups are objects whose clients come before their id.
    guard let place = status.range(of: "\"id\":\"\(client)\"")?.upperBound,
      let end = status.range(of: "}],\"id\":\"", from: place)?.upperBound
    else { throw TestFailure("there is no client \(client) in \(status)") }
    return String(status[end...].prefix { $0 != "\"" })
  }
}

extension String {
  fileprivate func range(of text: String, from start: Index? = nil) -> Range<Index>? {
    var place = start ?? startIndex
    while place < endIndex {
      if self[place...].hasPrefix(text) { return place..<index(place, offsetBy: text.count) }
      place = index(after: place)
    }
    return nil
  }
}

private func loopback(port: Int) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  address.sin_port = UInt16(port).bigEndian
  return address
}
