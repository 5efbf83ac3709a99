public import EventLoop
internal import Glibc

/// The settings of the driver `snapcast`.
public struct SnapcastSettings: DriverKind, Equatable {
  /// The name or address of the machine of the snapserver.
  public var host = "127.0.0.1"
  /// The TCP port of its JSON-RPC control.
  public var port = 1705
  /// `true` if the network is searched for a snapserver, and `host` and `port` hold where none is found.
  public var isSearched = false
  /// `true` if the host starts a snapserver of its own, on loopback, and ends it.
  public var isManaged = false
  /// The prefix of the names of the streams that sessions play through.
  public var streams = "roomtone-"
  /// The buffer of the snapserver: the time between its source and the ear.
  public var buffer = Duration.seconds(1)
  /// Sessions at a time of a snapserver that the host starts.
  public var sessions = 4
  /// The limits of speakers, by their ids or names.
  public var limits: [String: SpeakerLimit] = [:]

  /// The maximum number of sessions at a time.
  public static let mostSessions = 32
  /// Bytes that names of streams consist of.
  private static let streamBytes = Set(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.".utf8)

  /// A snapserver on this machine with its default ports.
  public init() {}

  /// Returns the lines of `snapserver.conf` that declare the streams of the sessions, and one that stays
  /// idle: the first one, which new clients are put on.
  /// - Parameter ports: the ports on loopback at which the snapserver expects the sound of the streams, one more than
  ///   sessions.
  public func sources(ports: [Int]) -> [String] {
    ports.enumerated().map { index, port in
      "source = tcp://127.0.0.1:\(port)?name=\(streams)\(index == 0 ? "idle" : "\(index)")"
        + "&mode=server&sampleformat=48000:16:2&codec=flac"
    }
  }
}

extension SnapcastSettings {
  /// The name in the configuration: `"snapcast"`.
  public static let name = "snapcast"
  /// The address of the snapserver, and its streams.
  public static let options = [
    DriverOption("host", .name), DriverOption("port", .int(1...65_535)), DriverOption("managed", .bool),
    DriverOption("streams", .name), DriverOption("buffer", .duration),
    DriverOption("sessions", .int(1...mostSessions)), SpeakerLimit.speakers,
  ]
  /// The names of the capabilities.
  public static let capabilities: Set<String> = [
    "volume", "mute", "join", "play", "pause", "seek", "loop", "sessions", "rename", "group", "refresh",
    "gain", "fade", "equalizer", "interrupt", "snapshot",
  ]
  /// The server is a snapserver.
  public static let server: String? = "snapserver"
  /// The snapserver keeps levels and mutes.
  public static let memory = LevelMemory.server

  /// Reads the address of the snapserver, and its streams.
  /// - Throws: errors of `options`.
  public init(_ options: DriverOptions) throws {
    isManaged = try options.value("managed") ?? false
    let host: String? = try options.value("host")
    if let host {
      guard !isManaged else {
        throw options.problem(
          "host", "a snapserver of the host's own listens on loopback alone; leave it out")
      }
      guard !host.isEmpty, host.utf8.count <= 253, !host.contains(where: \.isWhitespace) else {
        throw options.problem(
          "host", "the name or the address of a machine expected, as in \"192.0.2.7\"")
      }
      self.host = host
    }
    let port: Int? = try options.value("port")
    isSearched = !isManaged && port == nil && host == nil
    self.port = port ?? self.port
    if let streams: String = try options.value("streams") {
      guard !streams.isEmpty, streams.utf8.allSatisfy({ Self.streamBytes.contains($0) }) else {
        throw options.problem(
          "streams", "the beginning of the names of streams expected: letters, digits, '-', '_' and '.'")
      }
      self.streams = streams
    }
    if let buffer: Duration = try options.value("buffer") {
      guard (.milliseconds(100) ... .seconds(10)).contains(buffer) else {
        throw options.problem("buffer", "0.1 s to 10 s expected: that of snapserver.conf, or 1 s")
      }
      self.buffer = buffer
    }
    limits = try SpeakerLimit.byName(options)
    if let sessions: Int = try options.value("sessions") {
      guard isManaged else {
        throw options.problem(
          "sessions", "snapserver.conf declares the streams; this is for managed = true",
          hint: "`roomtone snapserver-config \(sessions)` prints its lines")
      }
      self.sessions = sessions
    }
  }

  /// Returns the snapserver that the network is searched for, else one on this machine.
  public static func usual() -> SnapcastSettings {
    var settings = SnapcastSettings()
    settings.isSearched = true
    return settings
  }

  /// The driver, and the address of the snapserver.
  public var outputText: String {
    isManaged ? "a snapserver of the host's own" : "snapcast at \(host) port \(port)"
  }

  /// Creates the driver of the snapserver's house.
  public func makeDriver(_ context: DriverContext) -> any Driver { SnapcastDriver(context, self) }

  /// Connects to the snapserver, reads its state and hangs up; for one of the host's own, looks for the program.
  public func probe() throws(SpeakerError) -> ServerState {
    guard !isManaged else {
      let folders = (getenv("PATH").map { String(cString: $0) } ?? "/usr/bin").split(separator: ":")
      guard folders.contains(where: { access("\($0)/snapserver", X_OK) == 0 }) else {
        throw SpeakerError(.lost, "there is no snapserver to start", hint: "apt-get install snapserver")
      }
      return ServerState(text: "started by the host when the house opens")
    }
    return try SnapcastDriver.probe("snapserver", limits: limits) {
      SnapcastDriver($0, self)
    } _: { driver, devices in
      "answers at \(driver.address.text): \(devices.count) clients, \(devices.count(where: \.isAvailable)) "
        + "connected; streams for \(driver.sessionLimit) sessions"
    }
  }
}

/// The streams of a snapserver that sessions play through.
struct SnapcastPool: Equatable {
  /// The stream that speakers without a session are put on, where nothing sounds.
  let idle: String
  /// The streams that sessions sound on, in the order of their numbers.
  let sessions: [SnapcastStream]

  /// Finds the streams whose names begin with `prefix`, in the order of the server; the idle one is that with
  /// the name `idle` after the prefix, or else the last one.
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

  /// Returns the number of a stream; nil for one that no session sounds on.
  func session(of stream: String) -> DriverStream? { sessions.firstIndex { $0.id == stream } }

  static let hint = "`roomtone snapserver-config` prints the lines for more streams in snapserver.conf"
}
