internal import EventLoop
internal import HTTP

/// The sound of a reception: frames and titles are joined to what came before, and go to the player and to recordings.
extension Reception {
  func take(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    var received = StreamTime.zero
    let time = seconds
    var isTaken = true
    var isNew = false
    var otherwise: String?
    outlet.receive { intake in
      sound.take(bytes) { item in
        switch item {
        case .title(let block): titles.add(block, encoding: options.encoding)
        case .format(let new):
          if let head { tell(.answered(StationInfo(head))) }
          begin(new)
          isNew = true
        case .frame(let frame, let bytes, let pending):
          received = received + frame.duration
          isTaken = take(frame, bytes, at: time, pending: pending, into: &intake)
        case .notAudio(let found): otherwise = found
        }
        return isTaken && !isStopped && otherwise == nil
      }
    }
    if !isTaken { lose() }
    if isStopped { return .stop }
    if let otherwise { return drop(.noAudio(otherwise, from: shownURL)) }
    if isNew, let codec = format?.codec, !codec.hasFrames, outlet.buffer != nil, !outlet.isRecorded {
      return drop(.notPlayed(codec, shownURL))
    }
    if repetition.isFile {
      finish()
      return .stop
    }
    pause.add(received, at: now)
    let audio = Duration.nanoseconds(Int64(received.seconds * 1e9))
    let burst = machine.burst
    perform(machine.received(audio, isNew: hasDelivered, at: now, look: pace ?? .zero))
    let isBurst = machine.burst > burst && PlayerWait.isBurst(StreamTime(machine.burst))
    if isBurst, outlet.buffer?.burstCame() == true { tellEnough() }
    hasDelivered = false
    keepPace()
    return isStopped ? .stop : .more
  }

  /// Receives the end of a body that may have been a file: its last frame is whole.
  func takeLast() {
    guard case .audio = body else { return }
    let time = seconds
    outlet.receive { intake in
      sound.finish { item in
        guard case .frame(let frame, let bytes, let pending) = item else { return true }
        return take(frame, bytes, at: time, pending: pending, into: &intake)
      }
    }
  }

  /// All of a file without a length has come.
  func finish() {
    tell(.complete)
    end()
  }

  private func begin(_ new: StreamFormat) {
    if format != nil, format != new { discontinuity = discontinuity ?? .format }
    format = new
    tell(.format(new))
  }

  /// - Returns: false when the buffer is full, which ends the connection.
  private func take(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, at time: Double, pending: Int,
    into intake: inout FrameOutlet.Intake
  ) -> Bool {
    soundClock.add(frame, at: time)
    if repetition.add(frame) { return true }
    let action = stitcher.receive(frame, bytes, at: time, pending: pending)
    if case .pass = action { return deliver(frame, bytes, into: &intake) }
    return release(action, into: &intake)
  }

  func resolve(_ action: Stitcher.Action) {
    if !outlet.receive({ release(action, into: &$0) }) { lose() }
  }

  /// - Returns: false when the buffer is full, which ends the connection.
  private func release(_ action: Stitcher.Action, into intake: inout FrameOutlet.Intake) -> Bool {
    switch action {
    case .pass, .hold: return true
    case .joined(let overlap, _):
      tell(.reconnected(gap: 0, stitched: true, overlap: overlap))
    case .gap(let seconds):
      discontinuity = .gap(seconds: seconds)
      tell(.reconnected(gap: seconds, stitched: false, overlap: 0))
    }
    var isTaken = true
    stitcher.release { frame, bytes in
      isTaken = deliver(frame, bytes, into: &intake)
      return isTaken
    }
    return isTaken
  }

  /// - Returns: false when the buffer is full, which ends the connection.
  private func deliver(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, into intake: inout FrameOutlet.Intake
  ) -> Bool {
    guard !isStopped else { return false }
    let title = titles.next(before: frame.offset + frame.length)
    let arrival = intake.append(frame, bytes, discontinuity, title: title.map { StreamTitle($0) })
    hasDelivered = true
    discontinuity = nil
    guard arrival.isTaken else {
      // What follows is lost: when it is received again, that is a gap, and its title is told.
      if title != nil { titles.takeBack() }
      tell(.full)
      end()
      return false
    }
    if arrival.isEnough { tellEnough() }
    if let title { tell(.metadata(title, at: arrival.start)) }
    return true
  }

  /// The player that waited may go on.
  private func tellEnough() {
    isDry = false
    tell(.buffered)
  }
}
