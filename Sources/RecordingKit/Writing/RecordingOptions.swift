public import EventLoop
public import StreamCore

/// The options of a recording: the names and the format of its files, and its times.
public struct RecordingOptions: Sendable, RecordingStart {
  /// The contents of files.
  public enum Format: String, Sendable, CaseIterable {
    /// The frames as received.
    case original
    /// Decoded, 16 bits.
    case wav
  }

  /// The settings of a recording with a file for each title.
  public struct Split: Sendable, Equatable {
    /// The delay between a title and the beginning of its file; negative for an earlier beginning.
    public var offset = Duration.zero
    /// The length of the sound that a file has from before its beginning, and from after its end.
    public var overlap = Duration.zero
    /// The minimum length of sound: shorter files are removed when they end, unless nothing else was
    /// recorded.
    public var minimumLength = Duration.zero

    /// The length of the received sound that may still move to the next file, or be cut off.
    var reach: StreamTime {
      let (offset, overlap) = (StreamTime(offset), StreamTime(overlap))
      let reach = max(.zero, overlap - offset, .zero - offset - overlap)
      return reach > .zero ? reach + StreamTime(seconds: 1) : .zero
    }

    /// Creates settings that cut where the title changes.
    public init() {}
  }

  /// The path of the file with the fields of `RecordingTemplate`.
  public var template: String
  /// `true` if the recording is appended to an existing file.
  public var appends = false
  /// `true` if the recording was cut off with its process or its script: the time since the end of the file
  /// that it appends to is a gap.
  public var continues = false
  /// The settings of a file for each title; nil for one file.
  public var split: Split?
  /// `true` if files get a tag.
  public var hasTags = true
  /// The length of sound after which the recording ends, gaps included; nil for no limit.
  public var duration: Duration?
  /// The time at which the recording ends; nil for no limit.
  public var until: WallTime?
  /// The length of additional sound before the beginning, as far as the buffer holds it, and after the end.
  public var (padBefore, padAfter) = (Duration.zero, Duration.zero)
  /// The length of the buffered sound at the beginning of the recording.
  public var back = Duration.zero
  /// `true` if a full disk only pauses the recording, which resumes in a new file.
  public var resumesWhenSpace = false
  /// The contents of files.
  public var format = Format.original
  /// `true` if the stream connects anew for the recording.
  public var resets = false
  /// The number of bytes that must stay free on the disk.
  public var minimumFree = 0
  /// The job that the recording belongs to, for the catalogue.
  public var job: String?

  /// Creates the options of a recording into `template`.
  public init(template: String) { self.template = template }

  /// `true` if a file of a server may be recorded byte for byte.
  var takesFile: Bool { split == nil && !appends && format == .original }

  /// The time at which the recording ends, whatever was received; nil for no limit.
  var end: WallTime? { until.map { $0.advanced(by: padAfter) } }
}
