internal import AudioCore
internal import EventLoop
internal import StreamCore

/// The listener to a playing stream: decides which clock its position follows.
enum Listener {
  /// No listener: the position follows the loop's clock.
  case none
  /// No session, but a meter or a tap: the sound is decoded, and dropped.
  case metered(Meter)
  /// A session that plays the sound: the position follows the sound being heard.
  case session(StreamPlayback)
  /// A session in virtual time, whose sound is not heard: the position follows the loop's clock, or that of
  /// the meter.
  case clocked(SilentSession, Meter?)

  /// The player of sound that is decoded only for meters and taps.
  struct Meter {
    let player: SilentPlayer
    let playback: StreamPlayback
  }

  /// The decoded sound; nil if no sound is decoded.
  var playback: StreamPlayback? {
    switch self {
    case .none: nil
    case .session(let playback): playback
    case .metered, .clocked: meter?.playback
    }
  }

  var meter: Meter? {
    switch self {
    case .metered(let meter): meter
    case .clocked(_, let meter): meter
    case .none, .session: nil
    }
  }

  var silentSession: SilentSession? {
    guard case .clocked(let session, _) = self else { return nil }
    return session
  }

  /// Returns the same listener with a meter, or without one. A session that plays the sound needs no meter.
  func metered(by meter: Meter?) -> Listener {
    switch self {
    case .none, .metered: meter.map { .metered($0) } ?? .none
    case .session: self
    case .clocked(let session, _): .clocked(session, meter)
    }
  }
}

/// A session in virtual time, whose sound is neither decoded nor heard.
struct SilentSession {
  /// Reports whether the sound flows, waits, or has ended.
  let report: (SoundFlow) -> Void
  /// `true` while the session is paused or suspended.
  let isPaused: Bool
}

/// The play position by a clock: at rest at a time, or moving from there since a moment.
struct MediaClock {
  private(set) var start = StreamTime.zero
  /// The moment at which the position was at `start`; nil while it is at rest.
  private(set) var since: Instant?

  /// Returns the position at `now`, at most `end`.
  func time(at now: Instant, end: StreamTime?) -> StreamTime {
    since == nil ? start : min(moved(at: now), end ?? start)
  }

  /// Returns the position at `now`, if sound has come by then.
  func moved(at now: Instant) -> StreamTime {
    guard let since else { return start }
    return start + StreamTime(seconds: since.duration(to: now).inSeconds)
  }

  mutating func run(from now: Instant) { since = now }

  mutating func rest(at time: StreamTime) { (start, since) = (time, nil) }

  /// Moves the position; a moving one keeps moving from there.
  mutating func move(to time: StreamTime, at now: Instant) {
    start = time
    if since != nil { since = now }
  }
}

extension Stream {
  /// Makes a session in virtual time the listener, instead of the one that played the sound.
  func play(byClock report: @escaping (SoundFlow) -> Void, isPaused: Bool) {
    guard hasListener else { return }
    halt()
    listener = .clocked(SilentSession(report: report, isPaused: isPaused), nil)
    buffer?.forgetReader()
    runIfFilled()
  }

  /// Notes that the session in virtual time has been paused, or has resumed.
  func silentSession(isPaused: Bool) {
    guard case .clocked(let session, let meter) = listener, session.isPaused != isPaused else { return }
    if isPaused { halt() }
    listener = .clocked(SilentSession(report: session.report, isPaused: isPaused), meter)
    if !isPaused { runIfFilled() }
  }

  /// `true` if a session or a meter listens.
  var hasListener: Bool { if case .none = listener { false } else { true } }

  /// Ends the sound that has been heard silently to its end: a session in virtual time ends it itself.
  func wasHeard() {
    guard let session = listener.silentSession, buffer?.isFollowed != true else { return finish() }
    halt()
    session.report(.ended())
  }

  private func runIfFilled() {
    if machine.isPlaying, buffer?.isFilling == false { run() }
  }
}
