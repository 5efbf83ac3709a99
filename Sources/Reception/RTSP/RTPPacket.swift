/// A packet of RTP. Source: RFC 3550 §5.1.
struct RTPPacket: Equatable {
  let payloadType: UInt8
  /// `true` at the end of a unit that is divided, or the start of a spurt, as the payload says.
  let isMarked: Bool
  let sequence: UInt16
  let timestamp: UInt32
  /// The source, which a server changes when it begins anew.
  let source: UInt32
  let payload: ArraySlice<UInt8>

  /// Reads a packet; nil for bytes that are not one: all lengths in it are checked.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 12, bytes[0] >> 6 == 2 else { return nil }
    func number(_ index: Int, _ count: Int) -> Int {
      bytes[index..<(index + count)].reduce(0) { $0 << 8 | Int($1) }
    }
    var start = 12 + 4 * Int(bytes[0] & 15)
    if bytes[0] & 0x10 != 0 {
      guard bytes.count >= start + 4 else { return nil }
      start += 4 + 4 * number(start + 2, 2)
    }
    var end = bytes.count
    if bytes[0] & 0x20 != 0 { end -= Int(bytes[bytes.count - 1]) }
    guard start <= end else { return nil }
    isMarked = bytes[1] & 0x80 != 0
    payloadType = bytes[1] & 0x7F
    sequence = UInt16(number(2, 2))
    timestamp = UInt32(number(4, 4))
    source = UInt32(number(8, 4))
    payload = bytes[start..<end]
  }
}

/// Reports of RTCP. Source: RFC 3550 §6.
enum RTCPPacket {
  /// Returns `true` if a source leaves the session: the presentation has ended.
  static func isGoodbye(_ bytes: [UInt8]) -> Bool {
    var start = 0
    while start + 4 <= bytes.count, bytes[start] >> 6 == 2 {
      if bytes[start + 1] == 203 { return true }
      start += 4 + 4 * (Int(bytes[start + 2]) << 8 | Int(bytes[start + 3]))
    }
    return false
  }
}

/// The order of packets by their sequence numbers. Source: RFC 3550 §A.1.
struct RTPSequence: Sendable {
  /// The relation of a packet to those before.
  enum Step: Equatable {
    /// The first packet, or the next one.
    case next
    /// Packets are missing before it.
    case lost(Int)
    /// A packet that came before, or too late: to be dropped.
    case old
    /// The source has begun anew: its numbers and times have no relation to those before.
    case restarted
    /// A packet far from all others, which proves nothing yet: to be dropped.
    case stray
  }

  /// The most packets that count as lost.
  static let lossLimit = 3000
  /// The most packets by which one may be too late.
  static let lateLimit = 100

  private var last: (source: UInt32, sequence: UInt16)?
  /// The number after that of a stray packet: the packet that has it proves a new beginning.
  private var probation: UInt16?

  /// Receives the next packet.
  mutating func receive(_ packet: RTPPacket) -> Step {
    guard let last else {
      self.last = (packet.source, packet.sequence)
      return .next
    }
    guard packet.source == last.source else {
      (self.last, probation) = ((packet.source, packet.sequence), nil)
      return .restarted
    }
    let step = Int(packet.sequence &- last.sequence)
    if step == 0 || step > 65_536 - Self.lateLimit { return .old }
    if step <= Self.lossLimit {
      (self.last, probation) = ((packet.source, packet.sequence), nil)
      return step == 1 ? .next : .lost(step - 1)
    }
    guard probation == packet.sequence else {
      probation = packet.sequence &+ 1
      return .stray
    }
    (self.last, probation) = ((packet.source, packet.sequence), nil)
    return .restarted
  }
}

/// The length of the sound that is missing between two packets.
///
/// A camera's clock may be wrong: the time stamps count only where they agree with the time that has passed;
/// otherwise each lost packet counts like the last one.
struct RTPLoss: Sendable {
  /// The tolerance between the time stamps and the time that passed, in seconds.
  private static let tolerance = 1.0

  private let clockRate: Int
  /// The time stamp after the last received sound, its arrival, and the seconds of sound in a packet.
  private var last: (end: UInt32, time: Double, length: Double)?

  init(clockRate: Int) { self.clockRate = clockRate }

  /// Notes a packet that was received.
  /// - Parameter seconds: the sound in it.
  mutating func note(_ packet: RTPPacket, seconds: Double, at time: Double) {
    let ticks = UInt32(truncatingIfNeeded: Int((seconds * Double(clockRate)).rounded()))
    last = (packet.timestamp &+ ticks, time, seconds > 0 ? seconds : last?.length ?? 0)
  }

  /// Returns the seconds of sound that are missing before a packet.
  /// - Parameter count: the number of lost packets.
  func missing(before packet: RTPPacket, count: Int, at time: Double) -> Double {
    guard let last else { return 0 }
    let counted = Double(count) * last.length
    let ticks = Int32(bitPattern: packet.timestamp &- last.end)
    let stamped = Double(ticks) / Double(clockRate)
    let passed = time - last.time
    return stamped >= 0 && abs(stamped - passed) <= max(Self.tolerance, counted) ? stamped : counted
  }
}
