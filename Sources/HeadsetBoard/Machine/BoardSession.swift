internal import EventLoop
internal import HeadsetLink

/// The session of one host on one link: its identity, the frames that it accepts, and the answers.
///
/// A HELLO may come at any time; the session continues until the new host has proved its key, so that a host
/// without the key can't end it. All other frames need the seal of the session.
struct BoardSession {
  /// A step that the owner of the link performs, in order.
  enum Action {
    case send([UInt8])
    case end
    case restart(ImageType)
    case log(String)
  }

  /// The number of frames that were dropped, by their reason.
  struct Dropped: Equatable {
    /// Frames without a seal where one is needed.
    var unsealed = 0
    /// Frames with a seal that is not the session's.
    var forged = 0
    /// Frames that were received before.
    var repeated = 0
    /// Frames that are not requests.
    var others = 0
  }

  private(set) var dropped = Dropped()
  /// The number of frames with the session's seal.
  private(set) var accepted = 0
  private var handshake: BoardHandshake
  private let challengeLength: Int
  private let garblesAnswers: Bool

  /// The last HELLO that was answered, and its answer.
  private var hello: (checksum: UInt32, sequence: UInt16, session: UInt32, answer: [UInt8])?
  /// The AUTH that began the session, and its answer; the AUTH may come again.
  private var proof: (checksum: UInt32, answer: [UInt8])?
  /// The checksum of the HELLO that the session began with.
  private var beginning: UInt32?
  private var session: UInt32 = 0
  private var seal: LinkSeal?
  private var cache = AnswerCache()
  private var eventSequence: UInt16 = 0

  init(_ options: BoardOptions) {
    handshake = BoardHandshake(key: options.key.bytes)
    challengeLength = options.faults.challengeLength
    garblesAnswers = options.faults.garblesAnswers
  }

  /// `true` while a host has proved its key.
  var isOpen: Bool { seal != nil }

  /// Receives a frame.
  mutating func received(_ packet: LinkPacket, board: inout BoardMachine, at now: Instant) -> [Action] {
    guard packet.frame.kind == .request else {
      dropped.others += 1
      return []
    }
    guard packet.seal == nil else { return receivedSealed(packet, board: &board, at: now) }
    switch packet.frame.operation {
    case .hello: return receivedHello(packet, board)
    case .authenticate where hello != nil || proof != nil || seal == nil: return receivedProof(packet)
    case _ where seal != nil:
      dropped.unsealed += 1
      return []
    default:
      // A host that has not authenticated is asked to do so.
      dropped.unsealed += 1
      return [.send(unsealed(packet.frame, refusal(.authentication)))]
    }
  }

  // MARK: Before the session

  private mutating func receivedHello(_ packet: LinkPacket, _ board: BoardMachine) -> [Action] {
    if packet.checksum == beginning {
      // A nonce is never used twice, so this is a copy.
      dropped.repeated += 1
      return []
    }
    if let hello, hello.checksum == packet.checksum, hello.sequence == packet.frame.sequence {
      return [.send(hello.answer)]
    }
    guard let random = try? SecureRandom.bytes(challengeLength + 4) else {
      return [.send(unsealed(packet.frame, refusal(.busy)))]
    }
    let session = random.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    let welcome = Welcome(challenge: Array(random.dropFirst(4)), session: session, board: board.info)
    guard case .answer(let payload)? = try? handshake.received(hello: packet.frame.payload, welcome: welcome)
    else { return [] }
    let answer = unsealed(packet.frame, payload)
    hello = (packet.checksum, packet.frame.sequence, session, answer)
    return [.send(answer)]
  }

  private mutating func receivedProof(_ packet: LinkPacket) -> [Action] {
    if let proof, proof.checksum == packet.checksum { return [.send(proof.answer)] }
    guard let action = try? handshake.received(authenticate: packet.frame.payload) else { return [] }
    let begun = hello
    hello = nil
    switch action {
    case .answer(let payload):
      let notes = begun == nil ? [] : [Action.log("a host could not prove its key")]
      return [.send(unsealed(packet.frame, payload))] + notes
    case .end(let payload) where seal != nil:
      // A host without the key can't end a session.
      return [.send(unsealed(packet.frame, payload)), .log("somebody could not prove the key, too often")]
    case .end(let payload):
      return [
        .send(unsealed(packet.frame, payload)), .log("a host could not prove its key, too often"), .end,
      ]
    case .begin(let payload, let seal):
      let answer = unsealed(packet.frame, payload)
      (self.seal, proof) = (seal, (packet.checksum, answer))
      (session, beginning) = (begun?.session ?? 0, begun?.checksum)
      cache.clear()
      return [.send(answer), .log("authenticated")]
    }
  }

  // MARK: In the session

  private mutating func receivedSealed(
    _ packet: LinkPacket, board: inout BoardMachine, at now: Instant
  ) -> [Action] {
    guard seal != nil else {
      dropped.forged += 1
      return []
    }
    do throws(LinkSeal.Refusal) { _ = try seal?.open(packet) } catch {
      switch error {
      case .unsealed: dropped.unsealed += 1
      case .forged: dropped.forged += 1
      case .repeated: dropped.repeated += 1
      }
      return []
    }
    accepted += 1
    // The host has received the proof, so its AUTH will not come again.
    proof = nil
    if let answer = cache.answer(to: packet, in: session) { return [sealed(answer)] }
    var payload = board.perform(packet.frame, at: now)
    if garblesAnswers { payload.removeLast(max(0, payload.count - 1)) }
    guard let answer = try? Self.response(to: packet.frame, payload) else { return [.end] }
    cache.keep(answer, to: packet, in: session)
    return [sealed(answer)] + events(of: &board) + end(board.next, &board)
  }

  /// Returns the queued events as frames of the session; empty without a session.
  mutating func events(of board: inout BoardMachine) -> [Action] {
    defer { board.events = [] }
    return events(board.events)
  }

  /// Returns events as frames of the session; empty without a session.
  mutating func events(_ events: [any LinkEvent]) -> [Action] {
    guard seal != nil else { return [] }
    return events.compactMap { event in
      eventSequence &+= 1
      return (try? event.frame(sequence: eventSequence)).map { sealed($0) }
    }
  }

  private mutating func end(_ next: BoardMachine.Next, _ board: inout BoardMachine) -> [Action] {
    board.next = .stay
    switch next {
    case .stay: return []
    case .endLink: return [.end]
    case .restart(let target): return [.restart(target)]
    }
  }

  // MARK: Frames

  /// Returns the action that sends a frame under the seal, or ends the link when the counter is used up.
  private mutating func sealed(_ frame: LinkFrame) -> Action {
    (try? seal?.seal(frame)).map { .send($0) } ?? .end
  }

  private func unsealed(_ request: LinkFrame, _ payload: [UInt8]) -> [UInt8] {
    (try? Self.response(to: request, payload).unsealed) ?? []
  }

  private func refusal(_ status: LinkStatus) -> [UInt8] {
    (try? LinkReply<Done>.refused(LinkRefusal(status)).payload()) ?? []
  }

  private static func response(to request: LinkFrame, _ payload: [UInt8]) throws(PayloadError) -> LinkFrame {
    try LinkFrame(kind: .response, sequence: request.sequence, code: request.code, payload: payload)
  }
}

/// The last answers of a session, so that a repeated request is answered but not performed again.
struct AnswerCache {
  /// The most answers that are kept.
  static let longest = 16

  private struct Entry {
    let session: UInt32
    let sequence: UInt16
    let checksum: UInt32
    let answer: LinkFrame
  }

  private var entries: [Entry] = []

  /// Forgets all answers.
  mutating func clear() { entries = [] }

  /// Keeps an answer to `request`, and forgets the oldest answer when there are too many.
  mutating func keep(_ answer: LinkFrame, to request: LinkPacket, in session: UInt32) {
    if entries.count == Self.longest { entries.removeFirst() }
    entries.append(
      Entry(
        session: session, sequence: request.frame.sequence, checksum: request.checksum, answer: answer))
  }

  /// The answer to the same request in the same session.
  func answer(to request: LinkPacket, in session: UInt32) -> LinkFrame? {
    entries.last {
      $0.session == session && $0.sequence == request.frame.sequence && $0.checksum == request.checksum
    }?.answer
  }
}
