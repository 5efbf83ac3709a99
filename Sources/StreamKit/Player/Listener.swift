internal import AudioCore
internal import EventLoop

/// The listener to a stream that plays: decides which clock its position follows.
enum Listener {
  /// No listener: the position follows the loop's clock.
  case none
  /// No session, but a meter or a tap: the sound is decoded, and dropped.
  case metered(Meter)
  /// A session that plays the sound: the position follows what is heard.
  case session(StreamPlayback)
  /// A session in virtual time, whose sound nobody hears: the position follows the loop's clock, or that of the meter.
  case clocked(SilentSession, Meter?)

  /// The player of the sound that is decoded for meters and taps only.
  struct Meter {
    let player: SilentPlayer
    let playback: StreamPlayback
  }

  /// The sound that is decoded; nil where none is.
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

  /// The same listener with a meter, or without one. A session that plays the sound needs none.
  func metered(by meter: Meter?) -> Listener {
    switch self {
    case .none, .metered: meter.map { .metered($0) } ?? .none
    case .session: self
    case .clocked(let session, _): .clocked(session, meter)
    }
  }
}

/// A session in virtual time, whose sound nobody hears and no decoder makes.
struct SilentSession {
  /// Reports whether the sound flows, waits, or has ended.
  let report: (SoundFlow) -> Void
  /// True while the session is paused or suspended.
  let isPaused: Bool
}

/// The play position by a clock: at rest at a time, or moving on from there since a moment.
struct MediaClock {
  private(set) var start = StreamTime.zero
  /// The moment at which the position was at `start`; nil while it is at rest.
  private(set) var since: Instant?

  /// The position at `now`, at most `end`.
  func time(at now: Instant, end: StreamTime?) -> StreamTime {
    since == nil ? start : min(moved(at: now), end ?? start)
  }

  /// The position at `now`, if sound has come by then.
  func moved(at now: Instant) -> StreamTime {
    guard let since else { return start }
    return start + StreamTime(seconds: since.duration(to: now).inSeconds)
  }

  mutating func run(from now: Instant) { since = now }

  mutating func rest(at time: StreamTime) { (start, since) = (time, nil) }

  /// Moves the position; it keeps moving from there, or rests there.
  mutating func move(to time: StreamTime, at now: Instant) {
    start = time
    if since != nil { since = now }
  }
}

extension Stream {
  /// Has a session in virtual time listen, in place of the one that played the sound.
  func play(byClock report: @escaping (SoundFlow) -> Void, isPaused: Bool) {
    guard hasListener else { return }
    halt()
    listener = .clocked(SilentSession(report: report, isPaused: isPaused), nil)
    buffer?.forgetReader()
    runIfFilled()
  }

  /// Applies that the session in virtual time has been paused, or has resumed.
  func silentSession(isPaused: Bool) {
    guard case .clocked(let session, let meter) = listener, session.isPaused != isPaused else { return }
    if isPaused { halt() }
    listener = .clocked(SilentSession(report: session.report, isPaused: isPaused), meter)
    if !isPaused { runIfFilled() }
  }

  /// True if a session or a meter listens.
  var hasListener: Bool { if case .none = listener { false } else { true } }

  /// Ends the sound that has been heard to its end silently: a session in virtual time ends it itself.
  func wasHeard() {
    guard let session = listener.silentSession, buffer?.isFollowed != true else { return finish() }
    halt()
    session.report(.ended())
  }

  private func runIfFilled() {
    if machine.isPlaying, buffer?.isFilling == false { run() }
  }
}
