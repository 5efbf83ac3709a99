internal import Codecs
public import EventLoop
internal import Glibc
internal import StreamCore

extension RecordingLibrary {
  /// The outcome of `repair` for one recording.
  public struct Repaired: Sendable, Equatable, CustomStringConvertible {
    /// The action taken.
    public enum Outcome: Sendable, Equatable {
      /// Recovered, after a process abandoned it.
      case recovered(Recovered.Outcome)
      /// Cut after the last whole frame, by that many bytes.
      case cut(bytes: Int)
      /// Corrected in the catalogue, whose row differed from the file.
      case corrected
      /// Removed from the catalogue, as the file is gone.
      case missing
      /// Missing, though its folder is there; the row stays.
      case lost
      /// Adopted: a part that the catalogue did not know became a recording.
      case adopted
      /// Left unchanged after an error.
      case failed(RecordError)
    }
    /// The path of the recording.
    public let path: String
    /// The action taken.
    public let outcome: Outcome

    /// The outcome in one line.
    public var description: String {
      let path = path.onOneLine
      switch outcome {
      case .recovered(.named), .adopted: return "\(path): made whole from its part"
      case .recovered(.joined): return "\(path): its new end was appended"
      case .recovered(.gone): return "\(path): nothing had reached the disk; forgotten"
      case .cut(let bytes): return "\(path): \(bytes) bytes after the last frame cut off"
      case .corrected: return "\(path): the catalogue now matches the file"
      case .missing: return "\(path): the file is gone; forgotten"
      case .lost:
        return "\(path): its part is gone; mount its disk, or let it go with 'roomtone recordings forget'"
      case .recovered(.failed(let error)), .failed(let error): return "\(path): \(error)"
      }
    }
  }

  /// The age from which an unknown unlocked part is adopted: other programs use the suffix too.
  private static let quietTime = Duration.seconds(60)
  /// The depth to which folders are searched.
  private static let deepest = 8

  /// Brings disk and catalogue into agreement: recovers abandoned recordings, cuts off incomplete frames at
  /// the end of files, corrects rows, and removes those whose files are gone. Open recordings are not
  /// touched.
  /// - Parameter folder: the folder to search for parts without a row; nil to search no folder.
  /// - Returns: the outcomes; a recording in order has no outcome.
  public func repair(folder: String? = nil, now: WallTime) throws -> [Repaired] {
    var done = try recover(now: now).map { Repaired(path: $0.entry.path, outcome: .recovered($0.outcome)) }
    for entry in try catalogue.entries() where entry.part == nil {
      // Another process may be appending to it.
      if try isGoneOnWith(entry.path, now) { continue }
      do {
        if let outcome = try repair(entry, now) { done.append(Repaired(path: entry.path, outcome: outcome)) }
      } catch let error as RecordError {
        done.append(Repaired(path: entry.path, outcome: .failed(error)))
      }
    }
    for entry in try catalogue.openEntries() where isLost(entry, now) {
      guard Self.isThere(LinuxFiles.folder(of: entry.path)) else { continue }
      done.append(Repaired(path: entry.path, outcome: .lost))
    }
    if let folder {
      let known = Set(try catalogue.openEntries().compactMap(\.part))
      for part in Self.parts(in: folder) where !known.contains(part) {
        do {
          if let repaired = try adopt(part, now, quiet: Self.quietTime) { done.append(repaired) }
        } catch let error as RecordError {
          done.append(Repaired(path: part, outcome: .failed(error)))
        }
      }
    }
    return done
  }

  private func isGoneOnWith(_ path: String, _ now: WallTime) throws -> Bool {
    try PartFile.isHeld(path + PartFile.suffix)
      || catalogue.openEntries().contains { $0.path == path && !isLost($0, now) }
  }

  private func repair(_ entry: RecordingEntry, _ now: WallTime) throws -> Repaired.Outcome? {
    guard Self.isThere(entry.path) else {
      // A missing folder means a missing disk.
      guard Self.isThere(LinuxFiles.folder(of: entry.path)) else { return nil }
      try catalogue.remove(entry.id)
      return .missing
    }
    var sound = try RecordedSound.read(entry.path, codec: entry.codec)
    // A tag of another program at the end is neither frame nor junk, and stays.
    let rest = sound.length - sound.end
    var outcome: Repaired.Outcome?
    if entry.codec == "wav", !sound.isWhole {
      guard try WAVRecording.mend(entry.path) != nil else { return nil }
      outcome = .cut(bytes: rest)
    } else if sound.frames > 0, rest > 0, rest <= sound.junkBytes {
      // The file may have grown while it was read.
      guard Self.length(of: entry.path) == sound.length, try !isGoneOnWith(entry.path, now) else {
        return nil
      }
      try Self.cutFile(entry.path, to: sound.end)
      try OggRecording.restate(entry.path)
      outcome = .cut(bytes: rest)
    }
    if outcome != nil { sound = try RecordedSound.read(entry.path, codec: entry.codec) }
    guard sound.bytes != entry.bytes || sound.samples != entry.samples, sound.frames > 0 else {
      return outcome
    }
    var entry = entry
    (entry.samples, entry.bytes) = (sound.samples, sound.bytes)
    if entry.sampleRate == 0 {
      (entry.sampleRate, entry.channels) = (sound.sampleRate ?? 0, sound.channels ?? 0)
    }
    try catalogue.update([entry])
    return outcome ?? .corrected
  }

  // MARK: Unlocked parts

  /// Recovers the recording of a part, with or without a row, as its name is needed now.
  /// - Returns: the outcome; nil if the part is locked, does not exist, or is not a recording.
  func settle(part: String, now: WallTime) throws -> Repaired? {
    guard let entry = try catalogue.openEntries().first(where: { $0.part == part }) else {
      return try adopt(part, now, quiet: nil)
    }
    return try recover(entry, now).map { Repaired(path: $0.entry.path, outcome: .recovered($0.outcome)) }
  }

  /// Makes a recording of a part without a row.
  /// - Parameter quiet: the time for which it must be unchanged; nil if its name alone identifies it.
  private func adopt(_ part: String, _ now: WallTime, quiet: Duration?) throws -> Repaired? {
    var status = stat()
    guard lstat(part, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      let changed = LinuxFiles.modificationTime(of: part)
    else { return nil }
    if let quiet, changed.duration(to: now) <= quiet { return nil }
    guard let file = try PartFile.adopt(part) else { return nil }
    defer { file.abandon(keep: true) }
    // The process ended before the first frame.
    if quiet == nil, file.length <= AudioFraming.tagLength(try file.read(at: 0, count: 10)) {
      file.abandon(keep: false)
      return Repaired(path: Self.name(of: part), outcome: .recovered(.gone))
    }
    let sound = try RecordedSound.read(part, codec: nil)
    // A recording consists mostly of frames.
    guard sound.frames > 0, let rate = sound.sampleRate, let channels = sound.channels,
      sound.junkBytes <= sound.bytes
    else { return nil }
    let codec =
      try WAVRecording.read(part) != nil ? "wav" : try RecordedFrames.format(part).map { "\($0.codec)" }
    var entry = RecordingEntry(
      path: Self.name(of: part), part: part, url: "",
      start: changed.advanced(by: .seconds(-min(sound.seconds, 1e9))), codec: codec ?? "other",
      sampleRate: rate, channels: channels)
    try catalogue.insert(&entry)
    let recovered = try name(entry, file)
    return Repaired(
      path: recovered.entry.path,
      outcome: recovered.outcome == .named ? .adopted : .recovered(recovered.outcome))
  }

  private static func name(of part: String) -> String { String(part.dropLast(PartFile.suffix.count)) }

  /// Returns the parts in a folder and its subfolders, sorted by name; links are not followed.
  private static func parts(in folder: String, depth: Int = 0) -> [String] {
    guard depth < deepest, let names = try? LinuxFiles.names(in: folder) else { return [] }
    return names.sorted().flatMap { name -> [String] in
      let path = folder + "/" + name
      var status = stat()
      guard lstat(path, &status) == 0 else { return [] }
      if status.st_mode & S_IFMT == S_IFDIR { return parts(in: path, depth: depth + 1) }
      return name.hasSuffix(PartFile.suffix) && name.count > PartFile.suffix.count ? [path] : []
    }
  }
}
