import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("A driver and a board with someone in between", .tags(.headset, .link, .hostile))
struct HostileLineTests {
  @Test("a wrong key is reported on both sides, and no command runs") func wrongKey() throws {
    let harness = try DriverHarness(key: LinkKey(bytes: [UInt8](repeating: 1, count: 32)))
    try harness.run {
      let error = await harness.connectFailure()
      #expect(error?.code == "headset.auth")
      #expect(error?.message == "the board at memory does not know this key")
      #expect(error?.hint?.contains("key_file") == true)
      #expect(!harness.driver.isConnected && !harness.board.report.isConnected)
      #expect(harness.losses.isEmpty)
    }
  }

  @Test("a board that accepts every proof is detected") func falseBoard() throws {
    let harness = try DriverHarness()
    try harness.run {
      harness.middle.rule = { way, bytes in
        guard way == .toHost, let frame = Middle.packet(bytes)?.frame, frame.operation == .authenticate,
          let proof = try? LinkReply.done(Proof(mac: [UInt8](repeating: 7, count: 16))).frame(to: frame)
        else { return [bytes] }
        return [proof.unsealed]
      }
      let error = await harness.connectFailure()
      #expect(error?.code == "headset.auth")
      #expect(error?.message == "the board at memory does not have the key")
    }
  }

  @Test("a challenge of 15 or 17 bytes is reported with its length", arguments: [15, 17]) func challenge(
    length: Int
  )
    throws
  {
    var options = BoardOptions()
    options.faults.challengeLength = length
    let harness = try DriverHarness(options)
    try harness.run {
      let error = await harness.connectFailure()
      #expect(error?.code == "headset.challenge_length")
      #expect(error?.message == "hello: the board at memory sends \(length) bytes where 16 are expected")
      #expect(harness.middle.operations(.toBoard) == [.hello], "no proof is made of it")
    }
  }

  @Test("recorded frames are accepted from no one a second time, on this connection or a later one")
  func replay() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      _ = try await harness.driver.request(SetNoiseCancelling(true))
      try await harness.settle()
      let (requests, answers) = (harness.middle.frames(.toBoard), harness.middle.frames(.toHost))
      _ = try await harness.driver.request(SetNoiseCancelling(false))
      try await harness.settle()
      let driverEvents = harness.driverEvents
      #expect(driverEvents == [.noiseCancelling(true), .noiseCancelling(false)])
      for _ in 0..<2 {
        for bytes in requests { harness.middle.inject(bytes, .toBoard) }
        for bytes in answers { harness.middle.inject(bytes, .toHost) }
        try await harness.settle()
        #expect(!harness.board.report.noiseCancelling)
        #expect(harness.driverEvents == driverEvents)
        #expect(try await harness.driver.request(GetNoiseCancelling()) == false)
        if harness.driver.dropped[.repeated] != nil {
          // HELLO and AUTH, unsealed, and the request; of the host's, two answers, another, and an event.
          #expect(harness.board.report.repeated >= 1)
          #expect(harness.driver.dropped[.repeated] == 2 && harness.driver.dropped[.unsealed] ?? 0 >= 2)
        } else {
          #expect(harness.driver.dropped[.forged] == 2, "another session has other seals")
          #expect(harness.board.report.forged >= 1)
        }
        harness.driver.drop()
        try await harness.settle()
        _ = try await harness.driver.connect()
      }
    }
  }

  @Test("a command without a seal, or with another seal, does not run") func injected() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      let command = try SetNoiseCancelling(true).frame(sequence: 7)
      var stranger = LinkSeal(key: [UInt8](repeating: 1, count: 32), side: .host, sent: 100)
      harness.middle.inject(command.unsealed, .toBoard)
      harness.middle.inject(try stranger.seal(command), .toBoard)
      let event = try NoiseCancellingChanged(true).frame(sequence: 1)
      var board = LinkSeal(key: [UInt8](repeating: 1, count: 32), side: .board, sent: 100)
      harness.middle.inject(event.unsealed, .toHost)
      harness.middle.inject(try board.seal(event), .toHost)
      // The host's own frames, returned to it.
      _ = try await harness.driver.request(Ping())
      let own = try #require(harness.middle.frames(.toBoard).last)
      harness.middle.inject(own, .toHost)
      try await harness.settle()
      #expect(!harness.board.report.noiseCancelling && harness.driverEvents.isEmpty)
      #expect(harness.board.report.unsealed == 1 && harness.board.report.forged == 1)
      #expect(harness.driver.dropped == [.unsealed: 1, .forged: 2])
      #expect(try await harness.driver.request(GetNoiseCancelling()) == false)
    }
  }

  @Test("a command or an answer that is changed on its way, checksum and all, is dropped") func altered()
    throws
  {
    let harness = try DriverHarness()
    try harness.runConnected {
      /// The other value, with a checksum that fits, under the seal as it was.
      func turned(_ bytes: [UInt8]) -> [UInt8]? {
        guard let packet = Middle.packet(bytes), let seal = packet.seal,
          var payload = Optional(packet.frame.payload),
          let last = payload.popLast(),
          let frame = try? LinkFrame(
            kind: packet.frame.kind, sequence: packet.frame.sequence, code: packet.frame.code,
            payload: payload + [last ^ 1])
        else { return nil }
        var writer = PayloadWriter()
        writer.raw(frame.body)
        writer.u32(seal.counter)
        writer.raw(seal.mac)
        return COBS.encode(writer.bytes) + [0]
      }
      var changed = 0
      harness.middle.rule = { way, bytes in
        let operation = Middle.packet(bytes)?.frame.operation
        let isMeant = way == .toBoard ? operation == .setNoiseCancelling : operation == .noiseCancelling
        guard isMeant, changed < 2, let other = turned(bytes) else { return [bytes] }
        changed += 1
        return [other]
      }
      let start = harness.loop.now
      _ = try await harness.driver.request(SetNoiseCancelling(true))
      #expect(start.duration(to: harness.loop.now) == .seconds(3), "sent three times")
      #expect(harness.board.report.noiseCancelling && harness.board.report.forged == 2)
      changed = 1
      #expect(try await harness.driver.request(GetNoiseCancelling()) == true)
      #expect(harness.driver.dropped == [.forged: 1])
    }
  }

  @Test("an answer to an older request does not complete a new one") func delayed() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      _ = try await harness.driver.request(SetNoiseCancelling(true))
      // The answer to the first question is held back; the second way it comes is taken.
      var held: [UInt8]?
      harness.middle.rule = { way, bytes in
        guard way == .toHost, held == nil, Middle.packet(bytes)?.frame.operation == .noiseCancelling else {
          return [bytes]
        }
        held = bytes
        return []
      }
      #expect(try await harness.driver.request(GetNoiseCancelling()) == true)
      _ = try await harness.driver.request(SetNoiseCancelling(false))
      harness.middle.inject(try #require(held), .toHost)
      #expect(try await harness.driver.request(GetNoiseCancelling()) == false)
      #expect(harness.driver.dropped == [.repeated: 1])
    }
  }
}
