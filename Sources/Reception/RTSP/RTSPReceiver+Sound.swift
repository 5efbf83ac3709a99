internal import Codecs
internal import EventLoop
internal import RTSP
internal import StreamCore

/// The sound of a session: frames go to the player and to recordings.
extension RTSPReceiver {
  /// The sound that follows is of a session that begins, continues, or was moved.
  func begin(_ range: RTSPClient.PlayedRange) {
    if let file, !file.continues { return beginFile(range) }
    file?.continues = false
    if session?.reception == nil { beginReception() }
  }

  func beginReception() {
    guard let sound = session?.sound else { return }
    connections &+= 1
    let start = session?.reception?.offset ?? offset
    session?.reception = RTPReception(sound, offset: start, serial: connections)
  }

  func receive(_ packet: [UInt8]) {
    // Some servers send before they answer.
    if session?.reception == nil {
      if file != nil { beginFile(RTSPClient.PlayedRange()) } else { beginReception() }
    }
    guard let items = session?.reception?.receive(packet, at: seconds), !items.isEmpty else { return }
    deliver(items)
  }

  /// Receives the last frame of a session, which is whole.
  func receiveLast() {
    guard let items = session?.reception?.end(), !items.isEmpty else { return }
    deliver(items)
  }

  private func deliver(_ items: [RTPReception.Item]) {
    var received = StreamTime.zero
    var unusable: String?
    tee.receive { outlets in
      for item in items {
        guard !isStopped, unusable == nil else { return }
        switch item {
        case .lost(let seconds): noteLoss(seconds)
        case .restarted: lostAt = soundClock.due().map { min($0, seconds) } ?? seconds
        case .sound(.format(let new)): begin(new)
        case .sound(.notAudio(let found)): unusable = found
        case .sound(.frame(let frame, let bytes)):
          received = received + frame.duration
          deliver(frame, bytes, into: &outlets)
        }
      }
    }
    if isStopped { return }
    if let unusable { return lose(.noAudio(unusable, from: shownURL)) }
    if isAtEnd { watchEnd() }
    guard received > .zero else { return }
    driver.perform(driver.machine.received(Duration(inSeconds: received.seconds), at: now))
  }

  /// Notes that packets were lost within a session.
  private func noteLoss(_ seconds: Double) {
    guard seconds > 0, outlet.format != nil, lostAt == nil else { return }
    soundClock.skip(StreamTime(seconds: seconds))
    file?.skip(StreamTime(seconds: seconds))
    report(gap: seconds)
  }

  /// Reports a gap before the next frame.
  private func report(gap: Double) {
    var gap = gap
    if case .gap(let before)? = outlet.discontinuity { gap += before }
    outlet.discontinuity = .gap(seconds: gap)
    report(.reconnected(gap: gap, stitched: false, overlap: 0))
  }

  private func begin(_ new: StreamFormat) {
    if session?.hasSounded == false {
      var station = StationInfo()
      station.name = session?.name
      station.url = session?.address.url ?? ""
      report(.answered(station))
    }
    session?.hasSounded = true
    if new != outlet.format { outlet.begin(new) }
  }

  private func deliver(_ frame: StreamFrame, _ bytes: [UInt8], into outlets: inout FrameTee.Outlets) {
    if file != nil { return deliverFile(frame, bytes, into: &outlets) }
    if let lost = lostAt, !frame.isHeaders {
      lostAt = nil
      soundClock = SoundClock()
      report(gap: max(0, seconds - frame.duration.seconds - lost))
    }
    soundClock.add(frame, at: seconds)
    let arrival = bytes.withUnsafeBytes { outlet.append(frame, $0, generation: nil, into: &outlets) }
    guard !arrival.isAccepted else { return }
    report(.full)
    end()
  }
}
