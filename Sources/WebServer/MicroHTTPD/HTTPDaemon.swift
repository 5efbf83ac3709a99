internal import CMicroHTTPD
package import EventLoop
internal import Glibc

/// A server of HTTP by libmicrohttpd on a listening socket. Any thread.
///
/// With a thread of its own for all connections, requests may wait for their answers without a thread, and have a
/// limit of time. With a thread for each connection, a reader of an answer may wait for its bytes.
package final class HTTPDaemon: Sendable {
  static let library = SharedLibrary<mhd_library>(
    "libmicrohttpd.so.12", package: "libmicrohttpd12", names: mhd_names())
  /// The failure to load libmicrohttpd; nil when it is there.
  package static var libraryFailure: LibraryError? { library.failure }

  /// The threads of a server.
  package enum Threads: Sendable {
    /// A thread for each connection.
    case perConnection
    /// One thread, which sleeps in epoll; a request is complete within the deadline, or its connection ends.
    case one(ConnectionDeadlines)
  }

  /// The limits of a server.
  package struct Limits: Sendable {
    /// The most connections, and the most of one address.
    package var connections: UInt32, perAddress: UInt32
    /// The seconds without a byte after which a connection ends.
    package var idleSeconds: UInt32
    /// The most bytes of the memory of a connection, which holds the head of a request.
    package var head = 32 << 10
    /// The most bytes of a body that are received in order to be ignored: a client that is still sending would not
    /// read an early answer.
    package var ignoredBody = 0

    package init(connections: UInt32, perAddress: UInt32, idleSeconds: UInt32) {
      (self.connections, self.perAddress, self.idleSeconds) = (connections, perAddress, idleSeconds)
    }
  }

  /// The certificate of a server and its private key, both PEM.
  package struct Identity: Sendable, Equatable {
    package let certificate: [UInt8], key: [UInt8]
    package init(certificate: [UInt8], key: [UInt8]) { (self.certificate, self.key) = (certificate, key) }
  }

  private enum Phase { case serving, quiesced, stopped }

  // Sendable: made for calls of any thread; `phase` lets one of them end it.
  private nonisolated(unsafe) let daemon: OpaquePointer
  private let phase = Lock(Phase.serving)
  private let core: HTTPDaemonCore

  /// Starts to serve.
  /// - Parameters:
  ///   - listener: a listening socket, which is closed with the server, also after a failure.
  ///   - identity: the certificate for TLS; nil for plain HTTP.
  ///   - accept: decides on a request by its head; called on the threads of the server.
  /// - Throws: `web.library`, `web.failed`.
  package init(
    listener: Int32, threads: Threads, limits: Limits, identity: Identity? = nil,
    accept: @escaping @Sendable (RequestHead) -> RequestVerdict
  ) throws(WebError) {
    let mhd: mhd_library
    do throws(LibraryError) { mhd = try Self.library.functions } catch {
      Glibc.close(listener)
      throw WebError(.library, error.message, hint: error.hint)
    }
    var deadlines: ConnectionDeadlines?
    if case .one(let own) = threads { deadlines = own }
    core = HTTPDaemonCore(mhd, deadlines, ignoredBody: limits.ignoredBody, accept)
    // The core outlives the daemon, which is stopped before it is released.
    let context = Unmanaged.passUnretained(core).toOpaque()
    // Threads of the daemon inherit the mask: signals are for the loop.
    var (blocked, before) = (sigset_t(), sigset_t())
    sigfillset(&blocked)
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&blocked, fault) }
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    let socket = Self.fileNumber(listener)
    let started = Self.withText(identity?.certificate) { certificate in
      Self.withText(identity?.key) { key in
        mhd_start(
          mhd,
          mhd_settings(
            listener: listener, threads_per_connection: deadlines == nil ? 1 : 0,
            connections: limits.connections, connections_per_address: limits.perAddress,
            idle_seconds: limits.idleSeconds, head: limits.head, certificate: certificate, key: key,
            context: context, handler: HTTPDaemonCore.handler, completed: HTTPDaemonCore.completed,
            connection: HTTPDaemonCore.connection))
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard let started else {
      // libmicrohttpd has closed it after some failures, and the number may be another file's by now.
      if Self.fileNumber(listener) == socket { Glibc.close(listener) }
      throw WebError(.failed, "libmicrohttpd does not start the server")
    }
    daemon = started
  }

  deinit { stop() }

  /// Accepts no further connections, and answers the requests that wait with 503. A second call does nothing. Not beside
  /// `stop`.
  package func quiesce() {
    let isFirst = phase.withLock { phase in
      guard phase == .serving else { return false }
      phase = .quiesced
      return true
    }
    // libmicrohttpd returns the number of the socket at each call, and it may be another file's by the second one.
    guard isFirst else { return }
    core.end()
    let listener = core.mhd.MHD_quiesce_daemon(daemon)
    if listener >= 0 { Glibc.close(listener) }
  }

  /// Ends the listening, all connections and their threads; waits for the calls of file systems that they are in.
  /// A second call does nothing. Requests that wait are answered on the thread that calls this.
  package func stop() {
    let isFirst = phase.withLock { phase in
      defer { phase = .stopped }
      return phase != .stopped
    }
    guard isFirst else { return }
    core.end()
    core.mhd.MHD_stop_daemon(daemon)
    withExtendedLifetime(core) {}
  }

  /// Returns the number of the file or socket that a descriptor stands for; nil for a closed one.
  private static func fileNumber(_ descriptor: Int32) -> UInt? {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? UInt(status.st_ino) : nil
  }

  /// Calls `body` with a text of C; with nil without bytes.
  private static func withText<Result>(
    _ bytes: [UInt8]?, _ body: (UnsafePointer<CChar>?) -> Result
  ) -> Result {
    guard let bytes else { return body(nil) }
    return (bytes + [0]).withUnsafeBytes { body($0.bindMemory(to: CChar.self).baseAddress) }
  }
}
