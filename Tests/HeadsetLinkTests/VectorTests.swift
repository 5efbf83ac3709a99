import TestTraits
import Testing

@testable import HeadsetLink

@Suite("Known answers of what the link is made of", .tags(.headset, .link)) struct VectorTests {
  private static let ascending = (1...254).map { UInt8($0) }

  @Test(
    "bytes are stuffed as in the paper's examples",
    arguments: [
      ([], [0x01]),
      ([0x00], [0x01, 0x01]),
      ([0x00, 0x00], [0x01, 0x01, 0x01]),
      ([0x11, 0x22, 0x00, 0x33], [0x03, 0x11, 0x22, 0x02, 0x33]),
      ([0x11, 0x00, 0x00, 0x00], [0x02, 0x11, 0x01, 0x01, 0x01]),
      (ascending, [0xFF] + ascending),
      ([0x00] + ascending, [0x01, 0xFF] + ascending),
      (ascending + [0xFF], [0xFF] + ascending + [0x02, 0xFF]),
      (ascending + [0x00], [0xFF] + ascending + [0x01, 0x01]),
      (ascending.dropFirst() + [0xFF, 0x00], [0xFF] + ascending.dropFirst() + [0xFF, 0x01, 0x01]),
    ] as [([UInt8], [UInt8])])
  func stuffing(bytes: [UInt8], stuffed: [UInt8]) {
    #expect(COBS.encode(bytes) == stuffed)
    #expect(COBS.decode(stuffed) == bytes)
  }

  @Test(
    "bytes that no stuffing produces are refused",
    arguments: [[], [0], [2], [3, 1], [2, 1, 0], [3, 0, 1], [0xFF, 1]] as [[UInt8]])
  func badStuffing(stuffed: [UInt8]) {
    #expect(COBS.decode(stuffed) == nil)
  }

  @Test("the checksum is the one of Ethernet, in one piece and in several") func checksum() {
    let digits = Array("123456789".utf8)
    #expect(CRC32.of(digits[...]) == 0xCBF4_3926)
    #expect(CRC32.of([]) == 0)
    var sum = CRC32()
    for piece in [digits[..<4], [], digits[4...]] { sum.add(piece) }
    #expect(sum.value == 0xCBF4_3926)
  }

  // Source: RFC 4231, test cases 1, 2, 3 and 6.
  @Test(
    "proofs are those of RFC 4231",
    arguments: [
      (
        [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
      ),
      (
        [UInt8](repeating: 0xAA, count: 131),
        Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
    ])
  func proofs(key: [UInt8], message: [UInt8], mac: String) {
    let hmac = HMACSHA256(key: key)
    // A frame's code does not depend on the frames before.
    _ = hmac.mac(of: [0x55])
    let made = hmac.mac(of: message)
    #expect(made.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() == mac)
  }

  @Test("proofs are the same only when all of their bytes are") func comparison() {
    let mac = HMACSHA256(key: [4]).mac(of: [1, 2, 3])
    #expect(HMACSHA256.isEqual(mac, mac))
    #expect(!HMACSHA256.isEqual(mac, Array(mac.dropLast())))
    #expect(HMACSHA256.isEqual([], []))
    for index in mac.indices {
      var other = mac
      other[index] ^= 1
      #expect(!HMACSHA256.isEqual(mac, other))
    }
  }

  @Test("a frame lies on the wire as it is written down") func frame() throws {
    let frame = try SetAmbient(AmbientLevel(side: .right, level: 7)).frame(sequence: 0x0102)
    let head: [UInt8] = [1, 0, 0x02, 0x01, 0x22, 0x00, 2, 0, 1, 7]
    let sum = CRC32.of(head[...])
    #expect(frame.body == head + (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) })
    #expect(frame.unsealed.last == 0)
    #expect(!frame.unsealed.dropLast().contains(0))
  }

  @Test("the longest sealed frame is shorter than the readers' limit") func longest() throws {
    let payload = [UInt8](repeating: 9, count: LinkFrame.longestPayload)
    let frame = try LinkFrame(kind: .request, sequence: 0, code: 0x53, payload: payload)
    var seal = LinkSeal(key: [1], side: .host)
    let wire = try seal.seal(frame)
    #expect(wire.count <= 1_054)
    #expect(wire.count < LinkReader.longest)
    #expect(throws: PayloadError.long(1_025, limit: 1_024)) {
      try LinkFrame(kind: .request, sequence: 0, code: 0x53, payload: payload + [0])
    }
  }
}
