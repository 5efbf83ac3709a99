internal import StreamCore

/// The account of the sound of a recording: received, missing at the station, written, and lost to a disk
/// without room.
struct GapLedger {
  /// The sound received for files.
  private(set) var time = StreamTime.zero
  /// The sound that was missing in it.
  private(set) var missing = StreamTime.zero
  /// The sound in files.
  private(set) var written = StreamTime.zero
  /// The sound that came while the disk had no room, and is not noted as a gap.
  private(set) var lost = StreamTime.zero
  /// The gap before the next file.
  private(set) var gapBefore = StreamTime.zero
  /// The last title of the lost sound.
  private var lostTitle: StreamTitle?

  /// All received sound, and the gaps in it.
  var total: StreamTime { time + missing + lost }

  mutating func receive(_ sound: StreamTime) { time = time + sound }

  mutating func miss(_ gap: StreamTime) { missing = missing + gap }

  /// Notes that all received sound is in files.
  mutating func write() { (written, gapBefore) = (time, .zero) }

  /// Applies a failure in the middle of batches: some of them are written, and some of their gaps noted.
  /// - Parameter before: the account before the first of them.
  mutating func fail(_ batches: [RecordingQueue.Batch], since before: GapLedger) {
    let gaps = batches.reduce(StreamTime.zero) { $0 + $1.gaps } - (missing - before.missing)
    lost = batches.reduce(before.time) { $0 + $1.length } - written + gaps
    lostTitle = batches.last { $0.lastTitle != nil }?.lastTitle
  }

  /// Drops received sound that was not written: `lost` counts it.
  mutating func dropUnwritten() { time = written }

  /// Adds a batch that does not fit on the disk.
  mutating func lose(_ batch: RecordingQueue.Batch) {
    lost = lost + batch.length + batch.gaps
    lostTitle = batch.lastTitle ?? lostTitle
  }

  /// Removes and returns the last title of the lost sound: it may be that of the next sound.
  mutating func takeLostTitle() -> StreamTitle? {
    defer { lostTitle = nil }
    return lostTitle
  }

  /// Turns the lost sound into the gap before the next file.
  mutating func resume() { (gapBefore, lost) = (gapBefore + lost, .zero) }
}
