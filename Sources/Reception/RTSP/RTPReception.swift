internal import Codecs
internal import EventLoop
internal import StreamCore

/// The sound of one session: packets in, frames out, with the sound that is missing between them. Knows no
/// socket and no clock. Times are seconds of any steady clock.
struct RTPReception: Sendable {
  /// An item of the session.
  enum Item: Equatable {
    case sound(RTPDepacketizer.Item)
    /// Packets of that much sound were lost.
    case lost(seconds: Double)
    /// The source has begun anew: the length of the missing sound is known by the clock alone.
    case restarted
  }

  private var depacketizer: RTPDepacketizer
  private var sequence = RTPSequence()
  private var loss: RTPLoss

  /// - Parameters:
  ///   - offset: the number of bytes of all frames before.
  ///   - serial: the number of a logical stream of Ogg.
  init(_ sound: RTPSound, offset: Int = 0, serial: UInt32 = 1) {
    depacketizer = RTPDepacketizer(sound, offset: offset, serial: serial)
    loss = RTPLoss(clockRate: sound.clockRate)
  }

  /// The number of bytes of all returned frames.
  var offset: Int { depacketizer.offset }

  /// Receives a packet; bytes that are not one, and packets of other payloads, are ignored.
  mutating func receive(_ bytes: [UInt8], at time: Double) -> [Item] {
    guard let packet = RTPPacket(bytes), packet.payloadType == depacketizer.sound.payloadType else {
      return []
    }
    var items: [Item] = []
    switch sequence.receive(packet) {
    case .old, .stray: return []
    case .next: break
    case .lost(let count):
      items = depacketizer.interrupt().map(Item.sound)
      items.append(.lost(seconds: loss.missing(before: packet, count: count, at: time)))
    case .restarted:
      items = depacketizer.interrupt().map(Item.sound)
      items.append(.restarted)
      loss = RTPLoss(clockRate: depacketizer.sound.clockRate)
    }
    var seconds = 0.0
    for item in depacketizer.receive(packet) {
      if case .frame(let frame, _) = item { seconds += frame.duration.seconds }
      items.append(.sound(item))
    }
    loss.note(packet, seconds: seconds, at: time)
    return items
  }

  /// Ends the sound: the last frame is whole, though no other proves it.
  mutating func end() -> [Item] { depacketizer.interrupt().map(Item.sound) }
}
