internal import Codecs
internal import StreamCore

/// A file of whole frames: MP3 and its older layers, AAC in ADTS.
///
/// A first frame with data about the others (Xing, Info, VBRI) is not sound. Times of frames are counted, so
/// after a seek the frames from the last one with a known time on are read and dropped: exact in files of any
/// bit rate. If that would take more than `longestCount` bytes, the table, a constant bit rate, or the
/// average of the frames so far maps bytes to times, to a whole frame: exact at a constant bit rate,
/// otherwise an estimate.
struct FramedFile: FileParser {
  private let contentType: String?
  private let size: Int?
  private var framer: StreamFramer
  private var found: [FileItem] = []
  private var format: StreamFormat?

  /// The tag in the first frame, and its offset.
  private var tag: (length: StreamLength, offset: Int)?
  private var hasBegun = false
  /// The offset of the first frame of sound, and the duration of such a frame.
  private var firstByte = 0
  private var frameTime = StreamTime.zero
  /// The length of the inaudible sound at the start.
  private var leadIn = StreamTime.zero
  private var landing = Landing.done
  private var index = FrameIndex()
  /// The time between the first frame and the next one; nil if it is an estimate.
  private var position: StreamTime?
  private var hasEnded = false
  /// The length of the audible sound, once all of it has come.
  private var total: StreamTime?
  /// The bytes and the duration of the frames so far, for the average.
  private var bytes = 0
  private var time = StreamTime.zero
  /// The constant bit rate of all frames so far; nil if they differ.
  private var bitRate: Int?

  /// The state of the first frames after a seek.
  private enum Landing: Equatable {
    case done
    /// The time of the next frame is an estimate from its offset.
    case guessed
    /// The time of the frame at `byte` is known: frames that end by `target` are dropped.
    case counted(byte: Int, target: StreamTime)
    /// The first of the counted frames has come: frames that end by `target` are dropped.
    case counting(target: StreamTime)
  }

  /// The limit in bytes for counting frames rather than estimating a position: about a second of a usual
  /// connection.
  static let longestCount = 8 << 20

  /// The limit in bytes of a credible tag in a file of unknown size: that of a picture for print.
  private static let longestTag = 64 << 20

  /// The delay of a layer III decoder after its encoder, in PCM frames.
  private static let decoderDelay = 529

  init(contentType: String?, size: Int?) {
    (self.contentType, self.size) = (contentType, size)
    framer = StreamFramer(contentType: contentType, longestTag: size ?? Self.longestTag)
  }

  let preroll = 12

  mutating func feed(_ bytes: UnsafeRawBufferPointer) { framer.feed(bytes) }

  mutating func end() {
    hasEnded = true
    framer.end()
  }

  mutating func next() -> FileItem? {
    while found.isEmpty {
      guard let item = framer.next() else {
        guard hasEnded else { return nil }
        if let position, declared == nil, hasBegun { total = position - leadIn }
        return .end
      }
      switch item {
      case .format(let new):
        if new != format { found.append(.format(new)) }
        format = new
      case .notAudio(let what):
        return .unusable(found: what, isUnsupported: what == ForeignSound.transportStream)
      case .frame(let frame): framer.withBytes(of: frame) { read(frame, $0) }
      }
    }
    return found.removeFirst()
  }

  private mutating func read(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) {
    guard frame.codec.hasFrames else {
      found.append(.unusable(found: "\(frame.codec) without a beginning", isUnsupported: false))
      return
    }
    if !hasBegun, tag == nil, frame.codec == .mp3, let length = StreamLength(bytes) {
      tag = (length, frame.offset)
      return
    }
    if !hasBegun { begin(frame, bytes) }
    let isWanted = land(frame)
    if StreamLength.bitRate(bytes) != bitRate { bitRate = nil }
    self.bytes += frame.length
    time = time + frame.duration
    if let position {
      index.note(byte: frame.offset, time: position)
      self.position = position + frame.duration
    }
    if isWanted { found.append(.frame(frame, [UInt8](bytes))) }
  }

  private mutating func begin(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) {
    (hasBegun, position) = (true, .zero)
    (firstByte, frameTime) = (frame.offset, frame.duration)
    if frame.codec != .aac { bitRate = StreamLength.bitRate(bytes) }
    if let delay = tag?.length.delay, tag?.length.frames ?? 0 > 0 {
      leadIn = StreamTime(samples: delay + Self.decoderDelay, sampleRate: frame.sampleRate)
    }
    found.append(.begins(at: .zero - leadIn))
  }

  // MARK: Times

  /// The number of frames and their duration in the tag; nil if they are impossible.
  private var declared: (frames: Int, seconds: Double)? {
    guard let tag, let frames = tag.length.frames, frames > 0, frameTime > .zero else { return nil }
    if let size, tag.offset + (tag.length.bytes ?? 0) > size { return nil }
    // No frame of layer III is shorter than 24 bytes.
    if let size, frames > (size - firstByte) / 24 + 1 { return nil }
    return (frames, Double(frames) * frameTime.seconds)
  }

  private var bytesPerSecond: Double? {
    if let bitRate { return Double(bitRate) / 8 }
    return time > .zero ? Double(bytes) / time.seconds : nil
  }

  private var table: SeekTable? {
    guard hasBegun else { return nil }
    if let tag, let declared, tag.length.kind != .info {
      let end = tag.offset + (tag.length.bytes ?? (size ?? 0) - tag.offset)
      let marks = tag.length.marks.map {
        SeekTable.Point(byte: Double(tag.offset + $0.byte), seconds: $0.frame * frameTime.seconds)
      }
      let points =
        [SeekTable.Point(byte: Double(firstByte), seconds: 0)] + marks.filter { $0.byte < Double(end) }
      if let table = SeekTable(points + [SeekTable.Point(byte: Double(end), seconds: declared.seconds)]) {
        return table
      }
    }
    return bytesPerSecond.flatMap { SeekTable(start: firstByte, bytesPerSecond: $0) }
  }

  var duration: Double? {
    if let total { return max(0, total.seconds) }
    if let declared, let tag {
      let cut = (tag.length.delay ?? 0) + (tag.length.padding ?? 0)
      return max(0, declared.seconds - Double(cut) * frameTime.seconds / Double(tag.length.samplesPerFrame))
    }
    guard let size, let bytesPerSecond else { return nil }
    return max(0, Double(size - firstByte) / bytesPerSecond - leadIn.seconds)
  }

  var soundEnd: StreamTime? {
    tag?.length.delay != nil && declared != nil ? duration.map { StreamTime(seconds: $0) } : nil
  }

  // MARK: Seeking

  mutating func seek(to target: StreamTime) -> Int? {
    guard let table, frameTime > .zero else { return nil }
    let frame = max(0, (target + leadIn).ticks / frameTime.ticks - preroll)
    let wanted = StreamTime(ticks: frame * frameTime.ticks)
    (found, hasEnded) = ([], false)
    var byte = firstByte
    if frame > 0 { byte = max(firstByte, Int(table.byte(at: wanted.seconds).rounded(.down)) - 1) }
    if let size { byte = min(byte, max(firstByte, size - 1)) }
    (landing, position) = (.guessed, nil)
    if let mark = index.mark(before: wanted), isNear(mark, wanted, guess: byte) {
      (byte, landing, position) = (mark.byte, .counted(byte: mark.byte, target: wanted), mark.time)
    }
    framer = StreamFramer(contentType: contentType, offset: byte, longestTag: size ?? Self.longestTag)
    return byte
  }

  /// Returns `true` if the frames between a mark and the target, which begins at about byte `guess`, are to
  /// be counted.
  private func isNear(_ mark: FrameIndex.Mark, _ wanted: StreamTime, guess: Int) -> Bool {
    if mark != index.last || wanted < mark.time + index.step { return true }
    let isConstant = bitRate != nil || tag?.length.kind == .info
    return !isConstant && guess - mark.byte <= Self.longestCount
  }

  /// Determines the time of the first frame after a seek.
  /// - Returns: `false` for a frame that is dropped.
  private mutating func land(_ frame: StreamFrame) -> Bool {
    if case .counted(let byte, let target) = landing {
      landing = frame.offset == byte ? .counting(target: target) : .guessed
    }
    switch landing {
    case .done: return true
    case .counting(let target):
      guard let position, position + frame.duration > target else { return false }
      found.append(.begins(at: position - leadIn))
    case .guessed, .counted:
      let seconds = table?.seconds(at: Double(frame.offset)) ?? 0
      let number = (seconds / frameTime.seconds).rounded()
      let start = StreamTime(ticks: Int(max(0, min(number, 1e9))) * frameTime.ticks)
      position = nil
      found.append(.begins(at: start - leadIn))
    }
    landing = .done
    return true
  }
}
