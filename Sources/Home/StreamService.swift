public import EventLoop
public import HTTP
internal import JSONText
public import Playback
public import Reception
public import SpeakerKit
public import StreamCore

/// An event of a station, for a person who listens to it.
public enum StationEvent {
  /// A title is heard.
  case title(String)
  /// A connection failed; another one follows by itself, unless it was the first.
  case failed(any CodedError)
  /// Sound comes again, with a gap of that many seconds.
  case reconnected(gap: Double)
}

/// The streams of an engine, for scripts and commands: they share the network thread, which begins with the first of
/// them, or the stations of a simulation. Confined to the loop.
public final class StreamService {
  let loop: EventLoop
  private let stations: SimulatedStations
  /// The stations of the configuration.
  public let named: NamedStations
  private var thread: NetworkThread?
  private var followed: [Followed] = []
  /// The number of followed streams at which those that are gone are removed: a constant share of the work for each.
  private var followedLimit = 64

  /// A stream that is reported to the journal.
  private struct Followed { weak var stream: HouseStream? }
  /// The journal of the streams that are followed; nil without one.
  public var journal: Journal?

  /// Creates a service; its thread begins with the first stream.
  /// - Parameters:
  ///   - stations: the stations of a simulation, where time is virtual.
  ///   - named: the stations that can be called by name.
  public init(
    loop: EventLoop, stations: SimulatedStations = SimulatedStations(), named: NamedStations = NamedStations()
  ) { (self.loop, self.stations, self.named) = (loop, stations, named) }

  private var source: StreamSource {
    loop.isVirtual ? .simulation(stations) : .network { [unowned self] in try network() }
  }

  /// The network thread, which receives the streams.
  /// - Throws: `http.system` when the system gives no thread.
  public func network() throws -> NetworkThread {
    if let thread { return thread }
    let new = try NetworkThread()
    thread = new
    return new
  }

  // MARK: Making

  /// Makes a stream of a station; nothing is connected.
  /// - Parameters:
  ///   - given: a URL, or the name of a station.
  ///   - options: the options; nil for those of the station.
  /// - Throws: `stream.url`, `stream.unsupported`, `stream.auth`.
  public func stream(_ given: String, options: StreamOptions? = nil) throws(StreamError) -> HouseStream {
    let options = if let options { options } else { try named.options(for: given) }
    return stream(try named.station(given), options: options)
  }

  /// Makes a stream of a station; nothing is connected.
  func stream(_ station: NamedStations.Station, options: StreamOptions) -> HouseStream {
    let stream = Playback.Stream(at: station.address, options: options, loop: loop, source: source)
    stream.nickname = station.name
    return HouseStream(stream, loop: loop)
  }

  /// Makes a stream of a file of this machine; the file is not opened.
  public func stream(file path: String, options: StreamOptions) -> HouseStream {
    HouseStream(Playback.Stream(file: path, options: options, loop: loop, source: source), loop: loop)
  }

  // MARK: Following

  /// Reports a stream to the journal: its titles, gaps and changes, and the first failure of each kind in one
  /// outage.
  public func follow(_ stream: HouseStream) {
    if followed.count >= followedLimit {
      followed.removeAll { $0.stream == nil }
      followedLimit = max(64, 2 * followed.count)
    }
    followed.append(Followed(stream: stream))
    stream.stream.onChange { [weak self, weak stream] change in
      switch change {
      case .gain(let gain): self?.report(.gain, stream, to: .decimal(gain), [.init("stream", true)])
      case .position(let seconds) where abs(seconds) >= 0.05:
        self?.report(.seek, stream, [.init("by", .decimal(seconds))])
      case .position: break
      }
    }
    journal?.report(.source, stream.stream.url, to: .number(0))
    var failure: String?
    stream.listen { [weak self, weak stream] event in
      guard let self, case .stream(let event) = event else { return }
      if let stream, event.meansSound { journal?.report(.source, stream.stream.url, to: .number(1)) }
      switch event {
      case .metadata(let title, isRealtime: false): report(.title, stream, to: .text(title.text))
      case .failed(let error):
        guard error.code != failure else { return }
        failure = error.code
        report(.error, stream, detail: error.message, [.init("code", .string(error.code))])
      case .reconnected(let gap, _, _):
        failure = nil
        report(.reconnect, stream, [.init("gap", .decimal(gap))])
      case .started, .stopped: failure = nil
      default: break
      }
    }
  }

  /// Returns the title that the station of a followed stream has sent for the sound that a session plays; nil without one.
  public func title(heardIn session: Session) -> String? {
    followed.lazy.compactMap(\.stream).first { $0.session === session }?.stream.title?.text
  }

  /// Reports an event of a stream and the session that plays it.
  private func report(
    _ kind: JournalEntry.Kind, _ stream: HouseStream?, to: JournalEntry.Value = .none, detail: String? = nil,
    _ facts: [JournalEntry.Fact] = []
  ) {
    let session = stream?.session
    journal?.report(
      kind, of: .session, session?.name ?? "", speakers: session.flatMap { journal?.members($0) } ?? [],
      to: to, detail: detail, facts: facts, session: session?.id)
  }

  // MARK: Playing

  /// Plays a stream on a session, for a person. Returns when it is heard; it ends with the session.
  /// - Parameter onEvent: receives its events, on the loop. The failure of the first connection is thrown instead, unless
  ///   it belongs to an entry of a list after which another entry plays.
  /// - Throws: `StreamError`, `SpeakerError`, `CancellationError`.
  public func play(
    _ stream: HouseStream, on session: Session, of house: House, onEvent: @escaping (StationEvent) -> Void
  ) async throws {
    // Failures before the first sound are dropped, except about its format; one that ends the attempt is
    // thrown.
    var (hasBegun, early) = (false, [StreamError]())
    stream.listen { event in
      switch event {
      case .stream(.metadata(let title, isRealtime: false)): onEvent(.title(title.text))
      case .stream(.failed(let error)) where hasBegun: onEvent(.failed(error))
      case .stream(.failed(let error)): if error.kind == .unsupported { early.append(error) }
      case .stream(.reconnected(let gap, _, _)): onEvent(.reconnected(gap: gap))
      case .stream, .suspension: break
      }
    }
    try session.requireRooms()
    try await stream.play(on: session, of: house, endsWithSession: true)
    hasBegun = true
    for error in early { onEvent(.failed(error)) }
  }

  /// Ends the network thread, and with it all receptions.
  public func close() {
    thread?.close()
    thread = nil
  }
}

extension StreamEvent {
  /// `true` if sound is received.
  fileprivate var meansSound: Bool {
    switch self {
    case .buffering, .started, .metadata, .reconnected, .fileComplete: true
    case .connecting, .paused, .stopped, .failed, .queueExhausted: false
    }
  }
}
