public import EventLoop
internal import HTTP
public import Playback
public import SpeakerKit
public import StreamCore

/// A stream that the sessions of a house can play, one at a time; its events go to all listeners. Confined to
/// the loop.
public final class HouseStream {
  /// An event of the stream, or of the session that plays it.
  public enum Event {
    case stream(StreamEvent)
    /// An interruption of the session begins or ends.
    case suspension(SuspensionPhase, by: Session)
  }

  /// A cause of failed connections; the raw value is the name of its event.
  public enum FailureCondition: String, Sendable {
    case badContent = "bad_content"
    case missingContent = "missing_content"
    case noNetwork = "no_network"
    case timeout
    case urlNotFound = "url_not_found"
  }

  /// The stream itself, whose events this object receives.
  public let stream: Playback.Stream
  private let loop: EventLoop
  private var playback: SessionPlayback?
  private var listeners: [(Event) -> Void] = []

  init(_ stream: Playback.Stream, loop: EventLoop) {
    (self.stream, self.loop) = (stream, loop)
    stream.onEvent { [weak self] event in
      self?.emit(.stream(event))
      self?.playback?.follow(event)
    }
  }

  /// `true` while the stream is played or recorded.
  public var isActive: Bool { stream.status != .stopped || stream.isRecorded }
  /// The session that plays the stream; nil while it is not played.
  public var session: Session? { playback?.session }

  /// Calls `listener` with every event from now on, as long as the stream lives. Listeners are called in the order in
  /// which they were added, before the session follows the event.
  public func listen(_ listener: @escaping (Event) -> Void) { listeners.append(listener) }

  func emit(_ event: Event) { for listener in listeners { listener(event) } }

  /// The cause of a failed connection.
  public func condition(of error: StreamError) -> FailureCondition {
    if error.status != nil { return .missingContent }
    // The address in an error is not complete after `?` or `#`.
    let url = (error.url ?? stream.url).prefix { $0 != "?" && $0 != "#" }
    let host = (try? StreamAddress(String(url)))?.host ?? ""
    switch error.kind {
    case .url, .unsupported, .content: return .badContent
    case .timeout, .dns: return .timeout
    // A simulation does not depend on the network of this machine.
    case .network: return loop.isVirtual || NetworkThread.isNetworkUp(for: host) ? .urlNotFound : .noNetwork
    case .http, .auth, .notFound, .noSeek, .inUse: return .urlNotFound
    }
  }

  /// Plays the stream on a session, and starts it when it is stopped. Returns when it is heard.
  /// - Parameters:
  ///   - title: the source's title; nil for the name of the station, or its URL.
  ///   - rooms: the speakers that the session wants once the stream is heard; nil for those that it wants.
  ///   - priority: the session's from now on.
  ///   - endsWithSession: `true` if the stream stops when the session plays it no longer.
  /// - Throws: `stream.in_use` while another session plays it; `StreamError`, `SpeakerError`, `CancellationError`.
  public func play(
    on session: Session, of house: House, title: String? = nil, rooms: [Device]? = nil,
    priority: Int? = nil, endsWithSession: Bool = false
  ) async throws {
    if let playback, playback.isOver { playback.handOver() }
    if let playback {
      throw StreamError(
        .inUse, "the stream plays on \"\(playback.session.name)\"", hint: "stop it there first",
        facts: [.init("session", .string(playback.session.name))])
    }
    let startsHere = stream.status == .stopped
    try await stream.start()
    // A tap or a listener of the stream may have stopped it by now.
    guard stream.isPlaying else { throw CancellationError() }
    let new = try SessionPlayback(
      of: self, on: session, house.events, title: title, endsWithSession: endsWithSession)
    playback = new
    do {
      try await session.play(new.sound, as: new.source, rooms: rooms, priority: priority)
    } catch {
      new.end()
      if startsHere, error is CancellationError { stream.stop() }
      throw error
    }
    new.began()
  }

  /// Lets the stream stop when its session plays it no longer.
  func endWithSession() { playback?.endsWithSession = true }

  func playbackEnded(_ ended: SessionPlayback) { if playback === ended { playback = nil } }
}
