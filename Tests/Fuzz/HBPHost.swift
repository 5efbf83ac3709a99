import EventLoop
@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// libFuzzer's entry: what a host lives through with a board that has the key and means no good, an instruction after
/// the other.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var script = UnsafeBufferPointer(start: start, count: count)[...]
  var host = HostUnderTest()
  if script.popFirst() ?? 0 & 1 == 0 { host.open() }
  while let instruction = script.popFirst() {
    let length = Int(script.popFirst() ?? 0) % 64
    let bytes = Array(script.prefix(length))
    script = script.dropFirst(length)
    host.live(through: instruction, bytes)
  }
  host.end()
  return 0
}

/// A session and what it owes.
private struct HostUnderTest {
  private static let key = LinkKey.development
  private static let requests = LinkMessages.requests.map { $0.operation }

  private var session = LinkSession(
    name: "fuzz", key: key, nonces: [[UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16)])
  private var seal: LinkSeal?
  private var reader = LinkReader()
  private var now = Instant.start
  /// Requests that the host has made and not heard of.
  private var owed: Set<Int> = []
  private var lastID = 0
  /// Frames that the session sent and the board may answer.
  private var sent: [LinkFrame] = []
  private var mayOpen = false
  private var isOver = false

  init() { perform(session.begin(at: now)) }

  /// Proves the key, as a board that has it.
  mutating func open() {
    let info = BoardInfo(
      image: .application, capabilities: [], longestPayload: 1_024, model: "", firmwareVersion: "", boots: 0)
    let welcome = Welcome(challenge: [UInt8](repeating: 3, count: 16), session: 0, board: info)
    var board = BoardHandshake(key: Self.key.bytes)
    guard let hello = sent.popLast(),
      case .answer(let greeting)? = try? board.received(hello: hello.payload, welcome: welcome)
    else { return require(false, "HELLO is answered") }
    answer(hello, greeting)
    guard let proof = sent.popLast(),
      case .begin(let payload, let seal)? = try? board.received(authenticate: proof.payload)
    else { return require(false, "AUTH is answered") }
    mayOpen = true
    answer(proof, payload)
    mayOpen = false
    self.seal = seal
    require(session.isOpen, "who has the key opens the session")
  }

  mutating func live(through instruction: UInt8, _ bytes: [UInt8]) {
    switch instruction % 8 {
    case 0: receive(bytes)
    case 1, 2:
      lastID += 1
      owed.insert(lastID)
      let operation = Self.requests[Int(instruction / 8) % Self.requests.count]
      perform(session.request(lastID, operation, bytes, at: now))
    case 3, 4:
      guard !sent.isEmpty else { return }
      answer(sent.remove(at: Int(instruction / 8) % sent.count), bytes)
    case 5:
      let events = LinkMessages.events.map { $0.operation.rawValue }
      send(.event, 1, events[Int(instruction / 8) % events.count], bytes)
    case 6:
      now = now.advanced(by: .milliseconds(100 * Int(instruction)))
      perform(session.passed(to: now))
      require(session.deadline.map { $0 > now } ?? true, "what was due is done")
    default:
      switch bytes.first ?? 0 {
      case 0..<8: perform(session.leave(at: now))
      case 8..<16: perform(session.ended(.closed))
      default: send(LinkKind(rawValue: bytes[0] % 3) ?? .event, UInt16(instruction), UInt16(bytes[0]), bytes)
      }
    }
  }

  /// Whatever happened, all ends when time passes.
  mutating func end() {
    for _ in 0..<(4 * (owed.count + 4)) {
      guard let due = session.deadline else { break }
      now = due
      perform(session.passed(to: now))
    }
    require(session.deadline == nil, "nothing is waited for without end")
    require(owed.isEmpty, "each request has an answer or an error")
  }

  private mutating func answer(_ request: LinkFrame, _ payload: [UInt8]) {
    send(.response, request.sequence, request.code, payload)
  }

  private mutating func send(_ kind: LinkKind, _ sequence: UInt16, _ code: UInt16, _ payload: [UInt8]) {
    guard let frame = try? LinkFrame(kind: kind, sequence: sequence, code: code, payload: payload) else {
      return
    }
    receive((try? seal?.seal(frame)) ?? frame.unsealed)
  }

  private mutating func receive(_ bytes: [UInt8]) { perform(session.received(bytes[...], at: now)) }

  private mutating func perform(_ actions: [LinkSession.Action]) {
    for action in actions {
      switch action {
      case .send(let bytes): receive(sent: bytes)
      case .answered(let id, _), .failed(let id, _):
        require(owed.remove(id) != nil, "a request has one answer or one error")
      case .opened: require(mayOpen, "nobody opens a session without the key")
      case .event: require(session.isOpen || session.deadline == nil, "what is told is of an open session")
      case .lost, .left:
        require(!isOver, "a session ends once")
        require(owed.isEmpty, "who waits is told before the end")
        isOver = true
      }
    }
    require((1...Int(TransferPlan.widestWindow)).contains(session.requests.window), "a window is 1 to 8")
    if isOver { require(session.deadline == nil && !session.isOpen, "what has ended waits for nothing") }
  }

  private mutating func receive(sent bytes: [UInt8]) {
    require(!isOver, "what has ended sends nothing")
    let packets = reader.read(bytes[...])
    require(packets.count == 1 && reader.held == 0 && bytes.last == 0, "what is sent is one frame")
    guard let packet = packets.first else { return }
    require((packet.seal == nil) == (seal == nil), "all is sealed after the handshake")
    require(packet.frame.kind == .request, "a host asks")
    if seal != nil { require((try? seal?.open(packet)) != nil, "each frame has a new seal of the session") }
    sent.append(packet.frame)
  }
}
