internal import EventLoop
internal import StreamCore

/// The cuts at which a split recording ends a file and begins the next one, and the frames around them: a
/// file may begin with frames that were received before, and the previous file may have too many. Touches no
/// file.
struct CutPlanner {
  /// The end of a file, and the beginning of the next one, as times of the recording. They overlap, or leave
  /// a gap.
  struct Cut {
    let title: StreamTitle
    let position: StreamTime
    let begins: StreamTime
    let ends: StreamTime
  }

  /// A written frame, with the time at which it begins.
  struct Remembered {
    let time: StreamTime
    let frame: StreamFrame
    let bytes: [UInt8]
  }

  /// The length of the shortest title that gets a file: however fast a station sends titles, the disk gets
  /// one file a second.
  private static let shortestTrack = StreamTime(seconds: 1)

  private let split: RecordingOptions.Split?
  private var cuts: [Cut] = []
  /// The position of the newest of all cuts.
  private var newest: StreamTime?
  private var recent: [Remembered] = []

  /// - Parameter split: the settings; nil for a recording that is not split.
  init(_ split: RecordingOptions.Split?) { self.split = split }

  /// `true` if no cut is due later.
  var isEmpty: Bool { cuts.isEmpty }

  /// Adds the cut of a title that came at `time`.
  /// - Returns: `false` for a recording that is not split.
  mutating func add(_ title: StreamTitle, at time: StreamTime) -> Bool {
    guard let split else { return false }
    let (offset, overlap) = (StreamTime(split.offset), StreamTime(split.overlap))
    var position = time + offset
    if let last = cuts.last, position < last.position + Self.shortestTrack {
      position = last.position
      cuts.removeLast()
    } else if let newest {
      position = max(position, newest + Self.shortestTrack)
    }
    newest = position
    cuts.append(
      Cut(
        title: title, position: position, begins: max(position - overlap, .zero), ends: position + overlap))
    return true
  }

  /// Removes and returns the next cut if its file begins by `time`.
  mutating func next(by time: StreamTime) -> Cut? {
    guard let cut = cuts.first, cut.begins <= time else { return nil }
    return cuts.removeFirst()
  }

  /// Remembers a frame that ends at `end`, for as long as the split may need it.
  mutating func remember(_ frame: StreamFrame, _ bytes: ArraySlice<UInt8>, endingAt end: StreamTime) {
    guard let reach = split?.reach, reach > .zero else { return }
    recent.append(Remembered(time: end - frame.duration, frame: frame, bytes: Array(bytes)))
    let first = end - reach
    while let oldest = recent.first, oldest.time < first { recent.removeFirst() }
  }

  /// Returns the remembered frames from `time` on.
  func frames(from time: StreamTime) -> [Remembered] { recent.filter { $0.time >= time } }

  /// Forgets cuts and frames, as their format or their disk is gone.
  /// - Returns: the title of the last cut.
  mutating func reset() -> StreamTitle? {
    defer { (cuts, recent) = ([], []) }
    return cuts.last?.title
  }
}
