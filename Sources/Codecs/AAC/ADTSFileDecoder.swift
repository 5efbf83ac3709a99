public import AudioCore

/// AAC files of ADTS frames, as web radio sends them: AAC-LC, HE-AAC and HE-AAC v2.
///
/// ADTS has no field for the silence that the encoder put at the start, so all of it is heard. Mono comes in
/// two equal channels. `seek` is exact to a frame. Memory is bounded whatever the file holds.
public final class ADTSFileDecoder: Decoder {
  /// The rate and channels of the frames that the last `read` returned; a file may change them.
  public var format: AudioFormat { track.format }

  /// The length in frames, from the headers of all frames, which are read at the first access. Parts of a
  /// file with different rates are counted each at its own.
  public private(set) lazy var frameCount: Int? = source.sampleCount() * track.factor

  private let source: ADTSPacketSource
  private let track: AACTrack

  init(_ file: consuming FileDescriptor, path: String, firstFrame: Int) throws {
    source = ADTSPacketSource(file, path: path, firstFrame: firstFrame)
    track = try AACTrack(source)
  }

  /// Reads the next frames; they have the value of `format` after the call.
  public func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    try track.read(into: buffer)
  }

  /// Moves to a frame; 12 frames of AAC before it are decoded, unheard.
  public func seek(toFrame frame: Int) throws {
    guard frame >= 0, frame <= frameCount ?? .max else {
      throw AudioError.outsideSource(source.path, frame: frame, count: frameCount)
    }
    try track.seek(toFrame: frame)
  }
}
