internal import EventLoop
internal import HeadsetLink

/// The host's side of a link whose channel is open: HELLO, AUTH, then requests and events.
///
/// Receives bytes and moments, and returns actions, which the caller performs in order. The caller calls
/// `passed` at each `deadline`.
struct LinkSession {
  /// A step that the owner of the session performs.
  enum Action: Equatable {
    /// Send bytes to the board.
    case send([UInt8])
    /// Report that both sides have proved the key; requests can be made.
    case opened(BoardInfo)
    /// Report the payload of the board's answer to a request.
    case answered(Int, [UInt8])
    /// Report a request that will not be answered.
    case failed(Int, HeadsetError)
    /// Report an event of the board.
    case event(DriverEvent)
    /// The last action: the link can't be used any more. Each remaining request has failed before.
    case lost(HeadsetError)
    /// The last action: the board has confirmed the end of the session, or the time for that is over.
    case left
  }

  /// The reason why a frame is ignored.
  enum Drop: CaseIterable {
    /// The frame has no seal, or has one before AUTH.
    case unsealed
    /// The seal is not the board's, or of another session.
    case forged
    /// The frame was received before.
    case repeated
    /// The frame answers no pending request, or is not an answer at all.
    case unexpected
  }

  enum Phase {
    case new
    case greeting(HostHandshake)
    case proving(HostHandshake, LinkHandshake, BoardInfo)
    case open(BoardInfo)
    case leaving(by: Instant)
    case over
  }

  /// The longest time to wait for the answer to BYE.
  static let farewell = Duration.seconds(1)

  /// The name of the headset in messages.
  let name: String
  let key: LinkKey
  /// The remaining nonces, one for each HELLO.
  var nonces: ArraySlice<[UInt8]>
  var phase = Phase.new
  var seal: LinkSeal?
  var requests: RequestQueue
  var actions: [Action] = []
  /// The number of ignored frames by their reason, without those that the reader dropped.
  private(set) var dropped: [Drop: Int] = [:]
  private(set) var reader = LinkReader()

  /// - Parameter nonces: 16 random bytes, never used before, for each HELLO: the first one, and one after
  ///   each proof that the board refuses.
  init(name: String, key: LinkKey, nonces: [[UInt8]]) {
    (self.name, self.key, self.nonces) = (name, key, nonces[...])
    // A random first sequence number, so that late answers to an earlier host of a serial line do not match.
    let first = nonces.first?.prefix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) } ?? 0
    requests = RequestQueue(after: first)
  }

  /// `true` while requests can be made.
  var isOpen: Bool { if case .open = phase { true } else { false } }

  /// The moment of the next call of `passed`; nil while no answer is due.
  var deadline: Instant? {
    if case .leaving(let moment) = phase { moment } else { requests.deadline }
  }

  /// Begins the handshake.
  mutating func begin(at now: Instant) -> [Action] {
    greet(at: now)
    return drainActions()
  }

  /// Makes a request, after all earlier requests.
  mutating func request(_ id: Int, _ operation: LinkOperation, _ payload: [UInt8], at now: Instant)
    -> [Action]
  {
    guard case .open(let board) = phase else {
      return [.failed(id, HeadsetError(.notConnected, "the headset at \(name) is not connected"))]
    }
    do throws(PayloadError) {
      guard payload.count <= board.longestPayload else {
        throw .long(payload.count, limit: Int(board.longestPayload))
      }
      try requests.add(id, operation, payload)
    } catch {
      return [.failed(id, HeadsetError(.writeFailed, "\(operation.name): \(error.meaning)"))]
    }
    startRequests(at: now)
    return drainActions()
  }

  /// Receives bytes, which may be cut anywhere.
  mutating func received(_ bytes: ArraySlice<UInt8>, at now: Instant) -> [Action] {
    for packet in reader.read(bytes) { receive(packet, at: now) }
    return drainActions()
  }

  /// Repeats requests without an answer, and fails those whose timeout has passed.
  mutating func passed(to now: Instant) -> [Action] {
    if case .leaving(let moment) = phase {
      if moment <= now { end(.left) }
    } else {
      let (again, late) = requests.overdue(at: now)
      for frame in again { send(frame) }
      giveUp(late)
    }
    return drainActions()
  }

  /// Ends the session with BYE. Remaining requests fail.
  mutating func leave(at now: Instant) -> [Action] {
    let isOpen = isOpen
    failRequests("the headset at \(name) was disconnected")
    guard isOpen, (try? requests.add(nil, .bye, [])) != nil else {
      end(.left)
      return drainActions()
    }
    startRequests(at: now)
    // Sealing the BYE may have ended the session.
    if self.isOpen { phase = .leaving(by: now.advanced(by: Self.farewell)) }
    return drainActions()
  }

  /// Applies the end of the channel.
  mutating func ended(_ end: LinkEnd) -> [Action] {
    switch phase {
    case .leaving: self.end(.left)
    case .open: lose(HeadsetError(.notConnected, "the link to \(name) ended: \(end.words)"))
    default:
      lose(
        HeadsetError(.connectionFailed, "the link to \(name) ended before the key was proved: \(end.words)"))
    }
    return drainActions()
  }

  mutating func drop(_ why: Drop) { dropped[why, default: 0] += 1 }

  private mutating func drainActions() -> [Action] {
    defer { actions = [] }
    return actions
  }
}
