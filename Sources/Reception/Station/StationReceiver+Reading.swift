internal import EventLoop
internal import HTTP
internal import StreamCore

/// The pauses of the transfer of a receiver.
extension StationReceiver {
  /// Resumes reading: the recorded sound is on the disks.
  func diskHasRoom() {
    guard !isStopped, !tee.isDiskBehind else { return }
    file?.diskHasRoom()
    if outlet.pause.diskHasRoom() { readAgain() }
  }

  /// Reads again from paused transfers.
  func readAgain() {
    driver.readAgain()
    hls?.resume()
  }
}
