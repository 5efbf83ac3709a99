import EventLoop
@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// libFuzzer's entry: what a board lives through with a host that has the key and means no good, an instruction after
/// the other.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var script = UnsafeBufferPointer(start: start, count: count)[...]
  guard var board = BoardUnderTest() else { return 0 }
  if script.popFirst() ?? 0 & 1 == 0 { board.open() }
  while let instruction = script.popFirst() {
    let length = Int(script.popFirst() ?? 0) % 64
    let bytes = Array(script.prefix(length))
    script = script.dropFirst(length)
    board.live(through: instruction, bytes)
  }
  board.end()
  return 0
}

/// A board's machine and its session.
private struct BoardUnderTest {
  private static let options = BoardOptions()
  private static let update = FirmwareVersion("2.0.0").flatMap { version in
    try? FirmwareFile(
      image: (0..<9_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }, model: options.profile.model,
      version: version, key: .development)
  }
  private static let requests = LinkMessages.requests.map { $0.operation.rawValue }

  private var machine: BoardMachine
  private var session = BoardSession(options)
  private var seal: LinkSeal?
  private var reader = LinkReader()
  private var hostReader = LinkReader()
  private var now = Instant.start
  private var sequence: UInt16 = 0
  private var transfer: UInt32 = 0
  /// The last sealed frame.
  private var last: [UInt8] = []

  init?() {
    guard var machine = try? BoardMachine(Self.options, store: MemoryStore()),
      (try? machine.start(.application, at: .start)) != nil
    else { return nil }
    self.machine = machine
  }

  /// Proves the key, as a host that has it.
  mutating func open() {
    guard
      let host = try? HostHandshake(key: LinkKey.development.bytes, nonce: [UInt8](repeating: 1, count: 16)),
      let greeting = ask(LinkOperation.hello.rawValue, host.hello),
      let (_, proof, handshake) = try? host.received(welcome: greeting),
      let answer = ask(LinkOperation.authenticate.rawValue, proof),
      let seal = try? host.received(proof: answer, in: handshake)
    else { return require(false, "who has the key opens the session") }
    self.seal = seal
  }

  mutating func live(through instruction: UInt8, _ bytes: [UInt8]) {
    let number = Int(instruction / 8)
    switch instruction % 8 {
    case 0:
      // The zero ends what was begun, so that the next frame is one.
      receive(bytes + [0])
      require(seal != nil || !session.isOpen, "nobody opens a session without the key")
    case 1, 2: _ = ask(Self.requests[(number + 16 * (Int(instruction) % 2)) % Self.requests.count], bytes)
    case 3: now = now.advanced(by: .milliseconds(500 * number))
    case 4: receive(last)
    case 5: write(bytes, number)
    default: update(number)
    }
  }

  /// A host that knows how firmware is written, most of the time.
  private mutating func update(_ step: Int) {
    guard let update = Self.update else { return }
    switch step % 8 {
    case 0: _ = ask(.enterBootloader, EnterBootloader()) as Delay?
    case 1: now = now.advanced(by: .seconds(5))
    case 2, 3:
      if let plan = ask(.beginTransfer, BeginTransfer(manifest: update.manifest.bytes)) as TransferPlan? {
        transfer = plan.transfer
      }
    case 4: _ = ask(.verifyTransfer, VerifyTransfer(transfer)) as Done?
    case 5: _ = ask(.commitTransfer, CommitTransfer(transfer)) as Done?
    case 6: _ = ask(.reboot, Reboot(.application)) as Done?
    default: _ = ask(.confirmImage, ConfirmImage()) as Done?
    }
  }

  /// Writes the next part of the image, or changed bytes of it somewhere.
  private mutating func write(_ bytes: [UInt8], _ number: Int) {
    guard let image = Self.update?.image else { return }
    let next = machine.transfer?.next ?? 0
    let offset = number % 4 == 3 ? Int(bytes.first ?? 0) * 64 : next
    var data = Array(image.dropFirst(offset).prefix(number % 2 == 0 ? 1_016 : 300))
    if number % 8 == 7 { data += bytes }
    _ =
      ask(
        .writeTransfer, WriteTransfer(transfer: transfer, offset: UInt32(offset), data: data)) as NextOffset?
  }

  /// Whatever happened, the board starts with one of its images, whole.
  mutating func end() {
    require(machine.settings.fit(machine.profile), "what is set fits the board")
    for _ in 0..<5 {
      require((try? machine.start(.application, at: now)) != nil, "the board starts")
      require(machine.mode == .application, "the board has an image that it can run")
      let version = machine.boot.running.manifest.version
      require(
        [Self.options.version, Self.update?.manifest.version].contains(version), "it is one of the two")
    }
  }

  private mutating func ask<Answer: LinkMessage>(_ operation: LinkOperation, _ request: some LinkMessage)
    -> Answer?
  {
    guard let payload = try? request.payload(), let answer = ask(operation.rawValue, payload),
      case .done(let message)? = try? LinkReply<Answer>(payload: answer)
    else { return nil }
    return message
  }

  /// The payload that answers a request.
  private mutating func ask(_ code: UInt16, _ payload: [UInt8]) -> [UInt8]? {
    sequence &+= 1
    guard let frame = try? LinkFrame(kind: .request, sequence: sequence, code: code, payload: payload) else {
      return nil
    }
    last = (try? seal?.seal(frame)) ?? frame.unsealed
    // The board may start anew behind its answer, and the session with it.
    let isSealed = seal != nil
    let answers = receive(last).filter { $0.kind == .response && $0.sequence == frame.sequence }
    require(answers.count <= 1, "a request has one answer")
    if isSealed { require(!answers.isEmpty, "a request of the session has an answer") }
    require(answers.allSatisfy { $0.code == code }, "it is an answer to this request")
    return answers.first?.payload
  }

  /// Returns the frames that the board sends for these bytes.
  @discardableResult
  private mutating func receive(_ bytes: [UInt8]) -> [LinkFrame] {
    var frames: [LinkFrame] = []
    for packet in reader.read(bytes[...]) {
      for action in session.received(packet, board: &machine, at: now) {
        switch action {
        case .send(let bytes): frames += sent(bytes)
        case .restart(let target): restart(target)
        case .end: begin()
        case .log: break
        }
      }
    }
    return frames
  }

  private mutating func sent(_ bytes: [UInt8]) -> [LinkFrame] {
    let packets = hostReader.read(bytes[...])
    require(packets.count == 1 && hostReader.held == 0 && bytes.last == 0, "what is sent is one frame")
    if seal != nil, packets.first?.seal != nil {
      for packet in packets {
        require((try? seal?.open(packet)) != nil, "each frame has a new seal of the session")
      }
    }
    return packets.map(\.frame)
  }

  private mutating func restart(_ target: ImageType) {
    require((try? machine.start(target, at: now)) != nil, "the board starts")
    require(target == .bootloader || machine.mode == .application, "the board has an image that it can run")
    begin()
  }

  /// The link is made anew.
  private mutating func begin() {
    (session, seal, reader, hostReader) = (BoardSession(Self.options), nil, LinkReader(), LinkReader())
    open()
  }
}
