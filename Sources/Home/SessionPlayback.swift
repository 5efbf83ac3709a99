internal import AudioCore
internal import Playback
internal import Reception
internal import SpeakerKit

/// The playback of a stream on a session: when one of the two pauses, resumes or ends, so does the other.
/// Confined to the loop.
final class SessionPlayback {
  private enum Phase {
    /// The session has not played the sound yet.
    case opening
    case playing
    case ended
  }

  let session: Session
  /// The sound that the session plays.
  let sound: StreamPlayback
  /// The source as the session shows it.
  private(set) var source: SourceInfo
  private unowned let owner: HouseStream
  private let title: String?
  var endsWithSession: Bool
  private var phase = Phase.opening
  private var subscription: EventHub.Subscription?
  private let position = Position()

  /// The position in the session, which the stream keeps: so it does not refer to the playback strongly.
  private final class Position {
    weak var session: Session?
    weak var playback: SessionPlayback?
    /// The session's frame at which the decoder that is heard began.
    var start = 0

    var heard: Double {
      guard let session else { return 0 }
      return Double(max(0, session.heardFrames - start)) / Double(session.format.sampleRate)
    }
  }

  /// Attaches the stream's sound, for the session to play.
  /// - Parameter title: the source's title; nil for the name of the station, or its URL.
  /// - Throws: `stream.in_use`, `stream.no_seek`.
  init(
    of owner: HouseStream, on session: Session, _ events: EventHub, title: String?, endsWithSession: Bool
  ) throws {
    self.owner = owner
    self.session = session
    self.title = title
    self.endsWithSession = endsWithSession
    source = Self.source(owner.stream, title)
    position.session = session
    let position = position
    sound = try owner.stream.attach(heard: { position.heard }, moved: { position.playback?.moved() })
    position.playback = self
    owner.stream.suspend(session.isSuspended)
    subscription = events.on(wantsSeconds: false) { [weak self] event in self?.follow(event) }
  }

  private static func source(_ stream: Playback.Stream, _ title: String?) -> SourceInfo {
    SourceInfo(path: stream.url, title: title ?? stream.station.name ?? stream.shownURL)
  }

  private var hasEnded: Bool { if case .ended = phase { true } else { false } }

  /// Renames the session's source when the stream has changed to another station.
  private func rename() {
    let new = Self.source(owner.stream, title)
    guard new != source else { return }
    source = new
    session.soundRenamed(sound, new)
  }

  /// Begins to count the heard frames anew: the stream has moved to another position.
  private func moved() {
    position.start = session.heardFrames
    session.soundMoved(sound)
  }

  /// The session has begun to play the sound; it may have stopped since.
  func began() {
    guard case .opening = phase else { return }
    phase = .playing
    if isOver { end() }
  }

  /// `true` if the session has played the sound, and plays it no longer: the event is still to come.
  var isOver: Bool { if case .playing = phase { !session.plays(sound) } else { false } }

  /// Detaches the stream: the session plays it no longer.
  func end() {
    guard !hasEnded else { return }
    handOver()
    if endsWithSession { owner.stream.stop() }
  }

  /// Detaches the stream, which plays on for another session.
  func handOver() {
    leave()
    owner.stream.detach()
    owner.stream.suspend(false)
  }

  private func leave() {
    phase = .ended
    subscription?.cancel()
    owner.playbackEnded(self)
  }

  /// Applies an event of the stream to the session.
  func follow(_ event: StreamEvent) {
    guard !hasEnded else { return }
    switch event {
    case .paused: session.pause()
    case .started:
      rename()
      session.soundStarted(sound)
      if session.state == .paused { try? session.resume() }
    case .stopped:
      // The session may play another source by now.
      let isCurrent = if case .opening = phase { true } else { session.plays(sound) }
      leave()
      if isCurrent { session.stop() }
    case .connecting: rename()
    case .buffering, .metadata, .failed, .queueExhausted, .fileComplete, .reconnected: break
    }
  }

  /// Applies an event of the session to the stream.
  private func follow(_ event: HouseEvent) {
    guard event.session === session, !hasEnded else { return }
    let isPlayed = session.plays(sound)
    if isPlayed { phase = .playing }
    switch event {
    // The change was undone meanwhile: two that follow each other's past states would never agree.
    case .state(let state, _, _) where state != session.state: break
    case .state(.paused, _, _): owner.stream.pause()
    case .state(.playing, _, _): owner.stream.resumeIfPaused()
    case .ended(_, _, let reason):
      guard case .playing = phase, !isPlayed else { return }
      if reason == .finished { owner.stream.finish() }
      end()
    case .suspension(let phase, _, let by):
      if phase != .suspending { owner.stream.suspend(session.isSuspended) }
      owner.emit(.suspension(phase, by: by))
    default: break
    }
  }
}
