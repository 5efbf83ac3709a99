internal import EventLoop

/// The position of a listener in the numbers of segments, and the sound that is missing in front of it.
///
/// Numbers are those of all versions. What lists have lost is measured by the last one that had it.
struct HLSPosition: Sendable {
  /// The segment that is received, or comes next; nil before the first.
  private(set) var number: Int?
  /// Seconds of that segment that were received before it failed.
  private(set) var received = 0.0
  /// The version of the segment in front, if this one follows from it.
  private(set) var joined: StreamAddress?
  /// The attempts for the segment that have failed, and the moment of the first; nil before one has.
  private(set) var failures: (count: Int, since: Instant)?
  /// The number of times that the numbers of segments have begun anew.
  private(set) var numbering = 0
  /// Seconds that are missing in front of the segment.
  private var lost = 0.0
  /// The last list by which the position was adjusted, the time at which it came, and its version.
  private(set) var known: (media: HLSMedia, at: Instant, of: StreamAddress)?

  /// Begins at a segment, unless there is a position.
  mutating func begin(at start: Int) -> Int {
    let number = number ?? start
    self.number = number
    return number
  }

  /// Returns the seconds that are missing, once.
  mutating func drainLost() -> Double {
    defer { lost = 0 }
    return lost
  }

  /// The segment has ended early.
  /// - Parameter seconds: the sound that was received of it, in all attempts.
  mutating func interrupt(received seconds: Double) { received = seconds }

  /// An attempt has failed.
  /// - Returns: the failures so far, and the moment of the first.
  mutating func fail(at now: Instant) -> (count: Int, since: Instant) {
    let new = failures.map { ($0.count + 1, $0.since) } ?? (1, now)
    failures = new
    return new
  }

  /// The segment was received whole, of a version.
  mutating func finish(of version: StreamAddress) {
    (number, received, failures, joined) = (number.map { $0 + 1 }, 0, nil, version)
  }

  /// Leaves the segment out.
  /// - Parameter seconds: its length.
  mutating func skip(_ seconds: Double) {
    if let number { move(to: number + 1, lost: max(0, seconds - received)) }
  }

  private mutating func move(to number: Int, lost seconds: Double) {
    (self.number, received, failures, joined) = (number, 0, nil, nil)
    lost += seconds
  }

  /// Moves to a segment of a file; nothing is missing.
  mutating func seek(to number: Int) {
    (self.number, received, failures, joined, lost) = (number, 0, nil, nil, 0)
  }

  /// Returns true if the numbers of a list began anew: it ends in front of all that the last one had.
  func isRestart(_ media: HLSMedia) -> Bool {
    guard let known else { return false }
    return media.end <= known.media.sequence || known.media.isEnded
  }

  /// Moves to where a list has the next segment, and measures what is lost.
  /// - Parameter came: the time at which the list came.
  /// - Returns: true if the position has moved.
  mutating func adjust(to media: HLSMedia, of version: StreamAddress, came: Instant) -> Bool {
    let old = known
    known = (media, came, version)
    guard let number, let old else { return false }
    let elapsed = old.at.duration(to: came).inSeconds
    if number < media.sequence {
      var seconds = -received
      let last = min(media.sequence, max(number, old.media.end))
      for lost in number..<last { seconds += old.media.segment(lost)?.duration ?? 0 }
      if media.sequence > last {
        let average = media.segments.isEmpty ? 0 : media.duration / Double(media.segments.count)
        // Numbers that jump are no sound.
        seconds += min(Double(media.sequence - last) * average, elapsed + media.targetDuration)
      }
      move(to: media.sequence, lost: max(0, seconds))
      return true
    }
    if number > media.end || old.of == version && isReplaced(old.media, by: media) {
      // All that came since then is new.
      numbering += 1
      var (held, start) = (0.0, media.end)
      while start > media.sequence, held < elapsed + 3 * media.targetDuration {
        start -= 1
        held += media.segment(start)?.duration ?? 0
      }
      move(to: start, lost: max(0, elapsed - held))
      return true
    }
    return false
  }

  /// Returns true if a list has another segment under a number.
  private func isReplaced(_ old: HLSMedia, by media: HLSMedia) -> Bool {
    let number = min(old.end, media.end) - 1
    guard let one = old.segment(number), let other = media.segment(number), one.range == nil else {
      return false
    }
    return one.fileName != other.fileName
  }
}
