public import AudioCore
internal import Glibc

extension Sound {
  /// The result of ffmpeg's decoding of the file at `path`, in 32-bit floats.
  public init(ffmpeg path: String, format: AudioFormat) throws {
    let output = try Command.succeed("ffmpeg", ["-v", "error", "-i", path, "-f", "f32le", "-"]).output
    let samples = output.withUnsafeBytes { bytes in
      (0..<(bytes.count / 4)).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
    }
    self.init(interleaved: samples, format: format)
  }

  /// Returns two sweeps from 100 Hz to 3 kHz over faint noise, one up and one down, at −11 dBFS: easy for
  /// every codec, and self-similar at one position only.
  public static func sweep(sampleRate: Int, channels: Int = 2, frames: Int) -> Sound {
    let rate = Double(sampleRate)
    let length = Double(frames) / rate
    let (low, high) = (100.0, 3000.0)
    let sides: [[Float]] = (0..<channels).map { channel in
      let (from, to) = channel % 2 == 0 ? (low, high) : (high, low)
      let noise = Signal.noise(seed: 50 + UInt64(channel), amplitude: 0.004, frames: frames)
      return (0..<frames).map { frame in
        let time = Double(frame) / rate
        let turns = from * time + (to - from) * time * time / (2 * length)
        return Float(0.4 * sin(2 * .pi * turns)) + noise[frame]
      }
    }
    return Sound(sampleRate: sampleRate, channels: sides)
  }
}
