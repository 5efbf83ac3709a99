internal import EventLoop
internal import HTTP
internal import JSONText

/// The owner of a link to a hub. Called on the loop.
protocol HubLinkObserver: AnyObject {
  /// The link is lost.
  func lost(_ error: SpeakerError)
  /// A lost link is open again, in a new session.
  func reconnected()
  /// The session has been opened anew, before the next request.
  func renewed()
}

/// The REST client of a hub: one request at a time, in the order of the calls, in a session that is opened anew when the
/// hub has forgotten it. Confined to the loop.
///
/// A request that fails otherwise than by a refusal of the hub loses the link: all queued ones fail, and it is opened
/// again after 1, 2, 4, … 30 s.
/// Source: Harman, "REST API Specification" of the HKWHub app, local server mode.
final class HubLink {
  /// Parameters of a command, not encoded.
  typealias Parameters = [(name: String, value: String)]
  /// Receiver of an answer; `failure` when the hub refuses the command, or is lost.
  typealias Receiver = (Result<JSON, SpeakerError>) -> Void

  private struct Request {
    let command: String
    /// Evaluated when the request is sent.
    let parameters: () -> Parameters
    let then: Receiver
  }

  private enum Phase {
    case closed
    case open(token: String)
    case lost(SpeakerError)
  }

  /// The owner, which receives the events; not retained.
  weak var observer: (any HubLinkObserver)?
  /// The timeout of an answer.
  var responseTime = Duration.seconds(5)
  /// The delays of the attempts to open a lost link.
  var backoff = Backoff(from: .seconds(1), upTo: .seconds(30))

  /// `true` if the hub answers.
  var isOpen: Bool { if case .open = phase { true } else { false } }
  /// `true` if no request is queued or under way.
  var isIdle: Bool { queue.isEmpty && sending == nil }

  private let loop: EventLoop
  private let network: NetworkThread
  private let url: String
  private let bearer: String?
  private var phase = Phase.closed
  private var queue: [Request] = []
  private var sending: Task<Void, Never>?
  private var retryTimer: LoopTimer?

  /// The largest answer, in bytes: that of a thousand speakers.
  private static let longestAnswer = 1 << 20

  /// Creates a closed link.
  /// - Parameters:
  ///   - url: the hub's, without a slash at its end.
  ///   - bearer: the token that requests carry; nil for none.
  init(loop: EventLoop, network: NetworkThread, url: String, bearer: String?) {
    (self.loop, self.network, self.url, self.bearer) = (loop, network, url, bearer)
  }

  /// Opens a session.
  /// - Throws: `speaker.lost`, `CancellationError`.
  func open() async throws { phase = .open(token: try await openSession()) }

  /// Queues a command.
  func request(
    _ command: String, _ parameters: @escaping () -> Parameters = { [] }, then: @escaping Receiver
  ) {
    if case .open = phase {
      queue.append(Request(command: command, parameters: parameters, then: then))
      send()
    } else {
      let error = failure
      loop.next { then(.failure(error)) }
    }
  }

  /// Queues a command and waits for its answer.
  /// - Throws: `speaker.lost`; `speaker.unavailable` when the hub refuses the command.
  func call(_ command: String, _ parameters: Parameters = []) async throws -> JSON {
    try await withCheckedThrowingContinuation { continuation in
      request(command, { parameters }) { continuation.resume(with: $0.mapError { $0 }) }
    }
  }

  /// Sends the queued requests, for `limit` at most, closes the session and the link.
  func close(within limit: Duration = .seconds(2)) async {
    retryTimer?.cancel()
    let end = loop.now.advanced(by: limit)
    while isOpen, !isIdle, loop.now < end { try? await loop.sleep(for: .milliseconds(5)) }
    observer = nil
    if case .open(let token) = phase, isIdle {
      responseTime = min(responseTime, .seconds(1))
      _ = try? await exchange("close_session", [("SessionToken", token)])
    }
    phase = .closed
    sending?.cancel()
    failQueue()
    await sending?.value
  }

  // MARK: Sending

  private func send() {
    guard sending == nil, case .open(let token) = phase, !queue.isEmpty else { return }
    let request = queue.removeFirst()
    sending = loop.start { [self] in
      let result = await answer(to: request, token)
      sending = nil
      request.then(result)
      send()
    }
  }

  private func answer(to request: Request, _ token: String) async -> Result<JSON, SpeakerError> {
    do {
      let parameters = request.parameters()
      var answer = try await exchange(request.command, [("SessionToken", token)] + parameters)
      if Self.isUnknownSession(answer) {
        let renewed = try await openSession()
        if case .open = phase { phase = .open(token: renewed) }
        observer?.renewed()
        answer = try await exchange(request.command, [("SessionToken", renewed)] + parameters)
      }
      guard !Self.isRefusal(answer), !Self.isUnknownSession(answer) else {
        return .failure(SpeakerError(.unavailable, "the hub refuses \(request.command)"))
      }
      return .success(answer)
    } catch {
      let error = error as? SpeakerError ?? failure
      lose(error)
      return .failure(error)
    }
  }

  private func openSession() async throws -> String {
    let answer = try await exchange("init_session", [])
    guard let token = answer["SessionToken"]?.looseText, !token.isEmpty else {
      throw lost(
        "it opens no session", hint: "is it a hub in local-server mode, and does it require a token?")
    }
    return token
  }

  /// Sends a command and returns the object that the hub answers.
  /// - Throws: `speaker.lost`, `CancellationError`.
  private func exchange(_ command: String, _ parameters: Parameters) async throws -> JSON {
    let query = parameters.map { "\($0.name)=\(Self.encoded($0.value))" }.joined(separator: "&")
    let head: HTTPResponse
    let body: [UInt8]
    do {
      var request = try HTTPRequest("\(url)/api/v1/\(command)\(query.isEmpty ? "" : "?")\(query)")
      (request.timeout, request.connectTimeout) = (responseTime, responseTime)
      // A redirect would hand the token to another machine.
      request.maximumRedirects = 0
      if let bearer { request.headers.append(("Authorization", "Bearer \(bearer)")) }
      (head, body) = try await network.fetch(request, limit: Self.longestAnswer, on: loop)
    } catch let error as HTTPError { throw lost(error.message) }
    guard head.status != 401, head.status != 403 else {
      throw lost("it refuses access, status \(head.status)", hint: "token_file names the file of its token")
    }
    let answer = JSON(parsing: body)
    if let answer, Self.isUnknownSession(answer) { return answer }
    guard head.status == 200 else { throw lost("it answers \(command) with status \(head.status)") }
    guard let answer, case .object = answer else {
      throw lost("its answer to \(command) is not a JSON object")
    }
    return answer
  }

  private func lost(_ reason: String, hint: String? = nil) -> SpeakerError {
    SpeakerError(.lost, "the hub at \(url.onOneLine) is lost: \(reason)", hint: hint)
  }

  /// The reason why no command can be sent.
  private var failure: SpeakerError {
    if case .lost(let error) = phase { error } else { House.closedError }
  }

  /// Returns `true` for an answer that has `SessionNotFound` as the value or the name of a member.
  private static func isUnknownSession(_ answer: JSON) -> Bool {
    guard case .object(let members) = answer else { return false }
    let word = "SessionNotFound"
    return members.contains { $0.name == word || $0.value.text?.contains(word) == true }
  }

  private static func isRefusal(_ answer: JSON) -> Bool { answer["Result"]?.looseBool == false }

  /// Encodes all but the unreserved characters. Source: RFC 3986 §2.3.
  static func encoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let hex = String(byte, radix: 16, uppercase: true)
        result += hex.count == 1 ? "%0\(hex)" : "%\(hex)"
      }
    }
    return result
  }

  // MARK: Loss

  private func lose(_ error: SpeakerError) {
    guard case .open = phase else { return }
    phase = .lost(error)
    failQueue()
    observer?.lost(error)
    scheduleRetry()
  }

  private func failQueue() {
    let (failed, error) = (queue, failure)
    queue = []
    for request in failed { request.then(.failure(error)) }
  }

  private func scheduleRetry() {
    retryTimer = loop.after(backoff.next(), keepsAlive: false) { [weak self] in self?.retry() }
  }

  private func retry() {
    guard case .lost = phase else { return }
    loop.start { [self] in
      let token = try? await openSession()
      guard case .lost = phase else { return }
      guard let token else { return scheduleRetry() }
      phase = .open(token: token)
      backoff.reset()
      observer?.reconnected()
      send()
    }
  }
}
