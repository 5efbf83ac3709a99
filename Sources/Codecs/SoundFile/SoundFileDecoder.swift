public import AudioCore
internal import CSndfile
internal import EventLoop
internal import Glibc

/// Sound files through libsndfile: WAV, RF64, AIFF, CAF, AU, W64, FLAC, Ogg.
///
/// Whole-number samples are divided by 2^(bits−1): 8, 16 and 24 bits arrive exactly. A file that ends before its
/// header says has the frames that are there; what a header claims costs no memory.
public final class SoundFileDecoder: Decoder {
  /// Rate and channels, which stay.
  public let format: AudioFormat
  /// Length in frames, cut to what is there where the container tells (not in FLAC and Ogg).
  public let frameCount: Int?

  private let handle: SoundFileHandle
  private let path: String

  /// Opens a sound file.
  /// - Throws: `audio.not_found`, or `audio.unreadable` saying what was found at which byte.
  public convenience init(path: String) throws {
    try self.init(try FileDescriptor(reading: path), path: path)
  }

  init(_ file: consuming FileDescriptor, path: String) throws {
    var info = SF_INFO()
    let size = file.size
    handle = try SoundFileHandle(reading: file, path: path, &info)
    guard (1...32).contains(info.channels), (1_000...768_000).contains(info.samplerate) else {
      throw AudioError(
        .unsupported, "cannot decode \(path): \(info.channels) channels at \(info.samplerate) Hz",
        facts: [
          .init("path", .string(path)), .init("channels", .int(Int(info.channels))),
          .init("sample_rate", .int(Int(info.samplerate))),
        ])
    }
    format = AudioFormat(sampleRate: Int(info.samplerate), channels: Int(info.channels))
    // An Ogg file whose end is missing claims the largest number there is.
    frameCount = info.frames >= 0 && info.frames < Int64.max ? Int(info.frames) : nil
    self.path = path
    if frameCount == nil { try findFirstFrame(fileSize: size) }
  }

  /// An Ogg file that ends before its first whole page of sound opens, and would play nothing without a word.
  private func findFirstFrame(fileSize: Int) throws {
    var frame = [Float](repeating: 0, count: format.channels)
    guard sf_readf_float(handle.raw, &frame, 1) == 1 else {
      throw AudioError.unreadable(path, found: "the end of the file before any sound", atByte: fileSize)
    }
    try seek(toFrame: 0)
  }

  /// Reads the next frames.
  public func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    let wanted = buffer.count / format.channels
    guard wanted > 0 else { return 0 }
    let got = Int(sf_readf_float(handle.raw, buffer.baseAddress, sf_count_t(wanted)))
    if got <= 0, let error = handle.lastError {
      throw AudioError.unreadable(path, found: "damage (\(error))", atByte: handle.file.position)
    }
    return max(0, got)
  }

  /// Goes to a frame, exactly.
  public func seek(toFrame frame: Int) throws {
    guard frame >= 0, frame <= frameCount ?? .max else {
      throw AudioError.outsideSource(path, frame: frame, count: frameCount)
    }
    guard sf_seek(handle.raw, sf_count_t(frame), SEEK_SET) >= 0 else {
      throw AudioError.unreadable(
        path, found: handle.lastError ?? "no way to frame \(frame)", atByte: handle.file.position)
    }
  }
}
