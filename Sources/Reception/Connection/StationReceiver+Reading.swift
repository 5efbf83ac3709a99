internal import EventLoop
internal import HTTP
internal import StreamCore

/// The pace at which the transfer of a receiver is read: as its bytes come, at intervals, or not at all for a
/// while.
extension StationReceiver {
  /// Pauses a transfer whose server sends faster than real time, or than disks accept.
  func holdBack() -> HTTPFlow {
    guard !stitcher.isJoining else { return .more }
    let lead = options.liveLead.flatMap { most in
      tee.buffer.map { $0.liveLead(max(most, hls?.lead ?? .zero)) }
    }
    guard pause.hold(above: lead, isDiskBehind: tee.isDiskBehind, at: now) else { return .more }
    driver.arm()
    return .pause
  }

  /// Resumes reading: the recorded sound is on the disks.
  func diskHasRoom() {
    guard !isStopped, !tee.isDiskBehind else { return }
    file?.diskHasRoom()
    if pause.diskHasRoom() { readAgain() }
  }

  /// Reads again from paused transfers.
  func readAgain() {
    driver.readAgain()
    hls?.resume()
  }

  /// Reads in larger pieces while no player waits for new sound.
  func keepPace() {
    let wanted = stitcher.isJoining ? nil : longestLook
    guard wanted != driver.pace else { return }
    driver.pace = wanted
    driver.transfer?.setPace(wanted.flatMap { clock.sleep(now.advanced(by: $0), loop) })
  }

  /// The longest interval of reading; nil while bytes must be read as they come.
  private var longestLook: Duration? {
    guard let buffer = tee.buffer else { return driver.machine.longestLook }
    // A player may begin at any moment, and plays the buffered sound until the next look.
    guard buffer.mayRest, options.wakeTime >= Self.playedLook, driver.machine.longestLook != nil else {
      return nil
    }
    return Self.playedLook
  }

  private static let playedLook = Duration.milliseconds(250)
}
