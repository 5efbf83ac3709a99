internal import Codecs

/// Finds the position in a new connection's frames at which the old connection's frames end.
///
/// For every old frame it counts how many frames up to it equal the last new frames, in the same order: a
/// run. A run that reaches the newest old frame is an overlap, verified whole; the frames after it are new.
/// It may begin with the first new frame or after others, a pre-roll. Old frames that equal no other are
/// *landmarks*: an overlap with three of them is certain, one with fewer (digital silence, a loop) needs the
/// time to confirm it.
///
/// Work: one pass over the old frames for each new one. Memory: 3 bytes an old frame, 12 KiB for uncertain
/// overlaps.
package struct OverlapSearch: Sendable {
  /// An overlap of the two connections.
  package struct Overlap: Sendable, Equatable {
    /// The number of new frames up to its end: all later frames are new.
    let end: Int
    /// The number of frames that both connections sent.
    let length: Int
    /// The duration of the new frames up to its end.
    let time: StreamTime
    /// `true` if no new frames come before it.
    var startsAtFront: Bool { length == end }
  }

  /// The number of landmarks that makes an overlap certain.
  private static let enoughLandmarks = 3
  /// The landmarks that make the current overlap certain: one for Ogg pages, which are numbered.
  private var enough = OverlapSearch.enoughLandmarks
  /// The limit of uncertain overlaps; the last ones are kept: in a stream of silence the right one is near
  /// live.
  private static let mostUncertain = 512

  private let isUnique: [Bool]
  /// The length of the run that ends with each old frame.
  private var runs: [UInt16]
  /// The number of new frames so far.
  private(set) var count = 0
  /// The duration of the new frames.
  private(set) var time = StreamTime.zero
  /// The overlaps without enough landmarks, in the order of their ends.
  private(set) var uncertain: [Overlap] = []

  package init(_ history: FrameHistory) {
    isUnique = history.areUnique()
    runs = [UInt16](repeating: 0, count: history.count)
  }

  /// Adds the next new frame.
  /// - Returns: the overlap that ends with it, if there is one and it is certain.
  package mutating func add(_ frame: StreamFrame, history: FrameHistory) -> Overlap? {
    count += 1
    time = time + frame.duration
    enough = frame.codec.isOgg ? 1 : Self.enoughLandmarks
    let hash = FrameHistory.half(of: frame)
    runs.withUnsafeMutableBufferPointer { runs in
      history.withHashes { hashes in
        // Backwards from the newest, as each run continues the run of the frame before it.
        var index = hashes.count - 1
        while index >= 0 {
          if hashes[index] == hash, history.isAlike(frame, index) {
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
    if landmarks(upTo: runs.count - 1) >= enough { return overlap }
    if uncertain.count == Self.mostUncertain { uncertain.removeFirst(Self.mostUncertain / 2) }
    uncertain.append(overlap)
    return nil
  }

  /// `true` if no old frame equals the last new one: the newest sound has not come before.
  package var isApart: Bool { runs.allSatisfy { $0 == 0 } }

  /// `true` if the new frames are certainly among the old ones, and have not reached their end.
  package var isWithin: Bool {
    // The landmarks up to each old frame, so that a long run costs no more than a short one.
    var landmarks: [UInt16] = [0]
    landmarks.reserveCapacity(runs.count + 1)
    for index in runs.indices.dropLast() {
      landmarks.append(landmarks[index] + (isUnique[index] ? 1 : 0))
      let inRun = landmarks[index + 1] - landmarks[index + 1 - Int(runs[index])]
      if inRun >= enough { return true }
    }
    return false
  }

  /// Returns the number of landmarks in the run that ends with an old frame, up to `enough`.
  private func landmarks(upTo last: Int) -> Int {
    var found = 0
    var index = last
    while index > last - Int(runs[last]), found < enough {
      if isUnique[index] { found += 1 }
      index -= 1
    }
    return found
  }
}
