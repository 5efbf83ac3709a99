import EventLoop
import TestSupport
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The host's side of a link: proving the key") struct LinkSessionHandshakeTests {
  @Test("HELLO and AUTH open it; before and after, requests fail") func open() throws {
    var bench = LinkBench()
    let refused = try bench.request(1, Ping())
    guard case .failed(1, let error) = refused.first else { throw TestFailure("\(refused)") }
    #expect(error.kind == .notConnected && error.message.contains("unix:/run/board"))
    bench = try .open()
    #expect(bench.session.isOpen)
    #expect(bench.session.deadline == nil)
    _ = bench.session.ended(.closed)
    #expect(!bench.session.isOpen)
    #expect(try bench.request(2, Ping()) == [.failed(2, error)])
  }

  @Test("HELLO is sent at 0, 1 and 3 s, the same each time, and given up at 7 s") func silence() throws {
    var bench = LinkBench()
    bench.note(bench.session.begin(at: bench.now))
    let hello = try bench.sentOne(.hello)
    #expect(bench.due == 1)
    #expect(bench.pass(to: 0.999).isEmpty && bench.sent().isEmpty)
    for (moment, next) in [(1.0, 3.0), (3.0, 7.0)] {
      #expect(bench.pass(to: moment).isEmpty)
      #expect(try bench.sentOne(.hello) == hello)
      #expect(bench.due == next)
    }
    let loss = try #require(bench.pass(to: 7).loss)
    #expect(loss.kind == .timeout)
    #expect(loss.message == "hello: the headset at unix:/run/board did not answer within 7 s")
    #expect(bench.due == nil)
  }

  @Test("what was on the line before HELLO's answer is passed over") func stale() throws {
    var bench = LinkBench()
    bench.note(bench.session.begin(at: bench.now))
    // The end of a frame, the sealed answer of an older session, an answer to another HELLO, an event, a request.
    var seal = LinkSeal(key: [1], side: .board)
    let old = try Ping().frame(sequence: 0x0102)
    let other = try LinkReply.done(bench.welcome).frame(to: Hello(nonce: []).frame(sequence: 5))
    let event = try NoiseCancellingChanged(isOn: true).frame(sequence: 1)
    for bytes in [[7, 7, 0], try seal.seal(old), other.unsealed, event.unsealed, old.unsealed, [3, 1]] {
      #expect(bench.receive(bytes).isEmpty)
    }
    #expect(bench.session.dropped == [.unsealed: 1, .unexpected: 3])
    #expect(bench.session.reader.dropped == [.stuffing: 1])
    // Only the zero of the next frame ends what was cut off.
    _ = bench.receive([0])
    try bench.answerHello()
    #expect(try bench.answerProof() == [.opened(bench.welcome.board)])
  }

  @Test("HELLO ends what a board has of an older frame") func zero() throws {
    var session = LinkBench().session
    guard case .send(let bytes) = session.begin(at: .start).first else { throw TestFailure("no HELLO") }
    var reader = LinkReader()
    #expect(reader.read([9, 9, 9]).isEmpty)
    #expect(reader.read(bytes).first?.frame.operation == .hello)
  }

  @Test("a refused proof is tried once more with another nonce, and told with what to do") func refusedKey()
    throws
  {
    var bench = LinkBench()
    bench.handshake = BoardHandshake(key: [1])
    bench.note(bench.session.begin(at: bench.now))
    try bench.answerHello()
    #expect(try bench.answerProof().isEmpty)
    let hello = bench
    try bench.answerHello()
    let loss = try #require(try bench.answerProof().loss)
    #expect(loss.kind == .auth)
    #expect(loss.message == "the board at unix:/run/board does not know this key")
    #expect(loss.hint?.contains("key_file") == true)
    // The second HELLO is another, and with the right key it opens the link.
    bench = hello
    bench.handshake = BoardHandshake(key: LinkBench.key.bytes)
    try bench.answerHello()
    #expect(try bench.answerProof() == [.opened(bench.welcome.board)])
  }

  @Test("a board with another key is told as such") func falseBoard() throws {
    var bench = LinkBench()
    bench.note(bench.session.begin(at: bench.now))
    try bench.answerHello()
    let proof = try bench.sentOne(.authenticate)
    let loss = try #require(try bench.answer(proof, Proof(mac: [UInt8](repeating: 0, count: 16))).loss)
    #expect(loss.kind == .auth)
    #expect(loss.message == "the board at unix:/run/board does not have the key")
    #expect(loss.hint?.contains("key_file") == true)
  }

  @Test("a challenge of another length than 16 is told by its length", arguments: [0, 15, 17, 255])
  func challenge(length: Int) throws {
    var bench = LinkBench()
    bench.welcome.challenge = [UInt8](repeating: 1, count: length)
    bench.note(bench.session.begin(at: bench.now))
    let loss = try #require(try bench.answerHello().loss)
    #expect(loss.kind == .challengeLength)
    #expect(
      loss.message == "hello: the board at unix:/run/board sends \(length) bytes where 16 are expected")
    #expect(bench.sent().isEmpty)
  }

  @Test("a board's no to HELLO, and an answer that can't be read, are told") func others() throws {
    for (payload, kind): ([UInt8], HeadsetError.Kind) in [
      ([8, 0], .busy), ([7, 0], .unsupported), ([2, 0], .challengeLength), ([3, 0], .auth), ([0], .noData),
      ([0, 0, 16, 1], .noData), ([99, 0], .noData),
    ] {
      var bench = LinkBench()
      bench.note(bench.session.begin(at: bench.now))
      let hello = try bench.sentOne(.hello)
      let answer = try LinkFrame(
        kind: .response, sequence: hello.sequence, code: hello.code, payload: payload)
      #expect(try bench.tell(answer).loss?.kind == kind, "\(payload)")
    }
  }

  @Test("a channel that ends before the key is proved is no connection") func ended() throws {
    var bench = LinkBench()
    bench.note(bench.session.begin(at: bench.now))
    let loss = try #require(bench.session.ended(.failed("the cable is cut")).loss)
    #expect(loss.kind == .connectionFailed)
    #expect(loss.message.hasSuffix("before the key was proved: the cable is cut"))
  }
}
