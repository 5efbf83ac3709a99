public import AudioCore
internal import CMPG123
public import EventLoop
internal import Glibc

/// MPEG audio files, layers I to III, through libmpg123.
///
/// Gapless: the encoder's delay and padding, if a LAME tag states them, are not heard and not counted. Mono
/// stays mono. `seek` is exact to a frame and gives the samples that decoding from the start would give,
/// but for the rounding of the last bit (−130 dB): libmpg123 may add in another order then. Memory is
/// bounded whatever the file holds.
public final class MP3Decoder: Decoder {
  /// The rate and channels of the frames that the last `read` returned; a file may change them.
  public private(set) var format: AudioFormat

  /// The length in frames: from the Xing or Info tag, else from all frame headers, which are read at the
  /// first access.
  public private(set) lazy var frameCount: Int? = countFrames()

  /// The error of a file with fewer frames than its tag states.
  public private(set) lazy var shortfall: AudioError? = findShortfall()

  private let handle: MPG123Handle
  private let path: String
  private let size: Int
  /// The information in the first frame of a file that may be cut off; nil for any other.
  private let stated: StreamLength?
  /// The information in the first frame, nil when it is absent or not plausible.
  private let length: StreamLength?
  /// The number of PCM frames at the start that libmpg123 leaves out: the delay in the first frame, plausible
  /// or not, and the decoder's own.
  private let skipped: Int?
  /// `true` if the next decoded frame has another format than the last one returned.
  private var formatChanges = false

  /// - Parameter firstFrame: byte at which the first MPEG frame starts.
  init(_ file: consuming FileDescriptor, path: String, firstFrame: Int) throws {
    let first = MPEGAudioHeader(file.bytes(at: firstFrame, count: MPEGAudioHeader.size), at: 0)
    if let first, first.layer != 3, first.bitRate == 0 {
      // In layer II, libmpg123 uses the same table of quantizers for all rates, and returns noise; in layer I
      // it loses frames, as it counts padding in bytes, not in slots of four.
      throw AudioError.unsupportedKind(path, "MPEG layer \(first.layer == 1 ? "I" : "II") in free format")
    }
    let tag = Self.tag(file, firstFrame: firstFrame)
    (length, stated, size) = (tag.length, tag.stated, file.size)
    skipped = tag.delay.map { $0 + Self.decoderDelay }
    handle = try MPG123Handle(MPEGFrameReader(file, firstFrame: firstFrame))
    self.path = path
    guard let format = handle.firstFormat(isFreeFormat: first?.bitRate == 0) else {
      let found = handle.isAtEnd ? "MPEG audio without a frame of sound" : handle.lastError
      throw AudioError.unreadable(path, found: found, atByte: firstFrame)
    }
    self.format = format
  }

  /// Reads the next frames; they have the value of `format` after the call.
  public func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    while true {
      if formatChanges { try adoptFormat() }
      var bytes = 0
      let room = buffer.count / format.channels * format.channels * MemoryLayout<Float>.size
      guard room > 0 else { return 0 }
      let status = mpg123_read(handle.raw, buffer.baseAddress, room, &bytes)
      let got = bytes / MemoryLayout<Float>.size / format.channels
      switch status {
      case MPG123_OK.rawValue where got > 0: return got
      case MPG123_DONE.rawValue: return got
      case MPG123_NEW_FORMAT.rawValue:
        // Samples decoded up to here still have the old format.
        formatChanges = true
        if got > 0 { return got }
      default:
        if got > 0 { return got }
        throw failure()
      }
    }
  }

  /// Moves to a frame; up to 40 MPEG frames before it are decoded, unheard, to fill the bit reservoir.
  public func seek(toFrame frame: Int) throws {
    guard frame >= 0, frame <= frameCount ?? .max else {
      throw AudioError.outsideSource(path, frame: frame, count: frameCount)
    }
    guard mpg123_seek(handle.raw, off_t(frame), SEEK_SET) >= 0 else { throw failure() }
  }

  private func adoptFormat() throws {
    guard let format = handle.format else { throw failure() }
    self.format = format
    formatChanges = false
  }

  private func failure() -> AudioError {
    .unreadable(path, found: handle.lastError, atByte: handle.fileOffset)
  }

  private func countFrames() -> Int? {
    if length != nil, let stated, missingFrames(of: stated) > 1 {
      return max(0, handle.sampleCount() - (skipped ?? 0))
    }
    if let length, length.kind == .vbri, let frames = length.frames { return frames * length.samplesPerFrame }
    if length == nil, let skipped {
      // libmpg123's own scan would notice that the tag is wrong, and then no longer leave out the frames at
      // the start.
      return max(0, handle.sampleCount() - skipped)
    }
    if length == nil { mpg123_scan(handle.raw) }
    let length = mpg123_length(handle.raw)
    return length >= 0 ? Int(length) : nil
  }

  private func missingFrames(of stated: StreamLength) -> Int {
    (stated.frames ?? 0) - handle.sampleCount() / stated.samplesPerFrame
  }

  private func findShortfall() -> AudioError? {
    guard let stated, let frames = stated.frames, let there = frameCount,
      // Some encoders count the frame with the tag.
      missingFrames(of: stated) > (stated.bytes == nil ? 1 : 0)
    else { return nil }
    let all = frames * stated.samplesPerFrame - (stated.delay ?? 0) - (stated.padding ?? 0)
    return .cutShort(path, frames: there, of: all, sampleRate: format.sampleRate, size: size)
  }

  /// The delay in frames of a decoder of layer III after its encoder. Source: libmpg123, GAPLESS_DELAY.
  private static let decoderDelay = 529
  /// The limit of frames up to which a tag without a number of bytes is believed: two days of sound.
  private static let mostFrames = 1 << 23

  /// Returns the information in the first frame of the file.
  /// - Returns: `length`, nil when it does not count frames, when it counts bytes that are not there, as in a
  ///   file that was cut off, or more frames than the file has room for; `stated`, the information where the file may
  ///   have been cut off; and the encoder's delay, whether or not that is so.
  private static func tag(
    _ file: borrowing FileDescriptor, firstFrame: Int
  ) -> (length: StreamLength?, stated: StreamLength?, delay: Int?) {
    let bytes = file.bytes(at: firstFrame, count: 256)
    guard let header = MPEGAudioHeader(bytes, at: 0), let length = StreamLength(bytes[...], header: header)
    else {
      return (nil, nil, nil)
    }
    let isThere = firstFrame + (length.bytes ?? 0) <= file.size
    let hasRoom = (length.frames ?? .max) <= (file.size - firstFrame) / header.shortestFrame
    // A number of frames that the stated bytes can't hold is wrong.
    let isPlausible =
      (length.frames ?? .max) <= length.bytes.map { $0 / header.shortestFrame } ?? mostFrames
    // Without a number of frames libmpg123 leaves nothing out.
    return (
      isThere && hasRoom ? length : nil, isPlausible && !(isThere && length.bytes != nil) ? length : nil,
      length.frames ?? 0 > 0 ? length.delay : nil
    )
  }
}

/// A libmpg123 decoder and its reader, which outlives it.
private struct MPG123Handle: ~Copyable {
  let raw: OpaquePointer
  private let reader: MPEGFrameReader

  init(_ reader: MPEGFrameReader) throws(AudioError) {
    var status = MPG123_OK.rawValue
    guard let raw = mpg123_new(nil, &status) else {
      let cause = String(cString: mpg123_plain_strerror(status))
      throw AudioError(.unsupported, "cannot start libmpg123: \(cause)")
    }
    self.raw = raw
    self.reader = reader
    let flags = MPG123_FORCE_FLOAT.rawValue | MPG123_QUIET.rawValue | MPG123_SKIP_ID3V2.rawValue
    mpg123_param2(raw, CInt(MPG123_ADD_FLAGS.rawValue), CLong(flags | MPG123_GAPLESS.rawValue), 0)
    mpg123_param2(raw, CInt(MPG123_RESYNC_LIMIT.rawValue), 65_536, 0)
    // The bit reservoir reaches back 511 bytes, which at 32 kbit/s and less is more than the usual 4 frames.
    mpg123_param2(raw, CInt(MPG123_PREFRAMES.rawValue), 40, 0)
    mpg123_replace_reader_handle(
      raw,
      { handle, bytes, count in
        guard let handle, let bytes else { return -1 }
        let reader = Unmanaged<MPEGFrameReader>.fromOpaque(handle).takeUnretainedValue()
        return reader.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: count))
      },
      { handle, offset, whence in
        guard let handle else { return -1 }
        return off_t(Unmanaged<MPEGFrameReader>.fromOpaque(handle).takeUnretainedValue().seek(offset, whence))
      }, nil)
    // Unretained: the decoder is deleted before this value releases the reader.
    mpg123_open_handle(raw, Unmanaged.passUnretained(reader).toOpaque())
  }

  /// The byte of the file at which the next read begins.
  var fileOffset: Int { reader.fileOffset }

  /// Returns the PCM frames in all MPEG frames of sound; scans the file for them.
  func sampleCount() -> Int { reader.sampleCount() }

  deinit { mpg123_delete(raw) }

  /// The rate and channels of the next frame, nil when that is not MPEG audio.
  var format: AudioFormat? { AudioFormat(nextOf: raw) }

  /// Returns rate and channels of the first frame, which need not be followed by another one: the reader
  /// returns whole frames. In free format alone the distance to the next one defines its length.
  func firstFormat(isFreeFormat: Bool) -> AudioFormat? {
    let flag = CLong(MPG123_NO_READAHEAD.rawValue)
    if !isFreeFormat { mpg123_param2(raw, CInt(MPG123_ADD_FLAGS.rawValue), flag, 0) }
    defer { mpg123_param2(raw, CInt(MPG123_REMOVE_FLAGS.rawValue), flag, 0) }
    return format
  }

  /// `true` if libmpg123 found no further frame.
  var isAtEnd: Bool { [MPG123_DONE.rawValue, MPG123_ERR_READER.rawValue].contains(mpg123_errcode(raw)) }

  /// libmpg123's words for its last failure.
  var lastError: String { String(cString: mpg123_strerror(raw)) }
}

extension AudioFormat {
  /// The rate and channels of the next frame of a handle of libmpg123; nil when that is not MPEG audio.
  init?(nextOf handle: OpaquePointer) {
    var (rate, channels, encoding) = (CLong(0), CInt(0), CInt(0))
    guard mpg123_getformat(handle, &rate, &channels, &encoding) == MPG123_OK.rawValue,
      encoding == CInt(MPG123_ENC_FLOAT_32.rawValue), channels > 0, rate > 0
    else { return nil }
    self.init(sampleRate: Int(rate), channels: Int(channels))
  }
}
