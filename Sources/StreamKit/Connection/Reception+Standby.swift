internal import EventLoop
internal import HTTP

/// The second connection of a reception, beside one that has stalled.
extension Reception {
  func connectStandby(_ url: String) {
    do throws(HTTPError) {
      let trial = OverlapTrial(sound, stitcher, lossTime: lastArrival)
      standby = StandbyConnection(try request(url), on: network, trial, clock: clock) {
        [unowned self] event in
        switch event {
        case .sound: perform(machine.standbyReceived(isUrgent: isUrgent, at: now))
        case .joins: perform(machine.standbyJoins(at: now))
        case .failed(let error, let retryAfter):
          standby = nil
          machine.standbyEnded(error, retryAfter: retryAfter, at: now)
          arm()
        }
      }
    } catch { machine.standbyEnded(StreamError(error, url: StreamURL.shown(url)), at: now) }
  }

  func disconnectStandby() {
    standby?.cancel()
    standby = nil
  }

  /// Ends the stalled transfer; what the second one brought is received as it came.
  func adoptStandby() {
    disconnect()
    guard let standby else { return }
    self.standby = nil
    if !standby.hasSound { tell(.connecting) }
    expectAnswer()
    transfer = standby.transfer
    standby.handOver(to: self) { moment = $0 }
    moment = nil
    if !isStopped, let action = stitcher.decide(at: seconds) { resolve(action) }
  }
}
