public import EventLoop

extension NetworkThread {
  /// Fetches a whole small body: a playlist, a feed. Any status is accepted; a compressed body is decoded.
  ///
  /// A hold keeps the loop alive until then, for a minute at most if the request has no timeout. Call it on
  /// the loop's thread.
  /// - Parameter limit: the limit of the decoded body in bytes.
  /// - Throws: `HTTPError` (`.tooLarge` beyond the limit), `CancellationError` as soon as the task is
  ///   cancelled.
  public func fetch(
    _ request: HTTPRequest, limit: Int, on loop: EventLoop
  ) async throws -> (head: HTTPResponse, body: [UInt8]) {
    loop.assertOnLoop()
    var request = request
    request.acceptsCompression = true
    request.timeout = request.timeout ?? .seconds(60)
    let fetch = Fetch(host: request.host, limit: limit, loop: loop)
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in fetch.begin(request, on: self, continuation)
      }
    } onCancel: {
      loop.post { fetch.finish(.failure(CancellationError())) }
    }
  }
}

// @unchecked Sendable: `head` and `body` are touched on the network thread until a result leaves it,
// `continuation`, `transfer` and `hold` on the loop's.
/// A fetch: its end or its cancelling, whichever is first, resumes the task, and the other has no effect.
private final class Fetch: HTTPReceiver, @unchecked Sendable {
  typealias Answer = (head: HTTPResponse, body: [UInt8])

  private let host: String
  private let limit: Int
  private let loop: EventLoop
  private var head: HTTPResponse?
  private var body: [UInt8] = []
  private var continuation: UnsafeContinuation<Answer, any Error>?
  private var transfer: HTTPTransfer?
  private var hold: Hold?

  init(host: String, limit: Int, loop: EventLoop) { (self.host, self.limit, self.loop) = (host, limit, loop) }

  // MARK: On the loop

  func begin(
    _ request: HTTPRequest, on network: NetworkThread, _ continuation: UnsafeContinuation<Answer, any Error>
  ) {
    if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
    self.continuation = continuation
    hold = loop.hold("an HTTP request is under way")
    transfer = network.start(request, on: self)
  }

  func finish(_ result: Result<Answer, any Error>) {
    guard let continuation else { return }
    self.continuation = nil
    transfer?.cancel()
    transfer = nil
    hold?.release()
    hold = nil
    continuation.resume(with: result)
  }

  // MARK: On the network thread

  func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    self.head = head
    // The length of a compressed body is not that of the decoded one; an uncompressed body has the length
    // stated.
    guard head.bodyCoding == nil, let length = head.contentLength, length > limit else { return .more }
    return refuse("\(length) bytes, where \(limit) are the limit")
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard bytes.count <= limit - body.count else { return refuse("more than \(limit) bytes") }
    body += bytes
    return .more
  }

  func receiveEnd(_ failure: HTTPError?) {
    if let failure {
      post(.failure(failure))
    } else if let head {
      post(.success((head, body)))
    } else {
      post(.failure(HTTPError(.protocolViolation, host: host, "no answer")))
    }
  }

  private func refuse(_ words: String) -> HTTPFlow {
    post(.failure(HTTPError(.tooLarge, host: host, words)))
    return .stop
  }

  private func post(_ result: Result<Answer, HTTPError>) {
    loop.post { self.finish(result.mapError { $0 }) }
  }
}
