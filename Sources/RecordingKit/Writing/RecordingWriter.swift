internal import Codecs
internal import EventLoop
internal import StreamCore

/// Writes one recording: drains its queue every tick, writes the sound into files, and ends them. Confined to
/// the disk thread.
///
/// Without `split` there is one file, unless the format of the sound changes more than a second before the
/// end. With it a file begins with each title, moved by the offset, and has the overlap of the sound around
/// it: `CutPlanner` decides. `GapLedger` accounts for the sound.
final class RecordingWriter {
  let queue: RecordingQueue
  let files: RecordingFiles
  let progress: RecordingProgress
  private let onEvent: (WriterEvent) -> Void

  /// The batches that are not written: before a file is opened its name may need the title, which comes a
  /// moment later.
  var waiting: [RecordingQueue.Batch] = []
  private var waitsForTitle: Bool
  /// The open files; the last one continues.
  var parts: [RecordingPart] = []
  var planner: CutPlanner
  var ledger = GapLedger()
  private var bytes = 0
  var sound = Sound()
  var title: StreamTitle?
  private var reserve = SoundReserve()
  /// The relation of the first sound to the file that it is appended to.
  var continuation = Continuation.none
  /// The event of a file that is continued, until its first frame is on disk.
  var continued: WriterEvent?
  /// The lag of the sound after the clock.
  private(set) var soundClock = SoundClock()
  /// The number of opened files.
  var count = 0
  var budget = FileBudget()
  /// The time of the tick.
  private var now = Instant.start
  var beginning = Beginning.waiting
  /// The next check of a disk without room; received sound is lost until there is room.
  var waitsUntil: Instant?
  private var lastLook = Instant.start
  /// The time of the last tick with new sound; nil before the first.
  private var lastWrite: Instant?

  var hasEnded = false
  /// `true` after an event that only the rows know: a gap, a title.
  var hasChanged = false

  /// The current sound.
  struct Sound {
    /// The format of the open files; nil if the next frame begins one.
    var format: StreamFormat?
    /// The extension of a file that is written byte for byte; nil for frames.
    var fileEnd: String?
    /// `true` if each piece has a length.
    var hasFrames = true
    /// The headers of Ogg pages; nil for other frames.
    var headers: OggHeaders?
    /// The reason why the next frame begins a file; nil if it continues the open ones.
    var beginning: Beginning?

    enum Beginning {
      /// The headers of a logical stream have come.
      case chain
      /// A file of the server begins, with this extension; nil for frames.
      case file(end: String?)
    }
  }

  /// The first sound of a recording.
  enum Beginning {
    /// No sound is on disk.
    case waiting
    /// Sound is in the file at this path; the event follows when all sound received by then is on disk.
    case unreported(path: String)
    case reported
  }

  /// Consecutive frames that go into the same files.
  private struct Run {
    /// The number of bytes before it in the batch.
    var start = 0
    var bytes = 0
    var firstFrame = 0
    var frames = 0
    mutating func add(_ frame: StreamFrame) {
      bytes += frame.length
      frames += 1
    }
  }

  init(
    _ queue: RecordingQueue, _ files: RecordingFiles, _ progress: RecordingProgress,
    onEvent: @escaping (WriterEvent) -> Void
  ) {
    (self.queue, self.files, self.progress, self.onEvent) = (queue, files, progress, onEvent)
    planner = CutPlanner(files.options.split)
    waitsForTitle = files.needsTitle
  }

  func report(_ event: WriterEvent) {
    reportBeginning()
    onEvent(event)
  }

  func reportBeginning() {
    guard case .unreported(let path) = beginning else { return }
    beginning = .reported
    onEvent(.began(path: path))
    if let continued { onEvent(continued) }
    continued = nil
  }

  /// The rows of its open files.
  var entries: [RecordingEntry] { parts.map(\.entry) }

  /// One of its files, which identifies the disk.
  var anyPart: RecordingPart? { parts.last }

  // MARK: Ticks

  /// Writes the sound received since the last tick.
  func tick(at now: Instant, _ wall: WallTime) {
    guard !hasEnded else { return }
    drain(at: now, wall)
    if !hasEnded, isDue(now, wall) { finish(at: now, wall) }
  }

  /// - Parameter isLast: `true` if no more sound comes.
  private func drain(at now: Instant, _ wall: WallTime, isLast: Bool = false) {
    self.now = now
    receive()
    if let waitsUntil {
      lose()
      if now >= waitsUntil { resume(now) }
      return
    }
    let isOverrun = waiting.last?.isOverrun == true
    do throws(RecordError) {
      try look(now)
      // Sound from before an overrun is as good as any for the name.
      if isOverrun { waitsForTitle = false }
      if isSearching || !waiting.isEmpty && !isWaitingForTitle(now) {
        seam(at: now, wall, isLast: isLast)
        if !waiting.isEmpty { try write(wall) }
        noteLead(at: now, wall)
      }
      if isOverrun, !hasEnded { throw .tooSlow(files.options.template) }
    } catch { return fail(error, now) }
  }

  /// Writes the received sound, closes all files, and reports the end.
  func finish(at now: Instant, _ wall: WallTime) {
    guard !hasEnded else { return }
    queue.close()
    waitsForTitle = false
    drain(at: now, wall, isLast: true)
    guard !hasEnded else { return }
    missEnd(now)
    close()
  }

  private func receive() {
    let known = waiting.count
    queue.drain(into: &waiting)
    let new = waiting[known...]
    guard new.contains(where: { !$0.frames.isEmpty }) else { return }
    lastWrite = now
    // Held sound may be in the file that it continues.
    if !isSearching { account(for: new, at: now) }
  }

  /// Accounts for the arrival of batches, which are the last of the waiting ones.
  func account(for new: ArraySlice<RecordingQueue.Batch>, at now: Instant) {
    guard new.contains(where: { !$0.frames.isEmpty }) else { return }
    // Gaps before the sound are marked in it.
    let gaps = new.reduce(StreamTime.zero) { $0 + $1.gaps }
    let before = waiting[..<new.startIndex].reduce(ledger.total) { $0 + $1.length + $1.gaps }
    reserve.came(at: now, before: before + gaps)
    soundClock.skip(gaps)
    let seconds = Double(now.nanoseconds) / 1e9
    for batch in new { for frame in batch.frames { soundClock.add(frame, at: seconds) } }
  }

  /// Forgets the arrivals, whose sound may be in the file that it continues.
  func forgetArrivals() { (reserve, soundClock) = (SoundReserve(), SoundClock()) }

  /// The least sound for which a file is begun before the end of a recording; less is missing at its end, as
  /// a gap.
  static let shortestEnd = StreamTime(seconds: 1)

  /// The longest delay of a title that belongs to the first sound.
  private static let titleTimeout = Duration.milliseconds(500)

  /// The time after the first sound in which all sound is written at once, so that a process killed meanwhile
  /// leaves it in the file.
  private static let beginningTime = Duration.seconds(1)

  /// Returns the moment from which on the received sound is to be written.
  func nextWrite(at now: Instant, every interval: Duration) -> Instant {
    guard let lastWrite, let first = reserve.first, first.duration(to: now) >= Self.beginningTime else {
      return now
    }
    return lastWrite.advanced(by: interval)
  }

  /// Returns `true` while a name may need the title: it comes with a station's first sound, or never.
  private func isWaitingForTitle(_ now: Instant) -> Bool {
    guard waitsForTitle, let firstArrival = reserve.first else { return false }
    let isThere = waiting.contains { batch in
      batch.marks.contains { if case .title = $0.mark { true } else { false } }
    }
    waitsForTitle = !isThere && title == nil && firstArrival.duration(to: now) < Self.titleTimeout
    return waitsForTitle
  }

  /// `true` while a title belongs to the first sound.
  private var isBeginning: Bool { reserve.first.map { $0.duration(to: now) <= Self.titleTimeout } ?? true }

  /// The moment at which it stops waiting for a title; nil if it does not wait.
  var titleDeadline: Instant? {
    guard waitsForTitle, !waiting.isEmpty, waitsUntil == nil, !hasEnded else { return nil }
    return reserve.first?.advanced(by: Self.titleTimeout)
  }

  /// The length of the sound to record, with the available part of the padding before it; nil without an end.
  var length: Duration? {
    let options = files.options
    return options.duration.map { duration in
      let before = queue.beginning - StreamTime(options.back)
      return duration + options.padAfter
        + max(.zero, min(options.padBefore, Duration(inSeconds: before.seconds)))
    }
  }

  private func isDue(_ now: Instant, _ wall: WallTime) -> Bool {
    if let end = files.options.end, wall >= end { return true }
    // Time passes also while no sound comes.
    guard let length, let firstArrival = reserve.first else { return false }
    return firstArrival.duration(to: now) >= length + .seconds(2)
  }

  /// Notes the sound missing at the end of a recording whose station has not come back.
  private func missEnd(_ now: Instant) {
    let total = sound.hasFrames ? ledger.total : nil
    guard count > 0, sound.fileEnd == nil,
      let rest = reserve.missing(at: now, behind: total, of: length.map { StreamTime($0) })
    else { return }
    apply(.gap(seconds: rest.seconds))
  }

  /// Checks every few seconds whether the disk has room.
  private func look(_ now: Instant) throws(RecordError) {
    guard files.options.minimumFree > 0, parts.isEmpty || lastLook.duration(to: now) >= .seconds(5) else {
      return
    }
    lastLook = now
    try files.requireRoom()
  }

  // MARK: Writing

  private func write(_ wall: WallTime) throws(RecordError) {
    let before = ledger
    do throws(RecordError) {
      for index in waiting.indices {
        try write(waiting[index], before: waiting[(index + 1)...], wall)
        // The recording may be shorter than the received sound.
        if hasEnded { return waiting = [] }
      }
    } catch {
      ledger.fail(waiting, since: before)
      waiting = []
      throw error
    }
    waiting.removeAll(keepingCapacity: true)
    reportBeginning()
  }

  private func write(
    _ batch: RecordingQueue.Batch, before following: ArraySlice<RecordingQueue.Batch>, _ wall: WallTime
  ) throws(RecordError) {
    var run = Run()
    var marks = batch.marks[...]
    let length = length.map { StreamTime($0) }
    for (index, frame) in batch.frames.enumerated() {
      while let mark = marks.first, mark.frame <= index {
        marks.removeFirst()
        try put(&run, of: batch)
        apply(mark.mark)
      }
      // A gap at the end belongs to the recording, and the sound after it does not.
      if count > 0, isComplete(length, frame.format) {
        try put(&run, of: batch)
        return close()
      }
      if frame.isHeaders {
        try put(&run, of: batch)
        let start = run.start
        run = Run(start: start + frame.length, firstFrame: index + 1)
        chain(batch.bytes[start..<(start + frame.length)])
        continue
      }
      if frame.format != sound.format || sound.beginning != nil {
        try put(&run, of: batch)
        try change(to: frame.format, marks: marks + following.flatMap(\.marks), wall)
        if hasEnded { return }
      }
      if !planner.isEmpty || parts.count > 1 {
        try put(&run, of: batch)
        try followCuts(wall)
      }
      run.add(frame)
      ledger.receive(frame.duration)
      let end = run.start + run.bytes
      planner.remember(frame, batch.bytes[(end - frame.length)..<end], endingAt: ledger.time)
      if sound.headers != nil {
        let rest = length.map { $0 - ledger.time - ledger.missing + frame.duration }
        try put(&run, of: batch, keeping: rest)
      }
      if isComplete(length, frame.format) {
        try put(&run, of: batch)
        return close()
      }
    }
    try put(&run, of: batch)
    for mark in marks { apply(mark.mark) }
  }

  /// Returns `true` if no sample of the length is left, for frames of a format.
  private func isComplete(_ length: StreamTime?, _ format: StreamFormat) -> Bool {
    guard let length else { return false }
    let rest = length - ledger.time - ledger.missing
    return rest <= .zero || sound.headers != nil && rest.samples(at: format.sampleRate) == 0
  }

  /// Writes the frames of a run into all open files.
  /// - Parameter limit: the sound of a single Ogg page that is kept; nil for all of it.
  private func put(
    _ run: inout Run, of batch: RecordingQueue.Batch, keeping limit: StreamTime? = nil
  ) throws(RecordError) {
    guard run.frames > 0 else { return }
    let range = run.start..<(run.start + run.bytes)
    let frames = batch.frames[run.firstFrame..<(run.firstFrame + run.frames)]
    let before = parts.last?.entry
    for part in parts { try part.write(batch.bytes[range], frames, keeping: limit) }
    bytes += (parts.last?.entry.bytes ?? 0) - (before?.bytes ?? 0)
    if sound.headers != nil, let last = parts.last?.entry, let before {
      // After a beginning and after a gap decoders return more or less of a page than it states.
      let written = StreamTime(samples: last.samples - before.samples, sampleRate: last.sampleRate)
      ledger.receive(frames.reduce(written) { $0 - $1.duration })
    }
    try followFull()
    ledger.write()
    run = Run(start: range.upperBound, firstFrame: frames.endIndex)
    let (seconds, bytes) = (ledger.time.seconds, bytes)
    progress.update { ($0.seconds, $0.bytes) = (seconds, bytes) }
    if case .waiting = beginning, let first = parts.first { beginning = .unreported(path: first.entry.path) }
  }

  /// Opens the next file for the sound that a full one can't hold.
  private func followFull() throws(RecordError) {
    while let index = parts.firstIndex(where: \.isFull), let format = sound.format {
      let full = parts[index]
      try spendFile()
      count += 1
      let next = try files.open(
        format, title: title, number: count, start: files.now, behind: full, headers: sound.headers)
      next.ends = full.ends
      bytes += next.entry.bytes
      parts.insert(next, at: index + 1)
      try close(full)
      parts.remove(at: index)
      reportTrack(next, title)
    }
  }

  /// Counts a file that begins as the sound of the last one has another format, or is too long.
  /// - Throws: `record.write` if there are too many of them.
  func spendFile() throws(RecordError) {
    guard budget.spend(sound: ledger.time, clock: now) else { throw .formatUnstable(files.options.template) }
  }

  func apply(_ mark: RecordingQueue.Mark) {
    hasChanged = true
    switch mark {
    case .gap(let seconds):
      // A gap before the recording began is not part of it.
      guard count > 0 else { return }
      ledger.miss(StreamTime(seconds: seconds))
      let gap = RecordingEntry.Gap(at: ledger.time.seconds, seconds: seconds)
      progress.update { $0.gaps.append(gap) }
      for part in parts { part.note(gapOf: seconds) }
    case .file(let end): sound.beginning = .file(end: end)
    case .discard: discardFile()
    case .title(let new):
      guard new != title else { return }
      // A station may change the address that belongs to a title: the song is the same.
      let isSameSong = title?.text == new.text
      let isFirst = title == nil && count == 1 && !files.needsTitle && isBeginning
      title = new
      progress.update { $0.title = new }
      if isSameSong { return }
      if isFirst, let part = parts.last { return part.begin(with: new) }
      if parts.isEmpty || !planner.add(new, at: ledger.time) { parts.last?.note(new) }
    }
  }
}
