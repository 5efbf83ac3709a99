import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("Proving the key", .tags(.headset, .link)) struct HandshakeTests {
  private let key = [UInt8](repeating: 0x5A, count: 32)
  private let nonce = [UInt8](0..<16)

  private func welcome(_ challenge: Int = 16) -> Welcome {
    Welcome(
      challenge: [UInt8](repeating: 0xC4, count: challenge), session: 7,
      board: BoardInfo(
        image: .application, capabilities: [.ambient, .equalizer], longestPayload: 1_024, model: "RT-1",
        firmwareVersion: "1.2.0", boots: 3))
  }

  private func answer(_ action: BoardHandshake.Action) throws -> [UInt8] {
    guard case .answer(let payload) = action else { throw Unexpected() }
    return payload
  }

  private struct Unexpected: Error {}

  /// The status of an answer.
  private func status(_ action: BoardHandshake.Action) throws -> LinkStatus? {
    let payload =
      switch action {
      case .answer(let payload), .end(let payload), .begin(let payload, _): payload
      }
    var reader = PayloadReader(payload)
    return LinkStatus(rawValue: try reader.u16())
  }

  @Test("both sides prove the key, and their seals fit each other") func whole() throws {
    let host = try HostHandshake(key: key, nonce: nonce)
    var board = BoardHandshake(key: key)
    let greeting = try answer(board.received(hello: host.hello, welcome: welcome()))
    let (reported, authenticate, handshake) = try host.received(welcome: greeting)
    #expect(reported == welcome())
    guard case .begin(let proof, var boardSeal) = try board.received(authenticate: authenticate) else {
      throw Unexpected()
    }
    var hostSeal = try host.received(proof: proof, in: handshake)
    var reader = LinkReader()
    let ping = try Ping().frame(sequence: 1)
    let there = try #require(reader.read(hostSeal.seal(ping)[...]).first)
    #expect(try boardSeal.open(there) == ping)
    let back = try #require(reader.read(boardSeal.seal(ping)[...]).first)
    #expect(try hostSeal.open(back) == ping)
  }

  @Test("proofs are 16 bytes over label and both payloads") func proofs() throws {
    let handshake = LinkHandshake(key: key, hello: [1, 2], welcome: [3])
    #expect(
      handshake.proof(of: .host)
        == Array(HMACSHA256(key: key).mac(of: Array("host".utf8) + [1, 2, 3])[..<16]))
    #expect(
      handshake.proof(of: .board)
        == Array(HMACSHA256(key: key).mac(of: Array("board".utf8) + [1, 2, 3])[..<16]))
  }

  @Test("a challenge of another length than 16 is reported with its length", arguments: [0, 15, 17, 255])
  func challenge(length: Int) throws {
    let host = try HostHandshake(key: key, nonce: nonce)
    let greeting = try LinkReply.done(welcome(length)).payload()
    #expect(throws: HandshakeError.challengeLength(length)) { try host.received(welcome: greeting) }
  }

  @Test(
    "a nonce or a proof of another length than 16 is refused by that status", arguments: [0, 15, 17, 255])
  func lengths(length: Int) throws {
    let bytes = [UInt8](repeating: 1, count: length)
    #expect(throws: HandshakeError.challengeLength(length)) { try HostHandshake(key: key, nonce: bytes) }
    var board = BoardHandshake(key: key)
    #expect(
      try status(board.received(hello: Hello(nonce: bytes).payload(), welcome: welcome())) == .challengeLength
    )
    #expect(try status(board.received(authenticate: Authenticate(mac: bytes).payload())) == .challengeLength)
    let host = try HostHandshake(key: key, nonce: nonce)
    let greeting = try answer(board.received(hello: host.hello, welcome: welcome()))
    let (_, _, handshake) = try host.received(welcome: greeting)
    let proof = try LinkReply.done(Proof(mac: bytes)).payload()
    #expect(throws: HandshakeError.challengeLength(length)) { try host.received(proof: proof, in: handshake) }
  }

  @Test("the third wrong proof ends the link") func failures() throws {
    let host = try HostHandshake(key: [1], nonce: nonce)
    var board = BoardHandshake(key: key)
    for attempt in 1...3 {
      let greeting = try answer(board.received(hello: host.hello, welcome: welcome()))
      let (_, authenticate, handshake) = try host.received(welcome: greeting)
      let action = try board.received(authenticate: authenticate)
      #expect(try status(action) == .authentication)
      if case .end(let payload) = action {
        #expect(attempt == 3)
        #expect(throws: HandshakeError.refused(LinkRefusal(.authentication))) {
          try host.received(proof: payload, in: handshake)
        }
      } else {
        #expect(attempt < 3)
      }
    }
  }

  @Test("a board with another key is found out") func falseBoard() throws {
    let host = try HostHandshake(key: key, nonce: nonce)
    let greeting = try LinkReply.done(welcome()).payload()
    let (_, _, handshake) = try host.received(welcome: greeting)
    let other = LinkHandshake(key: [1], hello: host.hello, welcome: greeting)
    // Neither the key of another, nor the host's own proof sent back.
    for mac in [other.proof(of: .board), handshake.proof(of: .host)] {
      let proof = try LinkReply.done(Proof(mac: mac)).payload()
      #expect(throws: HandshakeError.authentication) { try host.received(proof: proof, in: handshake) }
    }
  }

  @Test("a proof is good for one HELLO, once") func again() throws {
    let host = try HostHandshake(key: key, nonce: nonce)
    var board = BoardHandshake(key: key)
    let (_, authenticate, _) = try host.received(
      welcome: answer(board.received(hello: host.hello, welcome: welcome())))
    guard case .begin = try board.received(authenticate: authenticate) else { throw Unexpected() }
    #expect(try status(board.received(authenticate: authenticate)) == .wrongMode)
    var other = welcome()
    other.challenge[0] ^= 1
    _ = try board.received(hello: host.hello, welcome: other)
    #expect(try status(board.received(authenticate: authenticate)) == .authentication)
  }

  @Test("a HELLO that comes twice has one answer until its proof has come, and then another")
  func repeated() throws {
    let host = try HostHandshake(key: key, nonce: nonce)
    var board = BoardHandshake(key: key)
    var other = welcome()
    other.challenge[0] ^= 1
    let greeting = try answer(board.received(hello: host.hello, welcome: welcome()))
    #expect(try answer(board.received(hello: host.hello, welcome: other)) == greeting)
    let (_, authenticate, _) = try host.received(welcome: greeting)
    guard case .begin = try board.received(authenticate: authenticate) else { throw Unexpected() }
    #expect(try answer(board.received(hello: host.hello, welcome: other)) != greeting)
  }

  @Test("a host that speaks other versions only, and one that sends gibberish, are reported so") func others()
    throws
  {
    var board = BoardHandshake(key: key)
    let newer = try Hello(nonce: nonce, oldest: 2, newest: 9).payload()
    #expect(try status(board.received(hello: newer, welcome: welcome())) == .unsupported)
    #expect(try status(board.received(hello: [3], welcome: welcome())) == .badRequest)
    #expect(try status(board.received(authenticate: [3, 1])) == .badRequest)
    let host = try HostHandshake(key: key, nonce: nonce)
    #expect(throws: HandshakeError.payload(.short(needed: 2, left: 0))) { try host.received(welcome: []) }
  }
}
