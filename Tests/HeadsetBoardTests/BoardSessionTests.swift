import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("A board and its host", .tags(.headset, .board)) struct BoardSessionTests {
  private func status(_ payload: [UInt8]) throws -> LinkStatus? {
    var reader = PayloadReader(payload)
    return LinkStatus(rawValue: try reader.u16())
  }

  @Test("prove the key to each other, and the board identifies itself") func hello() throws {
    try withBoard { board async throws in
      let host = BoardHost(board)
      let info = try await host.connect()
      #expect(info.image == .application)
      #expect(info.model == "RT-1")
      #expect(info.firmwareVersion == "1.0.0")
      #expect(info.boots == 1)
      #expect(info.capabilities == [.noiseCancelling, .ambient, .equalizer, .battery, .firmwareUpdate])
      #expect(try await host.request(GetInfo()) == info)
      #expect(try await host.request(Ping()) == Done())
      #expect(board.report.isConnected)
    }
  }

  @Test("a host with another key is refused, and the third time the link ends") func wrongKey() throws {
    try withBoard { board async throws in
      let host = BoardHost(board)
      host.key = [UInt8](repeating: 1, count: 32)
      for _ in 1...3 {
        await #expect(throws: HandshakeError.refused(LinkRefusal(.authentication))) {
          try await host.connect()
        }
      }
      try await host.loop.sleep(for: .milliseconds(10))
      #expect(host.isEnded)
      #expect(!board.hasLink)
      // The next one is welcome.
      try await BoardHost(board).connect()
    }
  }

  @Test("an open session can't be ended without the key") func strangers() throws {
    try withBoard { board async throws in
      let host = BoardHost(board)
      try await host.connect()
      let seal = host.seal
      (host.seal, host.key) = (nil, [UInt8](repeating: 1, count: 32))
      for _ in 1...4 { await #expect(throws: HandshakeError.self) { try await host.connect() } }
      host.seal = seal
      try await host.request(Ping())
      #expect(!host.isEnded && board.report.isConnected)
    }
  }

  @Test("on a line, which can't be closed, the end of the link is a second of silence") func line() throws {
    try withBoard { board async throws in
      let host = BoardHost(lineTo: board)
      host.key = [UInt8](repeating: 1, count: 32)
      for _ in 1...3 { await #expect(throws: HandshakeError.self) { try await host.connect() } }
      #expect(!host.isEnded && !board.report.isConnected)
      (host.key, host.timeout) = (LinkKey.development.bytes, .milliseconds(500))
      await #expect(throws: BoardHost.Silence.self) { try await host.connect() }
      try await board.loop.sleep(for: .seconds(1))
      try await host.connect()
      // A host that starts anew sends HELLO in the middle of a session.
      host.seal = nil
      try await host.connect()
      try await host.request(Ping())
    }
  }

  @Test("before AUTH nothing is done, and the host learns why") func unauthenticated() throws {
    try withBoard { board async throws in
      let host = BoardHost(board)
      #expect(
        try await status(host.askPlainly(SetNoiseCancelling(true))) == .authentication)
      #expect(!board.report.noiseCancelling)
      #expect(try await status(host.askPlainly(Authenticate(mac: [1]))) == .challengeLength)
      #expect(
        try await status(host.askPlainly(Authenticate(mac: [UInt8](repeating: 0, count: 16)))) == .wrongMode)
    }
  }

  @Test("after AUTH a frame without a seal, with a wrong one, or that was there, is dropped and counted")
  func intruders() throws {
    try withHost { host, board async throws in
      let plain = try SetNoiseCancelling(true).frame(sequence: 900)
      host.send(plain.unsealed)
      #expect(try await host.isUnanswered(900))
      var stranger = LinkSeal(key: [UInt8](repeating: 7, count: 32), side: .host, sent: 50)
      host.send(try stranger.seal(plain))
      #expect(try await host.isUnanswered(900))
      try await host.request(SetNoiseCancelling(false))
      let replayed = host.sent
      try await host.request(SetAmbient(AmbientLevel(side: .left, level: 2)))
      host.send(replayed)
      try await host.loop.sleep(for: .seconds(1))
      let report = board.report
      #expect([report.unsealed, report.forged, report.repeated] == [1, 1, 1])
      #expect(!report.noiseCancelling)
      try await host.request(Ping())
    }
  }

  @Test("a HELLO without the key does not end the session, nor does one that is played again")
  func strangeHello() throws {
    try withBoard { board async throws in
      let host = BoardHost(board)
      let shake = try HostHandshake(key: host.key, nonce: SecureRandom.bytes(16))
      let hello = try LinkFrame(kind: .request, sequence: 77, code: 1, payload: shake.hello).unsealed
      host.send(hello)
      let (_, proof, handshake) = try shake.received(welcome: try await host.response(to: 77))
      host.send(try LinkFrame(kind: .request, sequence: 78, code: 2, payload: proof).unsealed)
      host.seal = try shake.received(proof: try await host.response(to: 78), in: handshake)
      host.send(hello)
      #expect(try await host.isUnanswered(77))
      #expect(board.report.repeated == 1)
      let other = try Hello(nonce: [UInt8](repeating: 3, count: 16)).frame(sequence: 80)
      host.send(other.unsealed)
      #expect(try await status(host.response(to: 80)) == .ok)
      try await host.request(SetNoiseCancelling(true))
      #expect(board.report.noiseCancelling)
    }
  }

  @Test("HELLO and AUTH that come again are answered again in the same way") func repeatedHello() throws {
    try withBoard { board async throws in
      let host = BoardHost(board)
      let shake = try HostHandshake(key: host.key, nonce: SecureRandom.bytes(16))
      let hello = try LinkFrame(kind: .request, sequence: 1, code: 1, payload: shake.hello).unsealed
      host.send(hello)
      let welcome = try await host.response(to: 1)
      host.send(hello)
      #expect(try await host.response(to: 1) == welcome)
      let (_, proof, handshake) = try shake.received(welcome: welcome)
      let authenticate = try LinkFrame(kind: .request, sequence: 2, code: 2, payload: proof).unsealed
      host.send(authenticate)
      let answer = try await host.response(to: 2)
      host.send(authenticate)
      #expect(try await host.response(to: 2) == answer)
      host.seal = try shake.received(proof: answer, in: handshake)
      try await host.request(Ping())
      // Once the session is used, nobody needs the answer any more.
      host.send(authenticate)
      #expect(try await host.isUnanswered(2))
    }
  }

  @Test("a request that comes again is answered, not done again") func cache() throws {
    try withHost { host, board async throws in
      let reset = try ResetEqualizer(0).frame(sequence: 500)
      let set = try SetEqualizerBand(preset: 0, band: 0, value: -5).frame(sequence: 501)
      for frame in [reset, set, reset] {
        try host.send(frame)
        #expect(try await status(host.response(to: frame.sequence)) == .ok)
      }
      // Done again it would have undone what came after it.
      #expect(board.report.equalizer[0][0] == -5)
      // The same sequence with another body is another request.
      try host.send(try SetEqualizerBand(preset: 0, band: 0, value: -6).frame(sequence: 500))
      #expect(try await status(host.response(to: 500)) == .ok)
      #expect(board.report.equalizer[0][0] == -6)
    }
  }

  @Test("sixteen answers are kept, and none beyond a HELLO") func cacheLength() throws {
    try withHost { host, board async throws in
      let reset = try ResetEqualizer(0).frame(sequence: 500)
      try host.send(reset)
      _ = try await host.response(to: 500)
      for _ in 0..<15 { try await host.request(SetEqualizerBand(preset: 0, band: 0, value: -5)) }
      try host.send(reset)
      _ = try await host.response(to: 500)
      #expect(board.report.equalizer[0][0] == -5)
      try await host.request(Ping())
      try host.send(reset)
      _ = try await host.response(to: 500)
      #expect(board.report.equalizer[0][0] == 4)

      try await host.request(SetEqualizerBand(preset: 0, band: 0, value: -5))
      host.seal = nil
      try await host.connect()
      try host.send(reset)
      _ = try await host.response(to: 500)
      #expect(board.report.equalizer[0][0] == 4)
    }
  }

  @Test("unknown messages, and those that are no requests, do no harm") func unknown() throws {
    try withHost { host, board async throws in
      for (code, payload, expected) in [
        (0x0999, [], .unsupported), (0x0011, [2], .badRequest), (0x0011, [], .badRequest),
        (0x0022, [5, 1], .badRequest), (0x0001, [], .badRequest),
      ] as [(UInt16, [UInt8], LinkStatus)] {
        let sequence = host.nextSequence()
        try host.send(LinkFrame(kind: .request, sequence: sequence, code: code, payload: payload))
        #expect(try await status(host.response(to: sequence)) == expected)
      }
      try host.send(LinkFrame(kind: .response, sequence: 600, code: 3, payload: []))
      #expect(try await host.isUnanswered(600))
      host.send([UInt8](repeating: 9, count: 3_000) + [0])
      try await host.request(Ping())
      #expect(board.report.broken == 1)
    }
  }

  @Test("a challenge has the length of the fault", arguments: [15, 17])
  func challenge(length: Int) throws {
    try withBoard(.with { $0.faults.challengeLength = length }) { board async throws in
      await #expect(throws: HandshakeError.challengeLength(length)) { try await BoardHost(board).connect() }
    }
  }

  @Test("a slow board answers late and in order") func slow() throws {
    try withBoard(.with { $0.profile = try BoardProfile(named: "slow") }) { board async throws in
      let host = BoardHost(board)
      try await host.connect()
      let start = host.loop.now
      try await host.request(Ping())
      #expect(start.duration(to: host.loop.now) >= .milliseconds(300))
    }
  }
}
