internal import Codecs
internal import Crypto

/// The MD5 of the sound of a file of FLAC, which its headers state, made as its packets are written. Confined to the
/// disk thread.
///
/// Unknown as soon as a packet is not a good frame that continues the one before, or something was not written or was
/// removed. In front of its first frame the stream may have had any others. Source: RFC 9639 §8.2.
struct FLACSum {
  private enum State {
    case counting(FLACSamples, MD5)
    case unknown
  }

  private var state: State

  /// Creates the sum of no sound; unknown for headers of another codec.
  init(_ headers: OggHeaders) {
    if let samples = FLACSamples(headers), let hash = MD5() {
      state = .counting(samples, hash)
    } else {
      state = .unknown
    }
  }

  /// Adds the sound of a packet.
  mutating func add(_ packet: [UInt8]) {
    guard case .counting(let samples, let hash) = state else { return }
    if !samples.decode(packet, { hash.update($0) }) { state = .unknown }
  }

  /// Forgets the sum: the file does not hold what was added.
  mutating func discard() { state = .unknown }

  /// Returns the sum of all packets, 16 bytes; nil if it is unknown, which it is afterwards.
  mutating func finish() -> [UInt8]? {
    guard case .counting(_, let hash) = state else { return nil }
    state = .unknown
    return hash.finish()
  }
}
