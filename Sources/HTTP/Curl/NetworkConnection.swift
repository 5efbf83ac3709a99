internal import CCurl
internal import EventLoop
internal import Glibc

/// A connection that libcurl opens, and whose bytes the caller sends and receives. Confined to the network thread; ends
/// with `close`, or, once its receiver is released, with the next bytes.
///
/// Source: libcurl's manual, CURLOPT_CONNECT_ONLY(3), curl_easy_recv(3). The handle stays in the multi
/// handle, through which libcurl finds the connection.
package final class NetworkConnection {
  private enum Phase {
    case idle
    case connecting(UnsafeMutableRawPointer)
    case open(UnsafeMutableRawPointer, socket: Int32)
    case ended
  }

  /// The bytes of one read, and the reads of one turn.
  private static let readSize = 16 << 10
  private static let readsPerTurn = 8
  /// The limit of bytes that wait to be sent: the other side accepts nothing for long.
  private static let waitingLimit = 1 << 20

  let request: HTTPRequest
  private weak var core: CurlLoop?
  private weak var receiver: (any ConnectionReceiver)?
  private let words: UnsafeMutablePointer<CChar>
  private var phase = Phase.idle
  private var curl: curl_library?
  private var (reading, writing): (FDWatch?, FDWatch?)
  private var waiting: [UInt8] = []
  private var buffer: [UInt8] = []
  /// `true` while a further read of received bytes is queued.
  private var isQueued = false

  /// `false` while no bytes are to be received: the other side has to wait.
  package var isReading = true {
    didSet {
      guard case .open(_, let socket) = phase, isReading != oldValue else { return }
      if isReading { watch(socket) } else { reading?.cancel() }
      // Bytes may wait in the TLS layer, of which the socket knows nothing.
      if isReading { readLater() }
    }
  }

  init(_ request: HTTPRequest, _ core: CurlLoop, _ receiver: any ConnectionReceiver) {
    (self.request, self.core, self.receiver) = (request, core, receiver)
    words = .allocate(capacity: Int(CURL_ERROR_SIZE))  // freed in deinit
    words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit { words.deallocate() }

  func begin(_ core: CurlLoop) {
    if case .idle = phase { core.open(self) }
  }

  /// Creates the handle, with all options set.
  /// - Throws: `.system`, `.badURL`.
  func open(_ curl: curl_library) throws(HTTPError) -> UnsafeMutableRawPointer {
    guard let easy = curl.curl_easy_init() else {
      throw HTTPError(.system, host: request.host, "no memory for a connection")
    }
    self.curl = curl
    phase = .connecting(easy)
    curl_set_pointer(curl, easy, CURLOPT_ERRORBUFFER, words)
    // No header line is sent, so there are no lists to keep.
    for list in try request.apply(to: easy, curl) { curl.curl_slist_free_all(list) }
    curl_set_pointer(curl, easy, CURLOPT_HTTPHEADER, nil)
    curl_set_long(curl, easy, CURLOPT_CONNECT_ONLY, 1)
    curl_set_long(curl, easy, CURLOPT_FORBID_REUSE, 0)
    curl_set_long(curl, easy, CURLOPT_FRESH_CONNECT, 1)
    curl_set_long(curl, easy, CURLOPT_SSL_ENABLE_ALPN, 0)
    _ = curl_set_string(curl, easy, CURLOPT_PROXY, "")
    return easy
  }

  /// libcurl has connected, or failed to.
  func connected(_ code: CURLcode) {
    guard case .connecting(let easy) = phase, let curl else { return }
    guard code == CURLE_OK else { return fail(error(code, easy)) }
    let socket = curl_get_socket(curl, easy)
    guard socket >= 0 else {
      return fail(HTTPError(.system, host: request.host, "libcurl has no socket for the connection"))
    }
    phase = .open(easy, socket: socket)
    if isReading { watch(socket) }
    receiver?.connectionOpened()
    flush()
    readLater()
  }

  private func watch(_ socket: Int32) {
    reading?.cancel()
    do throws(LoopError) {
      reading = try core?.loop.watch(socket, for: .readable, keepsAlive: false) { [unowned self] _ in read() }
    } catch { failLater(HTTPError(.system, host: request.host, error.message)) }
  }

  /// Sends bytes after the previous ones; those that the other side does not accept yet are kept, 1 MiB at most.
  package func send(_ bytes: [UInt8]) {
    if case .ended = phase { return }
    waiting += bytes
    guard waiting.count <= Self.waitingLimit else {
      return failLater(HTTPError(.timeout, host: request.host, "it accepts no bytes"))
    }
    flush()
  }

  /// Ends the connection, as its receiver is in the middle of its own work.
  private func failLater(_ error: HTTPError) {
    core?.loop.next { [weak self] in self?.fail(error) }
  }

  private func flush() {
    guard case .open(let easy, let socket) = phase, let curl else { return }
    while !waiting.isEmpty {
      var count = 0
      let code = waiting.withUnsafeBytes { curl.curl_easy_send(easy, $0.baseAddress, $0.count, &count) }
      if code == CURLE_AGAIN { break }
      guard code == CURLE_OK else { return failLater(error(code, easy)) }
      waiting.removeFirst(min(count, waiting.count))
    }
    if waiting.isEmpty {
      writing?.cancel()
      writing = nil
    } else if writing == nil {
      do throws(LoopError) {
        writing = try core?.loop.watch(socket, for: .writable, keepsAlive: false) { [unowned self] _ in
          flush()
        }
      } catch { failLater(HTTPError(.system, host: request.host, error.message)) }
    }
  }

  private func readLater() {
    guard !isQueued else { return }
    isQueued = true
    core?.loop.next { [weak self] in
      self?.isQueued = false
      self?.read()
    }
  }

  private func read() {
    if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: Self.readSize) }
    for _ in 0..<Self.readsPerTurn {
      guard isReading, case .open(let easy, _) = phase, let curl else { return }
      var count = 0
      let code = buffer.withUnsafeMutableBytes { curl.curl_easy_recv(easy, $0.baseAddress, $0.count, &count) }
      if code == CURLE_AGAIN { return }
      guard code == CURLE_OK, count > 0 else { return fail(code == CURLE_OK ? nil : error(code, easy)) }
      guard receiver != nil else { return close() }
      buffer.withUnsafeBytes { receiver?.connectionReceived(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
    readLater()
  }

  private func error(_ code: CURLcode, _ easy: UnsafeMutableRawPointer) -> HTTPError {
    guard let curl else { return HTTPError(.system, host: request.host) }
    // Without an error of the system, too: there is no protocol of libcurl's that the server could have
    // broken.
    if code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR { return HTTPError(.reset, host: request.host) }
    let systemError = Int32(clamping: curl_get_long(curl, easy, CURLINFO_OS_ERRNO))
    let check = Int(curl_get_long(curl, easy, CURLINFO_SSL_VERIFYRESULT))
    return CurlFailure(
      curl: curl, code: code, systemError: systemError, isInHead: false, certificateCheck: check
    ).error(for: request, words: String(cString: words))
  }

  /// Ends the connection, and reports it; nil if the other side has ended it.
  func fail(_ failure: HTTPError?) {
    if case .ended = phase { return }
    close()
    receiver?.connectionEnded(failure)
  }

  /// Ends the connection; the receiver is not called any more.
  package func close() {
    reading?.cancel()
    writing?.cancel()
    (reading, writing) = (nil, nil)
    let last = phase
    phase = .ended
    switch last {
    case .connecting(let easy), .open(let easy, _):
      core?.close(easy)
      curl?.curl_easy_cleanup(easy)
    case .idle, .ended: break
    }
  }
}
