/// Separates audio from the titles that a station inserts every `metaint` bytes.
///
/// ```swift
/// var index = 0
/// while let part = icy.next(in: bytes, from: &index) {
///   switch part {
///   case .audio(let range): framer.feed(bytes[range])
///   case .metadata(let block): …
///   }
/// }
/// ```
/// Audio is returned as ranges of the input, without a copy. Bytes may be divided anywhere. Memory: one
/// block, 4,080 bytes.
/// Source: "SHOUTcast Metadata Protocol", S. McIntyre, 2001; a byte that counts units of 16, then the block.
public struct ICYDeinterleaver: Sendable {
  /// A part found in the input.
  public enum Part: Sendable, Equatable {
    /// The indices of audio bytes in the input.
    case audio(Range<Int>)
    /// A whole block of metadata.
    case metadata(Block)
  }

  /// A block of metadata; empty blocks, as most are, are not reported.
  public struct Block: Sendable, Equatable {
    /// The bytes of the block, with zeros at the end: 16 to 4,080.
    public let bytes: [UInt8]
    /// The number of audio bytes before it: it belongs to the audio that follows.
    public let audioPosition: Int
  }

  private enum State {
    case audio(rest: Int)
    case length
    case block(rest: Int)
  }

  /// The number of audio bytes from block to block, after de-chunking; 0 for a stream of audio alone.
  public let interval: Int
  /// The number of audio bytes so far.
  public private(set) var audioPosition: Int
  private var state: State
  private var block: [UInt8] = []

  /// Creates a deinterleaver for a connection.
  /// - Parameters:
  ///   - interval: the header `icy-metaint`; 0 or less without that header, and then all bytes are audio.
  ///   - audioPosition: the number of audio bytes that came before, in earlier connections.
  public init(interval: Int, audioPosition: Int = 0) {
    self.interval = max(0, interval)
    self.audioPosition = audioPosition
    state = .audio(rest: interval > 0 ? interval : .max)
  }

  /// Returns the next part of `bytes` from `index` on, and moves `index` past it.
  /// - Returns: nil when all bytes were consumed.
  public mutating func next(in bytes: UnsafeRawBufferPointer, from index: inout Int) -> Part? {
    while index < bytes.count {
      switch state {
      case .audio(let rest):
        let first = index
        index += min(rest, bytes.count - first)
        audioPosition += index - first
        if interval > 0 { state = rest > index - first ? .audio(rest: rest - (index - first)) : .length }
        return .audio(first..<index)
      case .length:
        let length = Int(bytes[index]) * 16
        index += 1
        state = length > 0 ? .block(rest: length) : .audio(rest: interval)
      case .block(let rest):
        let count = min(rest, bytes.count - index)
        block.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[index..<(index + count)]))
        index += count
        guard count == rest else {
          state = .block(rest: rest - count)
          return nil
        }
        state = .audio(rest: interval)
        let whole = Block(bytes: block, audioPosition: audioPosition)
        block = []
        return .metadata(whole)
      }
    }
    return nil
  }
}
