import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("A board and what it is not meant to get", .tags(.headset, .board, .hostile)) struct HostileHostTests {
  @Test("answers any request whatever its payload, and keeps an image", arguments: 0..<6)
  func requests(seed: UInt64) throws {
    var random = SeededRandom(seed: 900 + seed)
    let operations = LinkOperation.allCases.filter { ![.bye, .reboot, .enterBootloader].contains($0) }
    let file = try firmware(size: 6_000)
    try withBoard { board async throws in
      let isBootloader = seed % 2 == 1
      let host = BoardHost(board)
      try await host.connect()
      if isBootloader {
        try await host.request(Reboot(.bootloader))
        try await board.loop.sleep(for: .seconds(6))
      }
      let other = try await BoardHost.anew(board, after: host)
      for _ in 0..<250 {
        let sequence = other.nextSequence()
        // Half of the payloads are nearly right.
        let plan = board.report.transfer.map { UInt32($0.offset) } ?? 0
        let near: [any LinkMessage] = [
          BeginTransfer(manifest: file.manifest.bytes),
          WriteTransfer(transfer: 1, offset: plan, data: [1, 2]),
          SetEqualizerBand(preset: 0, band: 1, value: 2), AmbientLevel(side: .left, level: 3),
        ]
        let payload =
          Bool.random(using: &random)
          ? random.someBytes(upTo: 40)
          : random.mutated(try near.randomElement(using: &random)?.payload() ?? [])
        let code =
          Int.random(in: 0..<20, using: &random) == 0
          ? random.number() : operations.randomElement(using: &random)?.rawValue ?? 0
        if [LinkOperation.bye, .reboot, .enterBootloader].map(\.rawValue).contains(code) { continue }
        try other.send(LinkFrame(kind: .request, sequence: sequence, code: code, payload: payload))
        var reader = PayloadReader(try await other.response(to: sequence))
        #expect(LinkStatus(rawValue: try reader.u16()) != nil)
      }
      #expect(board.report.confirmed.isWhole && board.report.isRunning)
    }
  }

  @Test("survives any bytes, before and after AUTH", arguments: 0..<4) func bytes(seed: UInt64)
    throws
  {
    var random = SeededRandom(seed: 1_900 + seed)
    try withHost { host, board async throws in
      let before = board.report
      if seed % 2 == 0 { host.seal = nil }
      for _ in 0..<200 {
        host.send(random.mutated(try frame(&random).unsealed) + [0])
        host.send(random.someBytes(upTo: 300) + [0])
      }
      try await board.loop.sleep(for: .seconds(1))
      #expect(board.report.equalizer == before.equalizer && board.report.isRunning)
    }
  }

  @Test("refuses a state that was tampered with, or reads it as it is", arguments: 0..<4)
  func states(seed: UInt64) throws {
    var random = SeededRandom(seed: 2_900 + seed)
    let image = BoardImage(.a, try firmware().manifest)
    var boot = BootRecord(confirmed: image)
    (boot.trial, boot.trials, boot.boots) = (image, 2, 77)
    #expect(try BootRecord(bytes: boot.bytes()) == boot)
    let journal = TransferJournal(image, offset: 4_096, checksum: 5)
    #expect(try TransferJournal(bytes: journal.bytes()) == journal)
    for _ in 0..<300 {
      let bytes = random.mutated(try boot.bytes())
      if bytes != (try boot.bytes()) {
        #expect(throws: BoardStoreError.self) { try BootRecord(bytes: bytes) }
      }
      // With the right checksum it is read, or not, and nothing worse.
      let body = random.mutated(try boot.bytes().dropLast(4))
      var writer = PayloadWriter()
      writer.raw(body)
      writer.u32(CRC32.of(body[...]))
      _ = try? BootRecord(bytes: writer.bytes)
      _ = try? BoardSettings(bytes: Array("RTBs".utf8) + writer.bytes)
    }
  }
}

extension BoardHost {
  /// Another host when the board has left this one, else this one.
  fileprivate static func anew(_ board: Board, after host: BoardHost) async throws -> BoardHost {
    guard host.isEnded else { return host }
    let other = BoardHost(board)
    try await other.connect()
    return other
  }
}

/// A frame of random contents.
private func frame(_ random: inout SeededRandom) throws -> LinkFrame {
  try LinkFrame(
    kind: LinkKind.allCases.randomElement(using: &random) ?? .event, sequence: random.number(),
    code: random.number(), payload: random.someBytes(upTo: LinkFrame.longestPayload))
}
