public import EventLoop
internal import HTTP
public import Home
internal import LuaRuntime
public import SpeakerKit
public import StreamKit

/// What a person who listens to a station wants to know.
public enum StreamNews {
  /// A title is heard.
  case title(String)
  /// A connection failed; another one follows by itself, unless it was the first.
  case failure(any CodedError)
  /// Sound comes again; so many seconds are missing.
  case reconnected(gap: Double)
}

/// What a person who records wants to know. Paths begin at the folder of recordings.
public enum RecordingNews {
  /// Sound goes into a file.
  case began(path: String)
  /// It is over, with so much sound.
  case finished(path: String, seconds: Double)
  /// It did not begin, or can't go on.
  case failed(path: String, any CodedError)
}

/// What the streams of all scripts of an engine share: the network thread, which begins with the first of them, or the
/// stations of a simulation. Confined to the loop.
public final class StreamService {
  private let loop: EventLoop
  private let stations: SimulatedStations
  /// Stations of the configuration.
  let named: NamedStations
  private var thread: NetworkThread?
  /// Takes what a stream of a script tells, and the session that plays it.
  public var onNews: (StreamNews, Session?) -> Void = { _, _ in }
  /// Takes what a recording of a script tells.
  public var onRecording: (RecordingNews) -> Void = { _ in }
  /// What plays without a script.
  private var playing: ScriptStream?

  /// No thread yet.
  /// - Parameters:
  ///   - stations: those of a simulation, where time is virtual.
  ///   - named: those that can be called by name.
  public init(
    loop: EventLoop, stations: SimulatedStations = SimulatedStations(), named: NamedStations = NamedStations()
  ) { (self.loop, self.stations, self.named) = (loop, stations, named) }

  /// Where streams come from.
  var source: StreamSource {
    loop.isVirtual ? .simulation(stations) : .network { [unowned self] in try network() }
  }

  /// The thread that receives.
  /// - Throws: `http.system` when the system gives no thread.
  private func network() throws -> NetworkThread {
    if let thread { return thread }
    let new = try NetworkThread()
    thread = new
    return new
  }

  /// Has `onNews` told of a script's stream: of the failures of one outage the first of each kind.
  func follow(_ stream: ScriptStream) {
    var failure: String?
    stream.onNews = { [weak self, weak stream] event in
      guard let self else { return }
      let session = stream?.playing?.session
      switch event {
      case .metadata(let title, isRealtime: false): onNews(.title(title.text), session)
      case .failed(let error):
        guard error.code != failure else { return }
        failure = error.code
        onNews(.failure(error), session)
      case .reconnected(let gap, _, _):
        failure = nil
        onNews(.reconnected(gap: gap), session)
      case .started, .stopped: failure = nil
      default: break
      }
    }
  }

  /// A stream at `url`, or of the station of this name, for who has no script; nothing is connected.
  /// - Throws: `stream.url`, `stream.unsupported`.
  public func stream(_ url: String) throws(StreamError) -> StreamKit.Stream {
    let stream = try StreamKit.Stream(
      url: try named.url(url), options: try named.options(for: url), loop: loop, source: source)
    if named.urls[url] != nil { stream.nickname = url }
    return stream
  }

  /// Plays the station at `url`, or of this name, on a session, without a script. Returns when it is heard; it ends with `stop` of the
  /// session, and with the house.
  /// - Parameter told: takes each title that is heard, and each failure of a connection, on the loop.
  /// - Throws: `StreamError`, `SpeakerError`.
  public func play(
    _ url: String, on session: Session, of house: House, told: @escaping (StreamNews) -> Void
  ) async throws {
    let stream = ScriptStream(
      try StreamKit.Stream(
        url: try named.url(url), options: try named.options(for: url), loop: loop, source: source), loop: loop
    )
    _ = stream.listen(to: "metadata") { [weak stream] _ in
      if let title = stream?.stream.title { told(.title(title.text)) }
    }
    try session.requireMembers()
    playing = stream
    try await stream.play(on: session, of: house, title: nil, priority: nil, isOwn: true)
    // What the first connection fails with is thrown.
    stream.onFailure = { told(.failure($0)) }
  }

  /// Ends the thread, and with it all that is received.
  public func close() {
    playing?.stream.stop()
    playing = nil
    thread?.close()
    thread = nil
  }
}
