internal import EventLoop

/// The settings of the driver `snapcast`.
public struct SnapcastSettings: Sendable, Equatable {
  /// Name or address of the machine of the snapserver.
  public var host = "127.0.0.1"
  /// TCP port of its JSON-RPC control.
  public var port = 1705
  /// `true` if the network is searched for a snapserver, and `host` and `port` hold where none is found.
  public var isSearched = false
  /// `true` if the host starts a snapserver of its own, on loopback, and ends it.
  public var isManaged = false
  /// The names of the streams that sessions play through begin so.
  public var streams = "roomtone-"
  /// The buffer of the snapserver: the time between its source and the ear.
  public var buffer = Duration.seconds(1)
  /// Sessions at a time of a snapserver that the host starts.
  public var sessions = 4

  /// Maximum number of sessions at a time.
  public static let mostSessions = 32
  /// Bytes that names of streams consist of.
  public static let streamBytes = Set(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.".utf8)

  /// A snapserver on this machine with its default ports.
  public init() {}

  /// The snapserver that the network is searched for, else one on this machine.
  public static var searched: SnapcastSettings {
    var settings = SnapcastSettings()
    settings.isSearched = true
    return settings
  }

  /// Returns the lines of `snapserver.conf` that declare the streams of so many sessions, and one that stays idle: the
  /// first one, which new clients are put on.
  /// - Parameter ports: the ports on loopback at which the snapserver expects the sound of the streams, one more than
  ///   sessions.
  public func sources(ports: [Int]) -> [String] {
    ports.enumerated().map { index, port in
      "source = tcp://127.0.0.1:\(port)?name=\(streams)\(index == 0 ? "idle" : "\(index)")"
        + "&mode=server&sampleformat=48000:16:2&codec=flac"
    }
  }
}

/// The streams of a snapserver that sessions play through.
struct SnapcastPool: Equatable {
  /// The stream that speakers without a session are put on, where nothing sounds.
  let idle: String
  /// The streams of the sessions, in the order of their ids.
  let sessions: [SnapcastStream]

  /// Finds the streams whose names begin with `prefix`, in the order of the server; the idle one is called `idle`
  /// behind it, or is the last one.
  /// - Throws: `speaker.no_stream` when there are fewer than two.
  init(_ streams: [SnapcastStream], prefix: String) throws(SpeakerError) {
    var own = streams.filter { $0.id.hasPrefix(prefix) }
    guard own.count >= 2 else {
      throw SpeakerError(
        .noStream,
        "the snapserver has \(own.count) streams whose names begin with \(quoted(prefix)); two or more are required, "
          + "as one of them stays idle", hint: Self.hint)
    }
    let place = own.firstIndex { $0.id == prefix + "idle" } ?? own.count - 1
    idle = own.remove(at: place).id
    sessions = Array(own.prefix(SnapcastSettings.mostSessions))
  }

  /// Returns the session of a stream; nil for a stream of none.
  func session(of stream: String) -> SessionID? { sessions.firstIndex { $0.id == stream } }

  static let hint = "`roomtone snapserver-config` prints the lines for more streams in snapserver.conf"
}
