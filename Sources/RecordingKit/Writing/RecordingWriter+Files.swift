internal import Codecs
internal import EventLoop
internal import StreamCore

/// The files of a recording, and the positions at which they begin and end.
extension RecordingWriter {
  func change(
    to new: StreamFormat, marks: some Sequence<(frame: Int, mark: RecordingQueue.Mark)>, _ wall: WallTime
  ) throws(RecordError) {
    var fileEnd = sound.fileEnd
    // The number of files in a list is no sign of an unstable format.
    if case .file(let end) = sound.beginning { fileEnd = end } else { try spendFile() }
    let next = planner.reset()
    // A title that comes with headers begins with them.
    let isWhole = sound.beginning != nil && next != nil
    let rest = count > 0 ? length.map { StreamTime($0) - ledger.time - ledger.missing } : nil
    let isOver = rest.map { $0 < Self.shortestEnd } ?? false
    if let rest, isOver, rest > .zero { apply(.gap(seconds: rest.seconds)) }
    for part in parts {
      if sound.beginning != nil { part.dropTitlesAtEnd() }
      try close(part, isCutOff: part.ends == nil && !isWhole)
    }
    parts = []
    if isOver { return close() }
    sound = Sound(
      format: new, fileEnd: fileEnd, hasFrames: new.codec.hasFrames && fileEnd == nil,
      headers: new.codec.isOgg ? sound.headers : nil)
    // A title that arrives with the first sound, or shortly after, names the first file.
    if count == 0, title == nil {
      let first = marks.lazy.compactMap { if case .title(let title) = $0.mark { title } else { nil } }.first
      title = first
      if let first { progress.update { $0.title = first } }
    }
    try open(next ?? title, wall, isCutOff: !isWhole)
  }

  /// Reads the headers of the frames that follow, which begin a file.
  func chain(_ bytes: ArraySlice<UInt8>) {
    sound.headers = OggHeaders(pages: Array(bytes))
    sound.beginning = .chain
  }

  /// Begins and ends the files that are due.
  func followCuts(_ wall: WallTime) throws(RecordError) {
    while let cut = planner.next(by: ledger.time) {
      parts.last?.ends = cut.ends
      try open(cut.title, wall, isCutOff: false)
      guard let part = parts.last else { continue }
      for past in planner.frames(from: cut.begins) { try part.write(past.bytes[...], [past.frame]) }
    }
    for part in parts {
      guard let end = part.ends, end <= ledger.time else { continue }
      let beyond = planner.frames(from: end)
      try part.cut(
        beyond.count, bytes: beyond.reduce(0) { $0 + $1.frame.length },
        samples: beyond.reduce(0) { $0 + $1.frame.samples })
      parts.removeAll { $0 === part }
      try close(part)
    }
  }

  /// Begins a file.
  /// - Parameter isCutOff: `true` if its title began before it.
  func open(_ title: StreamTitle?, _ wall: WallTime, isCutOff: Bool) throws(RecordError) {
    guard let format = sound.format else { return }
    count += 1
    var (start, gap) = (wall, 0.0)
    if count == 1, case .decided(let begun?, let missing) = continuation { (start, gap) = (begun, missing) }
    let part = try files.open(
      format, title: title, number: count, start: start, isCutOff: isCutOff, fileEnd: sound.fileEnd,
      headers: sound.headers, gap: gap)
    parts.append(part)
    for gap in part.entry.gaps { progress.update { $0.gaps.append(gap) } }
    if ledger.gapBefore > .zero { part.note(gapOf: ledger.gapBefore.seconds) }
    reportTrack(part, title)
  }

  /// Reports that a file has begun; the first file only if the recording is split.
  func reportTrack(_ part: RecordingPart, _ title: StreamTitle?) {
    guard count > 1 || files.options.split != nil else { return }
    report(.track(path: part.entry.path, title: title?.text))
  }
}
