internal import EventLoop
internal import Glibc

/// A real icecast2 on a free port of 127.0.0.1, ended with its last reference.
public final class Icecast: Sendable {
  /// The port.
  public let port: UInt16
  private static let password = "hackme"
  private let server: ServerProcess
  private let folder: TemporaryFolder

  /// Starts the server.
  /// - Parameter burst: the most bytes that a new listener receives at once.
  /// - Throws: `TestFailure` when icecast2 is not installed, or does not start.
  public init(burst: Int = 65_535) throws {
    let folder = try TemporaryFolder()
    // As root it changes its user, who must be able to read and write here.
    chmod(folder.path, 0o777)
    var attempts = 0
    while true {
      let (reserve, port) = try Socket.bound(port: 0)
      close(reserve)
      attempts += 1
      let configuration = try folder.write(
        Array(Self.configuration(port: port, burst: burst, folder: folder.path).utf8), to: "icecast.xml")
      let server = try ServerProcess("icecast2", ["-c", configuration], log: folder.file("log-\(attempts)"))
      do {
        try server.wait(for: "icecast2 to listen") { _ in try? close(Socket.connected(to: port)) }
        // Icecast 2.4.4 may crash on a request before all its threads run, which it does not report. One in
        // 70 starts.
        usleep(300_000)
        // Another server, even another Icecast, may have the port: the response must be of this one.
        let greeting = "GET / HTTP/1.0\r\n\r\n"
        try server.wait(for: "icecast2 to answer") { _ -> Bool? in
          guard let source = try? Source(port: port, head: greeting), source.answer.contains(folder.path)
          else {
            return nil
          }
          return true
        }
        usleep(100_000)
        if server.isRunning {
          (self.server, self.port, self.folder) = (server, port, folder)
          return
        }
      } catch { if attempts == 5 { throw error } }
      if attempts == 5 { throw TestFailure("icecast2 does not stay: \(server.output)") }
    }
  }

  /// Returns the URL of a mount, which begins with a slash.
  public func url(_ mount: String) -> String { "http://127.0.0.1:\(port)\(mount)" }

  /// Returns the URL at which ffmpeg sends the sound of a mount.
  public func sourceURL(_ mount: String) -> String {
    "icecast://source:\(Self.password)@127.0.0.1:\(port)\(mount)"
  }

  /// Returns `true` if a mount has a source.
  public func hasSource(_ mount: String) -> Bool {
    let source = try? Source(port: port, head: "GET \(mount) HTTP/1.0\r\n\r\n")
    return source?.answer.contains(" 200 OK") == true
  }

  /// Opens `mount` for a source.
  public func source(_ mount: String, type: String = "audio/mpeg") throws -> Source {
    let source = try Source(
      port: port,
      head: """
        SOURCE \(mount) HTTP/1.0\r
        Authorization: Basic \(base64("source:\(Self.password)"))\r
        Content-Type: \(type)\r
        Ice-Name: Test station\r
        Ice-Bitrate: 128\r
        Ice-Public: 0\r
        \r

        """)
    try check(source, mount)
    return source
  }

  /// Checks the response to a source or a command.
  /// - Throws: `TestFailure`, with Icecast's log, unless the response is 200.
  private func check(_ source: Source, _ mount: String) throws {
    guard !source.answer.contains(" 200 OK") else { return }
    let log = (try? readBytes(folder.file("error.log"))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    throw TestFailure(
      "icecast2 says \"\(source.answer)\" to a source of \(mount)\(isRunning ? "" : " and ended"): \(server.output) \(log)"
    )
  }

  /// Sets the title of the sound sent to `mount` from now on. Letters and digits only.
  public func setTitle(_ title: String, of mount: String) throws {
    let head = """
      GET /admin/metadata?mode=updinfo&mount=\(mount)&song=\(title) HTTP/1.0\r
      Authorization: Basic \(base64("source:\(Self.password)"))\r
      \r

      """
    try check(try Source(port: port, head: head), mount)
  }

  /// `true` if icecast2 still runs.
  public var isRunning: Bool { server.isRunning }

  /// A source that sends a programme to a server. For one thread.
  public final class Source {
    private let descriptor: Int32
    /// The head of the server's response, empty when the server hung up.
    let answer: String

    fileprivate init(port: UInt16, head: String) throws {
      descriptor = try Socket.connected(to: port)
      _ = Self.sendAll(Array(head.utf8), to: descriptor)
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = recv(descriptor, &bytes, bytes.count, 0)
      answer = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    deinit { close(descriptor) }

    /// Sends bytes of the programme.
    public func send(_ bytes: [UInt8]) throws {
      guard Self.sendAll(bytes, to: descriptor) else { throw TestFailure("icecast2 has dropped its source") }
    }

    private static func sendAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }

  private static func configuration(port: UInt16, burst: Int, folder: String) -> String {
    let owner = "<changeowner><user>nobody</user><group>nogroup</group></changeowner>"
    return """
      <icecast>
        <location>here</location>
        <admin>nobody@localhost</admin>
        <hostname>localhost</hostname>
        <server-id>Icecast of \(folder)</server-id>
        <limits>
          <clients>1100</clients>
          <sources>10</sources>
          <queue-size>1048576</queue-size>
          <source-timeout>60</source-timeout>
          <burst-on-connect>\(burst > 0 ? 1 : 0)</burst-on-connect>
          <burst-size>\(burst)</burst-size>
        </limits>
        <authentication>
          <source-password>\(password)</source-password>
          <admin-user>admin</admin-user>
          <admin-password>\(password)</admin-password>
        </authentication>
        <listen-socket><port>\(port)</port><bind-address>127.0.0.1</bind-address></listen-socket>
        <fileserve>0</fileserve>
        <paths>
          <basedir>/usr/share/icecast2</basedir>
          <logdir>\(folder)</logdir>
          <webroot>/usr/share/icecast2/web</webroot>
          <adminroot>/usr/share/icecast2/admin</adminroot>
        </paths>
        <logging><accesslog>access.log</accesslog><errorlog>error.log</errorlog><loglevel>2</loglevel></logging>
        <security><chroot>0</chroot>\(geteuid() == 0 ? owner : "")</security>
      </icecast>
      """
  }
}
