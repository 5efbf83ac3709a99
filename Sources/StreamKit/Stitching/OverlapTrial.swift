internal import HTTP

/// Tries whether a second connection's sound goes on where that of a stalled one ended, on copies of what the stalled one
/// has left: it may still go on.
struct OverlapTrial: Sendable {
  /// The state of the second connection.
  enum Finding: Equatable {
    /// No sound has come yet.
    case none
    /// Sound comes; it is not known to join.
    case sound
    /// Its sound goes on where the other's ended.
    case joins
    /// The connection brings no audio: what was found, in words.
    case notAudio(found: String)
  }

  private var sound: ReceivedSound
  /// Nil when no join can be found any more.
  private var stitcher: Stitcher?
  private(set) var finding = Finding.none

  /// - Parameters:
  ///   - sound: of the stalled connection.
  ///   - stitcher: that of the stalled connection; one that joins can't be tried.
  ///   - lossTime: when the last byte of the stalled connection came.
  init(_ sound: ReceivedSound, _ stitcher: Stitcher, lossTime: Double) {
    self.sound = sound
    guard !stitcher.isJoining else { return }
    var stitcher = stitcher
    _ = stitcher.lost(at: lossTime, pending: sound.pendingBytes)
    self.stitcher = stitcher
  }

  /// The second connection is answered.
  mutating func connect(_ head: HTTPResponse) { sound.connect(head) }

  /// Receives the next bytes of the second connection.
  /// - Parameter time: when they came.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, at time: Double) {
    var (finding, stitcher) = (self.finding, self.stitcher.take())
    sound.take(bytes) { item in
      switch item {
      case .title: break
      case .format: finding = .sound
      case .notAudio(let found): finding = .notAudio(found: found)
      case .frame(let frame, let bytes, let pending):
        finding = .sound
        switch stitcher?.receive(frame, bytes, at: time, pending: pending) {
        case nil, .hold: break
        case .joined: finding = .joins
        case .gap, .pass: stitcher = nil
        }
      }
      return finding == .sound
    }
    self.finding = finding
    if finding != .joins { self.stitcher = stitcher }
  }
}
