internal import CMicroHTTPD
internal import EventLoop
internal import Glibc

/// The part of a server that its threads call.
final class HTTPDaemonCore: Sendable {
  let mhd: mhd_library
  let deadlines: ConnectionDeadlines?
  private let ignoredBody: Int
  private let accept: @Sendable (RequestHead) -> RequestVerdict
  private let waiting = Lock(Waiting())

  /// The requests that wait for their answers.
  private struct Waiting {
    var exchanges: [ObjectIdentifier: Exchange] = [:]
    /// `true` when no request may wait any more: libmicrohttpd ends the process if one does at its end.
    var isEnding = false
  }

  init(
    _ mhd: mhd_library, _ deadlines: ConnectionDeadlines?, ignoredBody: Int,
    _ accept: @escaping @Sendable (RequestHead) -> RequestVerdict
  ) { (self.mhd, self.deadlines, self.ignoredBody, self.accept) = (mhd, deadlines, ignoredBody, accept) }

  /// Adds a request that will wait; `false` when the server ends.
  func add(_ exchange: Exchange) -> Bool {
    waiting.withLock { waiting in
      guard !waiting.isEnding else { return false }
      waiting.exchanges[ObjectIdentifier(exchange)] = exchange
      return true
    }
  }

  func remove(_ exchange: Exchange) {
    waiting.withLock { $0.exchanges[ObjectIdentifier(exchange)] = nil }
  }

  /// Answers all requests that wait, and lets none wait from now on.
  func end() {
    let exchanges = waiting.withLock { waiting in
      waiting.isEnding = true
      return Array(waiting.exchanges.values)
    }
    for exchange in exchanges { exchange.answer(.ending) }
  }

  // MARK: Calls of libmicrohttpd, on its threads

  static let handler: MHD_AccessHandlerCallback = {
    context, connection, url, method, _, upload, size, request in
    guard let context, let connection, let url, let method, let size, let request else { return .NO }
    let core = Unmanaged<HTTPDaemonCore>.fromOpaque(context).takeUnretainedValue()
    if let known = request.pointee {
      let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
      return exchange.proceed(connection, UnsafeRawBufferPointer(start: upload, count: size.pointee), size)
    }
    let head = core.head(of: connection, String(cString: method), String(cString: url))
    switch core.begin(head, connection) {
    case .answered(let result): return result
    case .going(let exchange):
      request.pointee = Unmanaged.passRetained(exchange).toOpaque()  // released by `completed`
      return .YES
    }
  }

  static let completed: MHD_RequestCompletedCallback = { context, connection, request, _ in
    guard let context, let connection, let request else { return }
    let core = Unmanaged<HTTPDaemonCore>.fromOpaque(context).takeUnretainedValue()
    core.deadlines?.completed(UInt(bitPattern: connection))
    guard let known = request.pointee else { return }
    request.pointee = nil
    Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue().end()
  }

  static let connection: MHD_NotifyConnectionCallback = { context, connection, _, event in
    guard let context, let connection else { return }
    let core = Unmanaged<HTTPDaemonCore>.fromOpaque(context).takeUnretainedValue()
    guard let deadlines = core.deadlines else { return }
    if event == .CONNECTION_NOTIFY_STARTED {
      deadlines.opened(UInt(bitPattern: connection), descriptor: mhd_descriptor(core.mhd, connection))
    } else {
      deadlines.closed(UInt(bitPattern: connection))
    }
  }

  private enum Beginning {
    case answered(MHD_Result)
    case going(Exchange)
  }

  private func begin(_ head: RequestHead, _ connection: OpaquePointer) -> Beginning {
    let body = head.declaredBody
    switch accept(head) {
    case .answer(let answer):
      if body == .none { return .answered(send(answer, connection)) }
      if case .bytes(let count) = body, count > ignoredBody { return .answered(send(answer, connection)) }
      return .going(Exchange(head, self, ignoring: ignoredBody, answer))
    case .receive(let limit, let perform):
      if case .bytes(let count) = body, count > limit.bytes {
        if count > ignoredBody { return .answered(send(limit.answer, connection)) }
        return .going(Exchange(head, self, ignoring: ignoredBody, limit.answer))
      }
      return .going(Exchange(head, self, limit, ignoring: ignoredBody, perform))
    }
  }

  /// Pairs that libmicrohttpd passes one by one.
  private final class Pairs { var all: [(name: String, value: String)] = [] }

  private func pairs(_ connection: OpaquePointer, _ kind: MHD_ValueKind) -> [(name: String, value: String)] {
    let pairs = Pairs()
    _ = mhd.MHD_get_connection_values(
      connection, kind,
      { context, _, name, value in
        guard let context, let name else { return .YES }
        let pairs = Unmanaged<Pairs>.fromOpaque(context).takeUnretainedValue()
        pairs.all.append((String(cString: name), value.map { String(cString: $0) } ?? ""))
        return .YES
      }, Unmanaged.passUnretained(pairs).toOpaque())  // called before the function returns
    return pairs.all
  }

  private func head(of connection: OpaquePointer, _ method: String, _ path: String) -> RequestHead {
    let descriptor = mhd_descriptor(mhd, connection)
    return RequestHead(
      method: method, path: path, headers: pairs(connection, .HEADER_KIND),
      arguments: pairs(connection, .GET_ARGUMENT_KIND), peer: NetworkAddress(peerOf: descriptor),
      local: NetworkAddress(localOf: descriptor))
  }

  // MARK: Answers

  /// Queues an answer. The threads of the server.
  func send(_ answer: WebAnswer, _ connection: OpaquePointer) -> MHD_Result {
    let response: OpaquePointer?
    switch answer.body {
    case .bytes(let bytes):
      response = bytes.withUnsafeBytes {
        mhd.MHD_create_response_from_buffer(
          $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
      }
    case .reader(let count, let make): response = self.response(count, make())
    }
    guard let response else { return .NO }
    defer { mhd.MHD_destroy_response(response) }
    for (name, value) in answer.headers { _ = mhd.MHD_add_response_header(response, name, value) }
    return mhd.MHD_queue_response(connection, UInt32(answer.status), response)
  }

  private final class Reading {
    let reader: any AnswerReader
    init(_ reader: any AnswerReader) { self.reader = reader }
  }

  private func response(_ count: Int?, _ reader: any AnswerReader) -> OpaquePointer? {
    let reading = Unmanaged.passRetained(Reading(reader))  // released by the response
    let response = mhd.MHD_create_response_from_callback(
      count.map(UInt64.init) ?? mhd_size_unknown, 16_384,
      { context, _, buffer, room in
        guard let context, let buffer else { return -2 }
        let reading = Unmanaged<Reading>.fromOpaque(context).takeUnretainedValue()
        switch reading.reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: room)) {
        case .bytes(let count): return count
        case .end: return -1  // MHD_CONTENT_READER_END_OF_STREAM
        case .failed: return -2  // MHD_CONTENT_READER_END_WITH_ERROR
        }
      }, reading.toOpaque(),
      { context in if let context { Unmanaged<Reading>.fromOpaque(context).release() } })
    if response == nil { reading.release() }
    return response
  }
}
