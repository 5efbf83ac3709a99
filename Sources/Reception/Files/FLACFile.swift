internal import Codecs
internal import StreamCore

/// A FLAC file without a container. Its frames are returned as Ogg FLAC pages, bit for bit, so that they are
/// kept, decoded and joined like those.
///
/// Frames state their times: a seek requests an estimate between the known positions, and is exact to a
/// frame; if the estimate is after the target, or far before it, it requests another one.
struct FLACFile: FileParser {
  private enum State {
    /// Frames are consecutive.
    case sound
    /// The bytes from some offset on were requested for the sound at `target`, in PCM frames.
    case landing(target: Int, bounds: Bounds, attempts: Int)
    case over
  }

  /// Positions around a target.
  private struct Bounds {
    var before: (sample: Int, byte: Int)
    var behind: (sample: Int, byte: Int)
  }

  private let size: Int?
  private var state = State.sound
  private var framing = FLACFraming()
  private var headers: OggHeaders?
  private var pages = FLACPages(serial: Self.serial, sequence: 0)
  private var found: [FileItem] = []
  private var hasEnded = false
  private var hasBegun = false
  /// The number of PCM frames up to the end of the newest frame.
  private var heard = 0
  /// The position after the last frame; nil while it is not known.
  private var last: Int?

  private static let serial: UInt32 = 0x666C_6163
  /// The limit of requests for one target, and the PCM frames before it that are read rather than skipped by
  /// another request.
  private static let (mostAttempts, near) = (2, 10 * 44_100)
  /// The number of bytes before an estimate that are requested too.
  private static let margin = 32 << 10

  init(size: Int?) { self.size = size }

  let preroll = 0
  let soundEnd: StreamTime? = nil

  mutating func feed(_ bytes: UnsafeRawBufferPointer) { framing.feed(bytes) }

  mutating func end() {
    hasEnded = true
    framing.end()
  }

  mutating func next() -> FileItem? {
    while found.isEmpty {
      if case .over = state { return nil }
      guard let (item, bytes) = framing.nextItem() else {
        guard hasEnded else { return nil }
        return atEnd()
      }
      switch item {
      case .unusable(let content): return unusable(content)
      case .headers(let new):
        headers = new
        found.append(.format(format(new)))
      case .frame(let frame): read(frame, bytes)
      }
    }
    return found.removeFirst()
  }

  private mutating func unusable(_ content: String) -> FileItem {
    state = .over
    return .unusable(found: content, isUnsupported: false)
  }

  private mutating func atEnd() -> FileItem? {
    if case .landing(let target, let bounds, let attempts) = state, attempts > 0 {
      // These bytes hold no whole frame: the bytes from a known frame on do.
      return .jump(to: land(on: target, bounds, attempts: 0))
    }
    guard hasBegun else { return unusable("FLAC without sound") }
    if last == nil { last = heard }
    return .end
  }

  // MARK: Sound

  private func format(_ headers: OggHeaders) -> StreamFormat {
    StreamFormat(codec: .oggflac, sampleRate: headers.sampleRate, channels: headers.channels)
  }

  private mutating func read(_ frame: FLACFraming.Frame, _ bytes: [UInt8]) {
    guard let headers else { return }
    if case .landing(let target, var bounds, let attempts) = state {
      if frame.start > target, attempts > 0 {
        bounds.behind = (frame.start, frame.offset)
        return found.append(.jump(to: land(on: target, bounds, attempts: attempts - 1)))
      }
      if frame.start <= target, target - frame.start > Self.near, attempts > 1 {
        bounds.before = (frame.start, frame.offset)
        return found.append(.jump(to: land(on: target, bounds, attempts: attempts - 1)))
      }
      guard frame.start + frame.samples > target else { return }
      begin(at: frame, headers)
    } else if !hasBegun {
      begin(at: frame, headers)
    }
    heard = frame.start + frame.samples
    let new = pages.add(bytes, end: heard)
    for (index, page) in new.enumerated() {
      found.append(
        .frame(
          StreamFrame(
            offset: frame.offset, length: page.count, hash: 0, format: format(headers),
            samples: index == new.count - 1 ? frame.samples : 0), page))
    }
  }

  /// Adds the items before the first frame.
  private mutating func begin(at frame: FLACFraming.Frame, _ headers: OggHeaders) {
    (state, hasBegun) = (.sound, true)
    let (bytes, count) = headers.pages(serial: Self.serial)
    pages = FLACPages(serial: Self.serial, sequence: count)
    let hash = bytes.withUnsafeBytes { FrameHash.of($0) }
    found.append(.begins(at: StreamTime(samples: frame.start, sampleRate: headers.sampleRate)))
    found.append(
      .frame(
        StreamFrame(headersAt: frame.offset, length: bytes.count, hash: hash, format: format(headers)), bytes)
    )
  }

  // MARK: Positions

  var duration: Double? {
    guard let headers, let samples = last ?? framing.total else { return nil }
    return Double(samples) / Double(headers.sampleRate)
  }

  mutating func seek(to time: StreamTime) -> Int? {
    guard let headers, let size, let first = framing.soundStart, let total = last ?? framing.total,
      hasBegun, first < size
    else { return nil }
    (found, hasEnded) = ([], false)
    let target = max(0, min(Int((time.seconds * Double(headers.sampleRate)).rounded()), total))
    let points = framing.seekPoints.filter { $0.byte < size }.map { ($0.sample, $0.byte) }
    let bounds = Bounds(
      before: points.last { $0.0 <= target } ?? (0, first),
      behind: points.first { $0.0 > target } ?? (total, size))
    return land(on: target, bounds, attempts: Self.mostAttempts)
  }

  /// Continues at an estimate between two positions.
  /// - Parameter attempts: the number of further estimates; without one it continues at the position before.
  private mutating func land(on target: Int, _ bounds: Bounds, attempts: Int) -> Int {
    let (before, behind) = (bounds.before, bounds.behind)
    let share = Double(target - before.sample) / Double(max(1, behind.sample - before.sample))
    let estimate = before.byte + Int(share * Double(max(0, behind.byte - before.byte))) - Self.margin
    let offset = attempts > 0 ? max(before.byte, estimate) : before.byte
    (state, hasEnded) = (.landing(target: target, bounds: bounds, attempts: attempts), false)
    framing.move(to: offset)
    return offset
  }
}
