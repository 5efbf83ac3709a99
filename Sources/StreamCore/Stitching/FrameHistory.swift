internal import Codecs

/// The hashes, lengths and reservoir reach of the frames that passed last, with which a new connection is
/// compared.
///
/// Memory: 8 bytes a frame, so 16 KiB at most, allocated as it fills. Half of a hash is enough: with 2,048
/// old frames and 2,048 new ones, two different frames seem equal in one of a thousand connections, and a
/// join needs a run of them that ends with the newest.
package struct FrameHistory: Sendable {
  /// The limit in bytes of the audio in the history.
  package static let byteLimit = 256 * 1024
  /// The limit of frames in the history.
  static let frameLimit = 2048

  package private(set) var count = 0
  /// The index of the oldest frame.
  private var first = 0
  private var hashes: [UInt32] = []
  private var lengths: [UInt16] = []
  private var begins: [UInt16] = []
  private var bytes = 0
  /// The bytes of recent audio, for `secondsPerByte`.
  private var recentBytes = 0
  private var recentTime = StreamTime.zero

  package init() {}

  /// The memory use in bytes.
  var size: Int { hashes.count * (4 + 2 + 2) }

  /// The seconds of audio in a byte, at the rate of the last frames; 0 before there are any.
  var secondsPerByte: Double { recentBytes > 0 ? recentTime.seconds / Double(recentBytes) : 0 }

  /// Adds a frame; pieces of a stream without frames are skipped, as they can't be compared.
  package mutating func append(_ frame: StreamFrame) {
    guard frame.codec.hasFrames else { return }
    if recentBytes > 65_536 {
      recentBytes /= 2
      recentTime.ticks /= 2
    }
    recentBytes += frame.length
    recentTime = recentTime + frame.duration
    // No frame of MPEG audio or ADTS is longer than 8,191 bytes.
    let length = UInt16(clamping: frame.length)
    while count > 0, count == Self.frameLimit || bytes + Int(length) > Self.byteLimit {
      bytes -= Int(lengths[first])
      first = first + 1 == hashes.count ? 0 : first + 1
      count -= 1
    }
    if count == hashes.count { grow() }
    let end = first + count
    let index = end < hashes.count ? end : end - hashes.count
    hashes[index] = Self.half(of: frame)
    lengths[index] = length
    begins[index] = UInt16(clamping: frame.mainDataBegin)
    bytes += Int(length)
    count += 1
  }

  private mutating func grow() {
    straighten()
    // The history fills once, and stays full. Its first frames may be short: expect at most four times their
    // number.
    let expected = Self.byteLimit * count / max(1, bytes) + 16
    let size = min(Self.frameLimit, max(64, min(expected, 4 * count)))
    func grown<Value: FixedWidthInteger>(_ values: [Value]) -> [Value] {
      [Value](unsafeUninitializedCapacity: size) { space, count in
        _ = space.initialize(from: values)
        for index in values.count..<size { space.initializeElement(at: index, to: 0) }
        count = size
      }
    }
    (hashes, lengths, begins) = (grown(hashes), grown(lengths), grown(begins))
  }

  /// Moves the oldest frame to index 0, so that iteration is fast.
  package mutating func straighten() {
    guard first > 0 else { return }
    hashes = Array(hashes[first...] + hashes[..<first])
    lengths = Array(lengths[first...] + lengths[..<first])
    begins = Array(begins[first...] + begins[..<first])
    first = 0
  }

  /// Returns for each frame, from the oldest, `true` if no other frame in the history is equal to it.
  func areUnique() -> [Bool] {
    let places = (0..<count).map { (first + $0) % hashes.count }
    let order = (0..<count).sorted { hashes[places[$0]] < hashes[places[$1]] }
    var unique = [Bool](repeating: true, count: count)
    for (left, right) in zip(order, order.dropFirst()) where hashes[places[left]] == hashes[places[right]] {
      unique[left] = false
      unique[right] = false
    }
    return unique
  }

  /// Returns the part of a frame's hash that the history keeps.
  static func half(of frame: StreamFrame) -> UInt32 { UInt32(truncatingIfNeeded: frame.hash) }

  /// Calls `body` with the halves of the hashes, from the oldest; requires `straighten` before.
  func withHashes(_ body: (UnsafeBufferPointer<UInt32>) -> Void) {
    precondition(first == 0, "straighten the history before its hashes are looked at")
    hashes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[..<count])) }
  }

  /// Returns `true` if a frame, whose half hash equals that of an old one, is equal to it in all else.
  func isAlike(_ frame: StreamFrame, _ index: Int) -> Bool {
    // FLAC frames that differ only in their number may differ in length.
    frame.codec == .oggflac
      || lengths[index] == UInt16(clamping: frame.length) && Int(begins[index]) == frame.mainDataBegin
  }
}
