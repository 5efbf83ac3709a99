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

/// Detours of the player.
extension StationReceiver {
  /// Lets a player without sound play the second connection, if recordings keep that connection waiting.
  func beginDetour() {
    guard options.catchUp == .skip, tee.isDry, tee.isRecorded, detour?.isFed != true,
      let buffer = tee.buffer, let standby,
      let (head, bytes) = standby.listen({ [unowned self] in receiveDetour($0, nil) })
    else { return }
    detour = PlayerDetour(of: buffer, sound, head, lossTime: lastDue)
    // A copy shows how much has come, and so how much is missing.
    var length = StreamTime.zero
    if var trial = detour {
      bytes.withUnsafeBytes { bytes in
        trial.receive(bytes, options.encoding) { frame, _, _ in length = length + frame.duration }
      }
    }
    let gap = max(0, seconds - lastDue - length.seconds)
    report(.reconnected(gap: gap, stitched: false, overlap: 0))
    bytes.withUnsafeBytes { receiveDetour($0, .gap(seconds: gap)) }
  }

  /// Receives bytes of the second connection for the player alone.
  /// - Parameter discontinuity: the discontinuity before their first frame.
  private func receiveDetour(_ bytes: UnsafeRawBufferPointer, _ discontinuity: PacketBuffer.Discontinuity?) {
    var (discontinuity, isEnough) = (discontinuity, false)
    tee.receive { outlets in
      let _: Void? = detour?.receive(bytes, options.encoding) { frame, bytes, title in
        let arrival = outlets.play(frame, bytes, discontinuity)
        discontinuity = nil
        isEnough = isEnough || arrival.isEnough
        if let title { report(.metadata(title, at: arrival.start)) }
      }
    }
    if isEnough { reportEnough() }
  }

  /// Returns the player's share in a frame of the connection.
  /// - Parameter player: the buffer that is played.
  func part(of player: StreamBuffer?, in frame: StreamFrame) -> FrameTee.PlayerPart {
    guard let buffer = detour?.buffer else { return .same }
    guard buffer === player, let passage = detour?.pass(frame, at: seconds) else {
      detour = nil
      return .same
    }
    switch passage {
    case .past: return .none
    case .rejoins:
      detour = nil
      return .none
    case .lost:
      detour = nil
      return .behind(.gap(seconds: 0))
    }
  }
}
