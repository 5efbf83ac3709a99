public import HTTP
public import Reception
public import StreamCore

/// The options of the reception and the player of a stream. A change while it plays takes effect at once,
/// unless the option names another time.
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
  /// The size of the buffer in blocks of 5 KiB. From the next `start` on.
  public var bufferBlocks = 1200
  /// The user agent in requests. From the next connection on.
  public var userAgent = "Roomtone"
  /// The longest time without bytes.
  public var dataTimeout = Duration.seconds(20)
  /// The time for which a paused stream is received; zero for ever. A change restarts it.
  public var pauseTimeout = Duration.seconds(300)
  /// The sound that is buffered before it plays; nil for the rule of `PlayerWait`.
  public var bufferWait: Duration?
  /// The policy of a live player for sound that comes too late.
  public var catchUp = CatchUp.skip
  /// `true` if the URL leads to a file and not a station; nil to detect it. From the next `start` on.
  public var isFile: Bool?
  /// The sound of a file that is buffered before it plays.
  public var bufferWaitFile = Duration.seconds(3)
  /// The further sound of a file that may be received ahead before it is held back to real time. From the
  /// next `start` on.
  public var throttleBypass = Duration.zero
  /// The highest rate in kbit/s of the received version of the stream, if there are several (HLS): the best
  /// version up to that rate, else the lowest. From the next connection on.
  public var maxBitRate = 320
  /// The encoding of titles that are not UTF-8. From the next title on.
  public var metadataEncoding = MetadataEncoding.latin1
  /// The user and the password of basic authentication. From the next connection on.
  public var credentials: HTTPCredentials?

  /// A file of certificates that are trusted instead of the system's. From the next connection on.
  public var certificateFile: String?

  /// The clock of its connections.
  var clock = ReceiverClock.loop

  /// Creates the defaults.
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
  /// The name of the station in recordings, if the station sends none.
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
