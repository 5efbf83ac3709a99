import EventLoop
import TestSupport
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("A driver and a board with someone in between") struct HostileLineTests {
  @Test("a wrong key is told on both sides, and nothing is done") func wrongKey() throws {
    let bench = try DriverBench(key: LinkKey(bytes: [UInt8](repeating: 1, count: 32)))
    try bench.run {
      let error = await bench.connectFailure()
      #expect(error?.code == "headset.auth")
      #expect(error?.message == "the board at memory does not know this key")
      #expect(error?.hint?.contains("key_file") == true)
      #expect(!bench.driver.isConnected && !bench.board.report.isConnected)
      #expect(bench.losses.isEmpty)
    }
  }

  @Test("a board that only says yes is found out") func falseBoard() throws {
    let bench = try DriverBench()
    try bench.run {
      bench.middle.rule = { way, bytes in
        guard way == .toHost, let frame = Middle.packet(bytes)?.frame, frame.operation == .authenticate,
          let proof = try? LinkReply.done(Proof(mac: [UInt8](repeating: 7, count: 16))).frame(to: frame)
        else { return [bytes] }
        return [proof.unsealed]
      }
      let error = await bench.connectFailure()
      #expect(error?.code == "headset.auth")
      #expect(error?.message == "the board at memory does not have the key")
    }
  }

  @Test("a challenge of 15 or 17 bytes is told by its length", arguments: [15, 17]) func challenge(
    length: Int
  )
    throws
  {
    var options = BoardOptions()
    options.faults.challengeLength = length
    let bench = try DriverBench(options)
    try bench.run {
      let error = await bench.connectFailure()
      #expect(error?.code == "headset.challenge_length")
      #expect(error?.message == "hello: the board at memory sends \(length) bytes where 16 are expected")
      #expect(bench.middle.operations(.toBoard) == [.hello], "no proof is made of it")
    }
  }

  @Test("what was recorded is taken from nobody a second time, on this connection or a later one")
  func replay() throws {
    let bench = try DriverBench()
    try bench.runConnected {
      _ = try await bench.driver.request(SetNoiseCancelling(isOn: true))
      try await bench.settle()
      let (requests, answers) = (bench.middle.frames(.toBoard), bench.middle.frames(.toHost))
      _ = try await bench.driver.request(SetNoiseCancelling(isOn: false))
      try await bench.settle()
      let news = bench.news
      #expect(news == [.noiseCancelling(true), .noiseCancelling(false)])
      for _ in 0..<2 {
        for bytes in requests { bench.middle.inject(bytes, .toBoard) }
        for bytes in answers { bench.middle.inject(bytes, .toHost) }
        try await bench.settle()
        #expect(!bench.board.report.noiseCancelling)
        #expect(bench.news == news)
        #expect(try await bench.driver.request(GetNoiseCancelling()) == Flag(isOn: false))
        if bench.driver.dropped[.repeated] != nil {
          // HELLO and AUTH, unsealed, and the request; of the host's, two answers, another, and an event.
          #expect(bench.board.report.repeated >= 1)
          #expect(bench.driver.dropped[.repeated] == 2 && bench.driver.dropped[.unsealed] ?? 0 >= 2)
        } else {
          #expect(bench.driver.dropped[.forged] == 2, "another session has other seals")
          #expect(bench.board.report.forged >= 1)
        }
        bench.driver.drop()
        try await bench.settle()
        _ = try await bench.driver.connect()
      }
    }
  }

  @Test("a command that nobody sealed, or with another seal, is not done") func injected() throws {
    let bench = try DriverBench()
    try bench.runConnected {
      let command = try SetNoiseCancelling(isOn: true).frame(sequence: 7)
      var stranger = LinkSeal(key: [UInt8](repeating: 1, count: 32), side: .host, sent: 100)
      bench.middle.inject(command.unsealed, .toBoard)
      bench.middle.inject(try stranger.seal(command), .toBoard)
      let event = try NoiseCancellingChanged(isOn: true).frame(sequence: 1)
      var board = LinkSeal(key: [UInt8](repeating: 1, count: 32), side: .board, sent: 100)
      bench.middle.inject(event.unsealed, .toHost)
      bench.middle.inject(try board.seal(event), .toHost)
      // What the host says, said to itself.
      _ = try await bench.driver.request(Ping())
      let own = try #require(bench.middle.frames(.toBoard).last)
      bench.middle.inject(own, .toHost)
      try await bench.settle()
      #expect(!bench.board.report.noiseCancelling && bench.news.isEmpty)
      #expect(bench.board.report.unsealed == 1 && bench.board.report.forged == 1)
      #expect(bench.driver.dropped == [.unsealed: 1, .forged: 2])
      #expect(try await bench.driver.request(GetNoiseCancelling()) == Flag(isOn: false))
    }
  }

  @Test("a command or an answer that is changed on its way, checksum and all, is dropped") func altered()
    throws
  {
    let bench = try DriverBench()
    try bench.runConnected {
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
      bench.middle.rule = { way, bytes in
        let operation = Middle.packet(bytes)?.frame.operation
        let isMeant = way == .toBoard ? operation == .setNoiseCancelling : operation == .noiseCancelling
        guard isMeant, changed < 2, let other = turned(bytes) else { return [bytes] }
        changed += 1
        return [other]
      }
      let start = bench.loop.now
      _ = try await bench.driver.request(SetNoiseCancelling(isOn: true))
      #expect(start.duration(to: bench.loop.now) == .seconds(3), "sent three times")
      #expect(bench.board.report.noiseCancelling && bench.board.report.forged == 2)
      changed = 1
      #expect(try await bench.driver.request(GetNoiseCancelling()) == Flag(isOn: true))
      #expect(bench.driver.dropped == [.forged: 1])
    }
  }

  @Test("an answer to an older request is not taken for a new one's") func delayed() throws {
    let bench = try DriverBench()
    try bench.runConnected {
      _ = try await bench.driver.request(SetNoiseCancelling(isOn: true))
      // The answer to the first question is held back; the second way it comes is taken.
      var held: [UInt8]?
      bench.middle.rule = { way, bytes in
        guard way == .toHost, held == nil, Middle.packet(bytes)?.frame.operation == .noiseCancelling else {
          return [bytes]
        }
        held = bytes
        return []
      }
      #expect(try await bench.driver.request(GetNoiseCancelling()) == Flag(isOn: true))
      _ = try await bench.driver.request(SetNoiseCancelling(isOn: false))
      bench.middle.inject(try #require(held), .toHost)
      #expect(try await bench.driver.request(GetNoiseCancelling()) == Flag(isOn: false))
      #expect(bench.driver.dropped == [.repeated: 1])
    }
  }
}
