internal import AudioCore

/// Sound that nobody plays, but somebody looks at.
extension Stream {
  /// Has its sound decoded though nobody plays it.
  func playSilently() {
    guard let buffer else { return }
    let place = SilentPlace()
    let playback = attach(
      to: buffer, heard: { place.player?.heard ?? 0 }, moved: { place.player?.moved() })
    let player = SilentPlayer(loop: loop, makeDecoder: { playback.makeLiveDecoder() }) {
      [unowned self] error in
      guard let error else { return wasHeard() }
      leaveSilently()
      sound.isBroken = true
      onEvent(.failed(error as? StreamError ?? StreamError(.content, "its sound can't be decoded: \(error)")))
      goOn()
    }
    place.player = player
    silentPlayer = player
  }

  private func leaveSilently() {
    guard silentPlayer != nil else { return }
    standStill()
    silentPlayer = nil
    playback = nil
    buffer?.forgetWakers()
    _ = buffer?.move(to: silentTime)
  }

  /// Its sound is looked at now, or no longer.
  func soundIsUsed() {
    guard hasPosition, sound.isUsed ? playback == nil : silentPlayer != nil else { return }
    if sound.isUsed { standStill() } else { leaveSilently() }
    if status == .playing { goOn() }
  }

  /// How loud what is heard is; nil while nothing is.
  func heardLevels() -> MeterReading? {
    guard hasPosition, !isPaused else { return nil }
    return playback?.levels
  }
}

/// Where a silent player is found by who is made before it.
private final class SilentPlace { weak var player: SilentPlayer? }
