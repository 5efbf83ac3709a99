public import EventLoop
internal import Reception
public import StreamCore

/// The time of a file, and moves to any time of it.
extension Stream {
  /// The seconds of the file that have been heard or skipped; nil for live streams, and before it plays.
  public var fileTime: Double? { file != nil && machine.hasPosition ? position.seconds : nil }

  /// The length of the file in seconds; nil for live streams, and while it is not known.
  public var fileDuration: Double? { file?.duration }

  /// `true` if the position can be moved to any time of the file.
  public var canSeek: Bool { file?.canSeek ?? false }

  /// Moves to a time of a file; a pause continues.
  /// - Throws: `stream.no_seek` past its end, for a live stream, and if the server sends no parts of files.
  public func seek(to seconds: Double) throws(StreamError) {
    guard machine.hasPosition else { throw StreamError(.noSeek, "nothing plays that could be moved") }
    guard let file else {
      throw StreamError(
        .noSeek, "\(shownURL) is live: it has no time to seek to", hint: "use the stream's rewind and forward"
      )
    }
    if let duration = file.duration, seconds > duration {
      throw StreamError(
        .noSeek,
        "seek to \(Self.shown(seconds)) s is past the end: \(shownURL) lasts \(Self.shown(duration)) s",
        facts: [.init("seconds", .number(seconds)), .init("duration", .number(duration))])
    }
    _ = try moveInFile(to: StreamTime(seconds: seconds))
  }

  private static func shown(_ seconds: Double) -> String { "\((seconds * 1000).rounded() / 1000)" }

  /// Moves in the buffer, or receives the file from the target on; not beyond its ends.
  /// - Returns: the new position.
  func moveInFile(to target: StreamTime) throws(StreamError) -> StreamTime {
    let end = file?.duration.map { StreamTime(seconds: $0) }
    let target = max(.zero, min(target, end ?? target))
    if isHeld(target) { return move(to: target) }
    guard let buffer, canSeek else {
      throw StreamError(
        .noSeek,
        "\(shownURL) can't seek to \(Self.shown(target.seconds)) s: the server sends the whole file only",
        hint: "stay within the buffered sound")
    }
    halt()
    clock.rest(at: target)
    titles.restart()
    let generation = buffer.beginSeek(to: target, wanted: StreamTime(options.bufferWaitFile))
    receiver?.seek(to: target, generation: generation)
    listener.playback?.moved()
    perform(machine.leftBuffer())
    return target
  }

  /// Returns `true` if the position can be moved there: the file has that time, and so has the buffer if the
  /// server sends no parts.
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
}
