/// Titles of a station whose sound has not come yet.
struct ReceivedTitles: Sendable {
  /// Of a connection that sends nothing but titles the oldest are given up.
  private static let limit = 64
  /// By the byte of audio that they stand in front of.
  private var waiting: [(position: Int, title: ICYMetadata)] = []
  /// What was told last, and before that.
  private var (last, lastBefore) = (ICYMetadata?.none, ICYMetadata?.none)

  /// A connection begins; titles that still wait are of one that is gone.
  mutating func connect() { waiting = [] }

  mutating func add(_ block: ICYDeinterleaver.Block, encoding: MetadataEncoding) {
    waiting.append((block.audioPosition, ICYMetadata(block.bytes, encoding: encoding)))
    if waiting.count > Self.limit { waiting.removeFirst() }
  }

  /// The newest title of the sound up to that byte; nil if it is still the one that was told last, as after a
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

  /// The title that `next` gave last was not told after all.
  mutating func takeBack() { last = lastBefore }
}
