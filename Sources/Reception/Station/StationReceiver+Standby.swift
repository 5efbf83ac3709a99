internal import EventLoop
internal import HTTP
internal import StreamCore

/// The second connection of a receiver, beside a stalled one.
extension StationReceiver {
  /// The connection beside a stalled one; nil without one.
  var standby: StandbyConnection? {
    get {
      switch answer {
      case .closed(let standby), .sound(let standby): standby
      case .awaited, .unknown, .list: nil
      }
    }
    set {
      switch answer {
      case .closed: answer = .closed(beside: newValue)
      case .sound: answer = .sound(beside: newValue)
      case .awaited, .unknown, .list: break
      }
    }
  }

  func connectStandby(_ address: StreamAddress) {
    // Only sound that has come can stall.
    guard case .sound = answer else { return }
    do throws(HTTPError) {
      let request = try connection.request(address)
      standby = StandbyConnection(
        request, on: connection.network, sound.overlapTrial(), clock: connection.options.clock
      ) { [unowned self] event in
        switch event {
        case .sound:
          driver.perform(driver.machine.standbyReceived(isUrgent: sound.isUrgent, at: now))
          if let standby { sound.beginDetour(on: standby) }
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
    outlet.detour?.isFed = false
    if !standby.hasSound { outlet.report(.connecting) }
    expectAnswer()
    driver.adopt(standby.transfer, for: self)
    standby.handOver(to: self) { driver.moment = $0 }
    driver.moment = nil
    if !isStopped { sound.deadlinePassed() }
  }
}
