internal import EventLoop
internal import HeadsetLink

/// The host's side of a link whose channel is open: HELLO, AUTH, then requests and events.
///
/// Bytes and moments go in, actions come out, which the caller performs in order. The caller calls `passed`
/// at each `deadline`.
struct LinkSession {
  /// A step that the owner of the session performs.
  enum Action: Equatable {
    /// Send bytes to the board.
    case send([UInt8])
    /// Report that both sides have proved the key; requests can be made.
    case opened(BoardInfo)
    /// The payload of the board's answer to a request.
    case answered(Int, [UInt8])
    /// A request that will not be answered.
    case failed(Int, HeadsetError)
    /// Report an event of the board.
    case event(DriverEvent)
    /// The last action: the link is of no more use. Each request that was left has failed before.
    case lost(HeadsetError)
    /// The last action: the board knows that the host goes, or has no more time for it.
    case left
  }

  /// The reason for which a frame is ignored.
  enum Drop: CaseIterable {
    /// The frame has no seal, or has one before AUTH.
    case unsealed
    /// The seal is not the board's, or of another session.
    case forged
    /// The frame was received before.
    case repeated
    /// The answer to a request that is not waited for, or none at all.
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
  /// The nonces that are left, one for each HELLO.
  var nonces: ArraySlice<[UInt8]>
  var phase = Phase.new
  var seal: LinkSeal?
  var requests: RequestQueue
  var actions: [Action] = []
  /// The number of ignored frames by their reason, beside those that the reader dropped.
  private(set) var dropped: [Drop: Int] = [:]
  private(set) var reader = LinkReader()

  /// - Parameter nonces: 16 random bytes, never used before, for each time that a board which refuses the proof is asked.
  init(name: String, key: LinkKey, nonces: [[UInt8]]) {
    (self.name, self.key, self.nonces) = (name, key, nonces[...])
    // Answers to whoever was connected to a serial line before have other sequences.
    let first = nonces.first?.prefix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) } ?? 0
    requests = RequestQueue(after: first)
  }

  /// `true` while requests can be made.
  var isOpen: Bool { if case .open = phase { true } else { false } }

  /// The moment of the next call of `passed`; nil while no answer is due.
  var deadline: Instant? {
    if case .leaving(let moment) = phase { moment } else { requests.deadline }
  }

  /// Begins.
  mutating func begin(at now: Instant) -> [Action] {
    greet(at: now)
    return drainActions()
  }

  /// Makes a request, behind those that were made before.
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

  /// Ends the session with BYE. Requests that are left fail.
  mutating func leave(at now: Instant) -> [Action] {
    let isOpen = isOpen
    failRequests("the headset at \(name) was disconnected")
    guard isOpen, (try? requests.add(nil, .bye, [])) != nil else {
      end(.left)
      return drainActions()
    }
    startRequests(at: now)
    // The seal may have ended the session.
    if self.isOpen { phase = .leaving(by: now.advanced(by: Self.farewell)) }
    return drainActions()
  }

  /// The channel has ended.
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
