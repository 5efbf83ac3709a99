/// The account of the sound of a recording: received, missing at the station, written, and lost to a disk without room.
struct GapLedger {
  /// Sound that was received for files.
  private(set) var time = StreamTime.zero
  /// Sound that was missing in it.
  private(set) var missing = StreamTime.zero
  /// Sound that is in files.
  private(set) var written = StreamTime.zero
  /// Sound that came while the disk had no room, and is not noted as a gap.
  private(set) var lost = StreamTime.zero
  /// The gap in front of the file that comes next.
  private(set) var gapBefore = StreamTime.zero
  /// The last title of the sound that was lost.
  private var lostTitle: StreamTitle?

  /// All sound that came, and that was missing in it.
  var total: StreamTime { time + missing + lost }

  mutating func receive(_ sound: StreamTime) { time = time + sound }

  mutating func miss(_ gap: StreamTime) { missing = missing + gap }

  /// All that was received is in files.
  mutating func write() { (written, gapBefore) = (time, .zero) }

  /// Applies a failure in the midst of batches, of which some are written, and some of whose gaps are noted.
  /// - Parameter before: the account before the first of them.
  mutating func fail(_ batches: [RecordingQueue.Batch], since before: GapLedger) {
    let gaps = batches.reduce(StreamTime.zero) { $0 + $1.gaps } - (missing - before.missing)
    lost = batches.reduce(before.time) { $0 + $1.length } - written + gaps
    lostTitle = batches.last { $0.lastTitle != nil }?.lastTitle
  }

  /// Drops sound that was received and not written: `lost` counts it.
  mutating func dropUnwritten() { time = written }

  /// Adds a batch that the disk has no room for.
  mutating func lose(_ batch: RecordingQueue.Batch) {
    lost = lost + batch.length + batch.gaps
    lostTitle = batch.lastTitle ?? lostTitle
  }

  /// Removes and returns the last title of the lost sound: it may be that of the sound that comes next.
  mutating func takeLostTitle() -> StreamTitle? {
    defer { lostTitle = nil }
    return lostTitle
  }

  /// Turns the sound that was lost into the gap in front of the next file.
  mutating func resume() { (gapBefore, lost) = (gapBefore + lost, .zero) }
}
