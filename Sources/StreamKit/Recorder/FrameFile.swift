internal import Codecs
internal import EventLoop

/// The frames of a recording that is a file: MPEG audio and AAC behind a tag, or bytes that have no frames.
public struct FrameFile {
  /// What walking all frames of a file found.
  public struct Walk: Sendable, Equatable {
    /// Bytes of the file.
    public var length = 0
    /// Bytes of the tag in front, which is no audio.
    public var tagLength = 0
    /// Whole frames.
    public var frames = 0
    /// PCM frames that they stand for, at the rate that their headers tell.
    public var samples = 0
    /// Bytes of them.
    public var audioBytes = 0
    /// What the first frame is; nil when there is none.
    public var format: StreamFormat?
    /// How often the format is another one than the frame before had.
    public var formatChanges = 0
    /// Bytes between the tag and the end that are neither frame nor tag.
    public var junkBytes = 0
    /// Where the last whole frame ends; where the tag does when there is no frame.
    public var endOfLastFrame = 0
    /// What the frames last, in seconds.
    public var seconds = 0.0

    /// Whether it is a tag and whole frames, and nothing else.
    public var isWhole: Bool { frames > 0 && junkBytes == 0 }
  }

  /// Bytes that are read at once, and in which the last frame is looked for first.
  static let piece = 64 * 1024

  /// Walks all frames of the file at `path`.
  /// - Throws: `record.write` when it can't be read.
  public static func walk(_ path: String) throws(RecordError) -> Walk {
    try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      try walk(file, path, from: 0, length: length)
    }
  }

  /// What the first frame of the file at `path` is; nil when none is in its first quarter of a MiB.
  /// - Throws: `record.write` when it can't be read.
  public static func format(_ path: String) throws(RecordError) -> StreamFormat? {
    try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      let head = try FileBytes.read(file, path, at: 0, count: 10)
      let start = min(length, AudioFraming.tagLength(head))
      return try walk(file, path, from: start, length: min(length, start + 4 * piece)).format
    }
  }

  /// Where the last whole frame of the file at `path` ends: all behind it is to be cut off. Only the end of the file is
  /// read, save when no frame is in it.
  ///
  /// A file of another kind (Ogg, FLAC) ends where it ends; so does one in which no frame is found at all, unless it
  /// is too short to have shown one.
  /// - Throws: `record.write` when it can't be read.
  public static func lastFrameEnd(_ path: String) throws(RecordError) -> Int {
    try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      let head = try FileBytes.read(file, path, at: 0, count: 10)
      let start = min(length, AudioFraming.tagLength(head))
      let magic = try FileBytes.read(file, path, at: start, count: ContentSniffer.magicLength)
      if ContentSniffer.container(magic[...]) != nil { return length }
      // More and more of it, as what is damaged may be long.
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
