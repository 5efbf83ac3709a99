public import AudioCore
internal import Codecs

/// A sound in memory, for tests to create, load and compare.
public struct Sound: Sendable, Equatable, CustomStringConvertible {
  /// Frames per second, in Hz.
  public var sampleRate: Int
  /// The samples of each channel; all have the same number.
  public var channels: [[Float]]

  /// A sound of these channels.
  public init(sampleRate: Int, channels: [[Float]]) {
    self.sampleRate = sampleRate
    self.channels = channels
  }

  /// A sound of interleaved samples.
  public init(interleaved samples: some Collection<Float>, format: AudioFormat) {
    let all = Array(samples)
    let frames = all.count / format.channels
    self.init(
      sampleRate: format.sampleRate,
      channels: (0..<format.channels).map { channel in
        (0..<frames).map { all[$0 * format.channels + channel] }
      })
  }

  /// The whole sound of the file at `path`, decoded by `AudioFile`.
  public init(file path: String) throws {
    try self.init(decoding: AudioFile.open(path))
  }

  /// The rest of the sound of `decoder`, read in pieces of `frames`.
  public init(decoding decoder: any Decoder, frames: Int = 1000) throws {
    var samples: [Float] = []
    var chunk = [Float](repeating: 0, count: frames * 8)
    while true {
      let channels = decoder.format.channels
      let got = try chunk.withUnsafeMutableBufferPointer {
        try decoder.read(into: UnsafeMutableBufferPointer(rebasing: $0[..<(frames * channels)]))
      }
      guard got > 0 else { break }
      samples += chunk[..<(got * channels)]
    }
    self.init(interleaved: samples, format: decoder.format)
  }

  /// Size and level, in place of every sample in the output of a failing test.
  public var description: String {
    "\(frameCount) frames × \(channels.count) at \(sampleRate) Hz, \(level) dBFS"
  }

  /// Frames of the sound.
  public var frameCount: Int { channels.first?.count ?? 0 }

  /// Rate and number of channels.
  public var format: AudioFormat { AudioFormat(sampleRate: sampleRate, channels: channels.count) }

  /// The samples, frame by frame.
  public var interleaved: [Float] {
    var samples: [Float] = []
    samples.reserveCapacity(frameCount * channels.count)
    for frame in 0..<frameCount {
      for channel in channels { samples.append(channel[frame]) }
    }
    return samples
  }

  /// The frames of `range`.
  public subscript(_ range: Range<Int>) -> Sound {
    Sound(sampleRate: sampleRate, channels: channels.map { Array($0[range]) })
  }

  /// Writes the sound to a 16-bit WAV file.
  public func write(to path: String) throws {
    let writer = try SoundFileWriter(path: path, format: format)
    try interleaved.withUnsafeBufferPointer { try writer.write($0) }
    try writer.finish()
  }
}
