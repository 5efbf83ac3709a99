internal import AudioCore
internal import EventLoop

/// One file that is being recorded, and its row. Confined to the disk thread.
final class RecordingPart {
  var entry: RecordingEntry
  /// Where of the recording it ends; nil while it goes on.
  var ends: StreamTime?
  /// Whether it ends as a file that is not whole.
  var fails = false
  /// True if it holds the bytes of a file as they are: its sound is known when all of it is there.
  var isCopy = false
  /// True if its name says that a part of its title is missing.
  var isIncomplete = false
  /// The event with its name.
  let toldPath: String
  private let file: PartFile
  private let tag: RecordingTag?
  /// What decodes it; nil for frames as they come.
  let wav: WAVBody?
  private var titleBytes = 0
  /// Bytes of titles that are kept of a file: those of a month of songs. More is no station's.
  private static let titleLimit = 1 << 20
  let base: Int?

  /// - Parameters:
  ///   - tag: what its tag tells; nil for none.
  ///   - wav: what decodes it; nil for frames as they come.
  ///   - base: the length of the file that it is put behind at its end; nil when it is a file of its own.
  init(
    _ entry: RecordingEntry, _ file: PartFile, tag: RecordingTag?, wav: WAVBody?, base: Int?
  ) throws(RecordError) {
    (self.entry, self.file, self.tag, self.wav, self.base) = (entry, file, tag, wav, base)
    toldPath = entry.path
    if let tag { try file.write(try tag.make()) }
  }

  var fileSystem: UInt64 { file.fileSystem }
  func syncFileSystem() throws(RecordError) { try file.syncFileSystem() }
  func releaseMemory() { file.releaseMemory() }

  /// Whether what comes now is for a next file.
  var isFull: Bool { wav?.isFull ?? false }

  /// Takes whole frames: their bytes, one behind the other.
  func write(_ bytes: ArraySlice<UInt8>, _ frames: ArraySlice<StreamFrame>) throws(RecordError) {
    guard let wav else {
      // The slice of an array does not say what its closure throws.
      try bytes.withUnsafeBytes { bytes in Result { () throws(RecordError) in try file.write(bytes) } }.get()
      entry.bytes += bytes.count
      entry.samples += frames.reduce(0) { $0 + $1.samples }
      return
    }
    try file.requireName()
    try wav.add(bytes, frames.map(\.length))
    (entry.samples, entry.bytes) = (wav.samples, wav.bytes)
    (entry.sampleRate, entry.channels) = (wav.format.sampleRate, wav.format.channels)
  }

  /// Forgets the last frames.
  func cut(bytes: Int, samples: Int) throws(RecordError) {
    guard bytes > 0, wav == nil else { return }
    try file.truncate(to: file.length - min(bytes, entry.bytes))
    entry.bytes -= min(bytes, entry.bytes)
    entry.samples -= min(samples, entry.samples)
  }

  func note(gapOf seconds: Double) { entry.gaps.append(.init(at: entry.seconds, seconds: seconds)) }
  func note(_ title: StreamTitle) {
    titleBytes += title.text.utf8.count
    guard titleBytes <= Self.titleLimit else { return }
    entry.titles.append(.init(at: entry.seconds, text: title.text))
  }

  /// Whether there is nothing in it.
  var isEmpty: Bool { entry.samples == 0 && entry.bytes == 0 }

  /// Writes what is told at its end.
  func complete() throws(RecordError) {
    try wav?.finish()
    if isCopy { try measure() }
    if let tag { try tag.update(file.path) }
  }

  /// Finds the sound in what is there.
  private func measure() throws(RecordError) {
    let sound = try RecordedSound.read(file.path, codec: entry.codec)
    (entry.samples, entry.bytes) = (sound.samples, sound.bytes)
    (entry.sampleRate, entry.channels) = (sound.sampleRate ?? 0, sound.channels ?? 0)
  }

  /// Gives it its name.
  func rename() throws(RecordError) {
    entry.path = try file.finish(as: entry.path)
    entry.part = nil
    entry.state = fails ? .failed : .finished
  }

  /// Puts it behind the first `base` bytes of the file that it goes on with; until `remove` it is there twice.
  func join(behind base: Int) throws(RecordError) {
    var join = try FileJoin(part: file.path, to: entry.path, base: base)
    while try !join.step() {}
    entry.state = fails ? .failed : .finished
  }

  /// Nothing is left to be lost when the process ends.
  func sync() throws(RecordError) { try file.sync() }

  /// It goes away.
  func remove() {
    file.abandon(keep: false)
    entry.part = nil
  }
}
