internal import Glibc

/// A real server of RTSP (gst-rtsp-server) on a free port of 127.0.0.1, ended with its last reference.
public final class RTSPServer: Sendable {
  /// The port; with TLS or losses that of a relay in front of the server.
  public let port: UInt16
  private let isSecure: Bool
  private let process: ServerProcess
  private let folder: TemporaryFolder

  /// Starts the server.
  /// - Parameters:
  ///   - pipelines: a pipeline of GStreamer for each path, whose last part is called `pay0`.
  ///   - user: a user who must log in by a digest.
  ///   - isSecure: `true` for TLS, with a certificate of its own for localhost.
  ///   - losing: the numbers of the packets of sound that a relay leaves out of each connection.
  /// - Throws: `TestFailure` when the server is not installed, or does not start.
  public init(
    _ pipelines: [String: String], user: (name: String, password: String)? = nil, isSecure: Bool = false,
    losing: Range<Int> = 0..<0
  ) throws {
    folder = try TemporaryFolder()
    self.isSecure = isSecure
    var arguments = [user.map { "\($0.name):\($0.password)" } ?? ""]
    if isSecure {
      try Command.succeed(
        "openssl",
        [
          "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder.file("key.pem"), "-out",
          folder.file("certificate.pem"), "-days", "2", "-subj", "/CN=localhost", "-addext",
          "subjectAltName=DNS:localhost",
        ])
      arguments.append(folder.path)
    } else {
      arguments.append("")
    }
    arguments.append("\(losing.lowerBound)-\(losing.upperBound)")
    arguments += pipelines.map { "\($0.key)=\($0.value)" }.sorted()
    // The system's Python: packages of Debian are not in others.
    process = try ServerProcess(
      "/usr/bin/python3", ["-c", Self.program] + arguments, log: folder.file("log"))
    port = try process.wait(for: "gst-rtsp-server to listen") { output in
      output.firstRange(of: "port ").flatMap { found in
        UInt16(output[found.upperBound...].prefix { $0.isNumber })
      }
    }
  }

  /// The path of its certificate.
  public var certificate: String { folder.file("certificate.pem") }

  /// Returns the URL of a path.
  public func url(_ path: String) -> String {
    isSecure ? "rtsps://localhost:\(port)/\(path)" : "rtsp://127.0.0.1:\(port)/\(path)"
  }

  private static let program = """
    import socket, ssl, sys, threading
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtsp", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GLib, Gst, GstRtsp, GstRtspServer

    Gst.init(None)
    server = GstRtspServer.RTSPServer.new()
    server.set_address("127.0.0.1")
    server.set_service("0")
    user, folder, losing = sys.argv[1:4]
    first, last = map(int, losing.split("-"))
    if user:
        name, password = user.split(":")
        auth = GstRtspServer.RTSPAuth.new()
        auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
        token = GstRtspServer.RTSPToken.new()
        token.set_string("media.factory.role", "listener")
        auth.add_digest(name, password, token)
        server.set_auth(auth)
    for argument in sys.argv[4:]:
        path, pipeline = argument.split("=", 1)
        factory = GstRtspServer.RTSPMediaFactory.new()
        factory.set_launch("( %s )" % pipeline)
        if user:
            permissions = GstRtspServer.RTSPPermissions.new()
            permissions.add_permission_for_role("listener", "media.factory.access", True)
            permissions.add_permission_for_role("listener", "media.factory.construct", True)
            factory.set_permissions(permissions)
        server.get_mount_points().add_factory("/" + path, factory)
    server.attach(None)

    def message(data):
        if data[:1] == b"$":
            return 4 + int.from_bytes(data[2:4], "big") if len(data) >= 4 else None
        end = data.find(b"\\r\\n\\r\\n")
        if end < 0:
            return None
        length = 0
        for line in data[:end].lower().split(b"\\r\\n"):
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return end + 4 + length

    def kept(source):
        data, number = b"", 0
        while more := source.recv(65536):
            data += more
            while (length := message(data)) and len(data) >= length:
                part, data = data[:length], data[length:]
                if part[:2] == b"$\\0":
                    number += 1
                    if first <= number < last:
                        continue
                yield part

    def copy(source, target):
        try:
            for data in kept(source):
                target.sendall(data)
        except OSError:
            pass
        for end in source, target:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def relay(client, context):
        try:
            if context:
                client = context.wrap_socket(client, server_side=True)
            peer = socket.create_connection(("127.0.0.1", server.get_bound_port()))
        except OSError:
            return
        threading.Thread(target=copy, args=(client, peer), daemon=True).start()
        copy(peer, client)

    def accept(listener, context):
        while True:
            client, _ = listener.accept()
            threading.Thread(target=relay, args=(client, context), daemon=True).start()

    port = server.get_bound_port()
    if folder or last:
        context = None
        if folder:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder + "/certificate.pem", folder + "/key.pem")
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        threading.Thread(target=accept, args=(listener, context), daemon=True).start()
    print("port %d" % port, flush=True)
    GLib.MainLoop().run()
    """
}
