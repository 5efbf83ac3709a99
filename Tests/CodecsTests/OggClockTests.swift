import TestTraits
import Testing

@testable import Codecs

@Suite("The sound of packets in Ogg, from their first bytes", .tags(.codecs, .ogg)) struct OggClockTests {
  @Test("each configuration of Opus has the length of its frames")
  func configurations() {
    // In tenths of a millisecond, at 48 kHz. Source: RFC 6716 §3.1, table 2.
    let silk = [100, 200, 400, 600]
    let tenths = silk + silk + silk + [100, 200, 100, 200] + (0..<4).flatMap { _ in [25, 50, 100, 200] }
    for (configuration, length) in tenths.enumerated() {
      let first = UInt8(configuration << 3)
      let frames = length * 48 / 10
      #expect(OpusMapping.samples(of: [first]) == frames, "configuration \(configuration)")
      for two in [first | 1, first | 2] { #expect(OpusMapping.samples(of: [two, 0]) == 2 * frames) }
      // A number of frames in its second byte, whose other bits say how they are packed.
      #expect(OpusMapping.samples(of: [first | 4 | 3, 0xC2]) == 2 * frames)
    }
  }

  @Test("no packet of Opus is longer than 120 ms, whatever it says", arguments: [3, 12, 31] as [UInt8])
  func longest(configuration: UInt8) {
    for count in 0...63 as ClosedRange<UInt8> {
      let samples = OpusMapping.samples(of: [configuration << 3 | 3, count])
      #expect(samples <= 5760 && (samples == 5760 || samples % 480 == 0), "\(count) frames: \(samples)")
    }
    #expect(OpusMapping.samples(of: [configuration << 3 | 3, 63]) == 5760)
    #expect(OpusMapping.samples(of: [configuration << 3 | 3]) == 0 && OpusMapping.samples(of: []) == 0)
  }

  @Test("a frame of FLAC has the length in its header, also where that stands behind a long number")
  func flac() {
    func frame(_ code: UInt8, _ rest: [UInt8]) -> Int {
      FLACMapping.samples(of: [0xFF, 0xF8, code << 4, 0x18] + rest)
    }
    #expect(frame(1, [0, 0]) == 192 && frame(2, [0, 0]) == 576 && frame(5, [0, 0]) == 4608)
    #expect(frame(8, [0, 0]) == 256 && frame(15, [0, 0]) == 32_768)
    // The number of the frame takes one to seven bytes.
    let numbers: [[UInt8]] = [
      [0x7F], [0xC2, 0x80], [0xE0, 0xA0, 0x80], [0xF0, 0x90, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
      [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE, 0x82, 0x80, 0x80, 0x80, 0x80, 0x80],
    ]
    for number in numbers {
      #expect(frame(6, number + [99]) == 100 && frame(7, number + [0x12, 0x33]) == 0x1234, "\(number)")
      #expect(frame(7, number) == 0)
    }
    #expect(frame(0, [0, 0]) == 0 && FLACMapping.samples(of: [0xFF, 0xE8, 0x10, 0, 0, 0]) == 0)
  }
}
