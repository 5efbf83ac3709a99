internal import EventLoop
internal import StreamCore

/// Decides when a transfer is not read: while a live server is too far ahead, and while recordings wait for a
/// disk.
struct TransferPause: Sendable {
  private var throttle = LiveThrottle()
  private var waitsForDisk = false

  /// `true` while reading is paused.
  var isHolding: Bool { throttle.isHolding || waitsForDisk }
  /// The moment at which the server is no longer too far ahead; nil if reading is not paused for that.
  var end: Instant? { throttle.isHolding ? throttle.end : nil }

  /// Adds sound that was read.
  mutating func add(_ audio: StreamTime, at now: Instant) { throttle.add(audio, at: now) }

  /// Pauses if a pause is due.
  /// - Parameters:
  ///   - limit: the greatest lead of the sound over the elapsed time; nil for no limit.
  ///   - isDiskBehind: `true` if recorded sound waits for a disk.
  /// - Returns: `isHolding`.
  mutating func hold(above limit: StreamTime?, isDiskBehind: Bool, at now: Instant) -> Bool {
    if isDiskBehind { waitsForDisk = true }
    if let limit { _ = throttle.hold(above: limit, at: now) }
    return isHolding
  }

  /// - Returns: `true` if reading resumes.
  mutating func timePassed(at now: Instant) -> Bool {
    guard throttle.isHolding, now >= throttle.end else { return false }
    throttle.isHolding = false
    return !isHolding
  }

  /// Ends the wait for disks: the recorded sound is on them.
  /// - Returns: `true` if reading resumes.
  mutating func diskHasRoom() -> Bool {
    guard waitsForDisk else { return false }
    waitsForDisk = false
    return !isHolding
  }

  /// Resets the pause: the transfer has ended.
  mutating func release() { (throttle.isHolding, waitsForDisk) = (false, false) }
}

/// Holds back a live server that sends faster than real time: the sound read from one connection keeps a
/// limited lead over the elapsed time.
struct LiveThrottle: Sendable {
  /// The moment at which reading resumes, while `isHolding`.
  private(set) var end = Instant.start
  /// `true` while reading is paused.
  var isHolding = false
  private var first: Instant?
  private var audio = StreamTime.zero

  /// Adds sound that was read.
  mutating func add(_ audio: StreamTime, at now: Instant) {
    if first == nil { first = now }
    self.audio = self.audio + audio
  }

  /// Pauses if the sound is more than `limit` ahead, until half a second of it is needed again.
  /// - Returns: `isHolding`.
  mutating func hold(above limit: StreamTime, at now: Instant) -> Bool {
    guard let first, !isHolding else { return isHolding }
    let lead = audio.seconds - first.duration(to: now).inSeconds
    guard lead > limit.seconds else { return false }
    isHolding = true
    end = now.advanced(by: Duration(inSeconds: lead - limit.seconds + min(0.5, limit.seconds / 2)))
    return true
  }
}
