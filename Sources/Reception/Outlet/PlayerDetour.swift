internal import EventLoop
internal import HTTP
internal import StreamCore

/// The detour of a player in a stall: it plays the second connection, while the recordings wait for sound
/// that the stalled one may still bring. Frames for the recordings then skip the player, up to the last frame
/// that it has.
struct PlayerDetour {
  /// The outcome of a frame for the recordings.
  enum Passage {
    /// The player skips it, or has it.
    case past
    /// The player has it, and none of the later frames.
    case rejoins
    /// More has come than the player can have missed: the player continues with this frame.
    case lost
  }

  /// The most frames that must come in the order in which the player has them, since some frames are equal.
  private static let proof = 32
  /// The lead of a burst that is tolerated, in seconds.
  private static let tolerance = 5.0

  /// The buffer of the player.
  let buffer: StreamBuffer
  /// `true` while the second connection is open.
  var isFed = true
  private var sound: ReceivedSound
  private var titles = ReceivedTitles()
  /// The time in seconds at which the last byte of the stalled connection came.
  private let lossTime: Double
  /// The hashes of the player's last frames, and of the last ones that skipped it.
  private var (own, others) = ([UInt64](), [UInt64]())
  /// The length of the sound that skipped the player.
  private var passed = StreamTime.zero

  /// Creates a detour.
  /// - Parameters:
  ///   - sound: the parser of the stalled connection.
  ///   - head: the head of the second connection.
  init(of buffer: StreamBuffer, _ sound: ReceivedSound, _ head: HTTPResponse, lossTime: Double) {
    (self.buffer, self.sound, self.lossTime) = (buffer, sound, lossTime)
    self.sound.connect(head)
  }

  /// Receives the next bytes of the second connection.
  /// - Parameter body: called with each frame, and the title that begins with it.
  mutating func receive(
    _ bytes: UnsafeRawBufferPointer, _ encoding: MetadataEncoding,
    _ body: (StreamFrame, UnsafeRawBufferPointer, ICYMetadata?) -> Void
  ) {
    var (titles, hashes) = (titles, [UInt64]())
    sound.consume(bytes) { item in
      switch item {
      case .title(let block): titles.add(block, encoding: encoding)
      case .comments(let title, let position): titles.add(title, position: position)
      case .format: break
      case .frame(let frame, let bytes, _):
        hashes.append(frame.hash)
        body(frame, bytes, titles.next(before: frame.offset + frame.length))
      case .notAudio: return false
      }
      return true
    }
    self.titles = titles
    for hash in hashes { note(hash) }
  }

  /// Notes the hash of a frame of the player.
  mutating func note(_ hash: UInt64) {
    own.append(hash)
    if own.count > Self.proof { own.removeFirst() }
  }

  /// Notes a frame for the recordings.
  /// - Parameter time: the time in seconds.
  mutating func pass(_ frame: StreamFrame, at time: Double) -> Passage {
    others.append(frame.hash)
    if others.count > own.count { others.removeFirst(others.count - own.count) }
    if !own.isEmpty, others == own { return .rejoins }
    passed = passed + frame.duration
    return passed.seconds > time - lossTime + Self.tolerance ? .lost : .past
  }
}
