import EventLoop

/// The content of a station: bytes by their position since its beginning, without an end, and titles at
/// positions.
public struct Programme: Sendable {
  /// A title and the position of its first byte.
  public struct Title: Sendable, Equatable {
    /// Position in the programme, in bytes.
    public let position: Int
    /// The title.
    public let text: String
    /// The title `text` from `position` on.
    public init(_ text: String, at position: Int) { (self.position, self.text) = (position, text) }
  }

  /// The rate in real time.
  public let bytesPerSecond: Int
  /// The titles in the order of their positions.
  public let titles: [Title]
  private let generate: @Sendable (Range<Int>) -> [UInt8]

  /// A programme whose bytes are made on demand; `generate` returns the same for the same positions.
  public init(
    bytesPerSecond: Int = 16_000, titles: [Title] = [], generate: @escaping @Sendable (Range<Int>) -> [UInt8]
  ) {
    (self.bytesPerSecond, self.titles, self.generate) = (bytesPerSecond, titles, generate)
  }

  /// A programme that repeats `bytes`: frames of a file.
  public init(repeating bytes: [UInt8], bytesPerSecond: Int = 16_000, titles: [Title] = []) {
    precondition(!bytes.isEmpty, "a programme has bytes")
    self.init(bytesPerSecond: bytesPerSecond, titles: titles) { range in
      var result: [UInt8] = []
      result.reserveCapacity(range.count)
      while result.count < range.count {
        let begin = (range.lowerBound + result.count) % bytes.count
        result += bytes[begin...].prefix(range.count - result.count)
      }
      return result
    }
  }

  /// Returns noise in which no eight bytes occur twice, so that a piece of it identifies its position.
  public static func noise(seed: UInt64, bytesPerSecond: Int = 16_000, titles: [Title] = []) -> Programme {
    Programme(bytesPerSecond: bytesPerSecond, titles: titles) { range in
      let first = range.lowerBound / 8
      let count = range.upperBound / 8 - first + 1
      let words = [UInt8](unsafeUninitializedCapacity: count * 8) { buffer, initialized in
        let bytes = UnsafeMutableRawBufferPointer(buffer)
        for index in 0..<count {
          var random = SeededRandom(seed: seed &+ UInt64(first + index))
          bytes.storeBytes(of: random.next(), toByteOffset: index * 8, as: UInt64.self)
        }
        initialized = count * 8
      }
      return Array(words.dropFirst(range.lowerBound % 8).prefix(range.count))
    }
  }

  /// Returns the bytes at these positions.
  public func bytes(_ range: Range<Int>) -> [UInt8] { generate(range) }

  /// Returns the title of the byte at `position`.
  public func title(at position: Int) -> String? { titles.last { $0.position <= position }?.text }
}

/// A programme with titles between its bytes, as one listener receives it. Source: the ICY protocol, as in
/// SHOUTcast 1.9 and Icecast 2.4.
struct Interleaver {
  let programme: Programme
  /// Bytes between two titles, nil without titles.
  let metaint: Int?
  /// The position in the programme of the next byte.
  private(set) var position: Int
  /// The rest of the pre-roll, sent before the programme.
  private var preRoll: ArraySlice<UInt8>
  private var untilTitle: Int
  private var block: ArraySlice<UInt8> = []
  private var lastTitle: String?

  init(_ programme: Programme, from position: Int, preRoll: [UInt8], metaint: Int?) {
    (self.programme, self.position, self.preRoll, self.metaint) = (programme, position, preRoll[...], metaint)
    untilTitle = metaint ?? .max
  }

  /// Returns the next bytes, at most `count`; empty at `edge`.
  /// - Parameter edge: the end of the programme so far; bytes beyond it are not returned.
  mutating func next(_ count: Int, edge: Int) -> [UInt8] {
    if block.isEmpty, untilTitle == 0, let metaint {
      block = titleBlock()[...]
      untilTitle = metaint
    }
    if !block.isEmpty {
      defer { block = block.dropFirst(count) }
      return Array(block.prefix(count))
    }
    var count = min(count, untilTitle)
    var result: [UInt8]
    if preRoll.isEmpty {
      count = min(count, max(0, edge - position))
      result = programme.bytes(position..<position + count)
      position += count
    } else {
      result = Array(preRoll.prefix(count))
      preRoll = preRoll.dropFirst(count)
    }
    if metaint != nil { untilTitle -= result.count }
    return result
  }

  private mutating func titleBlock() -> [UInt8] {
    let title = programme.title(at: position)
    guard let title, title != lastTitle else { return [0] }
    lastTitle = title
    return Self.block("StreamTitle='\(title)';")
  }

  /// Returns a block of metadata with `text`.
  static func block(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8).prefix(255 * 16)
    let length = (bytes.count + 15) / 16
    return [UInt8(length)] + bytes + [UInt8](repeating: 0, count: length * 16 - bytes.count)
  }
}
