import EventLoop
import TestSupport
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// A session, and the board's end of its link in the hands of a test.
struct LinkHarness {
  static let key = LinkKey.development
  static let nonces = [[UInt8](1...16), [UInt8](17...32)]

  var session = LinkSession(name: "unix:/run/board", key: key, nonces: nonces)
  var handshake = BoardHandshake(key: key.bytes)
  var seal: LinkSeal?
  var now = Instant.start
  private var reader = LinkReader()
  /// The frames of the session that the test has not read yet.
  private var inbox: [LinkFrame] = []

  var welcome = Welcome(
    challenge: [UInt8](repeating: 0xC4, count: 16), session: 7,
    board: BoardInfo(
      image: .application, capabilities: [.ambient, .equalizer], longestPayload: 1_024, model: "RT-1",
      firmwareVersion: "1.2.0", boots: 3))

  /// A session that is open.
  static func open() throws -> LinkHarness {
    var harness = LinkHarness()
    harness.note(harness.session.begin(at: harness.now))
    try harness.answerHello()
    let actions = try harness.answerProof()
    #expect(actions == [.opened(harness.welcome.board)])
    return harness
  }

  /// Takes what the session sent out of its actions.
  @discardableResult
  mutating func note(_ actions: [LinkSession.Action]) -> [LinkSession.Action] {
    var rest: [LinkSession.Action] = []
    for action in actions {
      guard case .send(let bytes) = action else {
        rest.append(action)
        continue
      }
      for packet in reader.read(bytes[...]) {
        if seal == nil { inbox.append(packet.frame) }
        do throws(LinkSeal.Refusal) {
          if let frame = try seal?.open(packet) { inbox.append(frame) }
        } catch { Issue.record("the session sent a frame that is \(error)") }
      }
    }
    return rest
  }

  /// The frames that were sent since this was asked last.
  mutating func sent() -> [LinkFrame] {
    defer { inbox = [] }
    return inbox
  }

  /// The one frame that was sent since then.
  mutating func sentOne(_ operation: LinkOperation) throws -> LinkFrame {
    let frames = sent()
    #expect(frames.count == 1)
    let frame = try #require(frames.first)
    #expect(frame.kind == .request && frame.operation == operation)
    return frame
  }

  /// Lets the session take a frame of the board's, sealed when the handshake is done.
  @discardableResult
  mutating func receive(_ frame: LinkFrame) throws -> [LinkSession.Action] {
    let bytes = try seal?.seal(frame) ?? frame.unsealed
    return receive(bytes)
  }

  @discardableResult
  mutating func receive(_ bytes: [UInt8]) -> [LinkSession.Action] {
    note(session.received(bytes[...], at: now))
  }

  /// Answers a request.
  @discardableResult
  mutating func answer(_ request: LinkFrame, _ message: some LinkMessage) throws -> [LinkSession.Action] {
    try receive(LinkReply.done(message).frame(to: request))
  }

  /// Makes a request.
  @discardableResult
  mutating func request(_ id: Int, _ message: some LinkRequest) throws -> [LinkSession.Action] {
    note(session.request(id, type(of: message).operation, try message.payload(), at: now))
  }

  /// Goes to a moment: seconds since the beginning.
  @discardableResult
  mutating func pass(to seconds: Double) -> [LinkSession.Action] {
    now = Instant.start.advanced(by: .seconds(seconds))
    return note(session.passed(to: now))
  }

  /// Seconds from the beginning to what is due next.
  var due: Double? {
    session.deadline.map { Double($0.nanoseconds) / 1e9 }
  }

  /// Answers the HELLO that was sent.
  @discardableResult
  mutating func answerHello() throws -> [LinkSession.Action] {
    let hello = try sentOne(.hello)
    guard case .answer(let payload) = try handshake.received(hello: hello.payload, welcome: welcome) else {
      throw TestFailure("the board does not answer HELLO")
    }
    return try receive(
      LinkFrame(kind: .response, sequence: hello.sequence, code: hello.code, payload: payload))
  }

  /// Answers the AUTH that was sent.
  mutating func answerProof() throws -> [LinkSession.Action] {
    let proof = try sentOne(.authenticate)
    let (payload, seal): ([UInt8], LinkSeal?) =
      switch try handshake.received(authenticate: proof.payload) {
      case .answer(let payload), .end(let payload): (payload, nil)
      case .begin(let payload, let seal): (payload, seal)
      }
    let actions = try receive(
      LinkFrame(kind: .response, sequence: proof.sequence, code: proof.code, payload: payload))
    self.seal = seal
    return actions
  }
}

extension [LinkSession.Action] {
  /// The error that the link was lost with.
  var loss: HeadsetError? {
    if case .lost(let error) = last { error } else { nil }
  }
}
