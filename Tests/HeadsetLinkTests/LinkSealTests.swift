import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetLink

@Suite("Frames that no one in between can forge or repeat", .tags(.headset, .link, .hostile))
struct LinkSealTests {
  private let key = [UInt8](0..<32)

  /// The packet in one frame's bytes.
  private func packet(_ wire: [UInt8]) throws -> LinkPacket {
    var reader = LinkReader()
    return try #require(reader.read(wire[...]).first)
  }

  @Test("sealed frames of random contents come through, in both directions") func roundTrip() throws {
    var random = SeededRandom(seed: 5)
    var (host, board) = (LinkSeal(key: key, side: .host), LinkSeal(key: key, side: .board))
    for _ in 0..<200 {
      let (there, back) = try (random.frame(), random.frame())
      #expect(try board.open(packet(host.seal(there))) == there)
      #expect(try host.open(packet(board.seal(back))) == back)
    }
  }

  @Test("a frame without a seal is refused") func unsealed() throws {
    var board = LinkSeal(key: key, side: .board)
    let plain = try packet(Ping().frame(sequence: 1).unsealed)
    #expect(throws: LinkSeal.Refusal.unsealed) { try board.open(plain) }
  }

  @Test("a frame that was here is refused, and one that comes after later ones") func replay() throws {
    var (host, board) = (LinkSeal(key: key, side: .host), LinkSeal(key: key, side: .board))
    let frame = try SetNoiseCancelling(true).frame(sequence: 1)
    let packets = try (0..<4).map { _ in try packet(host.seal(frame)) }
    #expect(try board.open(packets[0]) == frame)
    #expect(throws: LinkSeal.Refusal.repeated(1)) { try board.open(packets[0]) }
    // The second is lost, or late: the third comes first.
    #expect(try board.open(packets[2]) == frame)
    #expect(throws: LinkSeal.Refusal.repeated(2)) { try board.open(packets[1]) }
    #expect(throws: LinkSeal.Refusal.repeated(3)) { try board.open(packets[2]) }
    #expect(try board.open(packets[3]) == frame)
  }

  @Test("a request that is sent again has another seal and the same body and checksum") func again() throws {
    var host = LinkSeal(key: key, side: .host)
    let frame = try Ping().frame(sequence: 1)
    let (first, second) = try (packet(host.seal(frame)), packet(host.seal(frame)))
    #expect(first.body == second.body)
    #expect(first.checksum == second.checksum)
    #expect(first.seal?.counter == 1)
    #expect(second.seal?.counter == 2)
    #expect(first.seal?.mac != second.seal?.mac)
  }

  @Test("a frame that comes back to its sender, or from another session, is refused") func elsewhere() throws
  {
    var (host, other) = (LinkSeal(key: key, side: .host), LinkSeal(key: key + [1], side: .board))
    let sent = try packet(host.seal(Ping().frame(sequence: 1)))
    #expect(throws: LinkSeal.Refusal.forged) { try host.open(sent) }
    #expect(throws: LinkSeal.Refusal.forged) { try other.open(sent) }
  }

  @Test("any changed bit is refused, though the checksum is right, and does no harm") func tampered() throws {
    var (host, board) = (LinkSeal(key: key, side: .host), LinkSeal(key: key, side: .board))
    let frame = try SetAmbient(AmbientLevel(side: .left, level: 1)).frame(sequence: 1)
    let wire = try host.seal(frame)
    let bytes = try #require(COBS.decode(Array(wire.dropLast())))
    var refused = 0
    for bit in 0..<(bytes.count * 8) {
      var changed = bytes
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      let summed = bytes.count - 16
      let sum = CRC32.of(changed[..<summed])
      // The checksum's own bits would only be set right again.
      if (summed..<summed + 4).contains(bit / 8) { continue }
      for index in 0..<4 { changed[summed + index] = UInt8(truncatingIfNeeded: sum >> (8 * index)) }
      var reader = LinkReader()
      for packet in reader.read((COBS.encode(changed) + [0])[...]) {
        #expect(throws: LinkSeal.Refusal.forged) { try board.open(packet) }
        refused += 1
      }
    }
    // All bits but those of version and length and six of kind: with them it is no frame.
    #expect(refused == (bytes.count - 4) * 8 - 8 - 16 - 6)
    #expect(try board.open(packet(wire)) == frame)
  }

  @Test("counters end before they begin anew") func exhausted() throws {
    var host = LinkSeal(key: key, side: .host, sent: .max - 1)
    let frame = try Ping().frame(sequence: 1)
    #expect(try packet(host.seal(frame)).seal?.counter == .max)
    #expect(throws: LinkSeal.Exhausted()) { try host.seal(frame) }
  }

  @Test("mutated sealed frames are never accepted", arguments: 0..<4)
  func mutations(seed: UInt64) throws {
    var random = SeededRandom(seed: 300 + seed)
    var (host, board) = (LinkSeal(key: key, side: .host), LinkSeal(key: key, side: .board))
    var reader = LinkReader()
    for _ in 0..<200 {
      let frame = try random.frame()
      for packet in reader.read((random.mutated(try host.seal(frame)) + [0])[...]) {
        if let opened = try? board.open(packet) { #expect(opened == frame) }
      }
    }
  }
}
