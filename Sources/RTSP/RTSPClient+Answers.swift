internal import EventLoop

/// The answers of the server.
extension RTSPClient {
  mutating func answered(
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
    case (.setup, .settingUp(let start)): actions = isSetUp(response, from: start, at: now)
    case (.play, .starting(let track, let request)): actions = started(track, request, response, at: now)
    case (.pause, .pausing(let track, let start)):
      phase = .resting(track)
      actions = start.map { play(track, from: $0, at: now) } ?? [.resting]
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

  private mutating func isSetUp(
    _ response: RTSPResponse, from start: Double?, at now: Instant
  ) -> [Action] {
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
    return play(track, from: start, isFirst: true, at: now)
  }

  private mutating func started(
    _ track: Track, _ start: Start, _ response: RTSPResponse, at now: Instant
  ) -> [Action] {
    if let next = start.thenFrom {
      phase = .pausing(track, thenFrom: next)
      return request(.pause, aggregate, at: now)
    }
    phase = .playing(track)
    var range = PlayedRange()
    range.start = response.headers["Range"].flatMap { SessionDescription.Range($0) }?.start ?? start.from
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
