/// Titles of a station whose sound has not come yet.
struct ReceivedTitles: Sendable {
  /// The most titles that wait: of a connection that sends nothing but titles the oldest are dropped.
  private static let limit = 64
  /// The titles with the byte of audio before which they came.
  private var waiting: [(position: Int, title: ICYMetadata)] = []
  /// The title that was emitted last, and the one before.
  private var (last, lastBefore) = (ICYMetadata?.none, ICYMetadata?.none)

  /// A connection begins; titles that still wait are of one that is gone.
  mutating func connect() { waiting = [] }

  mutating func add(_ block: ICYDeinterleaver.Block, encoding: MetadataEncoding) {
    waiting.append((block.audioPosition, ICYMetadata(block.bytes, encoding: encoding)))
    if waiting.count > Self.limit { waiting.removeFirst() }
  }

  /// The newest title of the sound up to that byte; nil if it is still the one that was emitted last, as after a
  /// reconnection.
  mutating func next(before position: Int) -> ICYMetadata? {
    guard !waiting.isEmpty else { return nil }
    var new: ICYMetadata?
    let before = last
    while let next = waiting.first, next.position < position {
      waiting.removeFirst()
      guard next.title != last else { continue }
      (last, new) = (next.title, next.title)
    }
    if new != nil { lastBefore = before }
    return new
  }

  /// Revokes the title that `next` returned last: it was not emitted after all.
  mutating func takeBack() { last = lastBefore }
}
