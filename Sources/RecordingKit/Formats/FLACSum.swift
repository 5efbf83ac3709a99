internal import Codecs
internal import Crypto
internal import StreamCore

/// The MD5 of the sound of a FLAC file, which its headers state, computed as its pages are written. Confined
/// to the disk thread.
///
/// Unknown as soon as a packet is not a valid frame that continues the one before, as the packets of a file
/// do, or a page was not written. Any frames may precede its first frame in the stream. Source: RFC 9639
/// §8.2.
struct FLACSum {
  private enum State {
    /// The sum of all pages but the last ones, which may be cut off.
    case counting(FLACSamples, MD5, held: [Page])
    case unknown
  }

  /// The packets of a page, and their duration.
  private struct Page {
    let packets: [[UInt8]]
    let length: StreamTime
  }

  private var state: State
  private let reach: StreamTime

  /// Creates the sum of no sound; unknown for headers of another codec.
  /// - Parameter reach: the length of the sound at the end that may be cut off again.
  init(_ headers: OggHeaders, reach: StreamTime = .zero) {
    self.reach = reach
    if let samples = FLACSamples(headers), let hash = MD5() {
      state = .counting(samples, hash, held: [])
    } else {
      state = .unknown
    }
  }

  /// Adds the packets of a page, with their duration.
  mutating func add(_ packets: [[UInt8]], lasting length: StreamTime) {
    guard case .counting(let samples, let hash, var held) = state, !packets.isEmpty else { return }
    state = .unknown  // so that the pages are not copied
    held.append(Page(packets: packets, length: length))
    var heldLength = held.reduce(StreamTime.zero) { $0 + $1.length }
    while let first = held.first, heldLength - first.length >= reach {
      heldLength = heldLength - first.length
      held.removeFirst()
      guard Self.decode(first, samples, hash) else { return }
    }
    state = .counting(samples, hash, held: held)
  }

  /// Adds a page of a file unchanged.
  mutating func add(page: UnsafeRawBufferPointer) {
    guard case .counting(let samples, let hash, _) = state else { return }
    if !samples.decode(page: page, { hash.update($0) }) { state = .unknown }
  }

  private static func decode(_ page: Page, _ samples: FLACSamples, _ hash: MD5) -> Bool {
    page.packets.allSatisfy { samples.decode($0) { hash.update($0) } }
  }

  /// Removes the last `count` pages; the sum is unknown if they are more than were held.
  mutating func cut(_ count: Int) {
    guard case .counting(let samples, let hash, let held) = state else { return }
    state = held.count >= count ? .counting(samples, hash, held: held.dropLast(count)) : .unknown
  }

  /// Forgets the sum: the file does not hold all added sound.
  mutating func discard() { state = .unknown }

  /// Returns the sum of all packets, 16 bytes; nil if it is unknown. It is unknown afterwards.
  mutating func finish() -> [UInt8]? {
    guard case .counting(let samples, let hash, let held) = state else { return nil }
    state = .unknown
    return held.allSatisfy { Self.decode($0, samples, hash) } ? hash.finish() : nil
  }
}
