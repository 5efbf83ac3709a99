internal import AudioCore
internal import EventLoop
internal import HTTP
internal import Home
internal import LuaRuntime
internal import SpeakerKit
internal import StreamKit

/// A stream as a script has it: what it does, who listens, and the session that plays it. Confined to the loop.
final class ScriptStream {
  /// What can be listened to.
  static let eventNames = [
    "connecting", "buffering", "started", "paused", "stopped", "metadata", "metadata_realtime", "no_network",
    "bad_content", "missing_content", "http_error", "url_not_found", "timeout", "queue_exhausted",
    "file_complete",
    "suspending",
    "suspended", "resumed", "reconnected", "tap_created", "tap_disposed", "tap_overrun",
    "recording_stopped", "recording_finished", "track",
  ]

  let stream: StreamKit.Stream
  private let loop: EventLoop
  private var listeners: [(number: Int, name: String, deliver: (LuaValue) -> Void)] = []
  private var listenerCount = 0
  /// Told of each connection that fails, at once.
  var onFailure: (StreamError) -> Void = { _ in }
  /// Told of everything, before the listeners.
  var onNews: (StreamEvent) -> Void = { _ in }
  /// Where it sounds.
  private(set) var playing: SessionPlayback?
  /// What its sound goes through; ends with it.
  var taps: [ScriptTap] = []
  /// Counts it among the objects of its script.
  var held: ScriptObjects.Held?

  /// Whether it is played or recorded.
  var isActive: Bool { stream.status != .stopped || stream.isRecorded }

  init(_ stream: StreamKit.Stream, loop: EventLoop) {
    self.stream = stream
    self.loop = loop
    stream.onEvent = { [weak self] event in self?.take(event) }
  }

  deinit { for tap in taps { tap.remove() } }

  // MARK: Listeners

  /// Has `deliver` called with the payload of every event of that name; the returned function ends that.
  func listen(to name: String, _ deliver: @escaping (LuaValue) -> Void) -> () -> Void {
    listenerCount += 1
    let number = listenerCount
    listeners.append((number, name, deliver))
    return { [weak self] in self?.listeners.removeAll { $0.number == number } }
  }

  /// Tells listeners in a turn of the loop of its own: what caused the event has returned by then.
  func tell(_ name: String, _ payload: LuaValue = .record([])) {
    let last = listenerCount
    loop.next { [self] in
      for listener in listeners where listener.name == name && listener.number <= last {
        listener.deliver(payload)
      }
    }
  }

  private func take(_ event: StreamEvent) {
    onNews(event)
    switch event {
    case .connecting: tell("connecting")
    case .buffering: tell("buffering")
    case .started: tell("started")
    case .paused: tell("paused")
    case .stopped: tell("stopped")
    case .queueExhausted: tell("queue_exhausted")
    case .fileComplete: tell("file_complete")
    case .metadata(let title, let isRealtime):
      tell(isRealtime ? "metadata_realtime" : "metadata", Self.payload(of: title))
    case .failed(let error):
      onFailure(error)
      tell(error)
    case .reconnected(let gap, let stitched, let overlap):
      tell(
        "reconnected",
        .record([
          ("gap_seconds", .number(gap)), ("stitched", .bool(stitched)), ("frames_overlapped", .int(overlap)),
        ]))
    }
    playing?.follow(event)
  }

  private static func payload(of title: StreamTitle) -> LuaValue {
    .record([
      ("title", .string(title.text)), ("text", .string(title.text)), ("artist", .optional(title.artist)),
      ("title_without_artist", .string(title.withoutArtist)), ("url", .optional(title.url)),
    ])
  }

  private func tell(_ error: StreamError) {
    let facts: [(name: String, value: LuaValue)] = [
      ("error", .error(LuaError(error))), ("code", .string(error.code)), ("message", .string(error.message)),
      ("url", .string(error.url ?? stream.url)),
      ("status", error.status.map { .int($0) } ?? .nil),
    ]
    tell(condition(of: error), .record(facts))
    if error.status != nil { tell("http_error", .record(facts)) }
  }

  /// The event that tells of a failure.
  private func condition(of error: StreamError) -> String {
    if error.status != nil { return "missing_content" }
    let host = StreamURL.host(error.url ?? stream.url) ?? ""
    switch error.kind {
    case .url, .unsupported, .content: return "bad_content"
    case .timeout, .dns: return "timeout"
    // What this machine is connected to is no matter in a simulation.
    case .network:
      return loop.isVirtual || NetworkThread.isNetworkUp(for: host) ? "url_not_found" : "no_network"
    case .http, .auth, .notFound, .noSeek, .inUse: return "url_not_found"
    }
  }

  // MARK: Changes

  /// Changes options, also those that were given for the next start.
  func change(_ body: (inout StreamOptions) throws -> Void) rethrows {
    try body(&stream.options)
    if var options = stream.nextOptions {
      try body(&options)
      stream.nextOptions = options
    }
  }

  /// Sets the address and the options of the next start.
  /// - Throws: `stream.url`, `stream.unsupported`, which listeners are told too.
  func setNext(url: String, nickname: String?, options: StreamOptions) throws {
    do { try stream.setNext(url: url, nickname: nickname, options: options) } catch {
      tell(error)
      throw error
    }
  }

  // MARK: Sound

  /// Lets a session play it; starts it when it does not play.
  /// - Parameter isOwn: whether it ends with its session, as nobody else has it.
  func play(
    on session: Session, of house: House, title: String?, priority: Int?, isOwn: Bool = false
  ) async throws {
    if let playing, !playing.hasEnded {
      throw StreamError(
        .inUse, "the stream plays on \"\(playing.session.name)\"", hint: "stop it there first",
        facts: [.init("session", .string(playing.session.name))])
    }
    let begins = stream.status == .stopped
    try await stream.start()
    // A tap of it, or a listener, may have stopped it by now.
    guard stream.isPlaying else { throw CancellationError() }
    let new = try SessionPlayback(self, on: session, house.events, title: title, isOwn: isOwn)
    playing = new
    do {
      try await session.play(new.sound, as: new.source, priority: priority)
    } catch {
      new.end()
      if begins, error is CancellationError { stream.stop() }
      throw error
    }
  }

  /// The session plays it no longer.
  func left(_ playback: SessionPlayback) { if playing === playback { playing = nil } }
}

/// A stream on a session: each follows the other. Confined to the loop.
final class SessionPlayback {
  let session: Session
  let sound: StreamPlayback
  private(set) var hasEnded = false
  /// What the session calls it.
  private(set) var source: SourceInfo
  private unowned let owner: ScriptStream
  private let title: String?
  private let isOwn: Bool
  private var hasBegun = false
  private var subscription: EventHub.Subscription?
  private let place = Place()

  /// What the stream asks for where it is heard; apart, as the stream keeps it.
  private final class Place {
    weak var session: Session?
    weak var playback: SessionPlayback?
    /// Frames of the session at which the decoder that is heard began.
    var start = 0

    var heard: Double {
      guard let session else { return 0 }
      return Double(max(0, session.heardFrames - start)) / Double(session.format.sampleRate)
    }
  }

  /// - Parameter title: what it is called; by default as the station calls itself.
  init(
    _ owner: ScriptStream, on session: Session, _ events: EventHub, title: String?, isOwn: Bool
  ) throws {
    self.owner = owner
    self.session = session
    self.title = title
    self.isOwn = isOwn
    source = Self.source(owner.stream, title)
    place.session = session
    let place = place
    sound = try owner.stream.attach(heard: { place.heard }, moved: { place.playback?.moved() })
    place.playback = self
    owner.stream.suspend(session.isSuspended)
    subscription = events.on { [unowned self] event in follow(event) }
  }

  private static func source(_ stream: StreamKit.Stream, _ title: String?) -> SourceInfo {
    SourceInfo(path: stream.url, title: title ?? stream.station.name ?? stream.url)
  }

  /// The stream may be another station by now.
  private func rename() {
    let new = Self.source(owner.stream, title)
    guard new != source else { return }
    source = new
    session.soundRenamed(sound, new)
  }

  /// The stream has leapt.
  private func moved() {
    place.start = session.heardFrames
    session.soundMoved(sound)
  }

  /// It is no longer heard here.
  func end() {
    guard !hasEnded else { return }
    hasEnded = true
    subscription?.cancel()
    owner.left(self)
    owner.stream.detach()
    owner.stream.suspend(false)
    if isOwn { owner.stream.stop() }
  }

  /// What the stream does, the session does.
  func follow(_ event: StreamEvent) {
    guard !hasEnded else { return }
    switch event {
    case .paused: session.pause()
    case .started:
      rename()
      if session.state == .paused { try? session.resume() }
    case .stopped:
      hasEnded = true
      subscription?.cancel()
      owner.left(self)
      session.stop()
    case .connecting: rename()
    case .buffering, .metadata, .failed, .queueExhausted, .fileComplete, .reconnected: break
    }
  }

  /// What the session does, the stream does.
  private func follow(_ event: HouseEvent) {
    guard event.session === session, !hasEnded else { return }
    let isPlayed = session.plays(sound)
    if isPlayed { hasBegun = true }
    switch event {
    // What it did meanwhile undoes this: each following the other's past, they would never agree.
    case .state(let state, _) where state != session.state: break
    case .state(.paused, _): owner.stream.pause()
    case .state(.playing, _): owner.stream.goOnIfPaused()
    case .ended(_, _, let reason):
      guard hasBegun, !isPlayed else { return }
      if reason == .finished { owner.stream.finish() }
      end()
    case .suspension(let phase, _, let by):
      if phase != .suspending { owner.stream.suspend(session.isSuspended) }
      owner.tell(phase.rawValue, .record([("by", .string(by.name))]))
    default: break
    }
  }
}
