import EventLoop
import StreamCore
import TestSupport
import TestTraits
import Testing

@Suite("Frame hash", .waiting, .tags(.stream, .stitching)) struct FrameHashTests {
  private func hash(_ text: String) -> UInt64 { Array(text.utf8).withUnsafeBytes(FrameHash.of) }

  @Test("is XXH64 with seed 0, equal to libxxhash 0.8.1") func knownValues() {
    #expect(hash("") == 0xEF46_DB37_51D8_E999)
    #expect(hash("a") == 0xD24E_C4F1_A98C_6E5B)
    #expect(hash("abc") == 0x44BC_2CF5_AD77_0999)
    #expect(hash("Nobody inspects the spammish repetition") == 0xFBCE_A83C_8A37_8BF1)
  }

  @Test("every remainder of a length counts") func lengths() {
    #expect(hash("abcd") == 0xDE03_27B0_D25D_92CC)
    #expect(hash("abcdefgh") == 0x3AD3_5177_5B46_34B7)
    #expect(hash("abcdefghijkl") == 0x4B09_B7D3_A233_D4B3)
    let hundred = (0..<100).map { UInt8($0) }
    #expect(hundred.withUnsafeBytes(FrameHash.of) == 0x6AC1_E580_3216_6597)
    let frame = (0..<1044).map { UInt8(truncatingIfNeeded: $0 * 7) }
    #expect(frame.withUnsafeBytes(FrameHash.of) == 0x6CFF_C59C_756F_776A)
  }

  @Test("differs when any byte of a frame does") func everyByteCounts() {
    var random = SeededRandom(seed: 3)
    let frame = random.bytes(417)
    let original = frame.withUnsafeBytes(FrameHash.of)
    for index in frame.indices {
      var changed = frame
      changed[index] ^= 1
      #expect(changed.withUnsafeBytes(FrameHash.of) != original)
    }
  }
}
