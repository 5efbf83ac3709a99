public import EventLoop
internal import Glibc

/// The recordings on the disk and their catalogue, kept in agreement. Confined to the thread of its
/// catalogue, which waits while disks work.
public struct RecordingLibrary {
  let catalogue: Catalogue

  /// Creates a library of the recordings in `catalogue`.
  public init(catalogue: Catalogue) { self.catalogue = catalogue }

  /// Returns the recordings that match the filter, the latest first.
  public func list(_ filter: Catalogue.Filter = .init()) throws -> [RecordingEntry] {
    guard let state = filter.state, [.recording, .joining, .interrupted].contains(state) else {
      return try catalogue.entries(matching: filter).map(Self.seen)
    }
    // Only the disk shows which of them are open.
    var wide = filter
    (wide.state, wide.limit) = (state == .interrupted ? nil : state, nil)
    let found = try catalogue.entries(matching: wide).map(Self.seen).filter { $0.state == state }
    return Array(found.prefix(filter.limit ?? .max))
  }

  /// Returns a row with its state according to the disk.
  private static func seen(_ entry: RecordingEntry) -> RecordingEntry {
    let isOpen = entry.state == .recording || entry.state == .joining
    guard isOpen, !(entry.part.map(PartFile.isHeld) ?? false) else { return entry }
    var seen = entry
    seen.state = .interrupted
    return seen
  }

  /// Walks all frames of the recording at `path`, or decodes sound without frames to walk, and compares it
  /// with its row.
  /// - Throws: `record.read` if it does not exist, or can't be read.
  public func verify(_ path: String) throws -> RecordingVerdict {
    let entry = try catalogue.entry(path: path) ?? entry(part: path)
    let isOpen = entry?.part.map(PartFile.isHeld) ?? false
    let file = isOpen ? entry?.part ?? path : path
    if access(file, R_OK) != 0 { throw Self.unreadable(file, errno, isKnown: entry != nil) }
    return RecordingVerdict(
      file, try RecordedSound.check(file, codec: entry?.codec), entry: entry, isOpen: isOpen)
  }

  private static func unreadable(_ path: String, _ number: Int32, isKnown: Bool) -> RecordError {
    let (name, path) = (path.onOneLine, ErrorFact("path", .string(path)))
    guard number == ENOENT || number == ENOTDIR else {
      return RecordError(
        .read, "can't read \(name): \(SystemError(number).text)",
        hint: "verify it as a user who may read it", facts: [path])
    }
    return RecordError(
      .read, "there is no file \(name)" + (isKnown ? ", which the catalogue has" : ""),
      hint: isKnown
        ? "mount its disk, or have 'roomtone recordings repair' forget it"
        : "'roomtone recordings' lists those that are known",
      facts: [path])
  }

  private func entry(part: String) throws -> RecordingEntry? {
    try part.hasSuffix(PartFile.suffix)
      ? catalogue.openEntries().first { $0.part == part } : nil
  }

  /// Removes the row of the recording at `path`; the file stays.
  /// - Returns: `false` if the catalogue has no such row.
  /// - Throws: `record.write` while it is recorded.
  @discardableResult
  public func forget(_ path: String) throws -> Bool {
    guard let entry = try catalogue.entry(path: path) else { return false }
    if let part = entry.part, PartFile.isHeld(part) {
      throw RecordError(
        .write, "\(path.onOneLine) is being recorded", hint: "stop it before it is forgotten",
        facts: [.init("path", .string(path))])
    }
    try catalogue.remove(entry.id)
    return true
  }

  /// Deletes recordings that ended longer than `keep` ago, files and rows; never a file without a row.
  ///
  /// A recording whose file is gone loses its row, even if it never ended; one whose folder is gone stays, as
  /// the disk may come back.
  /// - Parameter job: the job whose recordings are deleted; nil for all.
  /// - Parameter isIncluded: `true` for the paths of recordings to check.
  /// - Returns: the paths of the deleted files.
  /// - Throws: `record.write` for the first file that can't be deleted, after all others were deleted.
  @discardableResult
  public func expire(
    keep: Duration, job: String? = nil, now: WallTime,
    where isIncluded: (_ path: String) -> Bool = { _ in true }
  ) throws -> [String] {
    let limit = now.advanced(by: .zero - keep)
    let old = try catalogue.entries(matching: .init(until: limit, job: job))
    let busy = Set(try catalogue.openEntries().filter { isIncluded($0.path) && !isLost($0, now) }.map(\.path))
    var (deleted, failure) = ([String](), RecordError?.none)
    for entry in old
    where !busy.contains(entry.path) && isIncluded(entry.path) && Self.end(of: entry, now) < limit {
      guard Self.isThere(LinuxFiles.folder(of: entry.path)) else { continue }
      if isLost(entry, now) {
        try catalogue.remove(entry.id)
        continue
      }
      // The file was moved, and a later recording has its name.
      if let latest = try catalogue.entry(path: entry.path), latest.id != entry.id {
        try catalogue.remove(entry.id)
        continue
      }
      if unlink(entry.path) == 0 {
        deleted.append(entry.path)
      } else if errno != ENOENT {
        failure = failure ?? RecordError("delete", entry.path, errno: errno)
        continue
      }
      try catalogue.remove(entry.id)
    }
    if let failure { throw failure }
    return deleted
  }

  /// Returns the time of the last sound, from the length and from the file: its modification time counts for
  /// a recording that was appended to, and for one that began before the clock of the machine was set; but
  /// not if it is in the future, as in a simulation.
  private static func end(of entry: RecordingEntry, _ now: WallTime) -> WallTime {
    let missing = entry.gaps.reduce(0) { $0 + max(0, $1.seconds) }
    let end = entry.start.advanced(by: .seconds(min(max(0, entry.seconds + missing), 1e9)))
    guard let changed = LinuxFiles.modificationTime(of: entry.path) else { return end }
    return entry.joinBase != nil || changed <= now ? max(end, changed) : end
  }

  static func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }
}
