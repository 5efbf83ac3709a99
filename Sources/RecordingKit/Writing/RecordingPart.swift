internal import AudioCore
internal import Codecs
internal import EventLoop
internal import StreamCore

/// A file that is being recorded, and its row. Confined to the disk thread.
final class RecordingPart {
  var entry: RecordingEntry
  /// The position in the recording at which the file ends; nil while it is open.
  var ends: StreamTime?
  /// `true` if the file ends incomplete.
  var fails = false
  /// `true` if its name states that a part of its title is missing.
  var isIncomplete = false
  /// The path that was reported when the file began.
  let reportedPath: String
  private let file: PartFile
  private var body: Body
  private var titleBytes = 0
  /// The limit in bytes of the titles kept for one file: those of a month of songs.
  private static let titleLimit = 1 << 20
  let base: Int?
  /// The bytes that are not written yet: some are held for a scratch file, as it need not survive a power
  /// cut.
  private var held: [UInt8] = []
  private let isScratch: Bool
  /// The limit of held bytes.
  private static let heldLimit = 256 << 10

  /// The form of the sound in the file.
  enum Body {
    /// Frames as they come, after a tag if there is one.
    case frames(RecordingTag?)
    /// The bytes of a file as they come: the sound is measured when the file is complete.
    case copy
    /// The decoded body of a WAV file.
    case wav(WAVBody)
    /// Ogg pages, with the sum of the sound for the headers; nil if they have no sum.
    case pages(OggWriter, FLACSum?)
  }

  /// Creates a part of an empty file, and writes its tag.
  /// - Parameters:
  ///   - body: the form of its sound, which is empty so far.
  ///   - base: the length in bytes of the file that it is finally appended to; nil for a file of its own.
  ///   - isScratch: `true` for a file that ends with the process.
  init(
    _ entry: RecordingEntry, _ file: PartFile, _ body: Body, base: Int?, isScratch: Bool
  ) throws(RecordError) {
    (self.entry, self.file, self.body, self.base, self.isScratch) = (entry, file, body, base, isScratch)
    reportedPath = entry.path
    if case .frames(let tag?) = body { try file.write(try tag.make()) }
  }

  var fileSystem: UInt64 { file.fileSystem }
  func syncFileSystem() throws(RecordError) { try file.syncFileSystem() }
  func releaseMemory() { file.releaseMemory() }

  /// The decoded body of a WAV file; nil for other files.
  var wav: WAVBody? { if case .wav(let body) = body { body } else { nil } }

  /// `true` if further frames belong in the next file.
  var isFull: Bool { wav?.isFull ?? false }

  /// Writes whole frames, given as their concatenated bytes.
  /// - Parameter limit: the sound of a single Ogg page that is kept; nil for all of it.
  func write(
    _ bytes: ArraySlice<UInt8>, _ frames: ArraySlice<StreamFrame>, keeping limit: StreamTime? = nil
  ) throws(RecordError) {
    let limit = limit.map { $0.samples(at: entry.sampleRate) } ?? .max
    switch body {
    case .pages(let writer, let sum): try write(pages: bytes, frames, writer, sum, keeping: limit)
    case .wav(let wav):
      try file.requireName()
      try wav.add(bytes, frames.map(\.length), keeping: limit)
      (entry.samples, entry.bytes) = (wav.samples, wav.bytes)
      (entry.sampleRate, entry.channels) = (wav.format.sampleRate, wav.format.channels)
    case .frames, .copy:
      if isScratch {
        held += bytes
        if held.count >= Self.heldLimit { try writeHeld() }
      } else {
        // `withUnsafeBytes` of a slice has no typed throws.
        try bytes.withUnsafeBytes { bytes in Result { () throws(RecordError) in try file.write(bytes) } }
          .get()
      }
      entry.bytes += bytes.count
      entry.samples += frames.reduce(0) { $0 + $1.samples }
    }
  }

  private func writeHeld() throws(RecordError) {
    guard !held.isEmpty else { return }
    try file.write(held)
    held.removeAll(keepingCapacity: true)
  }

  private func write(
    pages bytes: ArraySlice<UInt8>, _ frames: ArraySlice<StreamFrame>, _ before: OggWriter, _ sum: FLACSum?,
    keeping limit: Int
  ) throws(RecordError) {
    var (writer, sum) = (before, sum)
    var (output, index) = ([UInt8](), bytes.startIndex)
    for frame in frames {
      var packets: [[UInt8]] = []
      output += bytes[index..<(index + frame.length)].withUnsafeBytes { page in
        writer.add(page, keeping: limit) { if sum != nil { packets.append($0) } }
      }
      sum?.add(packets, lasting: frame.duration)
      index += frame.length
    }
    do throws(RecordError) { try file.write(output) } catch {
      sum?.discard()
      body = .pages(before, sum)
      throw error
    }
    body = .pages(writer, sum)
    (entry.samples, entry.bytes) = (writer.samples, writer.bytes)
  }

  /// Removes the last `count` frames.
  func cut(_ count: Int, bytes: Int, samples: Int) throws(RecordError) {
    guard bytes > 0 else { return }
    switch body {
    case .wav: break
    case .pages(let before, var sum):
      var (writer, lost) = (before, sum)
      lost?.discard()
      body = .pages(before, lost)
      sum?.cut(count)
      try file.truncate(to: file.length - writer.cut(count))
      body = .pages(writer, sum)
      (entry.samples, entry.bytes) = (writer.samples, writer.bytes)
    case .frames, .copy:
      try writeHeld()
      try file.truncate(to: file.length - min(bytes, entry.bytes))
      entry.bytes -= min(bytes, entry.bytes)
      entry.samples -= min(samples, entry.samples)
    }
  }

  func note(gapOf seconds: Double) { entry.gaps.append(.init(at: entry.seconds, seconds: seconds)) }
  /// Removes titles that began after the end of its sound.
  func dropTitlesAtEnd() {
    while entry.titles.count > 1, let last = entry.titles.last, last.at >= entry.seconds {
      entry.titles.removeLast()
    }
  }
  func note(_ title: StreamTitle) {
    titleBytes += title.text.utf8.count
    guard titleBytes <= Self.titleLimit else { return }
    entry.titles.append(.init(at: entry.seconds, text: title.text))
  }

  /// Notes the title of the first sound, which came shortly after the sound.
  func begin(with title: StreamTitle) {
    if case .frames(var tag?) = body {
      (tag.title, tag.artist) = (title.withoutArtist, title.artist)
      body = .frames(tag)
    }
    titleBytes += title.text.utf8.count
    entry.titles.append(.init(at: 0, text: title.text))
  }

  /// `true` if the part holds no sound.
  var isEmpty: Bool { entry.samples == 0 && entry.bytes == 0 }

  /// Completes the contents: the header of a WAV file, the length of a copied file, the final tag.
  func complete() throws(RecordError) {
    try writeHeld()
    switch body {
    case .frames(let tag): try tag?.update(file.path)
    case .copy: try measure()
    case .wav(let wav): try wav.finish()
    case .pages(let writer, var sum):
      let result = sum?.finish()
      body = .pages(writer, sum)
      try OggRecording.complete(file.path, samples: entry.samples, sum: result)
    }
  }

  /// Measures the sound of a copied file.
  private func measure() throws(RecordError) {
    let sound = try RecordedSound.read(file.path, codec: entry.codec)
    (entry.samples, entry.bytes) = (sound.samples, sound.bytes)
    (entry.sampleRate, entry.channels) = (sound.sampleRate ?? 0, sound.channels ?? 0)
  }

  /// Renames the part to its final name; the file stays locked until `release`.
  func rename() throws(RecordError) {
    entry.path = try file.finish(as: entry.path, syncs: !isScratch)
    entry.part = nil
    entry.state = fails ? .failed : .finished
  }

  /// Unlocks the file, as its row is up to date.
  func release() { file.release() }

  /// Appends the part to the first `base` bytes of the file that it continues; until `remove` its sound
  /// exists twice.
  func join(behind base: Int) throws(RecordError) {
    var join = try FileJoin(part: file.path, to: entry.path, base: base)
    while try !join.step() {}
    entry.state = fails ? .failed : .finished
  }

  /// Returns when all bytes are on the disk.
  func sync() throws(RecordError) { if !isScratch { try file.sync() } }

  /// Removes the part.
  func remove() {
    file.abandon(keep: false)
    entry.part = nil
  }
}
