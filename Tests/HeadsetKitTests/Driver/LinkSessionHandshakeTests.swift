import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The host's side of a link: proving the key", .tags(.headset, .link)) struct LinkSessionHandshakeTests
{
  @Test("HELLO and AUTH open it; before and after, requests fail") func open() throws {
    var harness = LinkHarness()
    let refused = try harness.request(1, Ping())
    guard case .failed(1, let error) = refused.first else { throw TestFailure("\(refused)") }
    #expect(error.kind == .notConnected && error.message.contains("unix:/run/board"))
    harness = try .open()
    #expect(harness.session.isOpen)
    #expect(harness.session.deadline == nil)
    _ = harness.session.ended(.closed)
    #expect(!harness.session.isOpen)
    #expect(try harness.request(2, Ping()) == [.failed(2, error)])
  }

  @Test("HELLO is sent at 0, 1 and 3 s, the same each time, and given up at 7 s") func silence() throws {
    var harness = LinkHarness()
    harness.note(harness.session.begin(at: harness.now))
    let hello = try harness.sentOne(.hello)
    #expect(harness.due == 1)
    #expect(harness.pass(to: 0.999).isEmpty && harness.sent().isEmpty)
    for (moment, next) in [(1.0, 3.0), (3.0, 7.0)] {
      #expect(harness.pass(to: moment).isEmpty)
      #expect(try harness.sentOne(.hello) == hello)
      #expect(harness.due == next)
    }
    let loss = try #require(harness.pass(to: 7).loss)
    #expect(loss.kind == .timeout)
    #expect(loss.message == "hello: the headset at unix:/run/board did not answer within 7 s")
    #expect(harness.due == nil)
  }

  @Test("bytes on the line before HELLO's answer are skipped") func stale() throws {
    var harness = LinkHarness()
    harness.note(harness.session.begin(at: harness.now))
    // The end of a frame, the sealed answer of an older session, an answer to another HELLO, an event, a request.
    var seal = LinkSeal(key: [1], side: .board)
    let old = try Ping().frame(sequence: 0x0102)
    let other = try LinkReply.done(harness.welcome).frame(to: Hello(nonce: []).frame(sequence: 5))
    let event = try NoiseCancellingChanged(true).frame(sequence: 1)
    for bytes in [[7, 7, 0], try seal.seal(old), other.unsealed, event.unsealed, old.unsealed, [3, 1]] {
      #expect(harness.receive(bytes).isEmpty)
    }
    #expect(harness.session.dropped == [.unsealed: 1, .unexpected: 3])
    #expect(harness.session.reader.dropped == [.stuffing: 1])
    // Only the zero of the next frame ends what was cut off.
    _ = harness.receive([0])
    try harness.answerHello()
    #expect(try harness.answerProof() == [.opened(harness.welcome.board)])
  }

  @Test("HELLO ends what a board has of an older frame") func zero() throws {
    var session = LinkHarness().session
    guard case .send(let bytes) = session.begin(at: .start).first else { throw TestFailure("no HELLO") }
    var reader = LinkReader()
    #expect(reader.read([9, 9, 9]).isEmpty)
    #expect(reader.read(bytes[...]).first?.frame.operation == .hello)
  }

  @Test("a refused proof is tried once more with another nonce, and reported with a hint") func refusedKey()
    throws
  {
    var harness = LinkHarness()
    harness.handshake = BoardHandshake(key: [1])
    harness.note(harness.session.begin(at: harness.now))
    try harness.answerHello()
    #expect(try harness.answerProof().isEmpty)
    let hello = harness
    try harness.answerHello()
    let loss = try #require(try harness.answerProof().loss)
    #expect(loss.kind == .auth)
    #expect(loss.message == "the board at unix:/run/board does not know this key")
    #expect(loss.hint?.contains("key_file") == true)
    // The second HELLO is another, and with the right key it opens the link.
    harness = hello
    harness.handshake = BoardHandshake(key: LinkHarness.key.bytes)
    try harness.answerHello()
    #expect(try harness.answerProof() == [.opened(harness.welcome.board)])
  }

  @Test("a board with another key is reported as such") func falseBoard() throws {
    var harness = LinkHarness()
    harness.note(harness.session.begin(at: harness.now))
    try harness.answerHello()
    let proof = try harness.sentOne(.authenticate)
    let loss = try #require(try harness.answer(proof, Proof(mac: [UInt8](repeating: 0, count: 16))).loss)
    #expect(loss.kind == .auth)
    #expect(loss.message == "the board at unix:/run/board does not have the key")
    #expect(loss.hint?.contains("key_file") == true)
  }

  @Test("a challenge of another length than 16 is reported with its length", arguments: [0, 15, 17, 255])
  func challenge(length: Int) throws {
    var harness = LinkHarness()
    harness.welcome.challenge = [UInt8](repeating: 1, count: length)
    harness.note(harness.session.begin(at: harness.now))
    let loss = try #require(try harness.answerHello().loss)
    #expect(loss.kind == .challengeLength)
    #expect(
      loss.message == "hello: the board at unix:/run/board sends \(length) bytes where 16 are expected")
    #expect(harness.sent().isEmpty)
  }

  @Test("a board's refusal of HELLO, and an answer that can't be decoded, are reported") func others() throws
  {
    for (payload, kind): ([UInt8], HeadsetError.Kind) in [
      ([8, 0], .busy), ([7, 0], .unsupported), ([2, 0], .challengeLength), ([3, 0], .auth), ([0], .noData),
      ([0, 0, 16, 1], .noData), ([99, 0], .noData),
    ] {
      var harness = LinkHarness()
      harness.note(harness.session.begin(at: harness.now))
      let hello = try harness.sentOne(.hello)
      let answer = try LinkFrame(
        kind: .response, sequence: hello.sequence, code: hello.code, payload: payload)
      #expect(try harness.receive(answer).loss?.kind == kind, "\(payload)")
    }
  }

  @Test("a channel that ends before the key is proved is no connection") func ended() throws {
    var harness = LinkHarness()
    harness.note(harness.session.begin(at: harness.now))
    let loss = try #require(harness.session.ended(.failed("the cable is cut")).loss)
    #expect(loss.kind == .connectionFailed)
    #expect(loss.message.hasSuffix("before the key was proved: the cable is cut"))
  }
}
