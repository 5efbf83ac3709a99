internal import EventLoop
internal import HTTP
internal import StreamCore

/// The second connection of a receiver, beside a stalled one.
extension StationReceiver {
  func connectStandby(_ address: StreamAddress) {
    do throws(HTTPError) {
      let trial = OverlapTrial(sound, stitcher, lossTime: lastDue)
      standby = StandbyConnection(
        try connection.request(address), on: connection.network, trial, clock: options.clock
      ) {
        [unowned self] event in
        switch event {
        case .sound:
          driver.perform(driver.machine.standbyReceived(isUrgent: isUrgent, at: now))
          beginDetour()
        case .joins: driver.perform(driver.machine.standbyJoins(at: now))
        case .failed(let error, let retryAfter):
          standby = nil
          outlet.detour?.isFed = false
          driver.machine.standbyEnded(error, retryAfter: retryAfter, at: now)
          driver.arm()
        }
      }
    } catch { driver.machine.standbyEnded(StreamError(error, at: address), at: now) }
  }

  func disconnectStandby() {
    standby?.cancel()
    standby = nil
    outlet.detour?.isFed = false
  }

  /// Ends the stalled transfer; the bytes of the second one are received with their arrival times.
  func adoptStandby() {
    driver.disconnect()
    guard let standby else { return }
    self.standby = nil
    outlet.detour?.isFed = false
    if !standby.hasSound { outlet.report(.connecting) }
    expectAnswer()
    driver.adopt(standby.transfer, for: self)
    standby.handOver(to: self) { driver.moment = $0 }
    driver.moment = nil
    if !isStopped, let action = stitcher.decide(at: seconds) { resolve(action) }
  }
}
