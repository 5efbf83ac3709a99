import Testing

@testable import StreamKit

@Suite("The sound that is to come before a player starts") struct PlayerWaitTests {
  @Test(
    "is 2 s, or 1 s behind a burst, and twice as much each time it ran dry, up to 10 s",
    arguments: [(false, [2.0, 4, 8, 10, 10]), (true, [1, 2, 4, 8, 10])])
  func rule(hasBurst: Bool, expected: [Double]) {
    var wait = PlayerWait()
    var found: [Double] = []
    for _ in expected {
      // Bursts after the first change nothing.
      if hasBurst { wait.burstCame() }
      found.append(wait.time.seconds)
      wait.ranDry()
    }
    #expect(found == expected)
  }

  @Test("is the user's, whatever happens") func userSetting() {
    var wait = PlayerWait(requested: StreamTime(seconds: 7))
    wait.burstCame()
    wait.ranDry()
    #expect(wait.time.seconds == 7)
  }

  @Test("is doubled once for each time the buffer ran dry, by a reader or by the clock") func buffer() {
    let buffer = StreamBuffer(blocks: 20)
    var number = 0
    func append(_ count: Int) -> Bool {
      var isEnough = false
      for _ in 0..<count {
        let bytes = [UInt8](repeating: UInt8(number % 251), count: 418)
        let frame = StreamFrame(
          offset: number * 418, length: 418, hash: UInt64(number),
          format: StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2), samples: 1152)
        isEnough = bytes.withUnsafeBytes { buffer.append(frame, $0, nil) }.isEnough || isEnough
        number += 1
      }
      return isEnough
    }
    #expect(!append(39) && !buffer.runDry(), "it has not begun")
    #expect(buffer.burstCame() && !buffer.isFilling)
    #expect(!buffer.runDry(), "there is sound to read")
    while case .frame = buffer.read() {}
    #expect(buffer.isReadOut && !buffer.isFilling, "what was read is still heard")
    #expect(buffer.runDry() && buffer.isFilling && buffer.wanted.seconds == 2)
    #expect(!append(76) && append(1))
    #expect(buffer.drain(at: buffer.range.end, rest: .zero) == .waiting)
    #expect(buffer.wanted.seconds == 4)
  }
}
