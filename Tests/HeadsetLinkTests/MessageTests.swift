import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetLink

@Suite("Messages of the link", .tags(.headset, .link)) struct MessageTests {
  @Test("every request and every event has its message, and no code two") func complete() {
    let requests = LinkMessages.requests.map { $0.operation }
    let events = LinkMessages.events.map { $0.operation }
    #expect(Set(requests + events).count == requests.count + events.count)
    #expect(requests == LinkOperation.allCases.filter { !$0.isEvent })
    #expect(events == LinkOperation.allCases.filter(\.isEvent))
    #expect(Set(LinkOperation.allCases.map(\.name)).count == LinkOperation.allCases.count)
  }

  /// Reads random payloads of one message until many were taken, and writes each of those as it was.
  private func roundTrips<Message: LinkMessage>(
    _: Message.Type, after head: [UInt8] = [], _ random: inout SeededRandom
  ) throws {
    var decoded = 0
    for round in 0..<2_000 where decoded < 25 {
      // Small bytes make lengths, choices and flags that can be.
      let most: UInt8 = round % 2 == 0 ? 3 : 255
      let payload = head + random.someBytes(upTo: 40).map { $0 & most }
      guard let message = try? Message(payload: payload) else { continue }
      decoded += 1
      #expect(try message.payload() == payload, "\(Message.self)")
      #expect(try Message(payload: message.payload()) == message, "\(Message.self)")
      if !payload.isEmpty, !(message is BeginTransfer), !(message is WriteTransfer) {
        #expect(throws: PayloadError.self, "\(Message.self)") {
          try Message(payload: Array(payload.dropLast()))
        }
        #expect(throws: PayloadError.self, "\(Message.self)") { try Message(payload: payload + [0]) }
      }
    }
    #expect(decoded > 0, "\(Message.self) was never read")
  }

  @Test("every message of random contents is read as it was written; shorter and longer ones are refused")
  func messages() throws {
    var random = SeededRandom(seed: 9)
    func request<Request: LinkRequest>(_: Request.Type) throws {
      try roundTrips(Request.self, &random)
      try roundTrips(LinkReply<Request.Answer>.self, after: [0, 0], &random)
    }
    func event<Event: LinkEvent>(_: Event.Type) throws { try roundTrips(Event.self, &random) }
    for type in LinkMessages.requests { try request(type) }
    for type in LinkMessages.events { try event(type) }
  }

  @Test("fields are little-endian, and those of any length come last") func layout() throws {
    let plan = TransferPlan(
      transfer: 0x0102_0304, resumeOffset: 4_096, chunk: 512, eraseUnit: 4_096, window: 8)
    #expect(try plan.payload() == [4, 3, 2, 1, 0, 16, 0, 0, 0, 2, 0, 16, 0, 0, 8])
    let values = SetEqualizer(EqualizerValues(preset: 3, values: [-10, 0, 10]))
    #expect(try values.payload() == [3, 3, 0xF6, 0, 10])
    #expect(
      try EqualizerBands(millihertz: [31_250, 16_000_000]).payload() == [
        8, 0x12, 0x7A, 0, 0, 0, 0x24, 0xF4, 0,
      ])
    #expect(try Hello(nonce: [7, 7]).payload() == [2, 7, 7, 1, 1])
    #expect(try LinkReply.done(Battery(percent: 80, isCharging: true)).payload() == [0, 0, 80, 1])
    #expect(try LinkReply<NextOffset>.refused(LinkRefusal(resumeAt: 5)).payload() == [19, 0, 5, 0, 0, 0])
    #expect(try LinkReply<Done>.refused(LinkRefusal(.busy)).payload() == [8, 0])
  }

  private static let board = BoardInfo(
    image: .bootloader, capabilities: [.noiseCancelling, .battery], longestPayload: 0x0203, model: "RT",
    firmwareVersion: "1.2", boots: 0x0405_0607, name: "A")
  private static let boardBytes: [UInt8] = [
    1, 9, 0, 0, 0, 0, 0, 0, 0, 3, 2, 2, 0x52, 0x54, 3, 0x31, 0x2E, 0x32, 7, 6, 5, 4, 1, 0x41,
  ]

  /// A message of each kind that has fields, and its payload.
  private static let payloads: [(any LinkMessage, [UInt8])] = [
    (Hello(nonce: [9, 8], oldest: 3, newest: 4), [2, 9, 8, 3, 4]),
    (Welcome(challenge: [5], session: 0x0102_0304, board: board), [1, 5, 4, 3, 2, 1] + boardBytes),
    (board, boardBytes), (Authenticate(mac: [1, 2]), [2, 1, 2]), (Proof(mac: [3]), [1, 3]),
    (true, [1]), (SetNoiseCancelling(true), [1]), (NoiseCancellingChanged(true), [1]),
    (AmbientLimits(left: 7, right: 5), [7, 5]), (GetAmbient(.right), [1]),
    (AmbientLevel(side: .right, level: 6), [1, 6]),
    (SetAmbient(AmbientLevel(side: .right, level: 6)), [1, 6]),
    (AmbientChanged(AmbientLevel(side: .right, level: 6)), [1, 6]),
    (Battery(percent: 80, isCharging: true), [80, 1]),
    (BatteryChanged(Battery(percent: 80, isCharging: true)), [80, 1]),
    (EqualizerInfo(bands: 10, lowest: -12, highest: 11, presets: 4), [10, 0xF4, 11, 4]),
    (EqualizerBands(millihertz: [0x0102_0304]), [4, 4, 3, 2, 1]), (GetEqualizer(2), [2]),
    (EqualizerValues(preset: 2, values: [-1, 3]), [2, 2, 0xFF, 3]),
    (SetEqualizerBand(preset: 2, band: 3, value: -4), [2, 3, 0xFC]), (SelectPreset(3), [3]),
    (SetEqualizer(EqualizerValues(preset: 2, values: [-1, 3])), [2, 2, 0xFF, 3]),
    (ResetEqualizer(3), [3]),
    (EqualizerChanged(EqualizerValues(preset: 2, values: [-1, 3])), [2, 2, 0xFF, 3]),
    (ImageType.bootloader, [1]), (Delay(milliseconds: 0x0102_0304), [4, 3, 2, 1]),
    (BeginTransfer(manifest: [6, 5, 4]), [6, 5, 4]),
    (
      TransferPlan(transfer: 0x0102_0304, resumeOffset: 5, chunk: 0x0106, eraseUnit: 7, window: 8),
      [4, 3, 2, 1, 5, 0, 0, 0, 6, 1, 7, 0, 0, 0, 8]
    ),
    (WriteTransfer(transfer: 1, offset: 2, data: [3, 4]), [1, 0, 0, 0, 2, 0, 0, 0, 3, 4]),
    (NextOffset(offset: 0x0102_0304), [4, 3, 2, 1]),
    (TransferStatus(state: .verified, nextOffset: 1, prefixChecksum: 2), [4, 1, 0, 0, 0, 2, 0, 0, 0]),
    (
      TransferChanged(TransferStatus(state: .verified, nextOffset: 1, prefixChecksum: 2)),
      [4, 1, 0, 0, 0, 2, 0, 0, 0]
    ),
    (VerifyTransfer(1), [1, 0, 0, 0]), (CommitTransfer(2), [2, 0, 0, 0]),
    (AbortTransfer(3), [3, 0, 0, 0]), (Reboot(.bootloader), [1]),
    (LinkReply.done(NextOffset(offset: 5)), [0, 0, 5, 0, 0, 0]),
    (LinkReply<NextOffset>.refused(LinkRefusal(resumeAt: 5)), [19, 0, 5, 0, 0, 0]),
    (LinkReply<NextOffset>.refused(LinkRefusal(.noTransfer)), [23, 0]),
  ]

  @Test("every message with fields has these bytes, and is read from them") func bytes() throws {
    func isSame<Message: LinkMessage>(_ message: Message, _ bytes: [UInt8]) throws -> Bool {
      try message.payload() == bytes && Message(payload: bytes) == message
    }
    for (message, bytes) in Self.payloads { #expect(try isSame(message, bytes), "\(message)") }
    func answer<Request: LinkRequest>(_: Request.Type) -> any LinkMessage.Type { Request.Answer.self }
    let all: [any LinkMessage.Type] =
      LinkMessages.requests + LinkMessages.events + LinkMessages.requests.map { answer($0) }
    let known = Set(Self.payloads.map { ObjectIdentifier(type(of: $0.0)) })
    for type in all where (try? type.init().payload()) != [] {
      #expect(known.contains(ObjectIdentifier(type)), "\(type) has no bytes here")
    }
  }

  @Test("a field beyond the range of its length is not written") func long() throws {
    #expect(throws: PayloadError.long(256, limit: 255)) {
      try Hello(nonce: [UInt8](repeating: 0, count: 256)).payload()
    }
    #expect(throws: PayloadError.long(256, limit: 255)) {
      try EqualizerBands(millihertz: [UInt32](repeating: 0, count: 64)).payload()
    }
    let most = [UInt8](repeating: 0, count: WriteTransfer.longestData)
    #expect(try WriteTransfer(transfer: 1, offset: 0, data: most).payload().count == 1_024)
    #expect(throws: PayloadError.long(1_025, limit: 1_024)) {
      try WriteTransfer(transfer: 1, offset: 0, data: most + [0]).payload()
    }
  }

  @Test("values that mean nothing are refused") func values() throws {
    #expect(throws: PayloadError.value(2)) { try SetNoiseCancelling(payload: [2]) }
    #expect(throws: PayloadError.value(2)) { try GetAmbient(payload: [2]) }
    #expect(throws: PayloadError.value(101)) { try Battery(payload: [101, 0]) }
    #expect(throws: PayloadError.value(101)) { try Battery(percent: 101, isCharging: false).payload() }
    #expect(throws: PayloadError.value(7)) {
      try TransferStatus(payload: [7] + [UInt8](repeating: 0, count: 8))
    }
    #expect(throws: PayloadError.short(needed: 4, left: 1)) { try EqualizerBands(payload: [1, 0]) }
    var plan = try TransferPlan(transfer: 1, resumeOffset: 0, chunk: 1, eraseUnit: 1, window: 8).payload()
    plan[14] = 9
    #expect(throws: PayloadError.value(9)) { try TransferPlan(payload: plan) }
    var info = PayloadReader([0xFF, 0xFE])
    #expect(throws: PayloadError.short(needed: 255, left: 1)) { try info.text() }
    var text = PayloadReader([1, 0xFE])
    #expect(throws: PayloadError.text) { try text.text() }
  }

  @Test("statuses have the codes and names that scripts see") func statuses() throws {
    let codes = Dictionary(grouping: LinkStatus.allCases, by: \.code).mapValues { $0.map(\.rawValue) }
    #expect(codes[nil] == [0])
    #expect(codes["headset.update_failed"] == [16, 17, 18, 19, 20, 21, 22, 23])
    #expect(LinkStatus(rawValue: 1)?.sdhmiName?.rawValue == "NO_ROW_DATA_ERROR")
    #expect(LinkStatus(rawValue: 2)?.sdhmiName?.rawValue == "CHALLENGE_LENGTH_NOT_16_BYTES_AS_EXPECTED")
    #expect(LinkStatus(rawValue: 3)?.sdhmiName?.rawValue == "CONNECTION_PROCESS_FAILED_UNKNOW_REASON")
    #expect(LinkStatus(rawValue: 4)?.sdhmiName?.rawValue == "TARGET_HAS_NO_BANDS")
    #expect(LinkStatus(rawValue: 5)?.sdhmiName?.rawValue == "WRONG_NUMBER_OF_BANDS")
    #expect(LinkStatus(rawValue: 8)?.sdhmiName == nil)
    #expect(LinkStatus(rawValue: 22)?.sdhmiName?.rawValue == "ERROR_FOUND_UPDATING_THE_FIRMWARE")
    #expect(SDHMIErrorName(spelling: "CHALLENGE_LENGHT_NOT_16_BYTES_AS_EXPECTED") == .challengeLength)
    #expect(SDHMIErrorName(spelling: "CONNECTION_PROCESS_FAILED_IS_ALREADY_CONNECTED") == .alreadyConnected)
    for name in SDHMIErrorName.allCases { #expect(SDHMIErrorName(spelling: name.rawValue) == name) }
    #expect(SDHMIErrorName(spelling: "NO_SUCH_ERROR") == nil)
    let newer = try LinkReply<Done>(payload: [0x63, 0])
    guard case .refused(let refusal) = newer else { throw PayloadError.value(0) }
    #expect(refusal.code == 99)
    #expect(refusal.status == nil)
  }

  @Test("a board's texts are shown without escape sequences")
  func cleanInfo() {
    let info = BoardInfo(
      image: .application, capabilities: [], longestPayload: 512, model: "\u{1B}]0;owned\u{7}One",
      firmwareVersion: "1.0\u{202E}", boots: 1, name: " \u{1B}[2JAnna's\n")
    #expect(info.cleaned.model == "One" && info.cleaned.firmwareVersion == "1.0")
    #expect(info.cleaned.name == "Anna's")
  }
}
