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
          outlet.begin(new)
          isNew = true
        case .frame(let frame, let bytes, let pending):
          received = received + frame.duration
          isAccepted = receive(frame, bytes, at: time, pending: pending, into: &outlets)
        case .notAudio(let found): otherwise = found
        }
        return isAccepted && otherwise == nil
      }
    }
    if !isAccepted {
      connection.bufferIsFull()
      return .stop
    }
    if let otherwise { return drop(.noAudio(otherwise, from: shownURL)) }
    if isNew, let codec = outlet.format?.codec, !codec.hasFrames, tee.buffer != nil, !tee.isRecorded {
      return drop(.notPlayed(codec, shownURL))
    }
    if repetition.isFile {
      finish()
      return .stop
    }
    connection.received(received, isJoining: stitcher.isJoining)
    return isStopped ? .stop : .more
  }

  /// Receives the end of a body that may have been a file: its last frame is whole.
  func receiveLast() {
    guard case .audio = body else { return }
    let time = seconds
    var isAccepted = true
    tee.receive { outlets in
      sound.finish { item in
        guard case .frame(let frame, let bytes, let pending) = item else { return true }
        isAccepted = receive(frame, bytes, at: time, pending: pending, into: &outlets)
        return isAccepted
      }
    }
    if !isAccepted { connection.bufferIsFull() }
  }

  /// Completes the reception of a file without a length.
  func finish() {
    outlet.report(.complete)
    end()
  }

  /// Reports the facts that the station publishes about itself.
  func reportAnswer() {
    if let head { outlet.report(.answered(StationInfo(head))) }
  }

  /// - Returns: `false` if the buffer is full.
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
    if !tee.receive({ release(action, into: &$0) }), !isStopped { connection.bufferIsFull() }
  }

  /// - Returns: `false` if the buffer is full.
  private func release(_ action: Stitcher.Action, into outlets: inout FrameTee.Outlets) -> Bool {
    switch action {
    case .pass, .hold: return true
    case .joined(let overlap, _):
      if outlet.detour == nil { outlet.report(.reconnected(gap: 0, stitched: true, overlap: overlap)) }
    case .gap(let seconds):
      outlet.discontinuity = .gap(seconds: seconds)
      // On a detour, the sound that the player skips has been reported already.
      if outlet.detour == nil { outlet.report(.reconnected(gap: seconds, stitched: false, overlap: 0)) }
    }
    var isAccepted = true
    stitcher.release { frame, bytes in
      isAccepted = !isStopped && deliver(frame, bytes, into: &outlets)
      return isAccepted
    }
    return isAccepted
  }

  /// - Returns: `false` if the buffer is full.
  private func deliver(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, into outlets: inout FrameTee.Outlets
  ) -> Bool {
    let title = titles.next(before: frame.offset + frame.length)
    let isAccepted = outlet.deliver(frame, bytes, title: title, at: seconds, into: &outlets)
    // The following sound is lost: the next connection reports a gap, and the title.
    if !isAccepted, title != nil { titles.revokeLast() }
    return isAccepted
  }
}
