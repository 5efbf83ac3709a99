internal import CCurl
internal import EventLoop
internal import Glibc

/// A transfer and its libcurl handle. Confined to the network thread.
final class CurlTransfer {
  private let curl: curl_library
  let request: HTTPRequest
  let handle: HTTPTransfer
  /// libcurl's handle, from `open` to `close`.
  private(set) var easy: UnsafeMutableRawPointer?
  /// `true` while the transfer counts as connecting; set and cleared by the loop.
  var isConnecting = false
  /// The socket that libcurl last asked to watch for this transfer: from the first byte of a response on that
  /// of the connection. (libcurl itself reports it only after the end.) Below 0 without a socket.
  var socket: Int32 = -1
  /// Called when the transfer is connected, from within libcurl.
  private let whenConnected: (CurlTransfer) -> Void
  /// Receives the events; retained to the end.
  var receiver: any HTTPReceiver
  private var lists: [UnsafeMutablePointer<curl_slist>] = []
  private let words: UnsafeMutablePointer<CChar>
  private var collector = HeaderCollector()
  private var phase = Phase.connecting
  private var isPaused = false
  /// The number of waiting bytes at which the socket wakes the thread.
  private var lowWater = 1
  /// The interval between reads; nil to read bytes as they arrive.
  private(set) var pace: Duration?
  /// The reason why this side stopped the transfer.
  private var failure: HTTPError?

  /// The received part of the answer, with the head of a redirection that is followed: that head is delivered
  /// if nothing else comes.
  private enum Phase {
    /// No byte: there is no connection.
    case connecting
    /// A part of a head, after that of a redirection if there is one.
    case inHead(after: HeaderCollector.Head?)
    /// The head of a redirection.
    case redirected(HeaderCollector.Head)
    /// The head, which is delivered.
    case inBody

    /// The head that is not delivered; nil without one.
    var pending: HeaderCollector.Head? {
      switch self {
      case .connecting, .inBody: nil
      case .inHead(let head): head
      case .redirected(let head): head
      }
    }
    var isInHead: Bool { if case .inHead = self { true } else { false } }
    var isInBody: Bool { if case .inBody = self { true } else { false } }
  }

  init(
    _ curl: curl_library, _ request: HTTPRequest, handle: HTTPTransfer, receiver: any HTTPReceiver,
    whenConnected: @escaping (CurlTransfer) -> Void
  ) {
    self.curl = curl
    (self.request, self.handle, self.receiver, self.whenConnected) = (
      request, handle, receiver, whenConnected
    )
    words = .allocate(capacity: Int(CURL_ERROR_SIZE))  // freed in deinit
    words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit { words.deallocate() }

  // MARK: The handle

  /// Creates the handle, with all options set.
  /// - Throws: `.system`, `.badHeader`.
  func open() throws(HTTPError) -> UnsafeMutableRawPointer {
    try request.checkHeaders()
    guard let easy = curl.curl_easy_init() else {
      throw HTTPError(.system, host: request.host, "no memory for a transfer")
    }
    self.easy = easy
    let context = Unmanaged.passRetained(self).toOpaque()  // released in close
    curl_set_pointer(curl, easy, CURLOPT_PRIVATE, context)
    curl_set_pointer(curl, easy, CURLOPT_ERRORBUFFER, words)
    curl_set_header_function(curl, easy, Self.header, context)
    curl_set_body_function(curl, easy, Self.body, context)
    curl_set_request_function(curl, easy, Self.connected, context)
    do throws(HTTPError) { lists = try request.apply(to: easy, curl) } catch {
      close()
      throw error
    }
    return easy
  }

  /// Closes the handle. It has left its multi handle, so libcurl does not call again.
  func close() {
    guard let easy else { return }
    self.easy = nil
    curl.curl_easy_cleanup(easy)
    for list in lists { curl.curl_slist_free_all(list) }
    lists = []
    Unmanaged.passUnretained(self).release()
  }

  /// Returns the transfer of a handle.
  static func of(_ easy: UnsafeMutableRawPointer?, _ curl: curl_library) -> CurlTransfer? {
    easy.flatMap { curl_get_private(curl, $0) }.map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
  }

  /// Resumes after a pause.
  /// - Returns: libcurl's result for the bytes that had waited.
  func resume() -> CURLcode {
    guard isPaused, let easy else { return CURLE_OK }
    isPaused = false
    return curl.curl_easy_pause(easy, CURLPAUSE_CONT)
  }

  /// Sets the interval between reads, nil to read bytes as they arrive.
  /// - Returns: `true` if the interval has changed.
  func setPace(_ pace: Duration?) -> Bool {
    guard pace != self.pace, easy != nil, phase.isInBody, socket >= 0 else { return false }
    self.pace = pace
    setLowWater(pace == nil ? lowWater : Self.highestLowWater)
    return true
  }

  /// `true` if the transfer accepts the bytes of its socket.
  var isReadable: Bool { easy != nil && !isPaused && socket >= 0 }

  /// Half of a socket's buffer: a flood, and the end of the connection, wake the thread all the same.
  private static let highestLowWater = 65_536

  /// Sets the number of waiting bytes at which the socket wakes the thread.
  private func setLowWater(_ bytes: Int) {
    guard easy != nil, phase.isInBody, socket >= 0 else { return }
    var value = Int32(clamping: max(1, bytes))
    setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Delivers the end, with a result code of libcurl.
  func end(_ code: CURLcode) {
    if code == CURLE_OK, let head = phase.pending { _ = deliver(head) }
    if code == CURLE_OK, !phase.isInBody, failure == nil {
      // libcurl accepts a head that the end of the connection cuts off.
      failure = HTTPError(.reset, host: request.host, "before the end of its head")
    }
    end(code == CURLE_OK ? failure : error(code))
  }

  /// Delivers the end. Does nothing if the transfer was cancelled.
  func end(_ failure: HTTPError?) {
    close()
    if handle.end() { receiver.receiveEnd(failure) }
  }

  /// Returns the error of a code.
  private func error(_ code: CURLcode) -> HTTPError {
    if let failure { return failure }
    let systemError = easy.map { Int32(clamping: curl_get_long(curl, $0, CURLINFO_OS_ERRNO)) } ?? 0
    let check = easy.map { curl_get_long(curl, $0, CURLINFO_SSL_VERIFYRESULT) } ?? 0
    return CurlFailure(
      curl: curl, code: code, systemError: systemError, isInHead: phase.isInHead, certificateCheck: Int(check)
    ).error(for: request, words: String(cString: words))
  }

  // MARK: Callbacks of libcurl

  /// The result of a callback that ends the transfer: no buffer has that many bytes.
  private static let refusal = -1

  private static let connected: curl_request_function = { context, _, _, _, _ in
    guard let context else { return CURL_PREREQFUNC_ABORT }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    if !transfer.phase.isInBody { transfer.phase = .inHead(after: transfer.phase.pending) }
    transfer.whenConnected(transfer)
    return transfer.handle.isEnded ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK
  }

  private static let header: curl_bytes_function = { bytes, size, count, context in
    guard let context else { return refusal }
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().receiveHeader(line)
  }

  private static let body: curl_bytes_function = { bytes, size, count, context in
    guard let context else { return refusal }
    let bytes = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().receiveBody(bytes)
  }

  private func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
    guard !handle.isEnded else { return Self.refusal }
    guard !phase.isInBody else { return receiveTrailer(line) }
    do throws(HeaderCollector.Fault) {
      guard let head = try collector.receive(line) else { return line.count }
      if head.isInterim { return line.count }
      if head.isRedirect, request.maximumRedirects > 0 {
        phase = .redirected(head)
        return line.count
      }
      return deliver(head) ? line.count : Self.refusal
    } catch {
      return refuse(error)
    }
  }

  /// Receives a trailer. Its fields are not used, but count towards the limits.
  private func receiveTrailer(_ line: UnsafeRawBufferPointer) -> Int {
    do throws(HeaderCollector.Fault) { _ = try collector.receive(line) } catch { return refuse(error) }
    return line.count
  }

  private func refuse(_ fault: HeaderCollector.Fault) -> Int {
    switch fault {
    case .tooLarge(let words): failure = HTTPError(.headersTooLarge, host: request.host, words)
    case .malformed(let words): failure = HTTPError(.protocolViolation, host: request.host, words)
    }
    return Self.refusal
  }

  private func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard !handle.isEnded else { return Self.refusal }
    if let head = phase.pending, !deliver(head) { return Self.refusal }
    guard !bytes.isEmpty else { return 0 }
    return follow(receiver.receiveBody(bytes)) ? bytes.count : Self.refusal
  }

  /// Delivers the head.
  /// - Returns: `false` if the transfer must end.
  private func deliver(_ head: HeaderCollector.Head) -> Bool {
    phase = .inBody
    let url = easy.flatMap { curl_get_string(curl, $0, CURLINFO_EFFECTIVE_URL) }.map { String(cString: $0) }
    let clean = url.flatMap { try? CurlURL($0).text } ?? request.url
    let response = HTTPResponse(status: head.status, url: clean, headers: head.headers)
    if let coding = response.bodyCoding, !request.decodes {
      failure = HTTPError(.encoding, host: request.host, "Content-Encoding: \(coding.prefix(32))")
      return false
    }
    if let time = request.wakeTime {
      lowWater = response.lowWater(time)
      setLowWater(lowWater)
    }
    return follow(receiver.receiveHead(response))
  }

  /// Applies the receiver's decision.
  /// - Returns: `false` if the transfer must end.
  private func follow(_ flow: HTTPFlow) -> Bool {
    switch flow {
    case .more: break
    case .pause:
      isPaused = true
      if let easy { _ = curl.curl_easy_pause(easy, CURLPAUSE_RECV) }
    case .stop: _ = handle.end()
    }
    return !handle.isEnded
  }
}
