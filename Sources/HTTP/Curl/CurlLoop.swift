internal import CCurl
internal import EventLoop

// @unchecked Sendable: `isOpen` has a lock; all else is touched on the network thread only, or by the thread
// that makes it, before the network thread starts.
/// The core of the network thread: all transfers on one libcurl multi handle, whose sockets and timeouts are
/// watched by an event loop of the thread's own.
///
/// Source: libcurl's manual, curl_multi_socket_action(3).
final class CurlLoop: @unchecked Sendable {
  /// The number of transfers that may resolve, connect and shake hands at a time; the others wait in order.
  static let maximumConnecting = 32

  let loop = EventLoop(name: "network")
  private let curl: curl_library
  private let isOpen = Lock(true)
  private let multi: UnsafeMutableRawPointer
  private var hasRun = false
  private var isDone = false
  private(set) var transfers: [ObjectIdentifier: CurlTransfer] = [:]
  private var waiting: [CurlTransfer] = []
  /// The connections without a transfer, by their handles.
  private var connections: [UnsafeMutableRawPointer: NetworkConnection] = [:]
  private var connecting = 0
  private var watches: [Int32: FDWatch] = [:]
  private var timer: LoopTimer?
  var rounds = ReadingRounds()
  var (roundTimer, roundDue): (LoopTimer?, Instant?)

  /// `true` once libcurl is initialized for the process. Source: curl_global_init(3); safe from any thread
  /// since 7.84.
  private static let isReady =
    (try? CurlLibrary.functions)?.curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// - Throws: `.system`.
  init() throws(HTTPError) {
    curl = try CurlLibrary.functions
    guard Self.isReady, let multi = curl.curl_multi_init() else {
      throw HTTPError(.system, host: nil, "libcurl does not start")
    }
    self.multi = multi
  }

  deinit { if !hasRun { _ = curl.curl_multi_cleanup(multi) } }

  // MARK: On any thread

  /// Runs `work` on the network thread, in the order of the calls.
  /// - Returns: `false` if the thread ends or has ended.
  func perform(_ work: @escaping @Sendable (CurlLoop) -> Void) -> Bool {
    isOpen.withLock { isOpen in
      if isOpen { loop.post { work(self) } }
      return isOpen
    }
  }

  /// Ends all transfers, and `run`.
  func stop() {
    isOpen.withLock { isOpen in
      guard isOpen else { return }
      isOpen = false
      loop.post { self.endAll() }
    }
  }

  // MARK: On the network thread

  /// Runs until `stop`.
  func run() {
    hasRun = true
    let context = Unmanaged.passRetained(self)  // released below, when libcurl makes no further calls
    curl_multi_set_socket_function(curl, multi, Self.socketChanged, context.toOpaque())
    curl_multi_set_timer_function(curl, multi, Self.timerChanged, context.toOpaque())
    let hold = loop.hold("the network thread waits for requests")
    _ = loop.run(until: { isDone })
    _ = curl.curl_multi_cleanup(multi)
    timer?.cancel()
    timer = nil
    roundTimer?.cancel()
    roundTimer = nil
    for watch in watches.values { watch.cancel() }
    watches = [:]
    hold.release()
    loop.close()
    context.release()
  }

  func start(_ request: HTTPRequest, handle: HTTPTransfer, receiver: any HTTPReceiver) {
    let transfer = CurlTransfer(curl, request, handle: handle, receiver: receiver) {
      [unowned self] transfer in
      releaseSlot(of: transfer)
    }
    transfers[ObjectIdentifier(handle)] = transfer
    waiting.append(transfer)
    startWaiting()
  }

  /// Returns `false` for a transfer that has not begun here, or has ended.
  func setReceiver(_ receiver: any HTTPReceiver, of handle: HTTPTransfer) -> Bool {
    guard let transfer = transfers[ObjectIdentifier(handle)] else { return false }
    transfer.receiver = receiver
    return true
  }

  /// Ends a transfer without a call to its receiver.
  func drop(_ handle: HTTPTransfer) {
    guard let transfer = remove(handle) else { return }
    transfer.close()
    startWaiting()
  }

  func resume(_ handle: HTTPTransfer) {
    guard let code = transfers[ObjectIdentifier(handle)]?.resume() else { return }
    // libcurl reports a refusal of bytes that had waited only here.
    if code != CURLE_OK { finish(handle, code) }
    collectFinished()
  }

  /// Opens a connection without a transfer.
  func open(_ connection: NetworkConnection) {
    do throws(HTTPError) {
      let easy = try connection.open(curl)
      connections[easy] = connection
      let status = curl.curl_multi_add_handle(multi, easy)
      guard status != CURLM_OK else { return }
      connections[easy] = nil
      throw HTTPError(
        .system, host: connection.request.host, CurlLibrary.text(curl.curl_multi_strerror(status)))
    } catch { connection.fail(error) }
  }

  /// Closes a connection, whose handle leaves the multi handle.
  func close(_ easy: UnsafeMutableRawPointer) {
    guard connections.removeValue(forKey: easy) != nil else { return }
    _ = curl.curl_multi_remove_handle(multi, easy)
  }

  private func endAll() {
    for connection in Array(connections.values) {
      connection.fail(HTTPError(.cancelled, host: connection.request.host))
    }
    for transfer in Array(transfers.values) {
      _ = remove(transfer.handle)
      transfer.end(HTTPError(.cancelled, host: transfer.request.host))
    }
    isDone = true
  }

  private func startWaiting() {
    while connecting < Self.maximumConnecting, !waiting.isEmpty {
      let transfer = waiting.removeFirst()
      do throws(HTTPError) {
        let easy = try transfer.open()
        transfer.isConnecting = true
        connecting += 1
        let status = curl.curl_multi_add_handle(multi, easy)
        if status != CURLM_OK {
          throw HTTPError(
            .system, host: transfer.request.host, CurlLibrary.text(curl.curl_multi_strerror(status)))
        }
      } catch {
        _ = remove(transfer.handle)
        transfer.end(error)
      }
    }
  }

  private func releaseSlot(of transfer: CurlTransfer) {
    guard transfer.isConnecting else { return }
    transfer.isConnecting = false
    connecting -= 1
    // libcurl may be calling, and then accepts no new handle.
    if !waiting.isEmpty { loop.next { self.startWaiting() } }
  }

  /// Removes a transfer from all tables and from the multi handle. Its own handle stays open.
  private func remove(_ handle: HTTPTransfer) -> CurlTransfer? {
    guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(handle)) else { return nil }
    if let easy = transfer.easy {
      _ = curl.curl_multi_remove_handle(multi, easy)
    } else {
      waiting.removeAll { $0 === transfer }
    }
    if transfer.pace != nil { rounds.remove(transfer) }
    releaseSlot(of: transfer)
    return transfer
  }

  private func finish(_ handle: HTTPTransfer, _ code: CURLcode) {
    remove(handle)?.end(code)
  }

  // MARK: Callbacks of libcurl

  private static let socketChanged: curl_socket_function = { easy, socket, what, context, _ in
    guard let context else { return 0 }
    Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().watch(socket, for: what, easy)
    return 0
  }

  private static let timerChanged: curl_timer_function = { _, milliseconds, context in
    guard let context else { return 0 }
    Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().arm(milliseconds)
    return 0
  }

  private func watch(_ socket: Int32, for what: Int32, _ easy: UnsafeMutableRawPointer?) {
    watches.removeValue(forKey: socket)?.cancel()
    note(socket, isOpen: what != CURL_POLL_REMOVE, of: CurlTransfer.of(easy, curl))
    var events: FDEvents = []
    if what & CURL_POLL_IN != 0 { events.insert(.readable) }
    if what & CURL_POLL_OUT != 0 { events.insert(.writable) }
    if what == CURL_POLL_REMOVE { events = [] }
    guard !events.isEmpty else { return }
    do throws(LoopError) {
      watches[socket] = try loop.watch(socket, for: events, keepsAlive: false) { [unowned self] happened in
        var mask: Int32 = 0
        if happened.contains(.readable) { mask |= CURL_CSELECT_IN }
        if happened.contains(.writable) { mask |= CURL_CSELECT_OUT }
        act(socket, mask)
      }
    } catch {
      // An error returned to libcurl would end all transfers; only the one without a watch must end.
      guard let transfer = CurlTransfer.of(easy, curl) else { return }
      let (handle, failure) = (
        transfer.handle, HTTPError(.system, host: transfer.request.host, error.message)
      )
      loop.next { self.remove(handle)?.end(failure) }
    }
  }

  private func note(_ socket: Int32, isOpen: Bool, of transfer: CurlTransfer?) {
    guard let transfer else { return }
    if isOpen { transfer.socket = socket } else if transfer.socket == socket { transfer.socket = -1 }
  }

  private func arm(_ milliseconds: Int) {
    timer?.cancel()
    timer = nil
    guard milliseconds >= 0 else { return }
    timer = loop.after(.milliseconds(milliseconds), keepsAlive: false) { [unowned self] in
      act(CURL_SOCKET_TIMEOUT, 0)
    }
  }

  func act(_ socket: Int32, _ mask: Int32) {
    var running: Int32 = 0
    _ = curl.curl_multi_socket_action(multi, socket, mask, &running)
    collectFinished()
  }

  private func collectFinished() {
    var left: Int32 = 0
    while let message = curl.curl_multi_info_read(multi, &left)?.pointee {
      guard message.msg == CURLMSG_DONE else { continue }
      if let easy = message.easy_handle, let connection = connections[easy] {
        connection.connected(message.data.result)
        continue
      }
      guard let transfer = CurlTransfer.of(message.easy_handle, curl) else { continue }
      finish(transfer.handle, message.data.result)
    }
  }
}
