import StreamKit
import TestSupport
import Testing

@Suite("Frame hash") struct FrameHashTests {
  private func hash(_ text: String) -> UInt64 { Array(text.utf8).withUnsafeBytes(FrameHash.of) }

  @Test("is XXH64 with seed 0") func knownValues() {
    #expect(hash("") == 0xEF46_DB37_51D8_E999)
    #expect(hash("a") == 0xD24E_C4F1_A98C_6E5B)
    #expect(hash("abc") == 0x44BC_2CF5_AD77_0999)
    #expect(hash("Nobody inspects the spammish repetition") == 0xFBCE_A83C_8A37_8BF1)
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
