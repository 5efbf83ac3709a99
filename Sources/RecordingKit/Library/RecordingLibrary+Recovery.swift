internal import Codecs
public import EventLoop
internal import Glibc
internal import StreamCore

extension RecordingLibrary {
  /// The outcome for a recording whose process ended while it was open.
  public struct Recovered: Sendable, Equatable, CustomStringConvertible {
    /// The action taken.
    public enum Outcome: Sendable, Equatable {
      /// Renamed to a file, with the bytes on the disk.
      case named
      /// Appended to the file that it continues.
      case joined
      /// Removed with its row, as none of it had reached the disk.
      case gone
      /// Left unchanged after an error, for the next attempt.
      case failed(RecordError)
    }
    /// The present row, or the former one if it was removed.
    public let entry: RecordingEntry
    /// The action taken.
    public let outcome: Outcome

    /// The outcome in one line.
    public var description: String {
      let path = entry.path.onOneLine
      let length = "\(Int(max(0, min(entry.seconds, 1e9)))) s"
      switch outcome {
      case .named: return "recovered \(path), \(length)"
      case .joined: return "recovered the end of \(path), which has \(length) now"
      case .gone: return "nothing of \(path) had reached the disk"
      case .failed(let error): return "can't recover \(path): \(error)"
      }
    }
  }

  /// The age from which a row without a part counts as abandoned: the part is created after its row.
  private static let timeToBegin = Duration.seconds(60)
  /// The age up to which an empty part may be that of an owner that has created it, and is about to lock it.
  private static let timeToLock = Duration.seconds(2)

  /// Recovers abandoned recordings of ended processes: unlocked parts, and their rows. Does not touch open
  /// recordings. Can be interrupted at any moment and repeated.
  /// - Parameter isIncluded: `true` for the paths of recordings to check.
  public func recover(
    now: WallTime, where isIncluded: (_ path: String) -> Bool = { _ in true }
  ) throws -> [Recovered] {
    try catalogue.openEntries().compactMap { entry in
      guard isIncluded(entry.path) else { return nil }
      do {
        return try recover(entry, now)
      } catch let error as RecordError {
        return Recovered(entry: entry, outcome: .failed(error))
      }
    }
  }

  func recover(_ seen: RecordingEntry, _ now: WallTime) throws -> Recovered? {
    let part = seen.part ?? seen.path + PartFile.suffix
    let file = try PartFile.adopt(part)
    defer { file?.abandon(keep: true) }
    if file == nil, PartFile.isHeld(part) { return nil }
    // The owner may have closed it since the row was read.
    guard let entry = try catalogue.entry(id: seen.id), entry.part == seen.part else { return nil }
    guard let file else { return try recoverWithoutPart(entry, now) }
    if file.length == 0, entry.start.duration(to: now) <= Self.timeToLock { return nil }
    switch entry.state {
    case .recording, .joining, .interrupted:
      return entry.joinBase == nil ? try name(entry, file) : try join(entry, file)
    case .finished, .recovered, .failed:
      return try settle(entry, file)
    }
  }

  // MARK: Recordings with a file of their own

  /// Cuts the part to its last whole frame and renames it to its final name.
  func name(_ entry: RecordingEntry, _ file: PartFile) throws -> Recovered {
    guard var entry = try cut(entry, file) else { return try discard(entry, file) }
    entry.path = try file.finish(as: entry.path)
    (entry.part, entry.state, entry.joinBase) = (nil, .recovered, nil)
    try catalogue.update([entry])
    return Recovered(entry: entry, outcome: .named)
  }

  private func discard(_ entry: RecordingEntry, _ file: PartFile) throws -> Recovered {
    file.abandon(keep: false)
    try catalogue.remove(entry.id)
    return Recovered(entry: entry, outcome: .gone)
  }

  /// Cuts the part to its last whole frame.
  /// - Returns: the row with the length on disk; nil without a frame.
  private func cut(_ entry: RecordingEntry, _ file: PartFile) throws -> RecordingEntry? {
    var entry = entry
    if entry.codec == "wav" {
      guard let wav = try WAVRecording.mend(file.path), wav.samples > 0 else { return nil }
      (entry.samples, entry.bytes) = (wav.samples, wav.samples * wav.channels * 2)
      return entry
    }
    let start = AudioFraming.tagLength(try file.read(at: 0, count: 10))
    let end = try RecordedFrames.lastFrameEnd(file.path)
    guard end > start else { return nil }
    if end < file.length { try file.truncate(to: end) }
    if try RecordedFrames.format(file.path)?.codec.isOgg == true {
      let sound = try RecordedSound.read(file.path, codec: entry.codec)
      guard sound.frames > 0 else { return nil }
      (entry.samples, entry.bytes) = (sound.samples, sound.bytes)
      try OggRecording.restate(file.path)
    } else if RecordedSound.isOpaque(entry.codec) {
      let sound = try RecordedSound.read(file.path, codec: entry.codec)
      (entry.samples, entry.bytes) = (sound.samples, end - start)
      (entry.sampleRate, entry.channels) = (sound.sampleRate ?? 0, sound.channels ?? 0)
    } else if let more = try soundAfterRow(entry, file, from: start, to: end) {
      entry.samples += more.samples
      entry.bytes += more.bytes
    } else {
      let sound = try RecordedSound.read(file.path, codec: entry.codec)
      guard sound.frames > 0 else { return nil }
      (entry.samples, entry.bytes) = (sound.samples, sound.bytes)
    }
    return entry
  }

  /// Measures the frames after those in the row, which need not be read again.
  /// - Returns: the length of these frames; nil if the part does not match the row.
  private func soundAfterRow(
    _ entry: RecordingEntry, _ file: PartFile, from start: Int, to end: Int
  ) throws -> (samples: Int, bytes: Int)? {
    guard entry.bytes > 0, entry.samples > 0, entry.bytes <= end - start else { return nil }
    let from = start + entry.bytes
    if from == end { return (0, 0) }
    let walk = try FileBytes.withFile(file.path) { (raw, _) throws(RecordError) in
      try RecordedFrames.walk(raw, file.path, from: from, length: end)
    }
    return walk.junkBytes == 0 && walk.audioBytes == end - from ? (walk.samples, walk.audioBytes) : nil
  }

  // MARK: Recordings that continue a file

  private func join(_ entry: RecordingEntry, _ file: PartFile) throws -> Recovered {
    var entry = entry
    if entry.state == .recording {
      guard let whole = try cut(entry, file) else { return try discard(entry, file) }
      entry = whole
    }
    // The file that it continues may be gone by now, or replaced.
    guard let length = Self.length(of: entry.path), length >= entry.joinBase ?? 0 else {
      return try name(entry, file)
    }
    if entry.state == .recording {
      try file.sync()
      (entry.state, entry.joinBase) = (.joining, try RecordedFrames.lastFrameEnd(entry.path))
      try catalogue.update([entry])
    }
    var copy = try FileJoin(part: file.path, to: entry.path, base: entry.joinBase ?? length)
    while try !copy.step() {}
    entry.state = .recovered
    let sound = try RecordedSound.read(entry.path, codec: entry.codec)
    entry = try catalogue.join(
      entry, earlier: (max(0, sound.samples - entry.samples), max(0, sound.bytes - entry.bytes)))
    file.abandon(keep: false)
    entry.part = nil
    try catalogue.update([entry])
    return Recovered(entry: entry, outcome: .joined)
  }

  /// Removes the part of a finished recording, which was appended before; a part whose sound is not in the
  /// file becomes a recording of its own.
  private func settle(_ entry: RecordingEntry, _ file: PartFile) throws -> Recovered? {
    var entry = entry
    guard Self.isThere(entry.path) else { return try name(entry, file) }
    let sound = try RecordedSound.read(entry.path, codec: entry.codec)
    if sound.samples == entry.samples, sound.bytes == entry.bytes {
      file.abandon(keep: false)
      entry.part = nil
      try catalogue.update([entry])
      return nil
    }
    var other = entry.withSound(samples: 0, bytes: 0)
    other.state = .recording
    try catalogue.insert(&other)
    entry.part = nil
    try catalogue.update([entry])
    return try name(other, file)
  }

  // MARK: Recordings without a part

  private func recoverWithoutPart(_ entry: RecordingEntry, _ now: WallTime) throws -> Recovered? {
    // A missing folder means a missing disk.
    guard Self.isThere(LinuxFiles.folder(of: entry.path)) else { return nil }
    var entry = entry
    switch entry.state {
    case .finished, .recovered, .failed:
      guard Self.isThere(entry.path) else { return nil }
      entry.part = nil
      try catalogue.update([entry])
      return nil
    case .joining where Self.isThere(entry.path):
      // The part was removed. The sound copied from it stays, up to the last whole frame.
      try Self.cutFile(entry.path, to: try RecordedFrames.lastFrameEnd(entry.path))
      let sound = try RecordedSound.read(entry.path, codec: entry.codec)
      entry.state = .recovered
      entry = try catalogue.join(
        entry, earlier: (max(0, sound.samples - entry.samples), max(0, sound.bytes - entry.bytes)))
      (entry.part, entry.samples, entry.bytes) = (nil, sound.samples, sound.bytes)
      try catalogue.update([entry])
      return Recovered(entry: entry, outcome: .joined)
    case .recording where entry.joinBase == nil:
      switch try search(for: entry) {
      case .held: return nil
      case .found(let found):
        try catalogue.update([found])
        return Recovered(entry: found, outcome: .named)
      case .nowhere: break
      }
    case .recording, .joining, .interrupted: break
    }
    // The folder may be an empty mount point: a recording with sound is searched for at each start.
    guard entry.bytes == 0, !mayBegin(entry, now) else { return nil }
    try catalogue.remove(entry.id)
    return Recovered(entry: entry, outcome: .gone)
  }

  /// Returns `true` if the part of a row may be about to be created.
  private func mayBegin(_ entry: RecordingEntry, _ now: WallTime) -> Bool {
    entry.start.duration(to: now) <= Self.timeToBegin
  }

  /// Returns `true` if an open recording has no part, and will get none: the file or its disk was removed.
  func isLost(_ entry: RecordingEntry, _ now: WallTime) -> Bool {
    guard let part = entry.part else { return false }
    return !Self.isThere(part) && !mayBegin(entry, now)
  }

  /// The result of a search for a recording that was renamed before its row was updated.
  private enum Renamed {
    /// The file is there; the row as it is now.
    case found(RecordingEntry)
    /// The owner is about to update the row, or has done so meanwhile.
    case held
    /// No file is the recording.
    case nowhere
  }

  private func search(for entry: RecordingEntry) throws -> Renamed {
    for number in 1...RecordingName.highest {
      let path = number == 1 ? entry.path : RecordingName.numbered(entry.path, number)
      guard Self.isThere(path) else { return .nowhere }
      // The owner unlocks the file after the update of the row.
      if PartFile.isHeld(path) { return .held }
      guard try catalogue.entry(id: entry.id)?.part == entry.part else { return .held }
      // A file of another recording, or of another program, is not touched.
      if let other = try catalogue.entry(path: path), other.id != entry.id { continue }
      let sound = try RecordedSound.read(path, codec: entry.codec)
      guard sound.isWhole, sound.samples >= entry.samples, sound.bytes >= entry.bytes,
        sound.bytes - entry.bytes <= Self.mostAfterRow,
        sound.sampleRate ?? entry.sampleRate == entry.sampleRate
      else { continue }
      var found = entry
      (found.path, found.part, found.state) = (path, nil, .recovered)
      (found.samples, found.bytes) = (sound.samples, sound.bytes)
      return .found(found)
    }
    return .nowhere
  }

  /// The limit in bytes of the sound between two updates of a row.
  private static let mostAfterRow = 4 << 20

  // MARK: Files

  static func length(of path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
  }

  static func cutFile(_ path: String, to length: Int) throws(RecordError) {
    try FileBytes.withFile(path, writable: true) { (file, before) throws(RecordError) in
      if length < before { try FileBytes.truncate(file, path, to: length) }
    }
  }
}
