internal import Codecs
public import EventLoop
internal import Glibc
public import StreamCore

/// Finds the frames of a recording's file: MPEG audio and AAC after a tag, Ogg pages, or bytes without
/// frames.
public struct RecordedFrames {
  /// The result of walking all frames of a file.
  public struct Walk: Sendable, Equatable {
    /// The length of the file in bytes.
    public var length = 0
    /// The length in bytes of the tag at the start; in Ogg, of all headers.
    public var tagLength = 0
    /// The number of whole frames.
    public var frames = 0
    /// The length of the frames in PCM frames, at the rate in their headers.
    public var samples = 0
    /// The number of bytes in frames.
    public var audioBytes = 0
    /// The format of the first frame; nil without a frame.
    public var format: StreamFormat?
    /// The number of frames whose format differs from that of the frame before.
    public var formatChanges = 0
    /// The number of bytes between the tag and the end that belong to no frame and no tag.
    public var junkBytes = 0
    /// The offset of the end of the last whole frame; without a frame, of the end of the tag.
    public var endOfLastFrame = 0
    /// The duration of the frames in seconds.
    public var seconds = 0.0

    /// `true` if the file is a tag and whole frames, and nothing else.
    public var isWhole: Bool { frames > 0 && junkBytes == 0 }
    /// `true` if frames may be appended: the file ends with a whole one, and holds nothing else.
    var isOpen: Bool { isWhole && endOfLastFrame == length }
  }

  /// The number of bytes read at once, in which the last frame is searched for first.
  static let piece = 64 * 1024

  /// Walks all frames of the file at `path`.
  /// - Throws: `record.write` if it can't be read.
  public static func walk(_ path: String) throws(RecordError) -> Walk {
    try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      try walk(file, path, from: 0, length: length)
    }
  }

  /// Returns the walk of a file that has grown since `before`, reading only its new end.
  /// - Parameter before: a walk of an open file.
  /// - Throws: `record.write` if it can't be read.
  static func walk(_ path: String, behind before: Walk) throws(RecordError) -> Walk {
    try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      let start = before.length
      let pages = try OggRecording.walk(file, path, from: start, length: length)
      let end = if let pages { pages } else { try walk(file, path, from: start, length: length) }
      var whole = before
      whole.length = length
      whole.tagLength += end.tagLength
      whole.frames += end.frames
      whole.samples += end.samples
      whole.audioBytes += end.audioBytes
      whole.formatChanges += end.formatChanges
      whole.junkBytes += end.junkBytes
      whole.seconds += end.seconds
      whole.endOfLastFrame = end.endOfLastFrame
      return whole
    }
  }

  /// Returns the format of the first frame of the file at `path`; nil if its first quarter of a MiB has no
  /// frame.
  /// - Throws: `record.write` if it can't be read.
  public static func format(_ path: String) throws(RecordError) -> StreamFormat? {
    try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      let head = try FileBytes.read(file, path, at: 0, count: 10)
      let start = min(length, AudioFraming.tagLength(head))
      return try walk(file, path, from: start, length: min(length, start + 4 * piece)).format
    }
  }

  /// Returns the end of the last whole frame of the file at `path`: all bytes after it are to be cut off.
  /// Only the end of the file is read, unless it has no frame.
  ///
  /// A file of another kind (FLAC, WAV) counts to its end; so does a file without any frame, unless it is too
  /// short to have shown one.
  /// - Throws: `record.write` if it can't be read.
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
          codec: frame.codec, sampleRate: found.sampleRate, channels: found.channels)
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

/// The walks of files that recordings are appended to, so that each frame of such a file is read only once,
/// not with every recording. A file that another program has changed is walked anew.
struct WalkedFiles {
  /// The state of a file that reveals a change of it.
  private struct Mark: Equatable {
    let device: UInt
    let number: UInt
    let length: Int
    let changed: WallTime

    /// Creates the mark of the file at `path`; nil without a file.
    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0, let changed = LinuxFiles.modificationTime(of: path) else { return nil }
      (device, number, length) = (UInt(status.st_dev), UInt(status.st_ino), Int(status.st_size))
      self.changed = changed
    }
  }

  /// The limit of files.
  private static let capacity = 256
  private var known: [String: (mark: Mark, walk: RecordedFrames.Walk)] = [:]

  /// Returns the walk of the file at `path`.
  /// - Throws: `record.write` if it can't be read.
  mutating func walk(_ path: String) throws(RecordError) -> RecordedFrames.Walk {
    let mark = Mark(path)
    if let mark, let there = known[path], there.mark == mark { return there.walk }
    let walk = try RecordedFrames.walk(path)
    keep(walk, of: path, mark)
    return walk
  }

  /// Follows the file at `path`, to which frames were appended after `base`.
  mutating func follow(_ path: String, behind base: Int) {
    guard let before = known.removeValue(forKey: path)?.walk, before.length == base, before.isOpen else {
      return
    }
    let mark = Mark(path)
    // A file that can't be read now is walked when it is needed.
    guard let walk = try? RecordedFrames.walk(path, behind: before) else { return }
    keep(walk, of: path, mark)
  }

  private mutating func keep(_ walk: RecordedFrames.Walk, of path: String, _ mark: Mark?) {
    guard let mark, mark.length == walk.length, walk.isOpen else { return }
    if known.count >= Self.capacity { known = [:] }
    known[path] = (mark, walk)
  }
}
