internal import EventLoop
internal import StreamCore

/// The position of a listener in the numbers of segments, and the length of the sound missing before it.
///
/// Numbers are common to all versions. Lost sound is measured by the last list that had it.
struct HLSPosition: Sendable {
  /// The current or the next segment; nil before the first.
  private(set) var number: Int?
  /// The seconds of that segment that were received before it failed.
  private(set) var received = 0.0
  /// The version of the segment before, if this one follows from it.
  private(set) var joined: StreamAddress?
  /// The number of failed attempts for the segment, and the moment of the first; nil before a failure.
  private(set) var failures: (count: Int, since: Instant)?
  /// The number of times that the numbers of segments have changed.
  private(set) var renumberings = 0
  /// `true` if the segment may be one received already, or have frames of such a segment.
  private(set) var mayRepeat = false
  /// The seconds missing before the segment.
  private var lost = 0.0
  /// The last list by which the position was adjusted.
  private(set) var known: Known?

  /// A list that was followed.
  struct Known: Sendable {
    var media: HLSMedia
    let version: StreamAddress
    let came: Instant
    /// The moment at which its last segment was first listed.
    var grown: Instant
  }

  /// Begins at a segment, unless there is a position.
  mutating func begin(at start: Int) -> Int {
    let number = number ?? start
    self.number = number
    return number
  }

  /// Returns the missing seconds, once.
  mutating func drainLost() -> Double {
    defer { lost = 0 }
    return lost
  }

  /// Notes that the segment has ended early.
  /// - Parameter seconds: the sound received of it, in all attempts.
  mutating func interrupt(received seconds: Double) { received = seconds }

  /// Notes a failed attempt.
  /// - Returns: the number of failures so far, and the moment of the first.
  mutating func fail(at now: Instant) -> (count: Int, since: Instant) {
    let new = failures.map { ($0.count + 1, $0.since) } ?? (1, now)
    failures = new
    return new
  }

  /// Notes that the segment of a version was received whole.
  mutating func finish(of version: StreamAddress) {
    (number, received, failures, joined) = (number.map { $0 + 1 }, 0, nil, version)
    mayRepeat = false
  }

  /// Leaves the segment out.
  /// - Parameter seconds: the length of the segment.
  mutating func skip(_ seconds: Double) {
    if let number { move(to: number + 1, lost: max(0, seconds - received)) }
  }

  private mutating func move(to number: Int, lost seconds: Double) {
    (self.number, received, failures, joined) = (number, 0, nil, nil)
    lost += seconds
  }

  /// Moves to a segment of a file; no sound is missing.
  mutating func seek(to number: Int) {
    (self.number, received, failures, joined, lost) = (number, 0, nil, nil, 0)
  }

  /// Returns `true` if a list seems to be an older copy of the known one.
  func isOlder(_ media: HLSMedia, of version: StreamAddress, came: Instant) -> Bool {
    guard let number, let known, known.version == version, media.end < number, !known.media.isEnded else {
      return false
    }
    if case .shifted = numbering(of: media, number, known, came: came) { return false }
    return media.end > known.media.sequence
  }

  private func numbering(
    of media: HLSMedia, _ number: Int, _ known: Known, came: Instant
  ) -> HLSNumbering {
    HLSNumbering(
      of: media, after: known.media, next: number, elapsed: known.grown.duration(to: came).inSeconds)
  }

  /// Moves to the next segment that a list has, and measures the lost sound.
  /// - Parameter came: the time at which the list came.
  /// - Returns: `true` if the position has moved.
  mutating func adjust(to media: HLSMedia, of version: StreamAddress, came: Instant) -> Bool {
    let old = known
    known = Known(media: media, version: version, came: came, grown: came)
    guard var number, var old else { return false }
    let elapsed = old.grown.duration(to: came).inSeconds
    var hasMoved = false
    if old.version == version, old.came != came {
      switch numbering(of: media, number, old, came: came) {
      case .same: break
      case .shifted(let shift):
        number += shift
        old.media.sequence += shift
        (self.number, hasMoved) = (number, true)
        renumberings += 1
      case .anew:
        restart(in: media, after: old.media, elapsed: elapsed)
        return true
      }
    }
    if old.media.end == media.end { known?.grown = old.grown }
    if number < media.sequence {
      let seconds = seconds(from: number, to: media, after: old.media, elapsed: elapsed)
      move(to: media.sequence, lost: max(0, seconds - received))
      return true
    }
    // After a move the list may lag for a while.
    if number > media.end, !hasMoved {
      restart(in: media, after: old.media, elapsed: elapsed)
      return true
    }
    return hasMoved
  }

  /// Returns the seconds from a segment to the first of a list.
  private func seconds(
    from number: Int, to media: HLSMedia, after old: HLSMedia, elapsed: Double
  ) -> Double {
    if let date = old.date(of: number), let first = media.segments.first?.date, first >= date,
      media.grown(since: old, in: elapsed) != nil
    {
      return first - date
    }
    let last = min(media.sequence, max(number, old.end))
    let listed = (number..<last).reduce(0) { $0 + (old.segment($1)?.duration ?? 0) }
    // Skipped numbers stand for no more sound than the elapsed time.
    return listed + min(Double(media.sequence - last) * media.average, elapsed + media.targetDuration)
  }

  /// Continues near the end of a list whose numbers have no relation to the received segments: all sound
  /// since then is new, and repeated frames are left out.
  private mutating func restart(in media: HLSMedia, after old: HLSMedia, elapsed: Double) {
    renumberings += 1
    let missing = (number ?? old.end)..<max(number ?? old.end, old.end)
    let listed = missing.reduce(-received) { $0 + (old.segment($1)?.duration ?? 0) }
    let wanted = elapsed + max(0, listed)
    var (held, start) = (0.0, media.end)
    while start > media.sequence, held < wanted + 3 * media.targetDuration {
      start -= 1
      held += media.segment(start)?.duration ?? 0
    }
    move(to: start, lost: max(0, wanted - held))
    mayRepeat = true
  }
}
