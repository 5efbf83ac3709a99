public import AudioCore
internal import CMPG123
public import EventLoop

/// Decodes MPEG audio frame by frame as they arrive, through libmpg123.
///
/// Every frame of the source sounds: a stream has no beginning and no end that could be cut. The first frames
/// after a join may need main data that is not there; the source leaves those out.
public final class MPEGStreamDecoder: Decoder {
  /// The rate and channels of the frames that the last `read` returned.
  public private(set) var format = AudioFormat.session
  /// Nil: a stream has no known length.
  public let frameCount: Int? = nil

  private let handle: MPG123Feed
  private let source: any FrameSource
  private var formatChanges = false

  /// A decoder of the frames of `source`.
  /// - Throws: `audio.unsupported` when libmpg123 does not start.
  public init(_ source: any FrameSource) throws(AudioError) {
    handle = try MPG123Feed()
    self.source = source
  }

  /// Reads the next frames; returns 0 when the source has none now.
  public func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    while true {
      if formatChanges, let format = handle.format {
        self.format = format
        formatChanges = false
      }
      let room = buffer.count / format.channels * format.channels * MemoryLayout<Float>.size
      guard room > 0 else { return 0 }
      var bytes = 0
      let status = mpg123_read(handle.raw, buffer.baseAddress, room, &bytes)
      if status == MPG123_NEW_FORMAT.rawValue { formatChanges = true }
      let got = bytes / MemoryLayout<Float>.size / format.channels
      if got > 0 { return got }
      // Also after an error: the next frame begins anew.
      guard formatChanges || feedNextFrame() else { return 0 }
    }
  }

  /// Throws `audio.unsupported`: a stream can't be repositioned by its decoder.
  public func seek(toFrame frame: Int) throws {
    throw AudioError(.unsupported, "a stream is not repositioned by its decoder")
  }

  private func feedNextFrame() -> Bool {
    guard let frame = source.nextFrame() else { return false }
    // The first frame would wait for the next one, and that of a source with one frame for ever. In free
    // format alone the next one defines its length.
    let header = MPEGAudioHeader([UInt8](frame.prefix(MPEGAudioHeader.size)), at: 0)
    handle.setReadAhead(header?.bitRate == 0)
    frame.withUnsafeBytes { _ = mpg123_feed(handle.raw, $0.baseAddress, $0.count) }
    return true
  }
}

/// A libmpg123 decoder whose input is pushed.
private struct MPG123Feed: ~Copyable {
  let raw: OpaquePointer

  init() throws(AudioError) {
    var status = MPG123_OK.rawValue
    guard let raw = mpg123_new(nil, &status) else {
      let cause = String(cString: mpg123_plain_strerror(status))
      throw AudioError(.unsupported, "cannot start libmpg123: \(cause)")
    }
    self.raw = raw
    let flags = MPG123_FORCE_FLOAT.rawValue | MPG123_QUIET.rawValue | MPG123_IGNORE_INFOFRAME.rawValue
    mpg123_param2(raw, CInt(MPG123_ADD_FLAGS.rawValue), CLong(flags), 0)
    mpg123_param2(raw, CInt(MPG123_REMOVE_FLAGS.rawValue), CLong(MPG123_GAPLESS.rawValue), 0)
    mpg123_param2(raw, CInt(MPG123_RESYNC_LIMIT.rawValue), -1, 0)
    mpg123_open_feed(raw)
  }

  deinit { mpg123_delete(raw) }

  /// Switches read-ahead, which decodes a frame only when the header after it is there.
  func setReadAhead(_ isOn: Bool) {
    let change = isOn ? MPG123_REMOVE_FLAGS : MPG123_ADD_FLAGS
    mpg123_param2(raw, CInt(change.rawValue), CLong(MPG123_NO_READAHEAD.rawValue), 0)
  }

  /// The rate and channels of the next frame, nil when that is not MPEG audio.
  var format: AudioFormat? { AudioFormat(nextOf: raw) }
}
