public import EventLoop

/// The row of one recording in the catalogue.
public struct RecordingEntry: Sendable, Equatable {
  /// The state of a recording.
  public enum State: String, Sendable, CaseIterable {
    /// Being written, or left open by a process that ended.
    case recording
    /// Complete, and being appended to the file that it continues.
    case joining
    /// Ended as planned.
    case finished
    /// Recovered: the bytes on disk became a file, after its process ended.
    case recovered
    /// Given up with `error`; the bytes on disk, if any, became a file.
    case failed
    /// Left open by a process that ended, and not made a file yet. Found when recordings are listed, never
    /// stored.
    case interrupted
  }
  /// A gap: sound that never came.
  public struct Gap: Sendable, Equatable {
    /// The position in the recording, in seconds.
    public var at: Double
    /// The length of the gap in seconds.
    public var seconds: Double

    /// Creates a gap at `at`.
    public init(at: Double, seconds: Double) { (self.at, self.seconds) = (at, seconds) }
  }
  /// A title of the station.
  public struct Title: Sendable, Equatable {
    /// The position in the recording at which it begins, in seconds.
    public var at: Double
    /// The text, as the station sent it.
    public var text: String

    /// Creates a title from `at` on.
    public init(at: Double, text: String) { (self.at, self.text) = (at, text) }
  }

  /// The number in the catalogue, 0 before it is entered. Random: it has no meaning elsewhere, and no order.
  public internal(set) var id: Int64 = 0
  /// The path of the file, which exists once it is closed.
  public var path: String
  /// The path of the part, while it exists.
  public var part: String?
  /// The name of the station, its own or the local one.
  public var station: String?
  /// The URL of the station, without a password.
  public var url: String
  /// The time of the first frame.
  public var start: WallTime
  /// The codec: "mp3", "aac", "wav" and so on.
  public var codec: String
  /// The sample rate in Hz.
  public var sampleRate: Int
  /// The number of channels.
  public var channels: Int
  /// The length in PCM frames.
  public var samples: Int
  /// The length in bytes of audio, without a tag.
  public var bytes: Int
  /// The seconds by which its sound was ahead of the clock at its end, gaps included: the lead from a burst,
  /// less the lag of the station.
  public var lead = 0.0
  /// The gaps, in order; more are added while it is recorded.
  public var gaps: [Gap]
  /// The titles, in order; more are added while it is recorded.
  public var titles: [Title]
  /// The state.
  public var state: State
  /// The reason of a failure or a pause, in one line.
  public var error: String?
  /// The length in bytes of the file that it continues; nil for a file of its own.
  public var joinBase: Int?
  /// The job that the recording belongs to.
  public var job: String?

  /// Creates the row of a recording that begins.
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

  /// The length in seconds of sound.
  public var seconds: Double { sampleRate > 0 ? Double(samples) / Double(sampleRate) : 0 }

  /// The time at which the end of its sound was due: nothing is missing between it and later sound that is
  /// due then.
  var end: WallTime {
    start.advanced(by: Duration(inSeconds: gaps.reduce(seconds) { $0 + $1.seconds } - lead))
  }

  /// Returns one row for `earlier` and this recording, which was appended to it.
  func continuing(_ earlier: RecordingEntry) -> RecordingEntry {
    var whole = self
    let offset = earlier.seconds
    whole.start = earlier.start
    whole.station = earlier.station ?? station
    whole.samples = earlier.samples &+ samples
    whole.bytes = earlier.bytes &+ bytes
    whole.gaps = earlier.gaps + gaps.map { Gap(at: $0.at + offset, seconds: $0.seconds) }
    // A station repeats its title to each listener.
    let isSameTitle = titles.first.map { $0.at == 0 && $0.text == earlier.titles.last?.text } ?? false
    whole.titles =
      earlier.titles + titles.dropFirst(isSameTitle ? 1 : 0).map { Title(at: $0.at + offset, text: $0.text) }
    whole.lead = 0
    whole.lead = end.duration(to: whole.end).inSeconds
    return whole
  }

  /// Returns the row with other sound, of which only the length is known.
  func withSound(samples: Int, bytes: Int) -> RecordingEntry {
    var other = self
    (other.samples, other.bytes, other.gaps, other.titles) = (samples, bytes, [], [])
    return other
  }
}
