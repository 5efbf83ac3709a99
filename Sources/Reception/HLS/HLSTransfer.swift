internal import EventLoop
internal import HTTP
internal import StreamCore

/// The kind of failure of an HLS request.
enum HLSFailure: Sendable, Equatable {
  /// The server gives no answer, or a part of one: the connection may be lost.
  case connection
  /// The server answers with an error, and other requests may succeed; it asks for a delay, zero for none.
  case answer(retryAfter: Duration)
  /// Every attempt gives the same content.
  case content

  var retryAfter: Duration { if case .answer(let delay) = self { delay } else { .zero } }
}

/// A request for a list, a key or a segment of HLS, or for a byte range of one.
///
/// Unchecked: confined to the loop of its network thread.
final class HLSTransfer: HTTPReceiver, @unchecked Sendable {
  /// The end of a transfer.
  enum End {
    /// All bytes have come.
    case complete
    /// The server has answered with an error, or the connection has failed.
    case failed(StreamError, HLSFailure)
  }

  /// The answer, once it has come.
  private(set) var head: HTTPResponse?
  private let address: StreamAddress
  private let range: Range<Int>?
  private let onBytes: (HLSTransfer, UnsafeRawBufferPointer) -> HTTPFlow
  private let onEnd: (HLSTransfer, End) -> Void
  private let loop: EventLoop
  private var transfer: (any BodyTransfer)?
  /// The position of the next byte of the resource.
  private var position = 0
  private var isOver = false

  /// - Parameters:
  ///   - range: the bytes to request; nil for all.
  ///   - onBytes: receives the bytes of an answer below 400.
  ///   - onEnd: called once, unless `onBytes` or `cancel` ended the transfer.
  init(
    of address: StreamAddress, range: Range<Int>? = nil, on loop: EventLoop,
    onBytes: @escaping (HLSTransfer, UnsafeRawBufferPointer) -> HTTPFlow,
    onEnd: @escaping (HLSTransfer, End) -> Void
  ) {
    (self.address, self.range, self.loop) = (address, range, loop)
    (self.onBytes, self.onEnd) = (onBytes, onEnd)
  }

  /// Sends the request, with further headers.
  /// - Throws: the reason why the request can't be made.
  func start(
    _ headers: [(name: String, value: String)] = [], over connection: any BodyConnection
  ) throws(HTTPError) {
    var headers = headers
    if let range { headers.append(("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")) }
    transfer = try connection.open(address, headers: headers, on: self)
  }

  func cancel() {
    isOver = true
    transfer?.cancel()
    transfer = nil
  }

  func resume() { transfer?.resume() }

  func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    guard !isOver else { return .stop }
    self.head = head
    if head.status >= 400 {
      let wait = head.retryAfter(at: loop.wallNow)
      let error = StreamError.answer(head.status, url: address.description, retryAfter: wait)
      end(.failed(error, .answer(retryAfter: wait ?? .zero)))
      return .stop
    }
    if head.status == 206 {
      position = head.headers["Content-Range"].flatMap { ContentRange($0)?.start } ?? range?.lowerBound ?? 0
    }
    return .more
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard !isOver else { return .stop }
    let start = position
    position += bytes.count
    guard let range else { return deliver(bytes) }
    let wanted = range.clamped(to: start..<position)
    var flow = HTTPFlow.more
    if !wanted.isEmpty {
      flow = deliver(
        UnsafeRawBufferPointer(rebasing: bytes[(wanted.lowerBound - start)..<(wanted.upperBound - start)]))
    }
    // A server without support for ranges sends all later bytes, too.
    if case .more = flow, position > range.upperBound {
      end(.complete)
      return .stop
    }
    return flow
  }

  private func deliver(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    let flow = onBytes(self, bytes)
    if case .stop = flow { isOver = true }
    return isOver ? .stop : flow
  }

  func receiveEnd(_ failure: HTTPError?) {
    guard !isOver else { return }
    if let failure {
      return end(.failed(StreamError(failure, at: address), .connection))
    }
    if let range, position < range.upperBound {
      let error = StreamError(
        .content, "\(address) ends before byte \(range.upperBound)", hint: "report it to the station",
        facts: [.init("url", .string(address.description))])
      return end(.failed(error, .answer(retryAfter: .zero)))
    }
    end(.complete)
  }

  private func end(_ end: End) {
    isOver = true
    transfer = nil
    onEnd(self, end)
  }
}
