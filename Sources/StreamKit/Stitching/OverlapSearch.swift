/// Looks for the place in a new connection's frames at which the old connection's frames end.
///
/// For every old frame it keeps how many frames up to it are the last new frames, in the same order: a run. A run that
/// reaches the newest old frame is an overlap, verified whole; what follows it is new. It may begin with the first new
/// frame or behind others, a pre-roll. Old frames that are alone of their kind are *landmarks*: an overlap with three
/// of them is certain, one with fewer (digital silence, a loop) needs the time to confirm it.
///
/// Work: one pass over the old frames for each new one. Memory: 3 bytes an old frame, 12 KiB for uncertain overlaps.
struct OverlapSearch: Sendable {
  /// An overlap that was found.
  struct Overlap: Sendable, Equatable {
    /// New frames up to its end: what follows is new.
    let end: Int
    /// Frames that both connections sent.
    let length: Int
    /// What the new frames up to its end take.
    let time: StreamTime
    /// No new frames are in front of it.
    var startsAtFront: Bool { length == end }
  }

  /// Landmarks that make an overlap certain.
  static let enoughLandmarks = 3
  /// Uncertain overlaps that are remembered, the last ones: in a stream of silence the right one is near live.
  private static let mostUncertain = 512

  private let isUnique: [Bool]
  /// For every old frame: the length of the run that ends with it.
  private var runs: [UInt16]
  /// New frames so far.
  private(set) var count = 0
  /// What they take.
  private(set) var time = StreamTime.zero
  /// Overlaps without enough landmarks, in the order of their ends.
  private(set) var uncertain: [Overlap] = []

  init(_ history: FrameHistory) {
    isUnique = history.areUnique()
    runs = [UInt16](repeating: 0, count: history.count)
  }

  /// Takes the next new frame.
  /// - Returns: the overlap that ends with it, when there is one and it is certain.
  mutating func add(_ frame: StreamFrame, history: FrameHistory) -> Overlap? {
    count += 1
    time = time + frame.duration
    runs.withUnsafeMutableBufferPointer { runs in
      history.withHashes { hashes in
        // From the newest, as each run goes on what the one before it was.
        var index = hashes.count - 1
        while index >= 0 {
          if hashes[index] == frame.hash, history.isAlike(frame, index) {
            runs[index] = index > 0 ? runs[index - 1] + 1 : 1
          } else {
            runs[index] = 0
          }
          index -= 1
        }
      }
    }
    guard let length = runs.last, length > 0 else { return nil }
    let overlap = Overlap(end: count, length: Int(length), time: time)
    if landmarks(upTo: runs.count - 1) >= Self.enoughLandmarks { return overlap }
    if uncertain.count == Self.mostUncertain { uncertain.removeFirst(Self.mostUncertain / 2) }
    uncertain.append(overlap)
    return nil
  }

  /// Whether the new frames are within the old ones for certain, and have not come to their end.
  var isWithin: Bool {
    // Landmarks up to each old frame, so that a long run costs no more than a short one.
    var landmarks: [UInt16] = [0]
    landmarks.reserveCapacity(runs.count + 1)
    for index in runs.indices.dropLast() {
      landmarks.append(landmarks[index] + (isUnique[index] ? 1 : 0))
      let inRun = landmarks[index + 1] - landmarks[index + 1 - Int(runs[index])]
      if inRun >= Self.enoughLandmarks { return true }
    }
    return false
  }

  /// Landmarks in the run that ends with an old frame, up to as many as are enough.
  private func landmarks(upTo last: Int) -> Int {
    var found = 0
    var index = last
    while index > last - Int(runs[last]), found < Self.enoughLandmarks {
      if isUnique[index] { found += 1 }
      index -= 1
    }
    return found
  }
}
