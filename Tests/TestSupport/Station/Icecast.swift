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
  /// - Parameter burst: bytes that a new listener gets at once at most.
  /// - Throws: `TestFailure` when icecast2 is not installed, or does not start.
  public init(burst: Int = 65_535) throws {
    let folder = try TemporaryFolder()
    // As root it becomes somebody else, who must be able to read and write here.
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
        // By the time it accepts, it is ready; another process may have taken the port before it.
        try server.wait(for: "icecast2 to listen") { _ in try? close(Socket.connected(to: port)) }
        if server.isRunning {
          (self.server, self.port, self.folder) = (server, port, folder)
          return
        }
      } catch { if attempts == 5 { throw error } }
      if attempts == 5 { throw TestFailure("icecast2 finds no port: \(server.output)") }
    }
  }

  /// The URL of a mount, which begins with a slash.
  public func url(_ mount: String) -> String { "http://127.0.0.1:\(port)\(mount)" }

  /// Opens `mount` for what this source sends.
  public func source(_ mount: String, type: String = "audio/mpeg") throws -> Source {
    try Source(
      port: port, mount: mount,
      head: """
        SOURCE \(mount) HTTP/1.0\r
        Authorization: Basic \(base64("source:\(Self.password)"))\r
        Content-Type: \(type)\r
        Ice-Name: Test station\r
        Ice-Bitrate: 128\r
        Ice-Public: 0\r
        \r

        """)
  }

  /// Sets the title of what is sent to `mount` from now on. Letters and digits only.
  public func setTitle(_ title: String, of mount: String) throws {
    let head = """
      GET /admin/metadata?mode=updinfo&mount=\(mount)&song=\(title) HTTP/1.0\r
      Authorization: Basic \(base64("source:\(Self.password)"))\r
      \r

      """
    let answer = try Source(port: port, mount: mount, head: head)
    guard answer.status.contains("200") else {
      throw TestFailure("icecast2 takes no title: \(answer.status)")
    }
  }

  /// Whether icecast2 still runs.
  public var isRunning: Bool { server.isRunning }

  /// Who sends a programme to a server. For one thread.
  public final class Source {
    private let descriptor: Int32
    /// The status line that the server gave.
    let status: String

    fileprivate init(port: UInt16, mount: String, head: String) throws {
      descriptor = try Socket.connected(to: port)
      guard Self.sendAll(Array(head.utf8), to: descriptor) else {
        close(descriptor)
        throw TestFailure("icecast2 hears nothing")
      }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = recv(descriptor, &bytes, bytes.count, 0)
      let answer = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      status = String(answer.prefix { $0 != "\r\n" })
      guard status.contains(" 200") else {
        close(descriptor)
        throw TestFailure("icecast2 says \(status) to \(mount)")
      }
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
