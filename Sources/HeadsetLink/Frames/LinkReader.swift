/// Finds the frames in received bytes, which may be cut anywhere.
///
/// Bytes that are not a frame are dropped and counted. Bytes before a frame that don't end with a zero damage
/// that frame and no other. Holds 1,100 bytes at most.
package struct LinkReader {
  /// The most bytes without a zero; the longest frame has 1,053.
  package static let longest = 1_100

  /// The number of frames that were found.
  package private(set) var frames = 0
  /// The number of drops, by their reason.
  package private(set) var dropped: [LinkPacket.Fault: Int] = [:]
  /// The number of bytes that wait for the zero that ends them.
  package var held: Int { buffer.count }

  private var buffer: [UInt8] = []
  /// `true` while all bytes up to the next zero are skipped.
  private var isLost = false

  package init() {}

  /// The number of drops for all reasons.
  package var droppedFrames: Int { dropped.values.reduce(0, +) }

  /// Reads the next bytes, and passes on each frame that ends in them.
  package mutating func read(_ bytes: ArraySlice<UInt8>, each: (LinkPacket) -> Void) {
    for byte in bytes {
      if byte != 0 {
        append(byte)
      } else if isLost {
        isLost = false
      } else if !buffer.isEmpty {
        // Several zeros in a row: the sender begins anew.
        if let packet = end() { each(packet) }
      }
    }
  }

  /// The frames that end in the next bytes.
  package mutating func read(_ bytes: ArraySlice<UInt8>) -> [LinkPacket] {
    var packets: [LinkPacket] = []
    read(bytes) { packets.append($0) }
    return packets
  }

  private mutating func append(_ byte: UInt8) {
    guard !isLost else { return }
    guard buffer.count < Self.longest else {
      buffer.removeAll(keepingCapacity: true)
      isLost = true
      dropped[.endless, default: 0] += 1
      return
    }
    buffer.append(byte)
  }

  private mutating func end() -> LinkPacket? {
    defer { buffer.removeAll(keepingCapacity: true) }
    do throws(LinkPacket.Fault) {
      let packet = try LinkPacket(stuffed: buffer)
      frames += 1
      return packet
    } catch {
      dropped[error, default: 0] += 1
      return nil
    }
  }
}
