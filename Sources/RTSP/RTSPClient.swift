package import EventLoop

/// The rules of a session with a server: describes a presentation, sets up one medium between the messages of
/// the same connection, plays, rests, moves, keeps the session alive. Knows no socket and no clock: its
/// methods receive each event with its time, and return actions.
///
/// One request waits for its answer at a time; the others are queued. Answers to no request are ignored, up
/// to a limit. Source: RFC 2326.
package struct RTSPClient: Sendable {
  /// An action of the caller; actions are performed in the given order.
  package enum Action: Sendable, Equatable {
    case send([UInt8])
    /// The description has come: `setUp` follows, or the caller ends the session.
    case described(SessionDescription)
    /// The sound that follows plays from a time on.
    case playing(PlayedRange)
    /// The server sends no more until `play`.
    case resting
    /// A packet of RTP.
    case packet([UInt8])
    /// A packet of RTCP.
    case report([UInt8])
    /// The presentation is at another URI: the connection is to be closed.
    case redirect(String)
    /// The session has failed: the connection is to be closed.
    case fail(RTSPError)
  }

  /// The range that a server plays.
  package struct PlayedRange: Sendable, Equatable {
    /// The seconds at which it begins; nil if the server does not state them.
    package var start: Double?
    /// The sequence number and the time stamp of the first packet, as far as they are stated.
    package var sequence: UInt16?
    package var timestamp: UInt32?

    /// Creates a range of which nothing is stated.
    package init() {}
  }

  /// The state of the session.
  package enum Phase: Sendable, Equatable {
    case idle
    /// The methods of the server are requested.
    case asking
    case describing
    /// The medium is to be chosen.
    case described
    /// A medium is requested, which is to play from a time on; nil for a live presentation.
    case settingUp(from: Double?)
    /// Sound is requested, from a time on or where it stopped.
    case starting(Track, Start)
    case playing(Track)
    /// A rest is requested: sound comes until the answer. After it the session moves to a time, or rests.
    case pausing(Track, thenFrom: Double?)
    case resting(Track)
    case over
  }

  /// A request to play.
  package struct Start: Sendable, Equatable {
    /// The time; nil to continue.
    let from: Double?
    /// `true` for the first of the session: data that comes before the answer is its sound, as some servers
    /// send before they answer. Later it is of an earlier request.
    let isFirst: Bool
    /// The time to move to once the server has answered; nil to stay.
    var thenFrom: Double?
  }

  /// A medium that is set up.
  package struct Track: Sendable, Equatable {
    /// The channel of RTP; that of RTCP is the next one, unless the server chose another.
    package let channel: UInt8
    package let reportChannel: UInt8
  }

  /// A request that waits for its answer.
  struct Pending {
    let method: RTSPMethod
    let number: Int
    let request: RTSPRequest
    /// The number of attempts with credentials.
    var attempts = 0
  }

  /// The state of the session.
  package internal(set) var phase = Phase.idle
  /// The moment at which `deadlinePassed` is due; nil without one.
  package internal(set) var deadline: Instant?

  /// The limit of answers to no request, and of requests of the server.
  static let strayLimit = 64
  /// The timeout of a session whose server states none. Source: RFC 2326 §12.37.
  static let usualTimeout = 60
  /// The limit of queued requests: a caller that moves all the time is served when the server answers.
  private static let queueLimit = 8

  let uri: String
  let credentials: RTSPCredentials?
  private let userAgent: String
  private let clientNonce: String
  var base: String
  var aggregate: String
  private var number = 0
  var pending: Pending?
  var queue: [(method: RTSPMethod, request: RTSPRequest)] = []
  var challenge: RTSPChallenge?
  /// The number of requests with the current nonce.
  var nonceCount = 0
  var session: String?
  /// The interval of requests that keep the session alive.
  var interval = Duration.seconds(usualTimeout / 2)
  /// The request that keeps the session alive: the server may not know the first choice.
  var aliveMethod = RTSPMethod.options
  private var strays = 0

  /// - Parameters:
  ///   - uri: the URI of the presentation, without user and password.
  ///   - clientNonce: a random text for digests.
  package init(uri: String, credentials: RTSPCredentials?, userAgent: String, clientNonce: String) {
    (self.uri, self.credentials, self.userAgent) = (uri, credentials, userAgent)
    self.clientNonce = clientNonce
    (base, aggregate) = (uri, uri)
  }

  /// The connection is open.
  package mutating func connected(at now: Instant) -> [Action] {
    guard phase == .idle else { return [] }
    phase = .asking
    return request(.options, uri, at: now)
  }

  /// Sets up a medium of the description, and plays it.
  /// - Parameter start: the seconds to play from; nil for a live presentation.
  package mutating func setUp(
    _ medium: SessionDescription.Medium, of description: SessionDescription, from start: Double?,
    at now: Instant
  ) -> [Action] {
    guard phase == .described else { return [] }
    aggregate = SessionDescription.uri(of: description.control, base: base)
    let target = SessionDescription.uri(of: medium.control, base: aggregate)
    guard RTSPRequest.isURI(aggregate), RTSPRequest.isURI(target) else {
      return fail(RTSPError(.malformed, "describes a medium with a URI that can't be requested"))
    }
    phase = .settingUp(from: start)
    return request(.setup, target, [("Transport", "RTP/AVP/TCP;unicast;interleaved=0-1")], at: now)
  }

  /// Moves to a time, also from a rest: the sound that follows `playing` is from there.
  package mutating func play(from start: Double, at now: Instant) -> [Action] {
    switch phase {
    case .playing(let track):
      phase = .pausing(track, thenFrom: start)
      return request(.pause, aggregate, at: now)
    case .pausing(let track, _):
      phase = .pausing(track, thenFrom: start)
      return []
    case .starting(let track, var request):
      request.thenFrom = start
      phase = .starting(track, request)
      return []
    case .resting(let track): return play(track, from: start, at: now)
    case .settingUp:
      phase = .settingUp(from: start)
      return []
    case .idle, .asking, .describing, .described, .over: return []
    }
  }

  /// Requests a rest.
  package mutating func rest(at now: Instant) -> [Action] {
    guard case .playing(let track) = phase else { return [] }
    phase = .pausing(track, thenFrom: nil)
    return request(.pause, aggregate, at: now)
  }

  /// Continues after a rest.
  package mutating func resume(at now: Instant) -> [Action] {
    guard case .resting(let track) = phase else { return [] }
    return play(track, from: nil, at: now)
  }

  /// Ends the session in order.
  package mutating func end(at now: Instant) -> [Action] {
    defer { phase = .over }
    deadline = nil
    guard session != nil, phase != .over else { return [] }
    // The answer is not awaited.
    (pending, queue) = (nil, [])
    return request(.teardown, aggregate, at: now)
  }

  /// The deadline has passed: the session is kept alive.
  package mutating func deadlinePassed(at now: Instant) -> [Action] {
    guard let deadline, now >= deadline else { return [] }
    self.deadline = now.advanced(by: interval)
    // A request that is not answered yet keeps it alive, too.
    guard pending == nil else { return [] }
    return request(aliveMethod, aggregate, at: now)
  }

  /// An item has come.
  package mutating func received(_ item: RTSPParser.Item, at now: Instant) -> [Action] {
    switch item {
    case .data(let channel, let bytes): return data(channel, bytes)
    case .request(let request): return answer(request)
    case .response(let response):
      guard let pending, response.number == nil || response.number == pending.number else {
        strays += 1
        return strays > Self.strayLimit
          ? fail(RTSPError(.malformed, "answers requests that were not sent")) : []
      }
      // An interim answer.
      if response.status < 200 {
        strays += 1
        return strays > Self.strayLimit
          ? fail(RTSPError(.malformed, "sends interim answers without end")) : []
      }
      self.pending = nil
      return answered(pending, response, at: now)
    }
  }

  private func data(_ channel: UInt8, _ bytes: [UInt8]) -> [Action] {
    let track: Track
    switch phase {
    case .playing(let playing), .pausing(let playing, nil): track = playing
    case .starting(let started, let request) where request.isFirst: track = started
    case .idle, .asking, .describing, .described, .settingUp, .starting, .pausing, .resting, .over: return []
    }
    if channel == track.channel { return [.packet(bytes)] }
    return channel == track.reportChannel ? [.report(bytes)] : []
  }

  /// Answers a request of the server.
  private mutating func answer(_ request: RTSPRequest) -> [Action] {
    strays += 1
    if strays > Self.strayLimit * 16 { return fail(RTSPError(.malformed, "sends requests without end")) }
    if request.method == "REDIRECT", let location = request.headers["Location"] {
      phase = .over
      return [.redirect(location)]
    }
    let isKnown = ["OPTIONS", "GET_PARAMETER", "SET_PARAMETER", "ANNOUNCE"].contains(request.method)
    var response = isKnown ? RTSPResponse(200, "OK") : RTSPResponse(501, "Not Implemented")
    if let number = request.headers["CSeq"] { response.headers.append("CSeq", number) }
    return [.send(response.bytes)]
  }

  /// `true` while the session is set up: each answer is a step.
  package var isBeginning: Bool {
    switch phase {
    case .asking, .describing, .described, .settingUp: true
    case .starting(_, let start): start.isFirst
    case .idle, .playing, .pausing, .resting, .over: false
    }
  }

  // MARK: Requests

  mutating func request(
    _ method: RTSPMethod, _ uri: String, _ fields: [(name: String, value: String)] = [], at now: Instant
  ) -> [Action] {
    var request = RTSPRequest(method.rawValue, uri)
    for field in fields { request.headers.append(field.name, field.value) }
    guard pending == nil else {
      if queue.count < Self.queueLimit { queue.append((method, request)) }
      return []
    }
    return send(method, request)
  }

  mutating func send(_ method: RTSPMethod, _ plain: RTSPRequest, attempts: Int = 0) -> [Action] {
    number += 1
    var request = RTSPRequest(plain.method, plain.uri)
    request.headers.append("CSeq", "\(number)")
    request.headers.append("User-Agent", userAgent)
    if let session { request.headers.append("Session", session) }
    if let credentials, let challenge {
      nonceCount += 1
      guard
        let value = challenge.authorization(
          credentials, method: plain.method, uri: plain.uri, number: nonceCount, clientNonce: clientNonce)
      else {
        return fail(RTSPError(.auth, "wants a digest that libcrypto of this machine lacks"))
      }
      request.headers.append("Authorization", value)
    }
    for field in plain.headers.fields { request.headers.append(field.name, field.value) }
    pending = Pending(method: method, number: number, request: plain, attempts: attempts)
    return [.send(request.bytes)]
  }

  mutating func play(
    _ track: Track, from start: Double?, isFirst: Bool = false, at now: Instant
  ) -> [Action] {
    phase = .starting(track, Start(from: start, isFirst: isFirst))
    let fields = start.map { [("Range", "npt=\(Self.seconds($0))-")] } ?? []
    return request(.play, aggregate, fields, at: now)
  }

  /// Returns seconds to a thousandth.
  private static func seconds(_ time: Double) -> String {
    let thousandths = Int((min(max(0, time), 1e9) * 1000).rounded())
    let rest = String(thousandths % 1000)
    return "\(thousandths / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
  }

  mutating func fail(_ error: RTSPError) -> [Action] {
    phase = .over
    deadline = nil
    return [.fail(error)]
  }
}
