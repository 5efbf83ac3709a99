public import AudioCore
internal import EventLoop

/// Decodes the PCM pieces of a source to samples. For one thread at a time.
public final class PCMStreamDecoder: Decoder {
  /// The format of all pieces.
  public let format: AudioFormat
  /// Nil: the end of a stream is not known.
  public let frameCount: Int? = nil

  private let source: any FrameSource
  /// The bytes of a sample: 1, 2 or 3 for integers, 4 for Float32.
  private let width: Int
  private var bytes: [UInt8] = []
  private var position = 0

  /// - Parameters:
  ///   - source: pieces of whole frames of PCM, little-endian.
  ///   - format: the format of all pieces.
  ///   - width: the bytes of a sample: 1 (without a sign), 2 or 3 for integers, 4 for Float32.
  public init(_ source: any FrameSource, format: AudioFormat, width: Int) {
    self.source = source
    self.format = AudioFormat(sampleRate: max(1, format.sampleRate), channels: max(1, format.channels))
    self.width = min(4, max(1, width))
  }

  /// Decodes the next samples, as `Decoder` says.
  public func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    let frameLength = width * format.channels
    if bytes.count - position < frameLength {
      guard let next = source.nextFrame() else { return 0 }
      (bytes, position) = (next, 0)
    }
    let count = min(buffer.count / format.channels, (bytes.count - position) / frameLength)
    for index in 0..<(count * format.channels) {
      buffer[index] = sample(at: position + index * width)
    }
    position += count * frameLength
    return count
  }

  /// Not supported.
  public func seek(toFrame frame: Int) throws {
    throw AudioError(.unsupported, "a stream is not repositioned by its decoder")
  }

  private func sample(at index: Int) -> Float {
    func byte(_ offset: Int) -> UInt32 { UInt32(bytes[index + offset]) }
    switch width {
    case 1: return (Float(bytes[index]) - 128) / 128
    case 2: return Float(Int16(truncatingIfNeeded: byte(0) | byte(1) << 8)) / 32_768
    case 3: return Float(Int32(bitPattern: byte(0) << 8 | byte(1) << 16 | byte(2) << 24) >> 8) / 8_388_608
    default:
      let sample = Float(bitPattern: byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24)
      // NaN, infinities and absurd levels would stay in recursive filters for ever.
      return sample.magnitude < 1e9 ? sample : 0
    }
  }
}
