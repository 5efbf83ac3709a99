public import EventLoop
package import HTTP
public import StreamCore

/// A metadata feed: the titles that a station publishes beside its sound, polled while the stream is
/// received. Confined to the loop.
public final class Feed {
  /// The format of the answers.
  public enum Reader: Sendable {
    case audioVault(AudioVaultFeed)
    case live365
  }

  /// An event of the feed itself.
  public enum Event: Sendable {
    /// The feed became unusable, or is unusable for a new reason; polling continues.
    case failed(StreamError)
    /// The feed can be used again.
    case recovered
  }

  /// The format of the answers.
  public let reader: Reader
  /// The address.
  public let address: StreamAddress

  private let request: HTTPRequest
  private let loop: EventLoop
  private let onEvent: (Event) -> Void
  private var machine = FeedMachine()
  /// The stream that uses the feed, while it is received.
  private var listener: (network: NetworkThread, userAgent: String, receive: (StreamTitle) -> Void)?
  private var timer: LoopTimer?
  private var task: Task<Void, Never>?
  /// The number of the current stream: an answer for an earlier one is dropped.
  private var generation = 0
  /// The validators of the last answer, for conditional requests.
  private var validators: [(name: String, value: String)] = []

  /// Creates a feed at `address`; it is polled while a stream that has it is received.
  /// - Parameter onEvent: receives the events of the feed, on the loop.
  /// - Throws: `stream.url`.
  public init(_ address: StreamAddress, reader: Reader, loop: EventLoop, onEvent: @escaping (Event) -> Void)
    throws(StreamError)
  {
    self.address = address
    do throws(HTTPError) {
      request = try HTTPRequest(address)
    } catch { throw StreamError(error, at: address) }
    self.reader = reader
    self.loop = loop
    self.onEvent = onEvent
  }

  /// Starts polling for a stream; `receive` receives each title when it begins.
  package func begin(_ network: NetworkThread, userAgent: String, receive: @escaping (StreamTitle) -> Void) {
    end()
    listener = (network, userAgent, receive)
    perform(machine.start())
  }

  /// Ends polling: the stream is no longer received.
  package func end() {
    generation += 1
    timer?.cancel()
    task?.cancel()
    (listener, timer, task, validators) = (nil, nil, nil, [])
  }

  private var now: FeedMachine.Moment { .init(steady: loop.now, wall: loop.wallNow) }

  private func perform(_ actions: [FeedMachine.Action]) {
    let number = generation
    for action in actions {
      // A callback may end the feed.
      guard number == generation else { return }
      switch action {
      case .fetch: fetch()
      case .emit(let title): listener?.receive(title)
      case .warn(let error): onEvent(.failed(error))
      case .recovered: onEvent(.recovered)
      }
    }
    guard number == generation else { return }
    timer?.cancel()
    timer = machine.delay(at: now).map { delay in
      loop.after(delay, keepsAlive: false) { [weak self] in
        guard let self else { return }
        perform(machine.timePassed(at: now))
      }
    }
  }

  // MARK: Requests

  private func fetch() {
    guard let listener else { return }
    var request = request
    request.userAgent = listener.userAgent
    request.timeout = .seconds(30)
    request.headers = validators
    let (number, asked, network) = (generation, request, listener.network)
    task = loop.start { [weak self, loop] in
      let result: Result<(head: HTTPResponse, body: [UInt8]), any Error>
      do {
        result = .success(try await network.fetch(asked, limit: FeedText.sizeLimit, on: loop))
      } catch { result = .failure(error) }
      guard let self, number == generation else { return }
      task = nil
      perform(handle(result))
    }
  }

  private func handle(_ result: Result<(head: HTTPResponse, body: [UInt8]), any Error>) -> [FeedMachine
    .Action]
  {
    switch result {
    case .success((let head, let body)): return handle(head, body)
    case .failure(let error as HTTPError):
      return machine.failed(StreamError(error, at: address), at: now)
    case .failure(let error): return machine.failed(flaw(FeedFlaw(words: "\(error)")), at: now)
    }
  }

  private func handle(_ head: HTTPResponse, _ body: [UInt8]) -> [FeedMachine.Action] {
    if head.status == 304, !validators.isEmpty { return machine.received(nil, at: now) }
    guard head.status == 200 else {
      let wait = head.retryAfter(at: loop.wallNow)
      let error =
        head.status < 400
        ? flaw(FeedFlaw(words: "it answered with HTTP \(head.status)"))
        : .answer(head.status, url: address.description, retryAfter: wait)
      return machine.failed(error, retryAfter: wait ?? .zero, at: now)
    }
    do throws(FeedFlaw) {
      let content = try content(of: body)
      validators = [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")].compactMap {
        name, field in
        head.headers[field].flatMap { Self.isSendable($0) ? (name, $0) : nil }
      }
      return machine.received(content, at: now)
    } catch { return machine.failed(flaw(error), at: now) }
  }

  /// Returns `true` if a server's value may be sent back to it: it is short, and all its characters are valid
  /// in a header.
  private static func isSendable(_ value: String) -> Bool {
    !value.isEmpty && value.utf8.count <= 256 && value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  private func content(of body: [UInt8]) throws(FeedFlaw) -> FeedContent {
    switch reader {
    case .audioVault(let feed): try feed.content(body, at: loop.wallNow)
    case .live365: try Live365Feed.content(body)
    }
  }

  private func flaw(_ flaw: FeedFlaw) -> StreamError {
    StreamError(
      .content, "the feed \(address) can't be used: \(flaw.words)", hint: flaw.hint,
      facts: [.init("url", .string(address.description))])
  }
}
