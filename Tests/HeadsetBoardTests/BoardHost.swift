import EventLoop
import TestSupport

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// A host made of the codec alone: asks, and takes what comes.
final class BoardHost {
  /// No answer has come.
  struct Silence: Error {}

  let loop: EventLoop
  let channel: any LinkChannel
  var key = LinkKey.development.bytes
  /// The longest time to wait for an answer.
  var timeout = Duration.seconds(8)
  private(set) var isEnded = false
  /// The events of the board.
  private(set) var events: [LinkFrame] = []
  private(set) var welcome: Welcome?
  /// The last request as it went over the wire.
  private(set) var sent: [UInt8] = []
  var seal: LinkSeal?
  private var reader = LinkReader()
  private var responses: [LinkFrame] = []
  private var sequence: UInt16 = 0

  convenience init(_ board: Board) { self.init(board.connect(), board.loop) }

  /// A host on a line, which the board does not see come and go.
  convenience init(lineTo board: Board) {
    let (host, own) = MemoryChannel.pair(loop: board.loop)
    board.attach(own) {}
    self.init(host, board.loop)
  }

  private init(_ channel: any LinkChannel, _ loop: EventLoop) {
    (self.loop, self.channel) = (loop, channel)
    channel.deliver(
      to: LinkReceiver(
        bytes: { [unowned self] in receive($0) }, end: { [unowned self] _ in isEnded = true }))
  }

  deinit { channel.close() }

  private func receive(_ bytes: ArraySlice<UInt8>) {
    for packet in reader.read(bytes) {
      if seal != nil, packet.seal != nil {
        guard let frame = try? seal?.open(packet) else { continue }
        if frame.kind == .event { events.append(frame) } else { responses.append(frame) }
      } else if packet.seal == nil {
        responses.append(packet.frame)
      }
    }
  }

  // MARK: Frames

  func nextSequence() -> UInt16 {
    sequence &+= 1
    return sequence
  }

  func send(_ bytes: [UInt8]) {
    sent = bytes
    channel.send(bytes)
  }

  /// Sends a request with the session's seal, or without when there is none.
  func send(_ frame: LinkFrame) throws {
    if var seal {
      send(try seal.seal(frame))
      self.seal = seal
    } else {
      send(frame.unsealed)
    }
  }

  /// The payload that answers a request.
  func response(to sequence: UInt16) async throws -> [UInt8] {
    let end = loop.now.advanced(by: timeout)
    while loop.now < end {
      if let index = responses.firstIndex(where: { $0.sequence == sequence }) {
        return responses.remove(at: index).payload
      }
      if isEnded { throw Silence() }
      try await loop.sleep(for: .milliseconds(1))
    }
    throw Silence()
  }

  /// `true` if no answer has come after a second.
  func isUnanswered(_ sequence: UInt16) async throws -> Bool {
    try await loop.sleep(for: .seconds(1))
    return !responses.contains { $0.sequence == sequence }
  }

  // MARK: Requests

  /// Asks without a session.
  func askPlainly<Request: LinkRequest>(_ request: Request) async throws -> [UInt8] {
    let frame = try request.frame(sequence: nextSequence())
    send(frame.unsealed)
    return try await response(to: frame.sequence)
  }

  func ask<Request: LinkRequest>(_ request: Request) async throws -> LinkReply<Request.Answer> {
    let frame = try request.frame(sequence: nextSequence())
    try send(frame)
    return try await LinkReply<Request.Answer>(payload: response(to: frame.sequence))
  }

  /// The answer of a board that does what is asked.
  @discardableResult
  func request<Request: LinkRequest>(_ request: Request) async throws -> Request.Answer {
    switch try await ask(request) {
    case .done(let answer): return answer
    case .refused(let refusal): throw refusal
    }
  }

  /// The status of an answer.
  func status(_ request: some LinkRequest) async throws -> LinkStatus? {
    switch try await ask(request) {
    case .done: return .ok
    case .refused(let refusal): return refusal.status
    }
  }

  /// HELLO and AUTH.
  @discardableResult
  func connect() async throws -> BoardInfo {
    let shake = try HostHandshake(key: key, nonce: SecureRandom.bytes(16))
    let hello = try LinkFrame(
      kind: .request, sequence: nextSequence(), code: LinkOperation.hello.rawValue, payload: shake.hello)
    send(hello.unsealed)
    let (welcome, proof, handshake) = try shake.received(
      welcome: try await response(to: hello.sequence))
    let authenticate = try LinkFrame(
      kind: .request, sequence: nextSequence(), code: LinkOperation.authenticate.rawValue, payload: proof)
    send(authenticate.unsealed)
    seal = try shake.received(proof: try await response(to: authenticate.sequence), in: handshake)
    self.welcome = welcome
    return welcome.board
  }
}

/// A loop in virtual time with a board on it.
func withBoard(
  _ options: BoardOptions = BoardOptions(), store: (any BoardStore)? = nil,
  _ body: @escaping (Board) async throws -> Void
) throws {
  let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_767_225_600)))
  var board: Board?
  try loop.finish {
    let made = try store.map { try Board(options, store: $0, loop: loop) } ?? Board(options, loop: loop)
    board = made
    try await body(made)
  } last: {
    board?.close()
    board = nil
  }
}

/// Another loop, board and a host that has proved its key.
func withHost(
  _ options: BoardOptions = BoardOptions(), store: (any BoardStore)? = nil,
  _ body: @escaping (BoardHost, Board) async throws -> Void
) throws {
  try withBoard(options, store: store) { board in
    let host = BoardHost(board)
    try await host.connect()
    try await body(host, board)
  }
}

extension BoardOptions {
  /// The usual board with some things changed.
  static func with(_ change: (inout BoardOptions) throws -> Void) rethrows -> BoardOptions {
    var options = BoardOptions()
    try change(&options)
    return options
  }
}
