internal import EventLoop

/// Writes one recording: drains its feed with every tick, divides it into files, and ends it. Confined to the
/// disk thread.
///
/// Without `split` there is one file, unless the format of the sound changes. With it a file begins with each
/// title, moved by the offset, and includes the overlap of sound around it.
final class RecordingWriter {
  private let feed: RecordingFeed
  let plan: RecordingPlan
  private let progress: RecordingProgress
  private let report: (WriterNews) -> Void

  /// The batches that are not written yet: the name of the first file may need the title, which comes a
  /// moment later.
  private var waiting: [RecordingFeed.Batch] = []
  private var waitsForTitle = true
  /// The open files; the last one is the current one.
  var parts: [RecordingPart] = []
  var cuts: [Cut] = []
  /// The position of the newest of all cuts.
  var lastPlace: StreamTime?
  var recent: [(time: StreamTime, frame: StreamFrame, bytes: [UInt8])] = []
  /// The length of the sound that was consumed, and of the gaps in it.
  var (time, missing) = (StreamTime.zero, StreamTime.zero)
  /// The length of the sound in files.
  private var written = StreamTime.zero
  /// The length of the sound that was dropped since the disk was full.
  private var lost = StreamTime.zero
  /// The last title of the dropped sound.
  private var lostTitle: StreamTitle?
  /// The length of the gap in front of the next file.
  private var gapBefore = StreamTime.zero
  private var bytes = 0
  private var format: StreamFormat?
  private var title: StreamTitle?
  private var reserve = SoundReserve()
  private var count = 0
  private var budget = FileBudget()
  /// `true` if the sound that came last has a length.
  private var hasFrames = true
  /// The extension of a file whose bytes are written as they are; nil for frames.
  private var fileEnd: String?
  /// The time of the tick.
  private var now = Instant.start
  private var hasBegun = false
  /// The path of the first file, until the beginning is reported with it.
  private var beginning: String?
  /// The time of the next attempt after the disk was full; what comes until then is dropped.
  private var waitsUntil: Instant?
  private var lastLook = Instant.start

  private(set) var hasEnded = false
  /// `true` if a row has changes that its file does not show: a gap, a title.
  var hasNews = false

  init(
    _ feed: RecordingFeed, _ plan: RecordingPlan, _ progress: RecordingProgress,
    tell: @escaping (WriterNews) -> Void
  ) {
    (self.feed, self.plan, self.progress, report) = (feed, plan, progress, tell)
  }

  private func tell(_ news: WriterNews) {
    tellBeginning()
    report(news)
  }

  /// Reports the beginning, once: when everything that had come by then is on disk.
  private func tellBeginning() {
    guard let path = beginning else { return }
    beginning = nil
    report(.began(path: path))
  }

  /// The rows of the open files.
  var entries: [RecordingEntry] { parts.map(\.entry) }

  /// An open file, for operations on its disk; nil when there is none.
  var anyPart: RecordingPart? { parts.last }

  // MARK: Ticks

  /// Writes what has come since the last tick.
  func tick(at now: Instant, _ wall: WallTime) {
    guard !hasEnded else { return }
    take(now, wall)
    if !hasEnded, isDue(now, wall) { finish(at: now, wall) }
  }

  private func take(_ now: Instant, _ wall: WallTime) {
    self.now = now
    receive()
    if let waitsUntil {
      lose()
      if now >= waitsUntil { goOn(now) }
      return
    }
    let isOverrun = waiting.last?.isOverrun == true
    do throws(RecordError) {
      try look(now)
      // Frames from before an overrun are written without a wait for the title.
      if isOverrun { waitsForTitle = false }
      if !waiting.isEmpty, !isWaitingForTitle(now) { try write(wall) }
      if isOverrun, !hasEnded { throw .tooSlow(plan.options.template) }
    } catch { return fail(error, now) }
  }

  /// Writes what has come, closes all files, and reports the end.
  func finish(at now: Instant, _ wall: WallTime) {
    guard !hasEnded else { return }
    feed.close()
    waitsForTitle = false
    take(now, wall)
    guard !hasEnded else { return }
    missEnd(now)
    close()
  }

  private func receive() {
    let known = waiting.count
    feed.take(into: &waiting)
    let new = waiting[known...]
    guard new.contains(where: { !$0.frames.isEmpty }) else { return }
    // A gap is reported with the frame behind it, and so precedes the new sound.
    let gaps = new.reduce(StreamTime.zero) { $0 + $1.gaps }
    let before = waiting[..<known].reduce(sound) { $0 + $1.length + $1.gaps }
    reserve.came(at: now, before: before + gaps)
  }

  /// The length of all sound that came, gaps included.
  private var sound: StreamTime { time + missing + lost }

  /// The timeout for a title that belongs to the first sound.
  private static let titlePatience = Duration.milliseconds(500)

  /// Returns `true` while the title for the first name may still come: a station sends it with its first
  /// sound, or never.
  private func isWaitingForTitle(_ now: Instant) -> Bool {
    guard waitsForTitle, let firstArrival = reserve.first else { return false }
    let isThere = waiting.contains { batch in
      batch.marks.contains { if case .title = $0.mark { true } else { false } }
    }
    waitsForTitle = !isThere && title == nil && firstArrival.duration(to: now) < Self.titlePatience
    return waitsForTitle
  }

  /// The planned length of sound; nil without an end. The padding in front counts as far as the buffer had
  /// it.
  private var length: Duration? {
    let options = plan.options
    return options.duration.map { duration in
      let before = feed.beginning - StreamTime(options.back)
      return duration + options.padAfter
        + max(.zero, min(options.padBefore, Duration(inSeconds: before.seconds)))
    }
  }

  private func isDue(_ now: Instant, _ wall: WallTime) -> Bool {
    if let end = plan.options.end, wall >= end { return true }
    // A stalled stream does not extend the recording.
    guard let length, let firstArrival = reserve.first else { return false }
    return firstArrival.duration(to: now) >= length + .seconds(2)
  }

  /// Notes a gap at the end of a recording whose station has not come back.
  private func missEnd(_ now: Instant) {
    let (sound, planned) = (hasFrames ? sound : nil, length.map { StreamTime($0) })
    guard count > 0, fileEnd == nil, let rest = reserve.missing(at: now, behind: sound, of: planned) else {
      return
    }
    take(.gap(seconds: rest.seconds))
  }

  /// Checks every few seconds that the disk has room.
  private func look(_ now: Instant) throws(RecordError) {
    guard plan.options.minimumFree > 0, parts.isEmpty || lastLook.duration(to: now) >= .seconds(5) else {
      return
    }
    lastLook = now
    try plan.requireRoom()
  }

  // MARK: Writing

  private func write(_ wall: WallTime) throws(RecordError) {
    let (start, missingBefore) = (time, missing)
    do throws(RecordError) {
      for index in waiting.indices {
        try write(waiting[index], before: waiting[(index + 1)...], wall)
        // The recording may be shorter than what has come.
        if hasEnded { return waiting = [] }
      }
    } catch {
      // A part of the batches is written by then, and some of their marks are applied.
      let gaps = waiting.reduce(StreamTime.zero) { $0 + $1.gaps } - (missing - missingBefore)
      lost = waiting.reduce(start) { $0 + $1.length } - written + gaps
      lostTitle = waiting.last { $0.lastTitle != nil }?.lastTitle
      waiting = []
      throw error
    }
    waiting.removeAll(keepingCapacity: true)
    tellBeginning()
  }

  private func write(
    _ batch: RecordingFeed.Batch, before following: ArraySlice<RecordingFeed.Batch>, _ wall: WallTime
  ) throws(RecordError) {
    var run = Run()
    var marks = batch.marks[...]
    let length = length
    for (index, frame) in batch.frames.enumerated() {
      while let mark = marks.first, mark.frame <= index {
        marks.removeFirst()
        try put(&run, of: batch)
        take(mark.mark)
      }
      if frame.format != format {
        try put(&run, of: batch)
        try change(to: frame.format, marks: marks + following.flatMap(\.marks), wall)
      }
      if !cuts.isEmpty || parts.count > 1 {
        try put(&run, of: batch)
        try followCuts(wall)
      }
      run.add(frame)
      time = time + frame.duration
      remember(frame, batch, run)
      if let length, time + missing >= StreamTime(length) {
        try put(&run, of: batch)
        return close()
      }
    }
    try put(&run, of: batch)
    for mark in marks { take(mark.mark) }
  }

  private func put(_ run: inout Run, of batch: RecordingFeed.Batch) throws(RecordError) {
    guard run.frames > 0 else { return }
    let range = run.start..<(run.start + run.bytes)
    let frames = batch.frames[run.firstFrame..<(run.firstFrame + run.frames)]
    let before = parts.last?.entry.bytes ?? 0
    for part in parts { try part.write(batch.bytes[range], frames) }
    bytes += (parts.last?.entry.bytes ?? 0) - before
    try followFull()
    (written, gapBefore) = (time, .zero)
    run = Run(start: range.upperBound, firstFrame: frames.endIndex)
    let (seconds, bytes) = (time.seconds, bytes)
    progress.update { ($0.seconds, $0.bytes) = (seconds, bytes) }
    if !hasBegun, let first = parts.first { (hasBegun, beginning) = (true, first.entry.path) }
  }

  /// Continues full files in new ones, which begin with the sound that did not fit.
  private func followFull() throws(RecordError) {
    while let index = parts.firstIndex(where: \.isFull), let format {
      let full = parts[index]
      try spendFile()
      count += 1
      let next = try plan.open(format, title: title, number: count, start: plan.now, behind: full)
      next.ends = full.ends
      bytes += next.entry.bytes
      parts.insert(next, at: index + 1)
      try close(full)
      parts.remove(at: index)
      tellTrack(next, title)
    }
  }

  /// Consumes one of the files that changes of format may begin.
  /// - Throws: `record.write` when they come too often.
  private func spendFile() throws(RecordError) {
    guard budget.take(sound: time, clock: now) else { throw .restless(plan.options.template) }
  }

  private func take(_ mark: RecordingFeed.Mark) {
    hasNews = true
    switch mark {
    case .gap(let seconds):
      // A gap in front of the first file is none of the recording.
      guard count > 0 else { return }
      missing = missing + StreamTime(seconds: seconds)
      let gap = RecordingEntry.Gap(at: time.seconds, seconds: seconds)
      progress.update { $0.gaps.append(gap) }
      for part in parts { part.note(gapOf: seconds) }
    case .title(let new):
      guard new != title else { return }
      // A station may change the address that goes with a title: the song is the same.
      let isSameSong = title?.text == new.text
      title = new
      progress.update { $0.title = new }
      if isSameSong { return }
      guard let split = plan.options.split, !parts.isEmpty else { return parts.last?.note(new) ?? () }
      cut(at: time + StreamTime(split.offset), overlap: StreamTime(split.overlap), new)
    }
  }

  private func change(
    to new: StreamFormat, marks: some Sequence<(frame: Int, mark: RecordingFeed.Mark)>, _ wall: WallTime
  ) throws(RecordError) {
    try spendFile()
    for part in parts { try close(part, isCutOff: part.ends == nil) }
    parts = []
    recent = []
    fileEnd = feed.fileEnd
    (format, hasFrames) = (new, new.codec.hasFrames && fileEnd == nil)
    // A title that comes with the first sound, or a moment later, names the first file.
    if count == 0, title == nil {
      let first = marks.lazy.compactMap { if case .title(let title) = $0.mark { title } else { nil } }.first
      title = first
      if let first { progress.update { $0.title = first } }
    }
    let next = cuts.last?.title ?? title
    cuts = []
    try open(next, wall, isCutOff: true)
  }

  /// Begins a file.
  /// - Parameter isCutOff: `true` if its title began before it.
  func open(_ title: StreamTitle?, _ wall: WallTime, isCutOff: Bool) throws(RecordError) {
    guard let format else { return }
    count += 1
    let part = try plan.open(
      format, title: title, number: count, start: wall, isCutOff: isCutOff, fileEnd: fileEnd)
    parts.append(part)
    if gapBefore > .zero { part.note(gapOf: gapBefore.seconds) }
    tellTrack(part, title)
  }

  /// Reports that a file has begun; not the first, unless the recording is split.
  private func tellTrack(_ part: RecordingPart, _ title: StreamTitle?) {
    guard count > 1 || plan.options.split != nil else { return }
    tell(.track(path: part.entry.path, title: title?.text))
  }

  // MARK: The end

  /// Ends a file, and reports it when its name is not the reported one, or when it was removed.
  func close(
    _ part: RecordingPart, isCutOff: Bool = false, isLast: Bool = false
  ) throws(RecordError) {
    try plan.close(part, isCutOff: isCutOff, isLast: isLast)
    if fileEnd != nil {
      let seconds = part.entry.seconds
      progress.update { $0.seconds = seconds }
    }
    let path = part.entry.part == nil && plan.lastPath == part.entry.path ? part.entry.path : nil
    if path != part.toldPath { tell(.closed(part.toldPath, as: path)) }
  }

  private func close() {
    hasEnded = true
    feed.close()
    // The disk had no room up to the end.
    if lost > .zero { take(.gap(seconds: lost.seconds)) }
    var failure: RecordError?
    for part in parts {
      let isLast = part === parts.last
      do throws(RecordError) { try close(part, isCutOff: part.ends == nil, isLast: isLast) } catch {
        failure = error
      }
    }
    let path = plan.lastPath ?? parts.last?.entry.path
    parts = []
    plan.writeCueSheet()
    if let failure { tell(.stopped(failure, goesOn: false)) } else { tell(.finished(path: path)) }
  }

  private func fail(_ error: RecordError, _ now: Instant) {
    let goesOn = plan.options.resumesWhenSpace && error.kind == .diskFull && hasBegun
    for part in parts {
      part.entry.error = error.description
      part.fails = true
      // The sound that could be written is kept.
      do throws(RecordError) { try close(part, isCutOff: part.ends == nil) } catch { plan.lost(part, error) }
    }
    (parts, cuts, recent, format, time) = ([], [], [], nil, written)
    lose()
    if goesOn {
      waitsUntil = now.advanced(by: .seconds(5))
    } else {
      hasEnded = true
      feed.close()
      plan.writeCueSheet()
    }
    tell(.stopped(error, goesOn: goesOn))
  }

  /// Drops what has come. Its last title is applied, as the sound that comes next may have it.
  private func lose() {
    for batch in waiting {
      lost = lost + batch.length + batch.gaps
      lostTitle = batch.lastTitle ?? lostTitle
    }
    waiting = []
    guard let title = lostTitle else { return }
    lostTitle = nil
    take(.title(title))
  }

  /// Resumes when the disk has room again; otherwise schedules the next attempt.
  private func goOn(_ now: Instant) {
    let isRoom: Bool
    do throws(RecordError) {
      try plan.requireRoom(atLeast: Self.roomToGoOn)
      isRoom = true
    } catch { isRoom = false }
    waitsUntil = isRoom ? nil : now.advanced(by: .seconds(5))
    guard isRoom, lost > .zero else { return }
    take(.gap(seconds: lost.seconds))
    (gapBefore, lost) = (gapBefore + lost, .zero)
  }

  /// The bytes that must be free before writing resumes: some minutes of sound.
  private static let roomToGoOn = 16 << 20
}
