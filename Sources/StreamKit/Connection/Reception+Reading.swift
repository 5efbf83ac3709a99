internal import EventLoop
internal import HTTP

/// When the transfer of a reception is read: as its bytes come, every so often, or not at all for a while.
extension Reception {
  /// Reads no more for a while from a server that sends faster than its sound is heard, or than disks take it.
  func holdBack() -> HTTPFlow {
    guard !stitcher.isJoining else { return .more }
    let lead = options.liveLead.flatMap { most in outlet.buffer.map { $0.liveLead(most) } }
    guard pause.hold(above: lead, isDiskBehind: outlet.isDiskBehind, at: now) else { return .more }
    arm()
    return .pause
  }

  /// Resumes reading: the recorded sound is on the disks.
  func diskHasRoom() {
    guard !isStopped, !outlet.isDiskBehind else { return }
    file?.diskHasRoom()
    if pause.diskHasRoom() { readAgain() }
  }

  func readAgain() {
    // The silence was not the server's.
    perform(machine.received(.zero, at: now))
    transfer?.resume()
  }

  /// Reads in larger pieces while nobody listens.
  func keepPace() {
    let isHeard = outlet.buffer != nil || stitcher.isJoining
    let wanted = isHeard ? nil : machine.longestLook
    guard wanted != pace else { return }
    pace = wanted
    transfer?.setPace(wanted.flatMap { clock.sleep(now.advanced(by: $0), loop) })
  }
}
