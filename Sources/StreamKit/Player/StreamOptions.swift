public import HTTP

/// The options of the reception and the player of a stream. A change while it plays takes effect at once, unless the
/// option names another time.
public struct StreamOptions: Sendable {
  /// The kind of the URL's content.
  public enum Kind: String, Sendable, CaseIterable {
    /// The kind is detected.
    case auto
    /// Sound, whatever it looks like.
    case raw
    /// A list.
    case pls, m3u
  }

  /// The kind of the URL's content. From the next connection on.
  public var kind = Kind.auto
  /// Blocks of 5 KiB that the buffer has. From the next `start` on.
  public var bufferBlocks = 1200
  /// The user agent in requests. From the next connection on.
  public var userAgent = "Roomtone"
  /// The longest that nothing may come.
  public var dataTimeout = Duration.seconds(20)
  /// The time for which it is received while it is paused; zero for ever. Counts anew when it is changed.
  public var pauseTimeout = Duration.seconds(300)
  /// Sound that is buffered before it plays; nil for the rule of `PlayerWait`.
  public var bufferWait: Duration?
  /// The policy of a live player for sound that comes too late.
  public enum CatchUp: String, Sendable, CaseIterable {
    /// Plays what comes first, and is live again.
    case skip
    /// Plays all that still comes, later.
    case keep
  }
  /// The policy of a live player for sound that comes too late.
  public var catchUp = CatchUp.skip
  /// True if the URL leads to a file and no station; nil to detect it. From the next `start` on.
  public var isFile: Bool?
  /// The sound of a file that is buffered before it plays.
  public var bufferWaitFile = Duration.seconds(3)
  /// The sound of a file ahead of that before it is held back to the pace at which it is heard. From the next `start`
  /// on.
  public var throttleBypass = Duration.zero
  /// The highest rate in kbit/s of a version of the stream that is received where there are several (HLS): the best of
  /// at most that, else the lowest. From the next connection on.
  public var maxBitRate = 320
  /// The encoding of titles that are not UTF-8. From the next title on.
  public var metadataEncoding = MetadataEncoding.latin1
  /// The user and the password of basic authentication. From the next connection on.
  public var credentials: HTTPCredentials?

  /// A file of certificates that are trusted in place of the system's. From the next connection on.
  public var certificateFile: String?

  /// The clock of its connections.
  var clock = ReceiverClock.loop

  /// The defaults.
  public init() {}
}

/// The origin of a stream's sound.
enum StreamOrigin: Sendable {
  case server(StreamAddress)
  /// The path of a file of this machine.
  case file(String)
}

/// The origin of a stream with its options.
struct StreamTarget {
  var origin: StreamOrigin
  /// The name of the station in recordings, where it has none of its own.
  var nickname: String?
  var options: StreamOptions

  /// The address; nil for a file of this machine.
  var address: StreamAddress? {
    guard case .server(let address) = origin else { return nil }
    return address
  }

  /// The URL without user and password, or the path.
  var url: String {
    switch origin {
    case .server(let address): address.url
    case .file(let path): path
    }
  }

  /// The URL as it is shown, or the path.
  var shownURL: String {
    switch origin {
    case .server(let address): address.description
    case .file(let path): path
    }
  }
}
