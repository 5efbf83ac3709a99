internal import EventLoop
internal import Reception
internal import StreamCore

/// The reserve of a live player: received sound that has not been heard. A player begins with little, and is
/// stretched until there is enough to outlast a short failure of the network.
extension Stream {
  /// The sound that is kept.
  static let reserve = StreamTime(seconds: 3)
  /// The time after a start in which a burst comes.
  private static let settling = Duration.seconds(1)
  /// The longest time between two looks while sound is stretched.
  private static let longestLook = Duration.seconds(15)

  /// Checks the reserve soon, as the player has begun, or sound is missing.
  func keepReserve() {
    timers.reserve?.cancel()
    guard listener.playback != nil, isLive else { return }
    lookForReserve(in: Self.settling)
  }

  private var isLive: Bool { file == nil && !isLocalFile }

  private func lookForReserve(in time: Duration) {
    timers.reserve = loop.after(time, keepsAlive: false) { [weak self] in self?.lookForReserve() }
  }

  /// Stretches the sound while the reserve is too short.
  private func lookForReserve() {
    guard let buffer, let playback = listener.playback else { return }
    let mayStretch = machine.isPlaying && isLive && !buffer.isComplete && options.catchUp == .skip
    let missing = mayStretch ? (Self.reserve - (buffer.range.end - position)).seconds : 0
    playback.pace.isStretched = missing > 0
    guard missing > 0 else { return }
    let time = Duration(inSeconds: missing / (1 - SoundStretch.ratio))
    lookForReserve(in: min(Self.longestLook, max(Self.settling, time)))
  }
}
