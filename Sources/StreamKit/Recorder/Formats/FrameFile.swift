internal import Codecs
public import EventLoop

/// Finds the frames of a recording's file: MPEG audio and AAC behind a tag, pages of Ogg, or bytes that have no frames.
public struct FrameFile {
  /// The result of walking all frames of a file.
  public struct Walk: Sendable, Equatable {
    /// The length of the file in bytes.
    public var length = 0
    /// The length in bytes of the tag in front; in Ogg, of all headers.
    public var tagLength = 0
    /// The number of whole frames.
    public var frames = 0
    /// The length of the frames in PCM frames, at the rate in their headers.
    public var samples = 0
    /// The bytes of the frames.
    public var audioBytes = 0
    /// The format of the first frame; nil when there is none.
    public var format: StreamFormat?
    /// The number of frames whose format differs from that of the frame before.
    public var formatChanges = 0
    /// The bytes between the tag and the end that are neither frame nor tag.
    public var junkBytes = 0
    /// The offset of the end of the last whole frame; without a frame, of the end of the tag.
    public var endOfLastFrame = 0
    /// The duration of the frames in seconds.
    public var seconds = 0.0

    /// `true` if the file is a tag and whole frames, and nothing else.
    public var isWhole: Bool { frames > 0 && junkBytes == 0 }
  }

  /// The bytes that are read at once, and in which the last frame is searched for first.
  static let piece = 64 * 1024

  /// Walks all frames of the file at `path`.
  /// - Throws: `record.write` when it can't be read.
  public static func walk(_ path: String) throws(RecordError) -> Walk {
    try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      try walk(file, path, from: 0, length: length)
    }
  }

  /// Returns the format of the first frame of the file at `path`; nil when its first quarter of a MiB has
  /// none.
  /// - Throws: `record.write` when it can't be read.
  public static func format(_ path: String) throws(RecordError) -> StreamFormat? {
    try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      let head = try FileBytes.read(file, path, at: 0, count: 10)
      let start = min(length, AudioFraming.tagLength(head))
      return try walk(file, path, from: start, length: min(length, start + 4 * piece)).format
    }
  }

  /// Returns the end of the last whole frame of the file at `path`: all bytes behind it are to be cut off.
  /// Only the end of the file is read, unless no frame is in it.
  ///
  /// A file of another kind (FLAC, WAV) counts to its end; so does one in which no frame is found at all,
  /// unless it is too short to have shown one.
  /// - Throws: `record.write` when it can't be read.
  public static func lastFrameEnd(_ path: String) throws(RecordError) -> Int {
    try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      let head = try FileBytes.read(file, path, at: 0, count: 10)
      let start = min(length, AudioFraming.tagLength(head))
      let magic = try FileBytes.read(file, path, at: start, count: ContentSniffer.magicLength)
      let container = ContentSniffer.container(magic[...])
      if container == .ogg { return try OggRecording.lastPageEnd(file, path, length: length) }
      if container != nil { return length }
      // The window grows, as the damage may be long.
      var window = piece
      while true {
        let from = max(start, length - window)
        let found = try walk(file, path, from: from, length: length)
        if found.frames > 0 { return found.endOfLastFrame }
        if from == start { return length - start > piece ? length : start }
        window *= 16
      }
    }
  }

  static func walk(
    _ file: Int32, _ path: String, from: Int, length: Int
  ) throws(RecordError) -> Walk {
    if from == 0, let walk = try OggRecording.walk(file, path, length: length) { return walk }
    var walk = Walk()
    walk.length = length
    if from == 0 {
      walk.tagLength = min(length, AudioFraming.tagLength(try FileBytes.read(file, path, at: 0, count: 10)))
    }
    var position = max(from, walk.tagLength)
    walk.endOfLastFrame = position
    var framing = AudioFraming(offset: position)
    var (last, time) = (StreamFormat?.none, StreamTime.zero)
    while true {
      let bytes = try FileBytes.read(file, path, at: position, count: min(piece, length - position))
      position += bytes.count
      if bytes.isEmpty { framing.end() } else { framing.feed(bytes) }
      while let frame = framing.next() {
        let found = frame.encoded
        let format = StreamFormat(
          codec: StreamCodec(frame.codec), sampleRate: found.sampleRate, channels: found.channels)
        if last == nil { walk.format = format } else if format != last { walk.formatChanges += 1 }
        last = format
        walk.frames += 1
        walk.samples += found.samples
        walk.audioBytes += found.length
        walk.endOfLastFrame = found.offset + found.length
        time += StreamTime(samples: found.samples, sampleRate: found.sampleRate)
      }
      if bytes.isEmpty { break }
    }
    walk.junkBytes = framing.skippedBytes
    walk.seconds = time.seconds
    return walk
  }
}
