internal import Codecs

/// Parses a WAV file into pieces of PCM with times of their own. A seek is exact to a frame.
///
/// Source: "Multimedia Programming Interface and Data Specifications 1.0" (RIFF, WAVE), Microsoft's
/// WAVEFORMATEXTENSIBLE. Samples of 8, 16 and 24 bits are unchanged; all others become Float32.
package struct WAVFile: FileParser {
  /// The layout of samples.
  private struct Samples {
    let format: StreamFormat
    /// The size of a sample in the file, in bytes.
    let width: Int
    let isFloat: Bool
    var frameLength: Int { width * format.channels }
  }

  private let size: Int?
  /// The bytes fed and not yet parsed, from offset `position` on.
  private var bytes: [UInt8] = []
  private var position = 0
  /// The number of bytes of a chunk that remain to be skipped.
  private var skipped = 0
  /// The offset at which the file ends according to its first chunk; nil until that chunk was read.
  private var claimedEnd: Int?
  private var samples: Samples?
  /// The bytes of a frame of samples in the file, once its head is read.
  package var frameLength: Int? { samples?.frameLength }
  /// The range of the samples in the file.
  package private(set) var data: Range<Int>?
  private var found: [FileItem] = []
  private var hasEnded = false

  private static let pieceLength = 4096
  /// The limit of the headers in bytes.
  private static let headLimit = 1 << 20

  package init(size: Int?) { self.size = size }

  package let preroll = 0
  package let soundEnd: StreamTime? = nil

  package mutating func feed(_ new: UnsafeRawBufferPointer) {
    let passed = min(skipped, new.count)
    skipped -= passed
    position += passed
    bytes.append(contentsOf: new[passed...])
  }

  package mutating func end() { hasEnded = true }

  package mutating func next() -> FileItem? {
    while found.isEmpty {
      guard let data, let samples else {
        guard let item = readHead() else {
          return hasEnded ? unusable("the end of the file in the head of a WAV file") : nil
        }
        found += item
        continue
      }
      let most = max(1, Self.pieceLength / samples.frameLength)
      let left = (data.upperBound - position) / samples.frameLength
      guard left > 0 else { return .end }
      let there = min(left, bytes.count / samples.frameLength)
      guard there >= min(most, left) || hasEnded else { return nil }
      guard there > 0 else { return .end }
      return piece(min(there, most), samples)
    }
    return found.removeFirst()
  }

  private mutating func piece(_ count: Int, _ samples: Samples) -> FileItem {
    let length = count * samples.frameLength
    let pcm = Self.canonical(bytes[..<length], samples)
    let frame = StreamFrame(
      offset: position, length: pcm.count, hash: 0, format: samples.format, samples: count)
    drop(length)
    return .frame(frame, pcm)
  }

  private mutating func drop(_ count: Int) {
    bytes.removeFirst(count)
    position += count
  }

  /// Converts samples to Float32, except those that decoders accept unchanged.
  private static func canonical(_ bytes: ArraySlice<UInt8>, _ samples: Samples) -> [UInt8] {
    func number(_ index: Int) -> UInt64 {
      bytes[index..<(index + samples.width)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    func converted(_ convert: (UInt64) -> Float) -> [UInt8] {
      stride(from: bytes.startIndex, to: bytes.endIndex, by: samples.width).flatMap { index in
        let bits = convert(number(index)).bitPattern
        return (0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt32($0))) }
      }
    }
    switch (samples.width, samples.isFloat) {
    case (4, false):
      return converted { Float(Int32(bitPattern: UInt32(truncatingIfNeeded: $0))) / 2_147_483_648 }
    case (8, _): return converted { Float(Double(bitPattern: $0)) }
    default: return Array(bytes)
    }
  }

  // MARK: The head

  /// Parses the next chunk before the samples.
  /// - Returns: nil if more bytes are needed.
  private mutating func readHead() -> [FileItem]? {
    guard position < Self.headLimit || skipped == 0 else { return [unusable("a WAV file without sound")] }
    func little(_ index: Int, _ count: Int) -> Int {
      (0..<count).reduce(0) { $0 | Int(bytes[index + $1]) << (8 * $1) }
    }
    if claimedEnd == nil {
      guard bytes.count >= 12 else { return nil }
      guard bytes.starts(with: "RIFF".utf8), bytes[8..<12].elementsEqual("WAVE".utf8) else {
        return [unusable("a RIFF file without WAVE")]
      }
      claimedEnd = 8 + little(4, 4)
      drop(12)
    }
    guard bytes.count >= 8 else { return nil }
    let (kind, length) = (Array(bytes[..<4]), little(4, 4))
    if kind.elementsEqual("data".utf8) {
      guard let samples else { return [unusable("a WAV file with sound before its format")] }
      drop(8)
      // A writer of a live file does not know the length. A file that states its own length but none for its
      // sound has no sound: other chunks follow.
      let unknown = 0xFFFF_FFFF - 36
      let isOpen = length >= unknown || length == 0 && !(position + 1..<unknown).contains(claimedEnd ?? 0)
      let end = size ?? .max / 2
      let range = position..<max(position, isOpen ? end : min(end, position + length))
      guard range.count >= samples.frameLength else { return [unusable("a WAV file without any sound")] }
      data = range
      return [.format(samples.format), .begins(at: .zero)]
    }
    if kind.elementsEqual("fmt ".utf8) {
      guard (16...1024).contains(length) else { return [unusable("a WAV format of \(length) bytes")] }
      guard bytes.count >= 8 + length + length % 2 else { return nil }
      let isExtensible = little(8, 2) == 0xFFFE && length >= 40
      let kind = isExtensible ? little(32, 2) : little(8, 2)
      let (channels, rate, bits) = (little(10, 2), little(12, 4), little(22, 2))
      drop(8 + length + length % 2)
      let width = bits / 8
      guard (1...32).contains(channels), (1000...768_000).contains(rate), bits % 8 == 0,
        kind == 1 && (1...4).contains(width) || kind == 3 && (width == 4 || width == 8)
      else {
        return [
          .unusable(
            found: "WAV of kind \(kind), \(bits) bits, \(channels) channels at \(rate) Hz",
            isUnsupported: true)
        ]
      }
      let format = StreamFormat(codec: .pcm, sampleRate: rate, channels: channels)
      samples = Samples(format: format, width: width, isFloat: kind == 3)
      return []
    }
    // Other chunks are skipped, without being kept.
    let rest = length + length % 2
    drop(8)
    let passed = min(rest, bytes.count)
    drop(passed)
    skipped = rest - passed
    guard position + skipped < Self.headLimit else {
      return [unusable("a WAV file without sound in its first MiB")]
    }
    return skipped > 0 ? nil : []
  }

  private func unusable(_ found: String) -> FileItem { .unusable(found: found, isUnsupported: false) }

  // MARK: Times

  package var duration: Double? {
    guard let data, let samples, size != nil || data.upperBound < .max / 4 else { return nil }
    return Double(data.count / samples.frameLength) / Double(samples.format.sampleRate)
  }

  package mutating func seek(to time: StreamTime) -> Int? {
    guard let data, let samples else { return nil }
    let frame = Int((time.seconds * Double(samples.format.sampleRate)).rounded())
    let target = max(0, min(frame, data.count / samples.frameLength))
    (bytes, skipped, hasEnded) = ([], 0, false)
    position = data.lowerBound + target * samples.frameLength
    found = [.begins(at: StreamTime(samples: target, sampleRate: samples.format.sampleRate))]
    return position
  }
}
