import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The host's side of a link: requests", .tags(.headset, .link)) struct LinkSessionTests {
  private let done: [UInt8] = [0, 0]

  /// The plan of a transfer that grants so many writes at once.
  private func plan(window: UInt8) -> TransferPlan {
    TransferPlan(transfer: 1, resumeOffset: 0, chunk: 256, eraseUnit: 4_096, window: window)
  }

  private func write(_ offset: Int) -> WriteTransfer {
    WriteTransfer(transfer: 1, offset: UInt32(offset), data: [1])
  }

  @Test("requests go one at a time, in their order") func order() throws {
    var harness = try LinkHarness.open()
    for id in 1...3 { #expect(try harness.request(id, SetNoiseCancelling(id == 2)).isEmpty) }
    for id in 1...3 {
      let request = try harness.sentOne(.setNoiseCancelling)
      #expect(request.payload == [id == 2 ? 1 : 0])
      #expect(try harness.answer(request, Done()) == [.answered(id, done)])
    }
    #expect(harness.sent().isEmpty)
    #expect(harness.session.deadline == nil)
  }

  @Test("a request is sent at 0, 1 and 3 s under a new seal; at 7 s it fails, and the link with it")
  func repeats() throws {
    var harness = try LinkHarness.open()
    try harness.request(1, GetBattery())
    try harness.request(2, Ping())
    let request = try harness.sentOne(.battery)
    for moment in [1.0, 3.0] {
      #expect(harness.pass(to: moment - 0.001).isEmpty && harness.sent().isEmpty)
      // The board's seal takes no frame twice, so this one has another counter.
      #expect(harness.pass(to: moment).isEmpty)
      #expect(try harness.sentOne(.battery) == request)
    }
    #expect(harness.due == 7)
    let timeout = HeadsetError(
      .timeout, "battery: the headset at unix:/run/board did not answer within 7 s")
    let lost = HeadsetError(
      .notConnected, "the link to unix:/run/board was lost: \(timeout.message)")
    #expect(harness.pass(to: 7) == [.failed(1, timeout), .failed(2, lost), .lost(timeout)])
    #expect(harness.due == nil)
    #expect(try harness.answer(request, Battery(percent: 1, isCharging: false)).isEmpty)
  }

  @Test("an answer to a request that was sent twice counts once") func late() throws {
    var harness = try LinkHarness.open()
    try harness.request(1, Ping())
    let ping = try harness.sentOne(.ping)
    harness.pass(to: 1)
    _ = harness.sent()
    #expect(try harness.answer(ping, Done()) == [.answered(1, done)])
    try harness.request(2, Ping())
    #expect(try harness.answer(ping, Done()).isEmpty)
    #expect(harness.session.dropped == [.unexpected: 1])
    #expect(try harness.answer(harness.sentOne(.ping), Done()) == [.answered(2, done)])
  }

  @Test(
    "BEGIN, VERIFY and COMMIT are sent again after 2, 6 and 14 s, and time out after 20 s",
    arguments: [
      BeginTransfer(manifest: []) as any LinkRequest, VerifyTransfer(1),
      CommitTransfer(1),
    ])
  func slow(request: any LinkRequest) throws {
    var harness = try LinkHarness.open()
    try harness.request(1, request)
    #expect(harness.sent().count == 1)
    for moment in [2.0, 6, 14] {
      #expect(harness.due == moment)
      #expect(harness.pass(to: moment).isEmpty)
      #expect(harness.sent().count == 1)
    }
    #expect(harness.pass(to: 20).loss?.message.hasSuffix("did not answer within 20 s") == true)
  }

  @Test(
    "on a link that answers at once, a request is sent again sooner and oftener, and fails at 7 s all the same"
  )
  func adapts() throws {
    var harness = try LinkHarness.open()
    for id in 1...3 {
      try harness.request(id, Ping())
      try harness.answer(harness.sentOne(.ping), Done())
    }
    try harness.request(4, Ping())
    for moment in [0, 0.201, 0.602, 1.403, 3.004, 6.205] {
      harness.pass(to: moment)
      #expect(harness.sent().count == 1, "\(moment)")
    }
    #expect(harness.pass(to: 7).loss?.kind == .timeout)
  }

  @Test("the retry delay follows the response times, from 200 ms to 1 s") func retryDelay() {
    var time = RoundTripTime()
    #expect(time.retryDelay == .seconds(1))
    time.note(.milliseconds(300))
    #expect(time.retryDelay == .milliseconds(900))
    for _ in 0..<50 { time.note(.milliseconds(300)) }
    #expect(time.retryDelay < .milliseconds(310))
    time.note(.seconds(9))
    #expect(time.retryDelay == .seconds(1))
  }

  @Test("a board that asks for a sign of life gets a PING, unless a request is under way") func probe() throws
  {
    var harness = try LinkHarness.open()
    for number in 1...3 {
      #expect(try harness.receive(AreYouThere().frame(sequence: UInt16(number))).isEmpty)
    }
    #expect(try harness.answer(harness.sentOne(.ping), Done()).isEmpty)
    try harness.request(1, GetBattery())
    try harness.receive(AreYouThere().frame(sequence: 4))
    _ = try harness.sentOne(.battery)
  }

  @Test("writes go one at a time until BEGIN grants more; all else waits for them, and they for it")
  func window() throws {
    var harness = try LinkHarness.open()
    try harness.request(1, write(0))
    try harness.request(2, write(1))
    try harness.answer(harness.sentOne(.writeTransfer), NextOffset(offset: 1))
    try harness.answer(harness.sentOne(.writeTransfer), NextOffset(offset: 2))

    try harness.request(3, BeginTransfer(manifest: [1]))
    for id in 4...7 { try harness.request(id, write(id)) }
    try harness.request(8, Ping())
    try harness.request(9, write(9))
    try harness.answer(harness.sentOne(.beginTransfer), plan(window: 3))
    let writes = harness.sent()
    #expect(writes.map(\.payload) == (try (4...6).map { try write($0).payload() }))
    #expect(Set(writes.map(\.sequence)).count == 3)
    // Answered in another order than they were made in.
    let last = try harness.answer(writes[2], NextOffset(offset: 7))
    #expect(last == [.answered(6, done + [7, 0, 0, 0])])
    let fourth = try harness.sentOne(.writeTransfer)
    try harness.answer(writes[0], NextOffset(offset: 5))
    try harness.answer(writes[1], NextOffset(offset: 6))
    #expect(harness.sent().isEmpty, "the ping waits for the fourth write")
    try harness.answer(fourth, NextOffset(offset: 8))
    try harness.answer(harness.sentOne(.ping), Done())
    #expect(try harness.sentOne(.writeTransfer).payload == write(9).payload())
  }

  @Test("a BEGIN that is refused grants one write at a time") func refusedBegin() throws {
    var harness = try LinkHarness.open()
    try harness.request(1, BeginTransfer(manifest: [1]))
    try harness.answer(harness.sentOne(.beginTransfer), plan(window: 8))
    try harness.request(2, BeginTransfer(manifest: [1]))
    let refusal = LinkReply<TransferPlan>.refused(LinkRefusal(.batteryLow))
    #expect(
      try harness.receive(refusal.frame(to: harness.sentOne(.beginTransfer))) == [.answered(2, [22, 0])])
    for id in 3...5 { try harness.request(id, write(id)) }
    #expect(harness.sent().count == 1)
  }

  @Test("each write has its own time, and only those without an answer are sent again") func lateWrites()
    throws
  {
    var harness = try LinkHarness.open()
    try harness.request(1, BeginTransfer(manifest: [1]))
    try harness.answer(harness.sentOne(.beginTransfer), plan(window: 2))
    try harness.request(2, write(0))
    harness.pass(to: 0.5)
    try harness.request(3, write(1))
    let writes = harness.sent()
    harness.pass(to: 1)
    #expect(harness.sent() == [writes[0]])
    #expect(harness.due == 1.5)
    try harness.answer(writes[0], NextOffset(offset: 1))
    harness.pass(to: 1.5)
    #expect(harness.sent() == [writes[1]])
  }

  @Test("writes that are given up together fail together, before the link is lost") func lostWrites() throws {
    var harness = try LinkHarness.open()
    try harness.request(1, BeginTransfer(manifest: [1]))
    try harness.answer(harness.sentOne(.beginTransfer), plan(window: 2))
    for id in 2...4 { try harness.request(id, write(id)) }
    harness.pass(to: 1)
    harness.pass(to: 3)
    let timeout = HeadsetError(
      .timeout, "write transfer: the headset at unix:/run/board did not answer within 7 s")
    let lost = HeadsetError(.notConnected, "the link to unix:/run/board was lost: \(timeout.message)")
    #expect(
      harness.pass(to: 7) == [.failed(2, timeout), .failed(3, timeout), .failed(4, lost), .lost(timeout)])
  }

  @Test("frames that are not the board's, repeated, or not asked for are dropped and counted") func dropped()
    throws
  {
    var harness = try LinkHarness.open()
    try harness.request(1, Ping())
    let ping = try harness.sentOne(.ping)
    let answer = try LinkReply.done(Done()).frame(to: ping)
    let event = try NoiseCancellingChanged(true).frame(sequence: 1)
    let eventBytes = try #require(try harness.seal?.seal(event))
    #expect(harness.receive(eventBytes) == [.event(.noiseCancelling(true))])

    var stranger = LinkSeal(key: [1], side: .board)
    var damaged = try #require(try harness.seal?.seal(answer))
    damaged[4] ^= 0x10
    for bytes in [eventBytes, answer.unsealed, try stranger.seal(answer), damaged] {
      #expect(harness.receive(bytes).isEmpty)
    }
    #expect(harness.session.dropped == [.repeated: 1, .unsealed: 1, .forged: 1])
    #expect(harness.session.reader.droppedFrames == 1)

    let strange = [
      try LinkFrame(kind: .response, sequence: ping.sequence &+ 1, code: ping.code, payload: done),
      try LinkFrame(kind: .response, sequence: ping.sequence, code: 0x40, payload: done),
      try LinkFrame(kind: .event, sequence: 1, code: 0x8099, payload: []),
      try LinkFrame(kind: .event, sequence: 1, code: ping.code, payload: []),
      try Ping().frame(sequence: ping.sequence),
    ]
    for frame in strange { #expect(try harness.receive(frame).isEmpty) }
    #expect(harness.session.dropped[.unexpected] == 5)
    #expect(try harness.receive(answer) == [.answered(1, done)])
  }

  @Test("events are reported between answers, and one that can't be decoded is reported as such")
  func events() throws {
    var harness = try LinkHarness.open()
    try harness.request(1, Ping())
    let answer = try LinkReply.done(Done()).frame(to: harness.sentOne(.ping))
    let status = TransferStatus(state: .writing, nextOffset: 9, prefixChecksum: 8)
    let frames = [
      try NoiseCancellingChanged(false).frame(sequence: 1),
      try AmbientChanged(AmbientLevel(side: .right, level: 200)).frame(sequence: 2),
      answer,
      try EqualizerChanged(EqualizerValues(preset: 2, values: [-3, 4])).frame(sequence: 3),
      try BatteryChanged(Battery(percent: 40, isCharging: true)).frame(sequence: 4),
      try JumpingToBootloader().frame(sequence: 5),
      try TransferChanged(status).frame(sequence: 6),
      try LinkFrame(kind: .event, sequence: 7, code: 0x8040, payload: [101, 0]),
    ]
    let bytes = try frames.flatMap { try harness.seal?.seal($0) ?? [] }
    #expect(
      harness.receive(bytes) == [
        .event(.noiseCancelling(false)), .event(.ambient(.right, 200)), .answered(1, done),
        .event(.equalizer(preset: 2, values: [-3, 4])), .event(.battery(percent: 40, isCharging: true)),
        .event(.bootloader), .event(.transfer(status)),
        .event(
          .unreadable(
            HeadsetError(
              .noData,
              "battery changed: the board's event can't be read (the value 101 means nothing)"))),
      ])
  }

  @Test("a payload above the board's limit is not sent") func long() throws {
    var harness = LinkHarness()
    harness.welcome.board.longestPayload = 8
    harness.note(harness.session.begin(at: harness.now))
    try harness.answerHello()
    _ = try harness.answerProof()
    let error = HeadsetError(.writeFailed, "write transfer: 9 bytes are more than 8")
    #expect(try harness.request(1, write(0)) == [.failed(1, error)])
    #expect(harness.sent().isEmpty)
  }

  @Test("when the seal's counter has come to its end, the link is lost") func exhausted() throws {
    var harness = try LinkHarness.open()
    harness.session.seal = LinkSeal(key: [1], side: .host, sent: .max - 1)
    harness.seal = LinkSeal(key: [1], side: .board)
    try harness.request(1, Ping())
    _ = try harness.sentOne(.ping)
    let actions = harness.pass(to: 1)
    #expect(actions.count == 2)
    guard case .failed(1, let error) = actions.first else { throw TestFailure("\(actions)") }
    #expect(error.kind == .notConnected)
    #expect(actions.loss?.message == "the link to unix:/run/board has sealed as many frames as it can")
  }

  @Test("a channel that ends fails all pending requests") func ended() throws {
    var harness = try LinkHarness.open()
    for id in 1...2 { try harness.request(id, Ping()) }
    let actions = harness.note(harness.session.ended(.closed))
    let loss = HeadsetError(
      .notConnected, "the link to unix:/run/board ended: the other side closed it")
    let failure = HeadsetError(.notConnected, "the link to unix:/run/board was lost: \(loss.message)")
    #expect(actions == [.failed(1, failure), .failed(2, failure), .lost(loss)])
    #expect(harness.session.ended(.closed).isEmpty)
  }

  @Test("a good-bye fails what waits, and ends with the board's answer, after 1 s, or with the channel")
  func leaving() throws {
    var harness = try LinkHarness.open()
    try harness.request(1, Ping())
    _ = harness.sent()
    let failure = HeadsetError(.notConnected, "the headset at unix:/run/board was disconnected")
    #expect(harness.note(harness.session.leave(at: harness.now)) == [.failed(1, failure)])
    #expect(!harness.session.isOpen)
    #expect(harness.due == 1)
    let bye = try harness.sentOne(.bye)
    var (answered, late, ended) = (harness, harness, harness)
    #expect(try answered.answer(bye, Done()) == [.left])
    #expect(late.pass(to: 0.999).isEmpty)
    #expect(late.pass(to: 1) == [.left])
    #expect(ended.session.ended(.closed) == [.left])
    var fresh = LinkHarness()
    #expect(fresh.session.leave(at: fresh.now) == [.left])
  }
}
