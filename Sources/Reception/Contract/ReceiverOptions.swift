internal import EventLoop
package import HTTP
package import StreamCore

/// The requests of a receiver to servers, and the limits by which it reads their answers.
package struct ReceiverOptions: Sendable {
  package var userAgent = "Roomtone"
  package var credentials: HTTPCredentials?
  package var certificateFile: String?
  package var dataTimeout = Duration.seconds(20)
  /// The encoding of titles that are not UTF-8.
  package var encoding = MetadataEncoding.latin1
  /// The kind of list at the URL; nil to detect it, which never fails for a list that declares its kind.
  package var playlist: Playlist.Format?
  /// `true` if the body counts as sound, whatever it looks like.
  package var isRaw = false
  /// The sound in one read, as a duration.
  package var wakeTime = Duration.milliseconds(250)
  /// `true` if the URL is a file and not a station; nil to detect it.
  package var isFile: Bool?
  /// The sound of a file that is received before it plays, and the limit of sound received ahead of the
  /// player.
  package var fileWait = StreamTime(seconds: 3)
  package var fileLead = StreamTime(seconds: 3)
  /// The most sound that a live server may send ahead of real time before it is held back; nil for no limit.
  var liveLead: StreamTime? = StreamTime(seconds: 20)
  /// The highest rate in kbit/s of the received version of the stream, if there are several.
  package var maxBitRate = 320
  /// The policy of a player for sound that comes too late.
  package var catchUp = CatchUp.skip
  /// The time of deadlines and measurements.
  package var clock = ReceiverClock.loop

  /// Creates the defaults.
  package init() {}

  /// Returns the credentials for the server of `address`, to which `origin` led. Scheme, host and port
  /// decide: any other server receives none, and the same server receives them also if `origin` itself holds
  /// user and password.
  package func credentials(for address: StreamAddress, from origin: StreamAddress) -> HTTPCredentials? {
    guard address.isSameServer(as: origin) else { return nil }
    return credentials ?? (try? HTTPRequest(origin))?.credentials
  }
}

/// The clock by which a receiver waits and measures: that of its loop, or another one, which runs faster or
/// moves only when a test moves it.
package struct ReceiverClock: Sendable {
  /// The time. Called on the thread of the loop.
  let now: @Sendable (EventLoop) -> Instant
  /// The time for which the loop sleeps until a moment; nil when `clockMoved` reports that it may have come.
  let sleep: @Sendable (_ until: Instant, EventLoop) -> Duration?

  /// The clock of the loop.
  package static let loop = ReceiverClock(now: { $0.now }, sleep: { due, loop in loop.now.duration(to: due) })

  /// A clock that runs `factor` times as fast as the clock of the loop.
  static func faster(_ factor: Int) -> ReceiverClock {
    @Sendable func now(_ loop: EventLoop) -> Instant {
      Instant(nanoseconds: loop.now.nanoseconds * Int64(factor))
    }
    return ReceiverClock(now: now, sleep: { due, loop in now(loop).duration(to: due) / factor })
  }

  /// A clock that shows `now` and is moved from outside.
  static func moved(_ now: @escaping @Sendable () -> Instant) -> ReceiverClock {
    ReceiverClock(now: { _ in now() }, sleep: { due, _ in due <= now() ? .zero : nil })
  }
}
