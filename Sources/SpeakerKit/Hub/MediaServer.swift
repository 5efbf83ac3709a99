internal import CMicroHTTPD
internal import Crypto
package import EventLoop
internal import Glibc

/// Serves media to a hub: HTTP at one address of this machine, each medium under a path that can't be guessed. Confined
/// to the loop; its connections have threads of their own.
final class MediaServer {
  private static let library = SharedLibrary<mhd_library>(
    "libmicrohttpd.so.12", package: "libmicrohttpd12", names: mhd_names())
  /// The failure to load libmicrohttpd; nil when it is there.
  static var libraryFailure: LibraryError? { library.failure }

  /// Media by their paths, and the library that serves them.
  private final class Shelf: Sendable {
    let media = Lock<[String: Media]>([:])
    let mhd: mhd_library
    init(_ mhd: mhd_library) { self.mhd = mhd }
  }

  /// The address and the port at which it serves.
  let address: String
  let port: Int
  private let shelf: Shelf
  /// The daemon with its connections.
  private let daemon: Daemon

  /// The daemon of libmicrohttpd, which is stopped once, and the shelf that it refers to. Any thread.
  private final class Daemon: Sendable {
    // Sendable: made for calls of any thread; `isStopped` lets one of them end it.
    private nonisolated(unsafe) let daemon: OpaquePointer
    private let isStopped = Lock(false)
    private let shelf: Shelf

    init(_ daemon: OpaquePointer, _ shelf: Shelf) { (self.daemon, self.shelf) = (daemon, shelf) }

    /// Ends the listening, all connections and their threads; waits for the calls of file systems that they are in.
    func stop() {
      let isFirst = isStopped.withLock { isStopped in
        defer { isStopped = true }
        return !isStopped
      }
      guard isFirst else { return }
      shelf.mhd.MHD_stop_daemon(daemon)
      withExtendedLifetime(shelf) {}
    }
  }

  /// Starts to serve.
  /// - Parameters:
  ///   - address: an IPv4 address of this machine.
  ///   - port: 0 for a free one.
  /// - Throws: `speaker.lost` when the machine has no such address, the port is in use, or libmicrohttpd can't be
  ///   loaded.
  init(address: String, port: Int) throws(SpeakerError) {
    let shelf: Shelf
    do throws(LibraryError) { shelf = Shelf(try Self.library.functions) } catch {
      throw SpeakerError(.lost, "can't serve the hub: \(error.message)", hint: error.hint)
    }
    let (listener, bound) = try Self.listener(address, port)
    // The shelf outlives the daemon, which is stopped before it is released.
    let context = Unmanaged.passUnretained(shelf).toOpaque()
    // Threads of the daemon inherit the mask: signals are for the loop.
    var (blocked, before) = (sigset_t(), sigset_t())
    sigfillset(&blocked)
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&blocked, fault) }
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    let started = mhd_start(
      shelf.mhd, listener,
      { context, connection, url, method, _, _, _, _ in
        guard let context, let connection, let url, let method else { return .NO }
        let shelf = Unmanaged<Shelf>.fromOpaque(context).takeUnretainedValue()
        return MediaServer.answer(
          shelf.mhd, connection, String(cString: method), shelf.media.withLock { $0[String(cString: url)] })
      }, context)
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard let started else {
      Glibc.close(listener)
      throw SpeakerError(.lost, "the endpoint for the hub can't be started at \(address) port \(bound)")
    }
    daemon = Daemon(started, shelf)
    (self.shelf, self.address, self.port) = (shelf, address, bound)
  }

  deinit { stop() }

  /// Ends all connections and their threads, which another thread waits for: one may be in the call of a file system that
  /// does not answer.
  func close(on loop: EventLoop) async {
    withdrawAll()
    let daemon = daemon
    // Without a thread there is no other way than to wait here.
    do { _ = try await loop.callFiles(atMost: FileDeadline.limit * 2) { daemon.stop() } } catch { stop() }
  }

  /// Ends all connections and their threads, and waits for them.
  func stop() {
    withdrawAll()
    daemon.stop()
  }

  private func withdrawAll() {
    shelf.media.withLock { media in
      for medium in media.values { medium.drop() }
      media = [:]
    }
  }

  /// Publishes a medium.
  /// - Returns: its path, which is secret.
  /// - Throws: `speaker.lost` on a machine without random numbers.
  func publish(_ media: Media) throws(SpeakerError) -> String {
    guard let random = Digest.randomBytes(16) else {
      throw SpeakerError(.lost, "the machine has no random numbers for the path of a medium")
    }
    let digits = random.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let path = "/\(digits)/sound.wav"
    shelf.media.withLock { $0[path] = media }
    return path
  }

  /// Returns the URL of a path.
  func url(_ path: String) -> String { "http://\(address):\(port)\(path)" }

  /// Ends the delivery of a medium.
  func withdraw(_ path: String) { shelf.media.withLock { $0.removeValue(forKey: path) }?.drop() }

  private static func listener(_ address: String, _ port: Int) throws(SpeakerError) -> (Int32, Int) {
    func failure(_ reason: String) -> SpeakerError {
      SpeakerError(
        .lost, "can't serve the hub at \(address) port \(port): \(reason)",
        hint: "`serve` is the address of this machine that the hub can reach; `ip -4 address` lists them")
    }
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = UInt16(port).bigEndian
    guard inet_pton(AF_INET, address, &place.sin_addr) == 1 else {
      throw failure("it is not an IPv4 address")
    }
    let fd = socket(
      AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard fd >= 0 else { throw failure(SystemError(errno).text) }
    var one: Int32 = 1
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(fd, pointer, length) == 0 && listen(fd, 16) == 0 ? getsockname(fd, pointer, &length) : -1
      }
    }
    guard status == 0 else {
      let reason = SystemError(errno).text
      Glibc.close(fd)
      throw failure(reason)
    }
    return (fd, Int(UInt16(bigEndian: place.sin_port)))
  }

  // MARK: Answers, on the threads of connections

  private static func answer(
    _ mhd: mhd_library, _ connection: OpaquePointer, _ method: String, _ media: Media?
  ) -> MHD_Result {
    guard method == "GET" || method == "HEAD" else { return refuse(mhd, connection, 405) }
    guard let media else { return refuse(mhd, connection, 404) }
    var range: Range<Int>?
    let stated = mhd.MHD_lookup_connection_value(connection, .HEADER_KIND, "Range")
      .map { String(cString: $0) }
    if let bytes = media.bytes, let stated {
      switch ByteRange(stated, of: bytes) {
      case .whole: break
      case .part(let part): range = part
      case .outside: return refuse(mhd, connection, 416, [("Content-Range", "bytes */\(bytes)")])
      }
    }
    let first = range?.lowerBound ?? 0
    let reader = Unmanaged.passRetained(MediaReader(media, firstByte: first))  // released by the response
    let size = (range?.count ?? media.bytes).map(UInt64.init) ?? mhd_size_unknown
    let response = mhd.MHD_create_response_from_callback(
      size, 16_384,
      { context, _, buffer, room in
        guard let context, let buffer else { return -2 }
        let reader = Unmanaged<MediaReader>.fromOpaque(context).takeUnretainedValue()
        switch reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: room)) {
        case .bytes(let count): return count
        case .end: return -1  // MHD_CONTENT_READER_END_OF_STREAM
        case .failed: return -2  // MHD_CONTENT_READER_END_WITH_ERROR
        }
      }, reader.toOpaque(),
      { context in if let context { Unmanaged<MediaReader>.fromOpaque(context).release() } })
    guard let response else {
      reader.release()
      return .NO
    }
    var headers = [("Content-Type", "audio/wav"), ("Cache-Control", "no-store")]
    if media.bytes != nil { headers.append(("Accept-Ranges", "bytes")) }
    if let range, let bytes = media.bytes {
      headers.append(("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes)"))
    }
    return send(mhd, connection, range == nil ? 200 : 206, response, headers)
  }

  private static func refuse(
    _ mhd: mhd_library, _ connection: OpaquePointer, _ status: UInt32, _ headers: [(String, String)] = []
  ) -> MHD_Result {
    guard let response = mhd.MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT) else {
      return .NO
    }
    return send(mhd, connection, status, response, headers)
  }

  private static func send(
    _ mhd: mhd_library, _ connection: OpaquePointer, _ status: UInt32, _ response: OpaquePointer,
    _ headers: [(String, String)]
  ) -> MHD_Result {
    defer { mhd.MHD_destroy_response(response) }
    for (name, value) in headers { _ = mhd.MHD_add_response_header(response, name, value) }
    return mhd.MHD_queue_response(connection, status, response)
  }
}

/// The part of a file that a request asks for. Source: RFC 9110 §14.1.2.
enum ByteRange: Equatable {
  /// The whole file: the header asks for several parts, or is invalid.
  case whole
  case part(Range<Int>)
  case outside

  /// Reads the value of a Range header for a file of `count` bytes.
  init(_ text: String, of count: Int) {
    let parts = text.split(separator: "=", maxSplits: 1)
    let ends = parts.last?.split(separator: "-", omittingEmptySubsequences: false) ?? []
    guard parts.count == 2, parts[0] == "bytes", ends.count == 2 else {
      self = .whole
      return
    }
    switch (Int(ends[0]), Int(ends[1])) {
    case (let first?, let last?) where first <= last:
      self = first < count ? .part(first..<min(last, count - 1) + 1) : .outside
    case (let first?, nil) where ends[1].isEmpty: self = first < count ? .part(first..<count) : .outside
    case (nil, let length?) where ends[0].isEmpty && length > 0: self = .part(max(0, count - length)..<count)
    default: self = .whole
    }
  }
}

/// The library that serves media to a hub.
package enum MediaLibrary {
  /// The failure to load libmicrohttpd; nil when it is there.
  package static var failure: LibraryError? { MediaServer.libraryFailure }
}
