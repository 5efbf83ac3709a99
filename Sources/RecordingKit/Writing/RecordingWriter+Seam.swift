internal import EventLoop
internal import StreamCore

/// The beginning of a recording that is appended to a file.
extension RecordingWriter {
  /// The relation of the first sound to the file that the recording is appended to.
  enum Continuation {
    /// No sound has come, or the recording is not appended to a file.
    case none
    /// The position of the sound after the file is searched for.
    case searching(FileSeam)
    /// The first file continues another one, from that time on and after a gap of `gap` seconds, or stands
    /// alone.
    case decided(start: WallTime?, gap: Double)
  }

  /// `true` while sound is held until its position after a file is found.
  var isSearching: Bool { if case .searching = continuation { true } else { false } }

  /// Replaces the waiting sound by the sound that follows the file that is appended to, once it is known.
  /// - Parameter isLast: `true` if no more sound comes.
  func seam(at now: Instant, _ wall: WallTime, isLast: Bool) {
    if case .none = continuation { beginSeam(at: now, wall) }
    guard case .searching(var seam) = continuation else { return }
    continuation = .none  // so that it is not copied
    for batch in waiting { seam.add(batch, at: now.seconds) }
    waiting = []
    seam.timePassed(at: now.seconds)
    if isLast { seam.end() }
    waiting = seam.release()
    switch seam.decision {
    case nil where isLast:
      // All received sound is in the file.
      continuation = .decided(start: nil, gap: 0)
      begins(at: seam.path)
    case nil: continuation = .searching(seam)
    case .joined(let overlap):
      // Its sound is both in the file and in that of the station.
      begins(at: seam.path)
      follow(seam.path, from: seam.start, gap: 0, overlap: overlap)
      account(for: waiting[...], at: now)
    case .gap(let seconds):
      follow(seam.path, from: seam.start, gap: seconds, overlap: nil)
      account(for: waiting[...], at: now)
    }
  }

  private func begins(at path: String) {
    if case .waiting = beginning { beginning = .unreported(path: path) }
  }

  /// Notes how the first file continues the one at `path`.
  /// - Parameters:
  ///   - gap: the missing seconds; ignored for a recording that was not cut off.
  ///   - overlap: the number of repeated frames; nil if the sound does not join that of the file.
  private func follow(_ path: String, from start: WallTime, gap: Double, overlap: Int?) {
    let gap = files.options.continues ? gap : 0
    continuation = .decided(start: start, gap: gap)
    guard files.options.continues || overlap != nil else { return }
    files.logGap(behind: path, gap)
    continued = .continued(path: path, gap: gap, overlap: overlap)
  }

  private func beginSeam(at now: Instant, _ wall: WallTime) {
    guard files.options.appends,
      let format = waiting.lazy.flatMap(\.frames).first(where: { !$0.isHeaders })?.format
    else { return }
    continuation = .decided(start: nil, gap: 0)
    guard let file = files.continued(format, title: firstTitle, start: wall) else { return }
    let outage = file.end.duration(to: wall)
    if outage <= Self.longestOutage, !file.frames.isEmpty {
      forgetArrivals()
      continuation = .searching(
        FileSeam(
          behind: file.path, file.frames, lostAt: now.seconds - outage.inSeconds, start: wall))
    } else if files.options.continues {
      // Everything that a server sends now is missing in the file.
      let come = waiting.reduce(StreamTime.zero) { $0 + $1.length }.seconds
      follow(file.path, from: wall, gap: max(0, outage.inSeconds - come), overlap: nil)
    }
  }

  /// The longest outage after which a server may still send earlier sound: a burst of 256 KiB at 17 kbit/s.
  private static let longestOutage = Duration.seconds(120)

  /// The title of the first sound; nil if it has no title yet.
  private var firstTitle: StreamTitle? {
    title
      ?? waiting.lazy.flatMap(\.marks)
      .compactMap { if case .title(let title) = $0.mark { title } else { nil } }.first
  }

  /// Notes in the row of the open file how far its sound is ahead of the clock.
  func noteLead(at now: Instant, _ wall: WallTime) {
    guard waiting.isEmpty, sound.hasFrames, let part = parts.last, let due = soundClock.due() else { return }
    let end = wall.advanced(by: Duration(inSeconds: due - now.seconds))
    let more = end.duration(to: part.entry.end).inSeconds
    // Most arrivals change nothing.
    guard more.magnitude > Self.leadTolerance else { return }
    part.entry.lead += more
    hasChanged = true
  }

  private static let leadTolerance = 0.05
}

extension Instant {
  /// The time in seconds since the start of the clock.
  fileprivate var seconds: Double { Double(nanoseconds) / 1e9 }
}
