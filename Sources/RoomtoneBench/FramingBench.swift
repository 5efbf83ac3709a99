internal import Codecs
internal import Glibc
internal import StreamCore

/// The path of every recorded stream: from a station's bytes to audio, frames and hashes.
enum FramingBench {
  private static let goal = 500.0

  static func run() throws -> [Figure] {
    let memcpy = copying(programme(adts: false))
    func figure(_ name: String, _ measure: () -> Double) -> Figure {
      let speed = Bench.median { measure() }
      return Figure(
        name: name, value: speed, unit: "MB/s", against: "memcpy \(Bench.rounded(memcpy)) MB/s",
        goal: ">= 500 MB/s", isReached: speed >= goal)
    }
    let (mp3, aac, titled) = (programme(adts: false), programme(adts: true), withTitles())
    return [
      figure("ICY de-interleaving") { deinterleaving(titled) },
      figure("MPEG audio framing with hash") { framing(mp3) },
      figure("ADTS framing with hash") { framing(aac) },
    ]
  }

  /// Returns 8 MB of frames as of a station at 128 kbit/s, filled with noise.
  private static func programme(adts: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    var noise: UInt64 = 1
    while bytes.count < 8_000_000 {
      // The length of an ADTS frame, 371, is in its header.
      let length = adts ? 371 : 417
      bytes += adts ? [0xFF, 0xF1, 0x50, 0x80, 0x2E, 0x7F, 0xFC] : [0xFF, 0xFB, 0x90, 0x64]
      for _ in (adts ? 7 : 4)..<length {
        noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        bytes.append(UInt8(truncatingIfNeeded: noise >> 56))
      }
    }
    return bytes
  }

  private static func withTitles() -> [UInt8] {
    let audio = programme(adts: false)
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: audio.count, by: 16_000) {
      bytes += audio[start..<min(audio.count, start + 16_000)]
      bytes += [1] + [UInt8](repeating: 0x41, count: 16)
    }
    return bytes
  }

  /// Returns the MB/s of `body` over `bytes`, in pieces of 8 KiB as from a socket.
  private static func speed(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) -> Double {
    let start = Bench.now()
    bytes.withUnsafeBytes { all in
      for first in stride(from: 0, to: all.count, by: 8192) {
        body(UnsafeRawBufferPointer(rebasing: all[first..<min(all.count, first + 8192)]))
      }
    }
    return Double(bytes.count) / 1e6 / (Bench.now() - start)
  }

  private static func framing(_ bytes: [UInt8]) -> Double {
    var framer = StreamFramer()
    var sum: UInt64 = 0
    let result = speed(bytes) { piece in
      framer.feed(piece)
      while let item = framer.next() {
        if case .frame(let frame) = item { sum ^= frame.hash }
      }
    }
    precondition(sum != 0, "the programme has frames")
    return result
  }

  private static func deinterleaving(_ bytes: [UInt8]) -> Double {
    var icy = ICYDeinterleaver(interval: 16_000)
    var audio = [UInt8](repeating: 0, count: 8192)
    return speed(bytes) { piece in
      var index = 0
      while let part = icy.next(in: piece, from: &index) {
        // Copied, as the consumer of the audio does.
        if case .audio(let range) = part {
          audio.withUnsafeMutableBytes { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece[range])) }
        }
      }
    }
  }

  private static func copying(_ bytes: [UInt8]) -> Double {
    var copy = [UInt8](repeating: 0, count: bytes.count)
    return Bench.median {
      let start = Bench.now()
      copy.withUnsafeMutableBytes { target in bytes.withUnsafeBytes { target.copyMemory(from: $0) } }
      return Double(bytes.count) / 1e6 / (Bench.now() - start)
    }
  }
}
