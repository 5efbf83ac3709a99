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
    case settingUp
    /// Sound is requested. Data that comes before the answer is of an earlier request.
    case starting(Track)
    case playing(Track)
    /// A rest is requested: sound comes until the answer. After it the session moves to a time, or rests.
    case pausing(Track, thenFrom: Double?)
    case resting(Track)
    case over
  }

  /// A medium that is set up.
  package struct Track: Sendable, Equatable {
    /// The channel of RTP; that of RTCP is the next one, unless the server chose another.
    package let channel: UInt8
    package let reportChannel: UInt8
  }

  /// A request that waits for its answer.
  private struct Pending {
    let method: RTSPMethod
    let number: Int
    let request: RTSPRequest
    /// The number of attempts with credentials.
    var attempts = 0
  }

  /// The state of the session.
  package private(set) var phase = Phase.idle
  /// The moment at which `deadlinePassed` is due; nil without one.
  package private(set) var deadline: Instant?

  /// The limit of answers to no request, and of requests of the server.
  private static let strayLimit = 64
  /// The timeout of a session whose server states none. Source: RFC 2326 §12.37.
  private static let usualTimeout = 60
  /// The limit of queued requests: a caller that moves all the time is served when the server answers.
  private static let queueLimit = 8

  private let uri: String
  private let credentials: RTSPCredentials?
  private let userAgent: String
  private let clientNonce: String
  private var base: String
  private var aggregate: String
  private var number = 0
  private var pending: Pending?
  private var queue: [(method: RTSPMethod, request: RTSPRequest)] = []
  private var challenge: RTSPChallenge?
  /// The number of requests with the current nonce.
  private var nonceCount = 0
  private var session: String?
  /// The interval of requests that keep the session alive.
  private var interval = Duration.seconds(usualTimeout / 2)
  /// The request that keeps the session alive: the server may not know the first choice.
  private var aliveMethod = RTSPMethod.options
  private var strays = 0
  /// `true` once the server has answered a request to play.
  private var hasPlayed = false
  /// The seconds from which the next request plays; nil to continue.
  private var wanted: Double?
  /// `true` if the answer to the current request to play is of an earlier time.
  private var isMoved = false

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
    let target = SessionDescription.uri(of: medium.control, base: aggregate == uri ? base : aggregate)
    guard RTSPRequest.isURI(aggregate), RTSPRequest.isURI(target) else {
      return fail(RTSPError(.malformed, "describes a medium with a URI that can't be requested"))
    }
    phase = .settingUp
    wanted = start
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
    case .starting:
      wanted = start
      isMoved = true
      return []
    case .resting(let track):
      wanted = start
      return play(track, at: now)
    case .settingUp:
      wanted = start
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
    wanted = nil
    return play(track, at: now)
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
      if response.status < 200 { return [] }
      self.pending = nil
      return answered(pending, response, at: now)
    }
  }

  private func data(_ channel: UInt8, _ bytes: [UInt8]) -> [Action] {
    let track: Track
    switch phase {
    case .playing(let playing), .pausing(let playing, nil): track = playing
    // Some servers send before they answer.
    case .starting(let started) where !hasPlayed: track = started
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

  // MARK: Requests

  private mutating func request(
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

  private mutating func send(_ method: RTSPMethod, _ plain: RTSPRequest, attempts: Int = 0) -> [Action] {
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

  private mutating func play(_ track: Track, at now: Instant) -> [Action] {
    phase = .starting(track)
    isMoved = false
    let fields = wanted.map { [("Range", "npt=\(Self.seconds($0))-")] } ?? []
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

  // MARK: Answers

  private mutating func answered(
    _ pending: Pending, _ response: RTSPResponse, at now: Instant
  ) -> [Action] {
    if response.status == 401 { return challenged(pending, response) }
    if (300..<400).contains(response.status), let location = response.headers["Location"] {
      phase = .over
      return [.redirect(location)]
    }
    let isDone = response.status < 300
    var actions: [Action]
    switch (pending.method, phase) {
    case (.options, .asking):
      // A server may know no OPTIONS, or refuse it; what counts is the description.
      let methods = response.headers["Public"]?.split(separator: ",").map { $0.trimmed.uppercased() } ?? []
      if methods.contains(RTSPMethod.parameter.rawValue) { aliveMethod = .parameter }
      phase = .describing
      actions = request(.describe, uri, [("Accept", "application/sdp")], at: now)
    case (.options, _), (.parameter, _):
      if response.status == 454 { return fail(RTSPError(pending.method, response)) }
      if !isDone { aliveMethod = .options }
      actions = []
    case (.teardown, _): actions = []
    case _ where !isDone:
      if pending.method == .setup, response.status == 461 { return fail(Self.withoutTCP) }
      return fail(RTSPError(pending.method, response))
    case (.describe, .describing): actions = described(response)
    case (.setup, .settingUp): actions = isSetUp(response, at: now)
    case (.play, .starting(let track)): actions = started(track, response, at: now)
    case (.pause, .pausing(let track, let start)):
      phase = .resting(track)
      wanted = start
      actions = start == nil ? [.resting] : play(track, at: now)
    default: actions = []
    }
    if self.pending == nil, !queue.isEmpty, phase != .over {
      let next = queue.removeFirst()
      actions += send(next.method, next.request)
    }
    return actions
  }

  private static let withoutTCP = RTSPError(
    .unsupported, "offers UDP alone: its sound can't come through this connection",
    hint: "choose RTP over RTSP (TCP) in the settings of the server")

  private mutating func challenged(_ pending: Pending, _ response: RTSPResponse) -> [Action] {
    let wanted = RTSPError(
      .auth, credentials == nil ? "wants a user and a password" : "refuses the user and the password",
      facts: [.init("status", .int(401))])
    let fields = response.headers.all("WWW-Authenticate")
    guard credentials != nil else { return fail(wanted) }
    guard let new = RTSPChallenge.best(fields) else {
      return fail(RTSPError(.auth, "wants a way of authentication that is not known here"))
    }
    // A new nonce is answered once more; other than that the credentials are wrong.
    guard pending.attempts == 0 || pending.attempts == 1 && new.isStale else { return fail(wanted) }
    (challenge, nonceCount) = (new, 0)
    return send(pending.method, pending.request, attempts: pending.attempts + 1)
  }

  private mutating func described(_ response: RTSPResponse) -> [Action] {
    do throws(RTSPError) {
      let description = try SessionDescription(response.body)
      // Source: RFC 2326 §C.1.1.
      let stated = response.headers["Content-Base"] ?? response.headers["Content-Location"]
      if let stated, RTSPRequest.isURI(stated), stated.lowercased().hasPrefix("rtsp") { base = stated }
      phase = .described
      return [.described(description)]
    } catch { return fail(error) }
  }

  private mutating func isSetUp(_ response: RTSPResponse, at now: Instant) -> [Action] {
    let transport = response.headers["Transport"]?.lowercased() ?? ""
    let fields = transport.split(separator: ";").map(\.trimmed)
    guard fields.first.map({ $0.contains("tcp") }) ?? true else { return fail(Self.withoutTCP) }
    var channels: [UInt8] = []
    if let stated = fields.first(where: { $0.hasPrefix("interleaved=") }) {
      channels = stated.dropFirst("interleaved=".count).split(separator: "-").compactMap { UInt8($0) }
    }
    let channel = channels.first ?? 0
    let track = Track(
      channel: channel, reportChannel: channels.count > 1 ? channels[1] : channel &+ 1)
    guard let stated = response.headers["Session"] else {
      return fail(RTSPError(.malformed, "sets up a medium without a session"))
    }
    let parts = stated.split(separator: ";").map(\.trimmed)
    guard let name = parts.first, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), name.utf8.count <= 1024
    else {
      return fail(RTSPError(.malformed, "states a session that has no name"))
    }
    session = String(name)
    let timeout = parts.dropFirst().lazy.compactMap { part in
      part.lowercased().hasPrefix("timeout=") ? Int(part.dropFirst("timeout=".count).trimmed) : nil
    }.first
    let seconds = min(max(timeout ?? Self.usualTimeout, 1), 3600)
    interval = .milliseconds(seconds * 500)
    deadline = now.advanced(by: interval)
    return play(track, at: now)
  }

  private mutating func started(_ track: Track, _ response: RTSPResponse, at now: Instant) -> [Action] {
    if isMoved, let wanted {
      isMoved = false
      phase = .pausing(track, thenFrom: wanted)
      return request(.pause, aggregate, at: now)
    }
    phase = .playing(track)
    hasPlayed = true
    var range = PlayedRange()
    range.start = response.headers["Range"].flatMap { SessionDescription.Range($0) }?.start ?? wanted
    let information = response.headers["RTP-Info"]?.split(separator: ",").first ?? ""
    for field in information.split(separator: ";").map(\.trimmed) {
      if field.hasPrefix("seq=") { range.sequence = UInt16(field.dropFirst(4)) }
      if field.hasPrefix("rtptime=") { range.timestamp = UInt32(field.dropFirst(8)) }
    }
    return [.playing(range)]
  }
}

extension Failure<RTSPErrorKind> {
  /// Creates the failure of a request with that answer.
  fileprivate init(_ method: RTSPMethod, _ response: RTSPResponse) {
    self.init(method, status: response.status, reason: response.reason)
  }
}
