internal import EventLoop

/// The files of a list, of which one is played.
struct Programme {
  /// Nil for the first, to which the address led.
  var current: ListedURL?
  var rest: [ListedURL]
}

/// What files can do that live streams can't.
extension Stream {
  /// Seconds of the file that have been heard, or were gone over; nil for live streams, and before it plays.
  public var fileTime: Double? { file != nil && hasPosition ? position.seconds : nil }

  /// Seconds of the whole file; nil for live streams, and while nobody knows.
  public var fileDuration: Double? { file?.duration }

  /// Whether any place of the file can be gone to.
  public var canSeek: Bool { file?.canSeek ?? false }

  /// Goes to a place of a file; paused it stays paused.
  /// - Throws: `stream.no_seek` past its end, for a live stream, and where the server gives no parts of files.
  public func seek(to seconds: Double) throws(StreamError) {
    guard hasPosition else { throw StreamError(.noSeek, "nothing plays that could be moved") }
    guard let file else {
      throw StreamError(.noSeek, "a live stream has no time to go to", hint: "use rewind and forward")
    }
    if let duration = file.duration, seconds > duration {
      throw StreamError(
        .noSeek, "seek to \(Self.shown(seconds)) s is past the end: \(url) lasts \(Self.shown(duration)) s",
        facts: [.init("seconds", .number(seconds)), .init("duration", .number(duration))])
    }
    _ = try moveInFile(to: StreamTime(seconds: seconds))
  }

  private static func shown(_ seconds: Double) -> String { "\((seconds * 1000).rounded() / 1000)" }

  /// Moves in the buffer, or has the file received from elsewhere; not beyond its ends.
  /// - Returns: where it stands then.
  func moveInFile(to target: StreamTime) throws(StreamError) -> StreamTime {
    let end = file?.duration.map { StreamTime(seconds: $0) }
    let target = max(.zero, min(target, end ?? target))
    if isHeld(target) { return move(to: target) }
    guard let buffer, canSeek else {
      throw StreamError(
        .noSeek, "\(url) can't be gone to \(Self.shown(target.seconds)) s: the server gives no parts of it",
        hint: "stay within what the buffer holds")
    }
    standStill()
    silentTime = target
    let leap = buffer.leap(to: target, wanted: StreamTime(options.bufferWaitFile))
    receiver?.seek(to: target, leap: leap)
    playback?.moved()
    if !isPaused {
      status = .buffering
      onEvent(.buffering)
    }
    return target
  }

  /// Whether a place can be gone to: it is in the file, and in the buffer where the server gives no parts.
  func canGo(to target: StreamTime) -> Bool {
    guard target >= .zero else { return false }
    if isHeld(target) { return true }
    guard canSeek, let duration = file?.duration else { return false }
    return target.seconds <= duration
  }

  private func isHeld(_ time: StreamTime) -> Bool {
    guard let range = buffer?.range, range.start < range.end else { return false }
    return range.start <= time && time < range.end
  }

  /// The last of a file has been heard: tells so, and stops, or plays the next of its list. Nothing for a live stream.
  public func finish() {
    guard hasPosition, buffer?.isComplete == true else { return }
    if programme?.rest.isEmpty == false {
      onEvent(.fileComplete)
      _ = playNextFile()
      return
    }
    endStarting(.success(()))
    onEvent(.fileComplete)
    stop()
  }

  /// Waits until what was read of a file to its end has been heard, and plays the next of its list then.
  func awaitEnd(heardBefore: StreamTime? = nil) {
    endTimer?.cancel()
    guard hasPosition, !isPaused, !isSuspended, let buffer, buffer.isFollowed, buffer.isComplete else {
      return
    }
    let (position, end) = (position, buffer.range.end)
    // A player may end a little before what the file tells.
    if end <= position + StreamTime(seconds: 0.02) || position == heardBefore { return finish() }
    let left = max(0.05, (end - position).seconds)
    endTimer = loop.after(.nanoseconds(Int64(left * 1e9)), keepsAlive: false) { [weak self] in
      self?.awaitEnd(heardBefore: position)
    }
  }

  /// Plays the next file of the list; who plays the sound waits for that.
  /// - Returns: false when there is none.
  func playNextFile() -> Bool {
    guard var programme, !programme.rest.isEmpty else { return false }
    programme.current = programme.rest.removeFirst()
    self.programme = programme
    leavePlayer()
    disconnect()
    do { try connect(plays: true) } catch { stop() }
    return true
  }

  /// Completes a stream that was received as a station's and is a file without a length.
  func receivedAll() {
    finishRecordings()
    guard let buffer else { return disconnect() }
    if buffer.complete() { begin() }
    // A player that had run dry has been heard.
    if playback == nil { watchSilentEnd() }
  }
}
