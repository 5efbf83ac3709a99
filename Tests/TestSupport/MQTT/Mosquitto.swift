internal import EventLoop
internal import Glibc

/// Debian's mosquitto on a free port of 127.0.0.1, for the time of a test. The service that its package installs is not
/// used.
public final class Mosquitto {
  /// The port.
  public let port: Int
  /// The folder of its files.
  public let folder: TemporaryFolder
  private var process: ServerProcess?
  private var starts = 0

  /// Starts a broker.
  /// - Parameters:
  ///   - settings: further lines of its configuration, after `listener`; `FOLDER` in them is its folder.
  ///   - isOpen: `true` if no login is needed.
  ///   - port: the port; nil for a free one.
  public init(
    _ settings: [String] = [], isOpen: Bool = true, port: Int? = nil,
    prepare: (TemporaryFolder) throws -> Void = { _ in }
  ) throws {
    folder = try TemporaryFolder()
    // mosquitto gives up the rights of root, and still has to read its files.
    chmod(folder.path, 0o755)
    try prepare(folder)
    self.port = try port ?? LoopbackListener(blocks: false).port
    let lines =
      ["listener \(self.port) 127.0.0.1", "user root", "allow_anonymous \(isOpen)"]
      + settings.map { line in
        line.split(separator: " ").map { $0.hasPrefix("FOLDER") ? folder.path + $0.dropFirst(6) : String($0) }
          .joined(separator: " ")
      }
    _ = try folder.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: "mosquitto.conf")
    try start()
  }

  /// Starts the broker again after `kill`.
  public func start() throws {
    starts += 1
    let log = folder.file("log\(starts)")
    let program = access("/usr/sbin/mosquitto", X_OK) == 0 ? "/usr/sbin/mosquitto" : "mosquitto"
    let process = try ServerProcess(program, ["-c", folder.file("mosquitto.conf")], log: log)
    try process.wait(for: "mosquitto to listen") { $0.firstRange(of: "running") == nil ? nil : () }
    self.process = process
  }

  /// Kills the broker.
  public func kill() {
    process?.end()
    process = nil
  }

  /// The output of the last start.
  public var output: String { process?.output ?? "" }
}

/// A server that accepts connections at a port of 127.0.0.1, and does with each of them as a test says.
public final class FakeBroker: Sendable {
  private let listener: LoopbackListener
  private let accepted = Lock(0)
  /// The port.
  public var port: Int { listener.port }
  /// The number of connections so far.
  public var connections: Int { accepted.withLock { $0 } }

  /// Serves each connection on a thread of its own.
  /// - Parameter serve: reads and writes the descriptor, which is closed after it.
  public init(_ serve: @escaping @Sendable (Int32) -> Void) throws {
    let listener = try LoopbackListener(blocks: true)
    self.listener = listener
    let accepted = accepted
    try startDetachedThread("no thread for a broker") {
      while let connection = listener.accept() {
        accepted.withLock { $0 += 1 }
        try? startDetachedThread("no thread for a connection") {
          serve(connection)
          close(connection)
        }
      }
    }
  }

  deinit { listener.shutDown() }

  /// Waits for the login, and accepts it.
  public static func greet(_ connection: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    guard read(connection, &buffer, buffer.count) > 0 else { return }
    send(connection, isFive(buffer) ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0])
  }

  /// Returns `true` for a login of MQTT 5.
  public static func isFive(_ login: [UInt8]) -> Bool {
    guard let name = login.firstIndex(of: UInt8(ascii: "M")), name + 4 < login.count else { return false }
    return login[name + 4] == 5
  }

  /// Writes bytes.
  /// - Returns: `false` if the other side is gone.
  @discardableResult
  public static func send(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(
          connection, $0.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  /// Returns a message of quality 0 in the form of MQTT 5.
  /// - Parameter length: the length that its head states; nil for the right one.
  public static func message(_ topic: [UInt8], _ payload: [UInt8], length: Int? = nil) -> [UInt8] {
    var body: [UInt8] = [UInt8(topic.count >> 8), UInt8(topic.count & 0xFF)] + topic + [0]
    body += payload
    var (head, rest): ([UInt8], Int) = ([0x30], length ?? body.count)
    repeat {
      head.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
      rest >>= 7
    } while rest > 0
    return head + body
  }

  /// Waits until the other side ends the connection.
  public static func waitForEnd(_ connection: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while read(connection, &buffer, buffer.count) > 0 {}
  }
}
