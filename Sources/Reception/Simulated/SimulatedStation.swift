public import HTTP
public import StreamCore

/// The behaviour of a simulated station. Times count from the start of the stream that listens to it: every
/// start meets the same programme.
public struct SimulatedStation: Sendable {
  /// The answer to a request.
  public enum Answer: Sendable, Equatable {
    /// Sound.
    case sound
    /// An HTTP status of 400 or more.
    case status(Int)
    /// The connection is refused.
    case refusal
    /// The connection is accepted, and no byte ever comes.
    case silence
    /// A page of HTML.
    case page
  }

  /// The body that it sends.
  public enum Content: Sendable {
    /// The frames of a file, repeated in real time.
    case programme(StationSound)
    /// The sound file with this path, once: the URL leads to a file and not a station.
    case file(String)
    /// No sound: every request fails, see `answer`.
    case nothing
  }

  /// A title that it sends.
  public struct Title: Sendable, Equatable {
    /// The time at which it comes.
    public var at: Duration
    /// `StreamTitle`.
    public var text: String
    /// `StreamUrl`.
    public var url: String?

    /// Creates a title from `at` on.
    public init(_ text: String, at: Duration, url: String? = nil) {
      (self.text, self.at, self.url) = (text, at, url)
    }
  }

  /// A connection that is lost.
  public struct Drop: Sendable, Equatable {
    /// The time of the loss.
    public var at: Duration
    /// The time without sound.
    public var outage: Duration
    /// The answer to requests meanwhile: `silence` leaves the lost connection open.
    public var answer: Answer

    /// Creates a loss at `at`; a new connection in less than `outage` is answered with `answer`.
    public init(at: Duration, outage: Duration = .zero, answer: Answer = .refusal) {
      (self.at, self.outage, self.answer) = (at, outage, answer)
    }

    var end: Duration { at + outage }
  }

  /// The body that it sends.
  public var content: Content
  /// The facts that it publishes about itself; without a rate in kbit/s, that of the sound counts.
  public var name: String?, genre: String?, page: String?, bitRate: Int?
  /// The titles, in the order of their times.
  public var titles: [Title] = []
  /// The outages, in the order of their times; they do not overlap.
  public var drops: [Drop] = []
  /// The answer to every request.
  public var answer = Answer.sound
  /// The credentials that it requires; nil for none.
  public var credentials: HTTPCredentials?
  /// The sound that a new listener receives at once; nil for 64 KB, as Icecast sends.
  public var burst: Duration?

  /// Creates a station that sends `content`.
  public init(_ content: Content) { self.content = content }

  /// Returns the drop that lasts at `time`.
  func drop(at time: Duration) -> Drop? { drops.last { $0.at <= time && time < $0.end } }

  /// Returns the answer to a request at `time`.
  func answer(at time: Duration, to credentials: HTTPCredentials?) -> Answer {
    if let drop = drop(at: time) { return drop.answer }
    if let wanted = self.credentials, wanted != credentials { return .status(401) }
    return answer
  }

  /// Returns the title at `time`.
  func title(at time: Duration) -> Title? { titles.last { $0.at <= time } }
}

/// The changes and the outages of a simulated station, in the order of time.
struct StationSchedule {
  /// The events between two calls of `advance`.
  struct Events: Equatable {
    /// `true` if the title may have changed.
    var isChange = false
    /// `true` if connections were closed.
    var closes = false
    /// `true` if no sound came in all that time.
    var isSilent = false
  }

  private let station: SimulatedStation
  private let changes: [Duration]
  private var seen = 0
  private var wasSilent = false

  init(_ station: SimulatedStation) {
    self.station = station
    changes = (station.titles.map(\.at) + station.drops.flatMap { [$0.at, $0.end] }).sorted()
  }

  /// The time of the next event.
  var next: Duration? { seen < changes.count ? changes[seen] : nil }

  /// Returns `true` if open connections bring no sound.
  func isSilent(at time: Duration) -> Bool { station.drop(at: time)?.answer == .silence }

  /// Moves to `time`, and returns the events until then.
  mutating func advance(to time: Duration) -> Events {
    var events = Events()
    while let change = next, change <= time {
      seen += 1
      events.isChange = true
      events.closes = events.closes || station.drops.contains { $0.at == change && $0.answer != .silence }
    }
    let isSilent = isSilent(at: time)
    events.isSilent = wasSilent && isSilent
    wasSilent = isSilent
    return events
  }
}
