internal import Codecs

/// Decides which frames can be played after a join.
///
/// A frame of layer III may begin in bytes of the frames before it, up to 511 of them. After a gap those
/// bytes belong to another programme, and the frame would sound as garbage, so it is dropped until enough
/// bytes have come: for 2 frames at 64 to 320 kbit/s, 7 at 32. Other codecs play from the first frame on.
/// Source: ISO/IEC 11172-3 §2.4.1.7, main_data_begin.
public struct BitReservoir: Sendable {
  private static let reach = 511
  /// Bytes of main data since the join, as far as a frame can reach.
  private var bytes = 0

  /// Creates an empty reservoir: at the start of a stream, and at a join.
  public init() {}

  /// Accounts for the next frame.
  /// - Returns: `true` if it can be played.
  public mutating func admits(_ frame: StreamFrame) -> Bool {
    guard frame.codec == .mp3 else {
      bytes = 0
      return true
    }
    defer { bytes = min(Self.reach, bytes + frame.mainDataLength) }
    return frame.mainDataBegin <= bytes
  }
}
