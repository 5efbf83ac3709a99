public import EventLoop

/// What the catalogue knows of one recording.
public struct RecordingEntry: Sendable, Equatable {
  /// What became of it.
  public enum State: String, Sendable, CaseIterable {
    /// It is being written, or its process ended while it was.
    case recording
    /// It is complete, and being copied behind the file that it continues.
    case joining
    /// It came to its end.
    case finished
    /// Its process ended while it was written; what was on disk was made a file.
    case recovered
    /// It was given up with `error`; what was on disk was made a file, if there was anything.
    case failed
    /// Its process ended while it was written, and nobody has made a file of it yet. Found when recordings are listed,
    /// never kept.
    case interrupted
  }
  /// Sound that never came.
  public struct Gap: Sendable, Equatable {
    /// Where it would stand in the recording, in seconds.
    public var at: Double
    /// How much is missing, in seconds.
    public var seconds: Double

    /// A gap at `at`.
    public init(at: Double, seconds: Double) { (self.at, self.seconds) = (at, seconds) }
  }
  /// A title of the station.
  public struct Title: Sendable, Equatable {
    /// Where it begins in the recording, in seconds.
    public var at: Double
    /// Its text, as the station sent it.
    public var text: String

    /// A title from `at` on.
    public init(at: Double, text: String) { (self.at, self.text) = (at, text) }
  }

  /// Its number in the catalogue, 0 before it is there. Of no meaning elsewhere, and not in any order.
  public internal(set) var id: Int64 = 0
  /// Where the file is, or will be when it is closed.
  public var path: String
  /// Where it is written, while there is such a file.
  public var part: String?
  /// What the station calls itself, or is called here.
  public var station: String?
  /// Where it was received from, without a password.
  public var url: String
  /// When its first frame came.
  public var start: WallTime
  /// "mp3", "aac", "wav" and so on.
  public var codec: String
  /// In Hz.
  public var sampleRate: Int
  /// How many.
  public var channels: Int
  /// Its length in PCM frames.
  public var samples: Int
  /// Its length in bytes of audio: without a tag.
  public var bytes: Int
  /// Where sound is missing, in order; more come while it is recorded.
  public var gaps: [Gap]
  /// The titles, in order; more come while it is recorded.
  public var titles: [Title]
  /// What became of it.
  public var state: State
  /// Why it failed, or stopped for a while, in one line.
  public var error: String?
  /// The length in bytes of the file that it continues; nil when it is a file of its own.
  public var joinBase: Int?
  /// The job that it belongs to.
  public var job: String?

  /// A recording that begins.
  public init(
    path: String, part: String?, station: String? = nil, url: String, start: WallTime, codec: String,
    sampleRate: Int, channels: Int, samples: Int = 0, bytes: Int = 0, gaps: [Gap] = [], titles: [Title] = [],
    state: State = .recording, error: String? = nil, joinBase: Int? = nil, job: String? = nil
  ) {
    (self.path, self.part, self.station, self.url, self.start) = (path, part, station, url, start)
    (self.codec, self.sampleRate, self.channels) = (codec, sampleRate, channels)
    (self.samples, self.bytes, self.gaps, self.titles) = (samples, bytes, gaps, titles)
    (self.state, self.error, self.joinBase, self.job) = (state, error, joinBase, job)
  }

  /// Its length in seconds of sound.
  public var seconds: Double { sampleRate > 0 ? Double(samples) / Double(sampleRate) : 0 }

  /// One recording of `earlier` and this, which was copied behind it.
  func continuing(_ earlier: RecordingEntry) -> RecordingEntry {
    var whole = self
    let offset = earlier.seconds
    whole.start = earlier.start
    whole.station = earlier.station ?? station
    whole.samples = earlier.samples &+ samples
    whole.bytes = earlier.bytes &+ bytes
    whole.gaps = earlier.gaps + gaps.map { Gap(at: $0.at + offset, seconds: $0.seconds) }
    whole.titles = earlier.titles + titles.map { Title(at: $0.at + offset, text: $0.text) }
    return whole
  }

  /// The same with other sound, of which nothing but its length is known.
  func withSound(samples: Int, bytes: Int) -> RecordingEntry {
    var other = self
    (other.samples, other.bytes, other.gaps, other.titles) = (samples, bytes, [], [])
    return other
  }
}
