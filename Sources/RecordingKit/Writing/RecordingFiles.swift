internal import AudioCore
internal import Codecs
internal import EventLoop
internal import Glibc
internal import StreamCore

/// Opens and closes the files of a recording by its options. Confined to the disk thread.
final class RecordingFiles {
  /// The source of the sound.
  struct Source: Sendable {
    let address: StreamAddress
    /// The name that the station sends, once received.
    let station: StationName
  }

  let options: RecordingOptions
  private let source: Source
  private let template: RecordingTemplate
  private unowned let core: RecorderCore
  /// The closed files of a split recording.
  private var closed: [RecordingEntry] = []
  /// The path of the cue sheet of a split recording: beside its first file.
  private var cueSheet: String?
  /// The codec of the last file, and the length of the file that it is appended to.
  private var codec = Codec.other
  private var earlier = (samples: 0, bytes: 0)

  init(_ options: RecordingOptions, _ template: RecordingTemplate, _ source: Source, _ core: RecorderCore) {
    (self.options, self.template, self.source, self.core) = (options, template, source, core)
  }

  /// The wall-clock time.
  var now: WallTime { core.loop.wallNow }

  /// `true` if names of files may contain a title: the first file is opened once the title has come.
  var needsTitle: Bool { options.split != nil || template.has(.title) || template.has(.artist) }

  /// The path of the last closed file; nil before.
  var lastPath: String? { closed.last?.path }

  // MARK: Files

  /// Opens a file: its row is in the catalogue before it is on the disk.
  /// - Parameters:
  ///   - isCutOff: `true` if the beginning of its title is missing.
  ///   - full: the file whose sound it continues.
  ///   - fileEnd: the extension of a file that is written byte for byte; nil for frames.
  ///   - headers: the headers of Ogg pages.
  ///   - gap: the seconds missing between the file that it continues and its sound.
  func open(
    _ format: StreamFormat, title: StreamTitle?, number: Int, start: WallTime, isCutOff: Bool = false,
    behind full: RecordingPart? = nil, fileEnd: String? = nil, headers: OggHeaders? = nil, gap: Double = 0
  ) throws(RecordError) -> RecordingPart {
    try requireRoom()
    let values = values(format, title: title, number: number, start: start, fileEnd: fileEnd)
    let isIncomplete = isCutOff && options.split != nil && title != nil
    let name = { (path: String) in isIncomplete ? RecordingName.incomplete(path) : path }
    codec = format.codec
    let whole = template.expanded(values, number: 1)
    if number == 1 { try requireNoFolder(whole) }
    // An abandoned part with that name is made a file first: sound is appended to that file, or another name
    // is chosen.
    core.settle(part: whole + PartFile.suffix)
    let isJoined = options.appends && number == 1 && access(whole, F_OK) == 0
    var entry = RecordingEntry(
      path: isJoined ? whole : name(try template.path(values, isOccupied: { isOccupied(name($0)) })),
      part: nil,
      station: source.station.value,
      url: source.address.url, start: start,
      codec: isWAV(format) ? "wav" : "\(format.codec)",
      sampleRate: format.sampleRate, channels: format.channels, job: options.job)
    // The gap is before the start, from which the sound is due.
    if isJoined, gap > 0 { (entry.gaps, entry.lead) = ([.init(at: 0, seconds: gap)], gap) }
    if cueSheet == nil { cueSheet = RecordingName.withoutEnd(isIncomplete ? whole : entry.path) + ".cue" }
    var (occupied, looks): (Set<String>, Int) = ([], 0)
    while true {
      let base = isJoined ? try joinBase(whole, format) : nil
      (entry.part, entry.joinBase) = (entry.path + PartFile.suffix, base)
      core.enter(&entry)
      var made: PartFile?
      do throws(RecordError) {
        let file = try PartFile.create(path: entry.path)
        made = file
        // Another process may have appended to the file since; from now on the part prevents it.
        if let base, looks < 10, RecordingLibrary.length(of: whole) != base {
          looks += 1
          file.abandon(keep: false)
          core.forget(entry)
          continue
        }
        let part = try begin(
          entry, file, format, title, values, base, behind: full?.wav, isCopy: fileEnd != nil,
          headers: headers)
        part.isIncomplete = isIncomplete
        return part
      } catch {
        made?.abandon(keep: false)
        core.forget(entry)
        // Another recording, also of another process, may have used the name meanwhile.
        guard error.kind == .exists, !isJoined, occupied.count < 100 else { throw error }
        occupied.insert(entry.path)
        entry.path = name(
          try template.path(values, isOccupied: { occupied.contains(name($0)) || isOccupied(name($0)) }))
      }
    }
  }

  /// Returns the file that the first sound of a recording is to be appended to: its path, the frames at its
  /// end, and the time at which the last of them came. Nil if there is no such file, or `open` does not
  /// accept it.
  func continued(
    _ format: StreamFormat, title: StreamTitle?, start: WallTime
  ) -> (path: String, frames: [StreamFrame], end: WallTime)? {
    guard format.codec.hasFrames, !format.codec.isSamples else { return nil }
    let path = template.expanded(values(format, title: title, number: 1, start: start), number: 1)
    core.settle(part: path + PartFile.suffix)
    guard let end = core.end(of: path), (try? joinBase(path, format)) != nil,
      let frames = try? RecordedTail.frames(path, of: format)
    else { return nil }
    return (path, frames, end)
  }

  /// Logs the gap after which a recording that was cut off is continued.
  func logGap(behind path: String, _ gap: Double) {
    let tenths = Int((min(gap, 1e9) * 10).rounded())
    guard tenths > 0 else { return }
    core.log("\(path.onOneLine) is continued after a gap of \(tenths / 10).\(tenths % 10) s")
  }

  private func values(
    _ format: StreamFormat, title: StreamTitle?, number: Int, start: WallTime, fileEnd: String? = nil
  ) -> RecordingTemplate.Values {
    RecordingTemplate.Values(
      station: source.station.value, title: title?.withoutArtist, artist: title?.artist,
      ext: options.format == .wav ? "wav" : fileEnd ?? format.codec.fileEnd, start: core.localTime(start),
      track: number)
  }

  /// Returns `true` if a name is in use; an abandoned part of that name is recovered first.
  private func isOccupied(_ path: String) -> Bool {
    core.settle(part: path + PartFile.suffix)
    return PartFile.isOccupied(path)
  }

  /// Checks that `path` is not a folder.
  /// - Throws: `record.exists` for a folder, with the advice to name a file in it.
  private func requireNoFolder(_ path: String) throws(RecordError) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return }
    throw RecordError(
      .exists, "\(path.onOneLine) is a folder",
      hint: "write a name after it: \(path.onOneLine)/{start}.{ext}",
      facts: [.init("path", .string(path))])
  }

  private func begin(
    _ entry: RecordingEntry, _ file: PartFile, _ format: StreamFormat, _ title: StreamTitle?,
    _ values: RecordingTemplate.Values, _ base: Int?, behind full: WAVBody?, isCopy: Bool,
    headers: OggHeaders?
  ) throws(RecordError) -> RecordingPart {
    let body = try body(of: file, entry, format, title, values, base, behind: full, isCopy: isCopy, headers)
    let part = try RecordingPart(entry, file, body, base: base, isScratch: core.isScratch)
    if let title { part.note(title) }
    // The new file already has the sound that did not fit into the full one.
    if full != nil { try part.write([], []) }
    return part
  }

  /// Returns `true` if the sound of a stream is recorded as WAV: on request, and PCM always.
  private func isWAV(_ format: StreamFormat) -> Bool { options.format == .wav || format.codec.isSamples }

  /// Returns the form of the sound of a new file.
  private func body(
    of file: PartFile, _ entry: RecordingEntry, _ format: StreamFormat, _ title: StreamTitle?,
    _ values: RecordingTemplate.Values, _ base: Int?, behind full: WAVBody?, isCopy: Bool,
    _ headers: OggHeaders?
  ) throws(RecordError) -> RecordingPart.Body {
    if let full { return .wav(try WAVBody(path: file.path, behind: full)) }
    if isWAV(format) {
      let samples = AudioFormat(sampleRate: format.sampleRate, channels: format.channels)
      return .wav(
        try WAVBody(
          path: file.path, codec: format.codec, headers: headers,
          samples: format.codec.isSamples ? samples : nil))
    }
    if isCopy { return .copy }
    var tag: RecordingTag?
    if options.hasTags, base == nil, RecordingTag.suits(format.codec) || headers != nil {
      tag = RecordingTag(
        title: title?.withoutArtist, artist: title?.artist, album: source.station.value,
        genre: source.station.genre, track: options.split == nil ? nil : values.track, start: values.start,
        url: source.address.description)
    }
    guard var headers else {
      guard tag != nil, let failure = RecordingTag.libraryFailure else { return .frames(tag) }
      core.report(.tags, failure)
      return .frames(nil)
    }
    if let tag { headers.comments = tag.added(to: headers.comments) }
    // Chained streams in a file have different numbers.
    let name = Array("\(file.path) \(entry.start)".utf8)
    let writer = OggWriter(
      headers, serial: UInt32(truncatingIfNeeded: name.withUnsafeBytes { FrameHash.of($0) }))
    guard headers.codec == .oggflac, !core.isScratch else { return .pages(writer, nil) }
    return .pages(writer, FLACSum(headers, reach: options.split?.reach ?? .zero))
  }

  /// Returns the length of the file that is appended to.
  /// - Throws: `record.exists` if its frames have another format, or it holds more than frames.
  private func joinBase(_ path: String, _ format: StreamFormat) throws(RecordError) -> Int {
    try FileJoin.check(path, accepts: format)
    let walk = try core.walkedFiles.walk(path)
    guard walk.isOpen else {
      throw RecordError(
        .exists, "\(path.onOneLine) holds more than frames, and nothing can be appended to it",
        hint: "record to another file, or without append", facts: [.init("path", .string(path))])
    }
    earlier = (walk.samples, walk.audioBytes)
    return walk.length
  }

  // MARK: Room

  /// Checks that `minimumFree` and `more` bytes are free on the disk.
  /// - Throws: `record.disk_full` if fewer are free.
  func requireRoom(atLeast more: Int = 0) throws(RecordError) {
    let wanted = options.minimumFree + more
    guard wanted > 0 else { return }
    var folder = template.expanded(
      .init(ext: "x", start: core.localTime(WallTime(seconds: 0))), number: 1)
    repeat {
      folder = LinuxFiles.folder(of: folder)
      if let free = try? LinuxFiles.freeBytes(at: folder) {
        if free < wanted { throw RecordError.tooLittleRoom(at: folder, free: free, wanted: wanted) }
        return
      }
    } while folder != "/" && folder != "."
  }

  // MARK: Ends

  /// Closes a file: renames it, and updates its row to the sound on the disk. A file without a frame is
  /// removed, and so is one that is too short.
  /// - Parameters:
  ///   - isCutOff: `true` if the end of its title is missing.
  ///   - isLast: `true` if no file follows.
  func close(_ part: RecordingPart, isCutOff: Bool = false, isLast: Bool = false) throws(RecordError) {
    let isShort = options.split.map { .seconds(part.entry.seconds) < $0.minimumLength } ?? false
    guard !part.isEmpty, !isShort || isLast && closed.isEmpty else { return remove(part) }
    try part.complete()
    if isCutOff, options.split != nil, !part.entry.titles.isEmpty, !part.isIncomplete, part.base == nil {
      part.entry.path = RecordingName.incomplete(part.entry.path)
    }
    if var base = part.base {
      try part.sync()
      // A file that another program extended meanwhile, by a tag for example, is kept whole. A shorter file
      // is another one.
      if let length = RecordingLibrary.length(of: part.entry.path), length > base {
        base = try RecordedFrames.lastFrameEnd(part.entry.path)
        let walk = try RecordedFrames.walk(part.entry.path)
        earlier = (walk.samples, walk.audioBytes)
        part.entry.joinBase = base
      }
      part.entry.state = .joining
      core.update(part.entry)
      try part.join(behind: base)
      core.walkedFiles.follow(part.entry.path, behind: base)
      part.entry = core.join(part.entry, earlier)
      part.remove()
    } else {
      // Recovery identifies a renamed file without a part by the length in its row.
      core.update(part.entry)
      try part.rename()
    }
    core.update(part.entry)
    part.release()
    closed.append(part.entry)
  }

  /// Removes a file, and its row.
  func remove(_ part: RecordingPart) {
    part.remove()
    core.forget(part.entry)
  }

  /// Logs that a file could not be closed; it stays unchanged, for the next start.
  func lost(_ part: RecordingPart, _ error: RecordError) { core.log("\(error)") }

  /// Writes the cue sheet of a split recording, beside its first file.
  func writeCueSheet() {
    guard options.split != nil, let first = closed.first, let cueSheet else { return }
    var sheet = CueSheet(
      codec: options.format == .wav || codec.isSamples ? .wav : codec, station: first.station, url: first.url,
      start: core.localTime(first.start))
    let folder = Self.folder(of: first.path)
    var time = 0.0
    for entry in closed {
      let title = entry.titles.first.map { StreamTitle($0.text) }
      let name = entry.path.hasPrefix(folder) ? String(entry.path.dropFirst(folder.count)) : entry.path
      sheet.tracks.append(
        .init(title?.withoutArtist ?? entry.station ?? name, performer: title?.artist, file: name))
      sheet.gaps += entry.gaps.map { .init(at: time + $0.at, seconds: $0.seconds) }
      time += entry.seconds
    }
    do throws(RecordError) {
      try sheet.write(to: cueSheet)
    } catch { core.log("\(error)") }
  }

  /// Returns the folder of `path`, with the slash at its end.
  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
  }
}

/// The budget of files that a recording may begin as its format changes: a few at once, and one a second.
struct FileBudget {
  private static let most = 20.0
  private var left = FileBudget.most
  private var last: (sound: StreamTime, clock: Instant)?

  /// Consumes one file of the budget.
  /// - Parameters:
  ///   - sound: the length of the received sound.
  ///   - clock: the current time; the larger advance of the two counts.
  /// - Returns: `false` if the budget is exhausted.
  mutating func spend(sound: StreamTime, clock: Instant) -> Bool {
    if let last {
      let passed = max((sound - last.sound).seconds, StreamTime(last.clock.duration(to: clock)).seconds)
      left = min(Self.most, left + max(0, passed))
    }
    last = (sound, clock)
    guard left >= 1 else { return false }
    left -= 1
    return true
  }
}
