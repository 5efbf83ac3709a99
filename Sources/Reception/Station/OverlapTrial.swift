internal import HTTP
internal import StreamCore

/// Tests whether a second connection's sound continues that of a stalled one. It works on copies of the
/// stalled one's state, as that connection may still resume.
struct OverlapTrial: Sendable {
  /// The state of the second connection.
  enum Finding: Equatable {
    /// Waiting for the first sound.
    case none
    /// Sound comes, but is not known to join.
    case sound
    /// The sound continues where that of the other connection ended.
    case joins
    /// The connection sends something other than audio: `found` names it, in words.
    case notAudio(found: String)
  }

  private var sound: ReceivedSound
  /// The stitcher of the trial; nil once no join can be found.
  private var stitcher: Stitcher?
  private(set) var finding = Finding.none

  /// Creates a trial beside a stalled connection.
  /// - Parameters:
  ///   - sound: the parser of the stalled connection.
  ///   - stitcher: the stitcher of the stalled connection; there is no trial while it joins.
  ///   - lossTime: the time of the stalled connection's last byte.
  init(_ sound: ReceivedSound, _ stitcher: Stitcher, lossTime: Double) {
    self.sound = sound
    guard !stitcher.isJoining else { return }
    var stitcher = stitcher
    _ = stitcher.lost(at: lossTime, pending: sound.pendingBytes)
    self.stitcher = stitcher
  }

  /// Applies the response head of the second connection.
  mutating func connect(_ head: HTTPResponse) { sound.connect(head) }

  /// Receives the next bytes of the second connection.
  /// - Parameter time: the time at which they came.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, at time: Double) {
    var (finding, stitcher) = (self.finding, self.stitcher.take())
    sound.consume(bytes) { item in
      switch item {
      case .title, .comments: break
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
