public import AudioCore
public import EventLoop

/// AAC in MP4 files (M4A, M4B): AAC-LC, HE-AAC and HE-AAC v2.
///
/// Gapless: silence that the encoder put at the start and the end according to an edit list or iTunes' own
/// tag is not heard and not counted. Mono comes in two equal channels. `seek` is exact to a frame. Memory is
/// bounded whatever the file claims.
public final class MP4FileDecoder: Decoder {
  /// The rate and channels of the frames that the last `read` returned; HE-AAC may begin in the middle of a
  /// file.
  public var format: AudioFormat { track.format }
  /// The length in frames; for a file that was cut off, of those that are there.
  public let frameCount: Int?
  /// The error of a file that was cut off.
  public let shortfall: AudioError?
  /// The number of frames of AAC that `read` returned as silence, as they could not be decoded.
  var silencedFrames: Int { track.silencedFrames }

  private let source: MP4PacketSource
  private let track: AACTrack
  /// The number of PCM frames at the start that are not audible.
  private let skipped: Int
  /// The number of PCM frames that were returned or skipped.
  private var position = 0

  init(_ file: consuming FileDescriptor, path: String) throws {
    source = try MP4PacketSource(file, path: path)
    track = try AACTrack(source)
    let rate = track.format.sampleRate
    let whole = source.demuxer.heard(of: source.sampleCount * track.factor, rate: rate)
    let end = min(whole.upperBound, source.presentSampleCount * track.factor)
    skipped = whole.lowerBound
    let frames = max(0, end - skipped)
    frameCount = frames
    shortfall =
      frames < whole.count
      ? .cutShort(path, frames: frames, of: whole.count, sampleRate: rate, size: source.fileSize) : nil
    try track.seek(toFrame: skipped)
  }

  /// Reads the next frames; they have the value of `format` after the call.
  public func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    let left = (frameCount ?? .max) - position
    guard left > 0 else { return 0 }
    let room = min(buffer.count, left * format.channels)
    let got = min(left, try track.read(into: UnsafeMutableBufferPointer(rebasing: buffer[..<room])))
    position += got
    return got
  }

  /// Moves to a frame; 12 frames of AAC before it are decoded, unheard.
  public func seek(toFrame frame: Int) throws {
    guard frame >= 0, frame <= frameCount ?? .max else {
      throw AudioError.outsideSource(source.path, frame: frame, count: frameCount)
    }
    try track.seek(toFrame: skipped + frame)
    position = frame
  }
}
