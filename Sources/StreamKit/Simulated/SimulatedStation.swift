public import HTTP

/// How a station behaves that is only simulated. Times count from the start of the stream that listens to it: every
/// start finds the same programme.
public struct SimulatedStation: Sendable {
  /// What becomes of a request.
  public enum Answer: Sendable, Equatable {
    /// Sound.
    case sound
    /// An HTTP status of 400 or more.
    case status(Int)
    /// Nobody listens there.
    case refusal
    /// The connection is taken, and nothing ever comes.
    case silence
    /// A page of HTML.
    case page
  }

  /// What it sends.
  public enum Content: Sendable {
    /// The frames of a file over and over, at the pace of hearing.
    case programme(StationSound)
    /// The sound file with this path, once: the URL leads to a file and no station.
    case file(String)
  }

  /// A title that it tells.
  public struct Title: Sendable, Equatable {
    /// When.
    public var at: Duration
    /// `StreamTitle`.
    public var text: String
    /// `StreamUrl`.
    public var url: String?

    /// A title from `at` on.
    public init(_ text: String, at: Duration, url: String? = nil) {
      (self.text, self.at, self.url) = (text, at, url)
    }
  }

  /// A connection that is lost.
  public struct Drop: Sendable, Equatable {
    /// When.
    public var at: Duration
    /// For how long nothing can be had.
    public var outage: Duration
    /// What becomes of requests meanwhile: `silence` leaves the connection open that is lost.
    public var answer: Answer

    /// Closes at `at`; whoever connects again in less than `outage` is answered with `answer`.
    public init(at: Duration, outage: Duration = .zero, answer: Answer = .refusal) {
      (self.at, self.outage, self.answer) = (at, outage, answer)
    }

    var end: Duration { at + outage }
  }

  /// What it sends.
  public var content: Content
  /// What it says of itself; kbit/s are those of the sound unless it says otherwise.
  public var name: String?, genre: String?, page: String?, bitRate: Int?
  /// In the order of their times.
  public var titles: [Title] = []
  /// In the order of their times; none begins before the one in front of it has ended.
  public var drops: [Drop] = []
  /// What becomes of every request.
  public var answer = Answer.sound
  /// Who is let in; nil for everybody.
  public var credentials: HTTPCredentials?
  /// What a new listener gets at once; nil for 64 KB, as Icecast sends.
  public var burst: Duration?

  /// A station that sends `content`.
  public init(_ content: Content) { self.content = content }

  /// The drop that lasts at `time`.
  func drop(at time: Duration) -> Drop? { drops.last { $0.at <= time && time < $0.end } }

  /// What becomes of a request at `time`.
  func answer(at time: Duration, to credentials: HTTPCredentials?) -> Answer {
    if let drop = drop(at: time) { return drop.answer }
    if let wanted = self.credentials, wanted != credentials { return .status(401) }
    return answer
  }

  /// The title at `time`.
  func title(at time: Duration) -> Title? { titles.last { $0.at <= time } }
}
