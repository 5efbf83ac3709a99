public import AudioCore
internal import CSndfile
public import EventLoop
internal import Glibc

/// Sound files through libsndfile: WAV, RF64, AIFF, CAF, AU, W64, FLAC, Ogg.
///
/// Whole-number samples are divided by 2^(bits−1): 8, 16 and 24 bits arrive exactly. A file that ends before
/// the length in its header has the frames that are there; a header's claims cost no memory.
public final class SoundFileDecoder: Decoder {
  /// The rate and channels; constant.
  public let format: AudioFormat
  /// The length in frames; for a file that was cut off, of those that are there; nil for such an Ogg file.
  public let frameCount: Int?
  /// The error of FLAC, WAV and AIFF that was cut off.
  public let shortfall: AudioError?

  private let handle: SoundFileHandle
  private let path: String
  /// The index of each channel of WAV's order among those of the file; nil where they are the same.
  private let order: [Int]?

  init(_ file: consuming FileDescriptor, path: String) throws {
    var info = SF_INFO()
    let size = file.size
    let sound = ChunkLength.read(file)
    handle = try SoundFileHandle(reading: file, path: path, &info)
    guard (1...32).contains(info.channels), (1_000...768_000).contains(info.samplerate) else {
      throw AudioError(
        .unsupported, "cannot decode \(path): \(info.channels) channels at \(info.samplerate) Hz",
        facts: [
          .init("path", .string(path)), .init("channels", .int(Int(info.channels))),
          .init("sample_rate", .int(Int(info.samplerate))),
        ])
    }
    handle.prepareOpus(&info)
    format = AudioFormat(sampleRate: Int(info.samplerate), channels: Int(info.channels))
    // An Ogg file whose end is missing claims the largest possible number.
    let claimed = info.frames >= 0 && info.frames < Int64.max ? Int(info.frames) : nil
    var frames = claimed
    if let claimed, claimed > 0, info.format & CInt(SF_FORMAT_TYPEMASK) == CInt(SF_FORMAT_FLAC) {
      frames = try FLACFile.frames(of: FileDescriptor(reading: path), claimed: claimed)
    }
    frameCount = frames
    var whole = claimed
    if let frames, let sound, sound.present > 0, sound.present < sound.claimed {
      whole = Int(Double(frames) * Double(sound.claimed) / Double(sound.present))
    }
    shortfall =
      frames == whole
      ? nil : .cutShort(path, frames: frames ?? 0, of: whole ?? 0, sampleRate: format.sampleRate, size: size)
    order = Self.order(of: info)
    self.path = path
    if frameCount == 0 {
      throw AudioError.unreadable(path, found: "a sound file without any sound", atByte: size)
    }
    if frameCount == nil { try findFirstFrame(fileSize: size) }
  }

  /// Returns the order of the channels where it is Vorbis's. Sources: Vorbis I §4.3.9; RFC 7845 §5.1.1.2 for
  /// Opus.
  private static func order(of info: SF_INFO) -> [Int]? {
    let coding = info.format & CInt(SF_FORMAT_SUBMASK)
    guard coding == CInt(SF_FORMAT_VORBIS) || coding == CInt(SF_FORMAT_OPUS) else { return nil }
    return VorbisChannels.order(Int(info.channels))
  }

  /// Throws for an Ogg file that ends before its first whole page of sound: it opens, and would silently play
  /// nothing.
  private func findFirstFrame(fileSize: Int) throws {
    var frame = [Float](repeating: 0, count: format.channels)
    guard handle.sndfile.sf_readf_float(handle.raw, &frame, 1) == 1 else {
      throw AudioError.unreadable(path, found: "the end of the file before any sound", atByte: fileSize)
    }
    try seek(toFrame: 0)
  }

  /// Reads the next frames, with their channels in WAV's order.
  public func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    let wanted = buffer.count / format.channels
    guard wanted > 0 else { return 0 }
    let got = Int(handle.sndfile.sf_readf_float(handle.raw, buffer.baseAddress, sf_count_t(wanted)))
    if got <= 0, let error = handle.lastError {
      throw AudioError.unreadable(path, found: "damage (\(error))", atByte: handle.file.position)
    }
    if got > 0, let order { reorder(buffer, frames: got, order) }
    return max(0, got)
  }

  private func reorder(_ buffer: UnsafeMutableBufferPointer<Float>, frames: Int, _ order: [Int]) {
    var frame = [Float](repeating: 0, count: order.count)
    for start in stride(from: 0, to: frames * order.count, by: order.count) {
      for (channel, place) in order.enumerated() { frame[channel] = buffer[start + place] }
      for (channel, sample) in frame.enumerated() { buffer[start + channel] = sample }
    }
  }

  /// Moves to a frame, exactly.
  public func seek(toFrame frame: Int) throws {
    guard frame >= 0, frame <= frameCount ?? .max else {
      throw AudioError.outsideSource(path, frame: frame, count: frameCount)
    }
    guard handle.sndfile.sf_seek(handle.raw, sf_count_t(frame), SEEK_SET) >= 0 else {
      throw AudioError.unreadable(
        path, found: handle.lastError ?? "no way to frame \(frame)", atByte: handle.file.position)
    }
  }
}
