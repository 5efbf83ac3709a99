internal import Codecs
internal import EventLoop
internal import HTTP
internal import StreamCore

/// The sound of a station: frames and titles are joined to those before, and go to the player and to
/// recordings.
extension StationReceiver {
  func receive(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    var received = StreamTime.zero
    let time = seconds
    var isAccepted = true
    var isNew = false
    var otherwise: String?
    tee.receive { outlets in
      sound.consume(bytes) { item in
        switch item {
        case .title(let block): titles.add(block, encoding: options.encoding)
        case .comments(let title, let position): titles.add(title, position: position)
        case .format(let new):
          reportAnswer()
          begin(new)
          isNew = true
        case .frame(let frame, let bytes, let pending):
          received = received + frame.duration
          isAccepted = receive(frame, bytes, at: time, pending: pending, into: &outlets)
        case .notAudio(let found): otherwise = found
        }
        return isAccepted && otherwise == nil
      }
    }
    if !isAccepted { disconnected() }
    if isStopped { return .stop }
    if let otherwise { return drop(.noAudio(otherwise, from: shownURL)) }
    if isNew, let codec = format?.codec, !codec.hasFrames, tee.buffer != nil, !tee.isRecorded {
      return drop(.notPlayed(codec, shownURL))
    }
    if repetition.isFile {
      finish()
      return .stop
    }
    account(for: received)
    return isStopped ? .stop : .more
  }

  /// Reports received sound to the machine and the player.
  func account(for received: StreamTime) {
    pause.add(received, at: now)
    let audio = Duration(inSeconds: received.seconds)
    driver.perform(driver.machine.received(audio, isNew: hasDelivered, at: now, look: driver.pace ?? .zero))
    hasDelivered = false
    keepPace()
  }

  /// Receives the end of a body that may have been a file: its last frame is whole.
  func receiveLast() {
    guard case .audio = body else { return }
    let time = seconds
    tee.receive { outlets in
      sound.finish { item in
        guard case .frame(let frame, let bytes, let pending) = item else { return true }
        return receive(frame, bytes, at: time, pending: pending, into: &outlets)
      }
    }
  }

  /// Completes the reception of a file without a length.
  func finish() {
    report(.complete)
    end()
  }

  /// Reports the facts that the station publishes about itself.
  func reportAnswer() {
    if let head { report(.answered(StationInfo(head))) }
  }

  func begin(_ new: StreamFormat) {
    if format != nil, format != new { discontinuity = discontinuity ?? .format }
    format = new
    report(.format(new))
  }

  /// - Returns: `false` if the buffer is full, which ends the connection.
  private func receive(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, at time: Double, pending: Int,
    into outlets: inout FrameTee.Outlets
  ) -> Bool {
    soundClock.add(frame, at: time)
    if repetition.add(frame) { return true }
    let action = stitcher.receive(frame, bytes, at: time, pending: pending)
    if case .pass = action { return deliver(frame, bytes, into: &outlets) }
    return release(action, into: &outlets)
  }

  func resolve(_ action: Stitcher.Action) {
    if !tee.receive({ release(action, into: &$0) }) { disconnected() }
  }

  /// - Returns: `false` if the buffer is full, which ends the connection.
  private func release(_ action: Stitcher.Action, into outlets: inout FrameTee.Outlets) -> Bool {
    switch action {
    case .pass, .hold: return true
    case .joined(let overlap, _):
      if detour == nil { report(.reconnected(gap: 0, stitched: true, overlap: overlap)) }
    case .gap(let seconds):
      discontinuity = .gap(seconds: seconds)
      // On a detour, the sound that the player skips has been reported already.
      if detour == nil { report(.reconnected(gap: seconds, stitched: false, overlap: 0)) }
    }
    var isAccepted = true
    stitcher.release { frame, bytes in
      isAccepted = !isStopped && deliver(frame, bytes, into: &outlets)
      return isAccepted
    }
    return isAccepted
  }

  /// - Returns: `false` if the buffer is full, which ends the connection.
  private func deliver(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, into outlets: inout FrameTee.Outlets
  ) -> Bool {
    let title = titles.next(before: frame.offset + frame.length)
    let isAccepted = deliver(frame, bytes, title: title, into: &outlets)
    // The following sound is lost: the next connection reports a gap, and the title.
    if !isAccepted, title != nil { titles.revokeLast() }
    return isAccepted
  }

  /// - Returns: `false` if the buffer is full, which ends the connection.
  func deliver(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, title: ICYMetadata?,
    into outlets: inout FrameTee.Outlets
  ) -> Bool {
    let (part, isOnDetour) = (part(of: outlets.player, in: frame), detour != nil)
    let arrival = outlets.append(
      frame, bytes, discontinuity, title: title.map { StreamTitle($0) }, player: part)
    hasDelivered = true
    discontinuity = nil
    guard arrival.isAccepted else {
      report(.full)
      end()
      return false
    }
    if arrival.isEnough { reportEnough() }
    if let title, !isOnDetour { report(.metadata(title, at: arrival.start)) }
    return true
  }

  /// Reports that a waiting player may resume.
  func reportEnough() { report(.buffered) }
}
