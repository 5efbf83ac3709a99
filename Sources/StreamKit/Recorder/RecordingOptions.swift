public import EventLoop

/// What is recorded, and where to.
public struct RecordingOptions: Sendable {
  /// What files hold.
  public enum Format: String, Sendable, CaseIterable {
    /// The frames as they came.
    case original
    /// Decoded, 16 bits.
    case wav
  }

  /// A file for each title.
  public struct Split: Sendable, Equatable {
    /// How much later than its title a file begins; below zero earlier.
    public var offset = Duration.zero
    /// What a file has of the sound before it begins, and after it ends.
    public var overlap = Duration.zero
    /// Files with less sound are removed when they end, unless nothing else was recorded.
    public var minimumLength = Duration.zero

    /// Cut where the title changes.
    public init() {}
  }

  /// The path of the file with the fields of `RecordingTemplate`.
  public var template: String
  /// Whether what comes goes behind what the file holds already.
  public var appends = false
  /// A file for each title; nil for one file.
  public var split: Split?
  /// Whether files get a tag.
  public var hasTags = true
  /// Ends after so much sound; what is missing counts.
  public var duration: Duration?
  /// Ends then.
  public var until: WallTime?
  /// So much before it, as far as the buffer has that, and after it is recorded too.
  public var (padBefore, padAfter) = (Duration.zero, Duration.zero)
  /// How far back in the buffer it begins.
  public var back = Duration.zero
  /// Whether it goes on in a new file after the disk was full.
  public var resumesWhenSpace = false
  /// What files hold.
  public var format = Format.original
  /// Whether the connection begins anew.
  public var resets = false
  /// Bytes that stay free on the disk.
  public var minimumFree = 0
  /// Whose recording it is, for the catalogue.
  public var job: String?

  /// A recording into `template`.
  public init(template: String) { self.template = template }

  /// True if it may be a file of a server, whose bytes are recorded as they are.
  var takesFile: Bool { split == nil && !appends && format == .original }

  /// When it ends, whatever has come.
  var end: WallTime? { until.map { $0.advanced(by: padAfter) } }
}
