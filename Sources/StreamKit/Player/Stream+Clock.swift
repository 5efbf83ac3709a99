public import AudioCore

/// A session whose sound nobody hears, where time is virtual: it follows the stream's own clock, and nothing is decoded.
struct SilentSession {
  let tell: (SoundFlow) -> Void
  /// It is paused or suspended.
  var stands: Bool
}

extension Stream {
  /// The playback is one by the clock from now on.
  func play(byClock tell: @escaping (SoundFlow) -> Void, stands: Bool) {
    guard playback != nil || silentSession != nil else { return }
    standStill()
    (playback, silentPlayer) = (nil, nil)
    buffer?.forgetWakers()
    silentSession = SilentSession(tell: tell, stands: stands)
    goOnIfHeard()
  }

  /// The session that plays by the clock stands, or goes on.
  func silentSession(stands: Bool) {
    guard silentSession != nil, silentSession?.stands != stands else { return }
    if stands { standStill() }
    silentSession?.stands = stands
    if !stands { goOnIfHeard() }
  }

  /// The last of a file has been heard silently: a session that plays it ends it.
  func wasHeard() {
    guard let silentSession, buffer?.isFollowed != true else { return finish() }
    standStill()
    silentSession.tell(.ended)
  }

  private func goOnIfHeard() {
    if hasPosition, !isPaused, buffer?.isFilling == false { goOn() }
  }
}

extension StreamPlayback {
  /// Plays by the loop's clock without a decoder: the stream's own position says where it is heard. On the loop.
  public func play(byClock report: @escaping (SoundFlow) -> Void, paused: Bool) {
    stream?.play(byClock: report, stands: paused)
  }

  /// Stops the clock with its session, or starts it again.
  public func pause(_ isPaused: Bool) { stream?.silentSession(stands: isPaused) }
}
