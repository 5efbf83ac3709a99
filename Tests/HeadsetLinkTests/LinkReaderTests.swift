import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetLink

@Suite("Frames found in bytes", .tags(.headset, .link, .hostile)) struct LinkReaderTests {
  @Test("frames are found however the bytes are cut") func cuts() throws {
    var random = SeededRandom(seed: 1)
    let frames = try (0..<200).map { _ in try random.frame() }
    let wire = frames.flatMap(\.unsealed)
    var reader = LinkReader()
    let found = pieces(of: wire, &random).flatMap { reader.read($0) }
    #expect(found.map(\.frame) == frames)
    #expect(found.allSatisfy { $0.seal == nil && $0.body == $0.frame.body })
    #expect(reader.frames == 200)
    #expect(reader.droppedFrames == 0)
    var single = LinkReader()
    #expect(wire.flatMap { single.read([$0]) } == found)
  }

  @Test("zeros between frames are ignored") func zeros() throws {
    let frame = try Ping().frame(sequence: 1)
    var reader = LinkReader()
    #expect(reader.read(([0, 0] + frame.unsealed + [0, 0, 0] + frame.unsealed)[...]).count == 2)
    #expect(reader.droppedFrames == 0)
  }

  @Test("bytes that are no frame are dropped and counted by their fault") func faults() throws {
    let body = try LinkFrame(kind: .event, sequence: 1, code: 0x8010, payload: [1]).body
    func stuffed(_ bytes: [UInt8]) -> [UInt8] { COBS.encode(bytes) + [0] }
    func summed(_ head: [UInt8]) -> [UInt8] {
      var writer = PayloadWriter()
      writer.raw(head)
      writer.u32(CRC32.of(head[...]))
      return writer.bytes
    }
    var flipped = body
    flipped[8] ^= 1
    var version = Array(body.dropLast(4))
    version[0] = 2
    var kind = Array(body.dropLast(4))
    kind[1] = 3
    let long = summed([1, 2, 1, 0, 0x10, 0x80, 0x01, 0x04] + [UInt8](repeating: 5, count: 1_025))
    var reader = LinkReader()
    let inputs: [(LinkPacket.Fault, [UInt8])] = [
      (.stuffing, [9, 1, 0]), (.length, stuffed([])), (.length, stuffed(Array(body.dropLast()))),
      (.length, stuffed(body + [1])), (.length, stuffed(body + [UInt8](repeating: 1, count: 13))),
      (.length, stuffed(long)), (.checksum, stuffed(flipped)), (.head, stuffed(summed(version))),
      (.head, stuffed(summed(kind))), (.endless, [UInt8](repeating: 7, count: 1_101) + [0]),
    ]
    for (fault, input) in inputs {
      let before = reader.dropped[fault, default: 0]
      #expect(reader.read(input[...]).isEmpty)
      #expect(reader.dropped[fault] == before + 1, "\(fault), \(input.prefix(20))")
    }
    #expect(reader.droppedFrames == inputs.count)
    #expect(reader.read(stuffed(body)[...]).map(\.frame.payload) == [[1]])
    #expect(
      reader.read(stuffed(body + [UInt8](repeating: 1, count: 12))[...]).first?.seal?.counter == 0x0101_0101)
  }

  @Test("more than 1,100 bytes without a zero are passed over up to the next") func endless() throws {
    let frame = try Ping().frame(sequence: 1)
    var reader = LinkReader()
    for _ in 0..<1_000 {
      #expect(reader.read(ArraySlice(repeating: 3, count: 1_000)).isEmpty)
      #expect(reader.held <= LinkReader.longest)
    }
    #expect(reader.dropped == [.endless: 1])
    #expect(reader.read(frame.unsealed[...]).isEmpty)
    #expect(reader.read(frame.unsealed[...]).map(\.frame) == [frame])
  }

  @Test("after garbage, at most one frame is lost", arguments: 0..<8)
  func garbage(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var reader = LinkReader()
    for _ in 0..<200 {
      let garbage = random.someBytes(upTo: 3_000)
      let (first, second) = try (random.frame(), random.frame())
      let found = pieces(of: garbage + first.unsealed + second.unsealed, &random).flatMap { reader.read($0) }
      #expect(found.last?.frame == second)
      #expect(found.count == 1 || found.suffix(2).map(\.frame) == [first, second])
    }
  }

  @Test("changed bytes are no frame, or the frame that was sent", arguments: 0..<8)
  func mutations(seed: UInt64) throws {
    var random = SeededRandom(seed: 100 + seed)
    var reader = LinkReader()
    for _ in 0..<500 {
      let frame = try random.frame()
      let found = reader.read((random.mutated(frame.unsealed) + [0])[...])
      #expect(found.allSatisfy { $0.frame == frame })
      #expect(reader.held == 0)
    }
    #expect(reader.droppedFrames >= 300)
  }

  @Test("random bytes are stuffed and found again", arguments: 0..<4)
  func stuffing(seed: UInt64) {
    var random = SeededRandom(seed: 200 + seed)
    for _ in 0..<300 {
      // Few different values, so that there are runs with and without zeros.
      let most = UInt8.random(in: 0...255, using: &random)
      let bytes = random.someBytes(upTo: 1_100).map { $0 > most ? most : $0 }
      let stuffed = COBS.encode(bytes)
      #expect(!stuffed.contains(0))
      #expect(stuffed.count <= bytes.count + bytes.count / 254 + 1)
      #expect(COBS.decode(stuffed) == bytes)
      _ = COBS.decode(bytes)
    }
  }
}
