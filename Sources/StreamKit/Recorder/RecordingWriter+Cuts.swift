internal import EventLoop

/// The cuts at which a split recording begins and ends its files.
extension RecordingWriter {
  /// The least sound between two cuts: however fast a station sends titles, one file a second begins at most.
  private static let shortestTrack = StreamTime(seconds: 1)

  func cut(at place: StreamTime, overlap: StreamTime, _ title: StreamTitle) {
    var place = place
    if let last = cuts.last, place < last.place + Self.shortestTrack {
      place = last.place
      cuts.removeLast()
    } else if let lastPlace {
      place = max(place, lastPlace + Self.shortestTrack)
    }
    lastPlace = place
    cuts.append(
      Cut(title: title, place: place, begins: max(place - overlap, .zero), ends: place + overlap))
  }

  func followCuts(_ wall: WallTime) throws(RecordError) {
    while let cut = cuts.first, cut.begins <= time {
      cuts.removeFirst()
      parts.last?.ends = cut.ends
      try open(cut.title, wall, isCutOff: false)
      guard let part = parts.last else { continue }
      for past in recent where past.time >= cut.begins {
        try part.write(past.bytes[...], [past.frame])
      }
    }
    for part in parts {
      guard let end = part.ends, end <= time else { continue }
      let beyond = recent.filter { $0.time >= end }
      try part.cut(
        bytes: beyond.reduce(0) { $0 + $1.frame.length }, samples: beyond.reduce(0) { $0 + $1.frame.samples })
      parts.removeAll { $0 === part }
      try close(part)
    }
  }

  /// Keeps recent frames: a file that opens may begin with them, and a file that ends may have too many of
  /// them.
  func remember(_ frame: StreamFrame, _ batch: RecordingFeed.Batch, _ run: Run) {
    guard let split = plan.options.split else { return }
    let reach = max(.zero, split.overlap - split.offset, .zero - split.offset - split.overlap)
    guard reach > .zero else { return }
    let end = run.start + run.bytes
    recent.append((time - frame.duration, frame, Array(batch.bytes[(end - frame.length)..<end])))
    let first = time - StreamTime(reach) - StreamTime(seconds: 1)
    while let oldest = recent.first, oldest.time < first { recent.removeFirst() }
  }
}
