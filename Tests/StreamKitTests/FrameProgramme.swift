import Codecs
import EventLoop
import StreamCore
import TestSupport

/// The sound of a station: the frames of a fixture in a loop, each time with different contents, and digital
/// silence.
struct FrameProgramme: Sendable {
  /// The codecs of programmes.
  enum Kind: String, CaseIterable, Sendable {
    case mp3 = "mp3-cbr128-44k.mp3"
    case mp3VBR = "mp3-vbr-v4-44k.mp3"
    case aac = "aac-lc-44k.aac"
    case heAAC = "he-aac-v1-48k.aac"

    /// The three codecs for which exact stitching is promised.
    static let promised: [Kind] = [.mp3, .aac, .heAAC]
  }

  private(set) var bytes: [UInt8] = []
  private(set) var frames: [StreamFrame] = []
  /// The end of each frame, in seconds.
  private(set) var ends: [Double] = []

  /// Creates a programme from a fixture.
  /// - Parameters:
  ///   - seconds: the length.
  ///   - silence: the silent ranges, in seconds.
  ///   - period: the number of frames after which the contents repeat; nil for none.
  init(
    _ kind: Kind, seconds: Double, silence: [Range<Double>] = [], period: Int? = nil, seed: UInt64 = 1
  ) throws {
    let source = try readBytes(Fixtures.path(kind.rawValue))
    let all = StreamFramer.frames(of: source)
    // The first frame of an MP3 file is a tag with its length.
    let models = all.dropFirst(kind.rawValue.hasSuffix("mp3") ? 1 : 0).map { frame in
      (frame, Array(source[frame.offset..<(frame.offset + frame.length)]))
    }
    var time = 0.0
    var index = 0
    while time < seconds {
      let number = period.map { index % $0 } ?? index
      let (frame, model) = models[number % models.count]
      let isSilent = silence.contains { $0.contains(time) }
      let made =
        isSilent ? Self.silent(frame, model) : Self.changed(frame, model, seed &* 7919 &+ UInt64(number))
      append(made, like: frame, isSilent: isSilent)
      time = ends.last ?? seconds
      index += 1
    }
  }

  /// Creates a programme of existing bytes.
  init(bytes: [UInt8]) {
    for frame in StreamFramer.frames(of: bytes) {
      append(Array(bytes[frame.offset..<(frame.offset + frame.length)]), like: frame)
    }
  }

  private mutating func append(_ made: [UInt8], like frame: StreamFrame, isSilent: Bool = false) {
    frames.append(
      StreamFrame(
        offset: bytes.count, length: made.count, hash: made.withUnsafeBytes(FrameHash.of),
        format: frame.format, samples: frame.samples, mainDataBegin: isSilent ? 0 : frame.mainDataBegin,
        overhead: frame.length - frame.mainDataLength))
    ends.append((ends.last ?? 0) + frame.duration.seconds)
    bytes += made
  }

  /// Returns the frame with different contents: header and side information stay.
  private static func changed(_ frame: StreamFrame, _ model: [UInt8], _ seed: UInt64) -> [UInt8] {
    var made = model
    var random = SeededRandom(seed: seed)
    let first = frame.length - frame.mainDataLength
    made.withUnsafeMutableBytes { made in
      for index in stride(from: first, to: max(first, made.count - 7), by: 8) {
        // No byte is 0xFF, so that no header arises.
        made.storeBytes(of: random.next() & 0x7F7F_7F7F_7F7F_7F7F, toByteOffset: index, as: UInt64.self)
      }
    }
    return made
  }

  /// Returns a frame of silence as an encoder makes it: MP3 as long as any frame, AAC short.
  private static func silent(_ frame: StreamFrame, _ model: [UInt8]) -> [UInt8] {
    if frame.codec == .mp3 {
      return Array(model[..<4]) + [UInt8](repeating: 0, count: model.count - 4)
    }
    var made = Array(model[..<7]) + [UInt8](repeating: 0, count: 16)
    made[3] = made[3] & 0xFC
    made[4] = UInt8(made.count >> 3)
    made[5] = made[5] & 0x1F | UInt8(made.count & 7) << 5
    return made
  }

  /// The length in seconds.
  var seconds: Double { ends.last ?? 0 }

  /// Returns the number of frames that are complete after `byte` bytes of the stream: each needs seven bytes
  /// behind it.
  func frames(before byte: Int) -> Int {
    var (low, high) = (0, frames.count)
    while low < high {
      let middle = (low + high) / 2
      if frames[middle].offset + frames[middle].length + 7 <= byte { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension StreamFramer {
  /// Returns all items in bytes that are fed in pieces of `size`.
  static func items(of bytes: [UInt8], contentType: String? = nil, pieces size: Int = .max) -> [Item] {
    var framer = StreamFramer(contentType: contentType)
    var items: [Item] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      rest.prefix(size).withUnsafeBytes { framer.feed($0) }
      rest = rest.dropFirst(size)
      while let item = framer.next() { items.append(item) }
    }
    framer.end()
    while let item = framer.next() { items.append(item) }
    return items
  }

  /// Returns all frames of a stream.
  static func frames(of bytes: [UInt8]) -> [StreamFrame] {
    items(of: bytes).compactMap { if case .frame(let frame) = $0 { frame } else { nil } }
  }
}
