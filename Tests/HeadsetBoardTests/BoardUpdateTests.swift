import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// Firmware for boards of a model, with an image that is another for each version.
func firmware(
  _ version: String = "2.0.0", model: String = "RT-1", lowest: String? = nil, size: Int = 20_000,
  key: SigningKey = .development
) throws -> FirmwareFile {
  var random = SeededRandom(seed: UInt64(version.utf8.reduce(0) { $0 &* 31 &+ Int($1) }))
  return try FirmwareFile(
    image: random.bytes(size), model: model, version: #require(FirmwareVersion(version)),
    lowestVersion: lowest.flatMap { FirmwareVersion($0) }, key: key)
}

extension BoardHost {
  /// Takes the board to its bootloader, and waits until that is ready.
  static func inBootloader(_ board: Board) async throws -> BoardHost {
    let host = BoardHost(board)
    if try await host.connect().image == .bootloader { return host }
    let delay = try await host.request(EnterBootloader())
    try await board.loop.sleep(for: .milliseconds(delay.milliseconds))
    let next = BoardHost(board)
    try await next.connect()
    return next
  }

  /// BEGIN, and all writes from where the board is.
  func transfer(_ file: FirmwareFile, upTo end: Int? = nil) async throws -> TransferPlan {
    let plan = try await request(BeginTransfer(manifest: file.manifest.bytes))
    var offset = Int(plan.resumeOffset)
    while offset < end ?? file.image.count {
      let data = Array(file.image[offset..<min(offset + Int(plan.chunk), end ?? file.image.count)])
      let answer = try await request(
        WriteTransfer(transfer: plan.transfer, offset: UInt32(offset), data: data))
      offset += data.count
      guard answer.offset == offset else { throw TestFailure("the board is at \(answer.offset)") }
    }
    return plan
  }

  /// The whole update, up to the reboot.
  func update(_ file: FirmwareFile) async throws {
    let plan = try await transfer(file)
    try await request(VerifyTransfer(plan.transfer))
    try await request(CommitTransfer(plan.transfer))
    try await request(Reboot(.application))
    try await loop.sleep(for: .milliseconds(100))
  }
}

@Suite("Updating a board", .tags(.headset, .board, .firmware)) struct BoardUpdateTests {
  @Test("ends with the new version, once it is confirmed") func whole() throws {
    try withBoard { board async throws in
      let file = try firmware()
      try await BoardHost.inBootloader(board).update(file)
      let host = BoardHost(board)
      let info = try await host.connect()
      #expect(info.firmwareVersion == "2.0.0" && info.image == .application)
      #expect(info.boots == 3)
      #expect(board.report.trial?.version == "2.0.0" && board.report.confirmed.version == "1.0.0")
      try await host.request(ConfirmImage())
      try await host.request(ConfirmImage())
      #expect(board.report.trial == nil)
      #expect(board.report.confirmed.slot == "b" && board.report.confirmed.isWhole)
      try await board.loop.sleep(for: .seconds(120))
      #expect(board.report.version == "2.0.0" && board.report.boots == 3)
    }
  }

  @Test("enters the bootloader: an answer, an event, then it is gone until that has started") func enter()
    throws
  {
    try withHost { host, board async throws in
      #expect(try await host.request(EnterBootloader()).milliseconds == 5_000)
      try await host.loop.sleep(for: .milliseconds(20))
      #expect(host.events.map(\.operation) == [.jumpingToBootloader])
      #expect(host.isEnded)
      // A host that comes too soon waits for the board to start.
      let other = BoardHost(board)
      #expect(try await other.connect().image == .bootloader)
      let manifest = try BeginTransfer(manifest: firmware().manifest.bytes)
      #expect(try await other.status(manifest) == .busy)
      let rest = try await other.request(EnterBootloader()).milliseconds
      #expect((4_000..<5_000).contains(rest))
      try await host.loop.sleep(for: .milliseconds(Int(rest) - 10))
      #expect(try await other.status(manifest) == .busy)
      try await host.loop.sleep(for: .milliseconds(10))
      #expect(try await other.status(manifest) == .ok)
      #expect(board.report.steps < 20, "nothing was erased before the first write")
    }
  }

  @Test("a board that stays in its application answers, and emits no event") func stays() throws {
    try withHost(.with { $0.faults.stays = 2 }) { host, board async throws in
      for _ in 1...2 {
        try await host.request(EnterBootloader())
        try await host.loop.sleep(for: .seconds(6))
        #expect(try await host.request(GetImageType()) == .application)
      }
      #expect(host.events.isEmpty)
      try await host.request(EnterBootloader())
      try await host.loop.sleep(for: .seconds(6))
      #expect(board.report.mode == "bootloader")
    }
  }

  @Test("is refused in the application, without a transfer, and without a sense") func order() throws {
    try withBoard { board async throws in
      let host = BoardHost(board)
      try await host.connect()
      let begin = try BeginTransfer(manifest: firmware().manifest.bytes)
      #expect(try await host.status(begin) == .wrongMode)
      #expect(try await host.status(WriteTransfer(transfer: 1, offset: 0, data: [1])) == .wrongMode)
      #expect(try await host.request(GetTransferStatus()).state == .none)
      try await host.request(Bye())
      let other = try await BoardHost.inBootloader(board)
      #expect(try await other.status(ConfirmImage()) == .wrongMode)
      for request in [
        WriteTransfer(transfer: 1, offset: 0, data: [1]), VerifyTransfer(1),
        CommitTransfer(1), AbortTransfer(1),
      ] as [any LinkRequest] { #expect(try await other.status(request) == .noTransfer) }
      #expect(try await other.status(BeginTransfer(manifest: [1, 2, 3])) == .badRequest)
      let plan = try await other.request(begin)
      #expect(plan.window == 4 && plan.chunk == 1_016 && plan.eraseUnit == 4_096 && plan.resumeOffset == 0)
      #expect(try await other.status(VerifyTransfer(plan.transfer)) == .wrongOffset)
      #expect(try await other.status(CommitTransfer(plan.transfer)) == .wrongMode)
      #expect(try await other.status(VerifyTransfer(plan.transfer ^ 2)) == .noTransfer)
    }
  }

  @Test(
    "is refused for another model, with another signature, to an older version, from one that is too old",
    arguments: [
      ("RT-2", "2.0.0", nil, true, LinkStatus.wrongModel), ("RT-1", "2.0.0", nil, false, .badSignature),
      ("RT-1", "0.9.9", nil, true, .downgrade), ("RT-1", "2.0.0", "1.0.1", true, .downgrade),
      ("RT-1", "1.0.0", nil, true, .ok), ("RT-1", "2.0.0", "1.0", true, .ok),
    ] as [(String, String, String?, Bool, LinkStatus)])
  func refusals(model: String, version: String, lowest: String?, isTrusted: Bool, expected: LinkStatus) throws
  {
    let stranger = try #require(SigningKey(seed: [UInt8](repeating: 9, count: 32)))
    try withBoard { board async throws in
      let host = try await BoardHost.inBootloader(board)
      let steps = board.report.steps
      let file = try firmware(
        version, model: model, lowest: lowest, key: isTrusted ? .development : stranger)
      #expect(try await host.status(BeginTransfer(manifest: file.manifest.bytes)) == expected)
      if expected != .ok { #expect(board.report.steps == steps, "nothing is touched") }
    }
  }

  @Test("needs 30 % of battery, or a cable") func battery() throws {
    try withBoard(.with { $0.battery = 29 }) { board async throws in
      let host = try await BoardHost.inBootloader(board)
      let begin = try BeginTransfer(manifest: firmware().manifest.bytes)
      #expect(try await host.status(begin) == .batteryLow)
      try board.perform(.charging(true))
      #expect(try await host.status(begin) == .ok)
      try board.perform(.charging(false))
      try board.perform(.battery(30))
      #expect(try await host.status(begin) == .ok)
    }
  }

  @Test("continues at the next offset only; the same again is fine, another is not") func offsets() throws {
    try withBoard { board async throws in
      let host = try await BoardHost.inBootloader(board)
      let file = try firmware()
      let plan = try await host.transfer(file, upTo: 5_000)
      func write(_ offset: Int, _ data: [UInt8]) async throws -> LinkReply<NextOffset> {
        try await host.ask(WriteTransfer(transfer: plan.transfer, offset: UInt32(offset), data: data))
      }
      let goOn = LinkReply<NextOffset>.refused(LinkRefusal(resumeAt: 5_000))
      #expect(try await write(5_001, [1]) == goOn)
      #expect(try await write(100, Array(file.image[100..<300])) == .done(NextOffset(offset: 5_000)))
      #expect(try await write(100, [file.image[100] ^ 1]) == goOn)
      // Half of it is there already.
      #expect(
        try await write(4_900, Array(file.image[4_900..<5_100])) == .done(NextOffset(offset: 5_100)))
      #expect(try await write(5_100, []) == .refused(LinkRefusal(.badRequest)))
      let status = try await host.request(GetTransferStatus())
      #expect(
        status
          == TransferStatus(
            state: .writing, nextOffset: 5_100, prefixChecksum: CRC32.of(file.image[..<5_100])))
      _ = try await host.transfer(file)
      #expect(try await write(20_000, [1]) == .refused(LinkRefusal(.outOfRange)))
      let events = try host.events.map { try TransferChanged(payload: $0.payload).value.nextOffset }
      #expect(events == [4_096, 8_192, 12_288, 16_384, 20_000])
    }
  }

  @Test("accepts a window of writes at once") func window() throws {
    try withBoard { board async throws in
      let host = try await BoardHost.inBootloader(board)
      let file = try firmware(size: 8_000)
      let plan = try await host.request(BeginTransfer(manifest: file.manifest.bytes))
      let frames = try (0..<4).map { index in
        let offset = index * 1_000
        return try WriteTransfer(
          transfer: plan.transfer, offset: UInt32(offset), data: Array(file.image[offset..<offset + 1_000])
        ).frame(sequence: host.nextSequence())
      }
      for frame in frames { try host.send(frame) }
      for (index, frame) in frames.enumerated() {
        let answer = try await LinkReply<NextOffset>(payload: host.response(to: frame.sequence))
        #expect(answer == .done(NextOffset(offset: UInt32(index + 1) * 1_000)))
      }
    }
  }

  @Test("an image that is not what was announced is found out, and begun anew") func tampered() throws {
    try withBoard { board async throws in
      let host = try await BoardHost.inBootloader(board)
      let file = try firmware()
      let plan = try await host.request(BeginTransfer(manifest: file.manifest.bytes))
      var image = file.image
      image[9_999] ^= 0x10
      for offset in stride(from: 0, to: image.count, by: 1_000) {
        try await host.request(
          WriteTransfer(
            transfer: plan.transfer, offset: UInt32(offset), data: Array(image[offset..<offset + 1_000])))
      }
      #expect(try await host.status(VerifyTransfer(plan.transfer)) == .wrongHash)
      #expect(try await host.status(CommitTransfer(plan.transfer)) == .noTransfer)
      #expect(try await host.request(BeginTransfer(manifest: file.manifest.bytes)).resumeOffset == 0)
      try await host.update(file)
      #expect(board.report.version == "2.0.0")
    }
  }

  @Test("that is aborted begins anew, and leaves the old image") func abort() throws {
    try withBoard { board async throws in
      let host = try await BoardHost.inBootloader(board)
      let file = try firmware()
      let plan = try await host.transfer(file)
      try await host.request(VerifyTransfer(plan.transfer))
      try await host.request(CommitTransfer(plan.transfer))
      #expect(board.report.trial != nil)
      try await host.request(AbortTransfer(plan.transfer))
      #expect(board.report.trial == nil)
      #expect(try await host.request(BeginTransfer(manifest: file.manifest.bytes)).resumeOffset == 0)
    }
  }

  @Test("resumes after the link or the power was lost, from where the flash is certain") func resume()
    throws
  {
    let store = MemoryStore()
    let file = try firmware()
    try withBoard(store: store) { board async throws in
      _ = try await BoardHost.inBootloader(board).transfer(file, upTo: 9_000)
      let host = try await BoardHost.inBootloader(board)
      #expect(try await host.request(BeginTransfer(manifest: file.manifest.bytes)).resumeOffset == 9_000)
    }
    store.losePower()
    try withBoard(store: store) { board async throws in
      #expect(board.report.version == "1.0.0" && board.report.mode == "application")
      let host = try await BoardHost.inBootloader(board)
      let plan = try await host.request(BeginTransfer(manifest: file.manifest.bytes))
      #expect(plan.resumeOffset == 8_192)
      let status = try await host.request(GetTransferStatus())
      #expect(status.prefixChecksum == CRC32.of(file.image[..<8_192]))
      // Other firmware begins at its first byte.
      #expect(
        try await host.request(BeginTransfer(manifest: firmware("3.0").manifest.bytes)).resumeOffset == 0)
      #expect(try await host.request(BeginTransfer(manifest: file.manifest.bytes)).resumeOffset == 0)
      try await host.update(file)
      #expect(board.report.trial?.isWhole == true)
    }
  }

  @Test("does not trust a journal that the flash does not bear out") func staleJournal() throws {
    let store = MemoryStore()
    let file = try firmware()
    try withBoard(store: store) { board async throws in
      _ = try await BoardHost.inBootloader(board).transfer(file, upTo: 9_000)
    }
    store.write(.b, at: 77, [file.image[77] ^ 0xFF])
    try withBoard(store: store) { board async throws in
      let host = try await BoardHost.inBootloader(board)
      #expect(try await host.request(BeginTransfer(manifest: file.manifest.bytes)).resumeOffset == 0)
    }
  }
}

@Suite("New firmware on trial", .tags(.headset, .board, .firmware)) struct BoardTrialTests {
  @Test("falls back to the old image after a minute without CONFIRM") func minute() throws {
    try withBoard { board async throws in
      try await BoardHost.inBootloader(board).update(firmware())
      #expect(board.report.version == "2.0.0")
      let host = BoardHost(board)
      try await host.connect()
      try await board.loop.sleep(for: .seconds(58))
      #expect(board.report.version == "2.0.0")
      try await board.loop.sleep(for: .seconds(3))
      #expect(host.isEnded)
      #expect(board.report.version == "1.0.0" && board.report.trial == nil)
      #expect(board.report.confirmed.isWhole)
    }
  }

  @Test("falls back to the old image after three starts") func starts() throws {
    let store = MemoryStore()
    try withBoard(store: store) { board async throws in
      try await BoardHost.inBootloader(board).update(firmware())
    }
    for version in ["2.0.0", "2.0.0", "1.0.0", "1.0.0"] {
      try withBoard(store: store) { board async throws in #expect(board.report.version == version) }
    }
  }

  @Test("falls back at once when it is damaged") func damaged() throws {
    let store = MemoryStore()
    try withBoard(store: store) { board async throws in
      let host = try await BoardHost.inBootloader(board)
      let plan = try await host.transfer(firmware())
      try await host.request(VerifyTransfer(plan.transfer))
      try await host.request(CommitTransfer(plan.transfer))
    }
    store.write(.b, at: 5, [0])
    store.write(.b, at: 6, [0])
    try withBoard(store: store) { board async throws in
      #expect(board.report.version == "1.0.0" && board.report.trial == nil)
    }
  }

  @Test("a board without a bootable image stays in its bootloader, and accepts a new one")
  func bricked()
    throws
  {
    let store = MemoryStore()
    try withBoard(store: store) { _ in }
    store.write(.a, at: 5, [0])
    store.write(.a, at: 6, [0])
    try withBoard(store: store) { board async throws in
      #expect(board.report.mode == "bootloader")
      try await board.loop.sleep(for: .seconds(6))
      try await BoardHost.inBootloader(board).update(firmware())
      #expect(board.report.version == "2.0.0" && board.report.mode == "application")
    }
  }
}
