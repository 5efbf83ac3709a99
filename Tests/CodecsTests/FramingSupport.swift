import Codecs
import TestSupport

/// The common interface of both framings, for tests of both.
protocol AnyFraming {
  init(offset: Int)
  var skippedBytes: Int { get }
  mutating func feed(_ bytes: some Collection<UInt8>)
  mutating func end()
  mutating func nextFrame() -> EncodedFrame?
  func encodedBytes(of frame: EncodedFrame) -> ArraySlice<UInt8>
}

extension ADTSFraming: AnyFraming {
  mutating func nextFrame() -> EncodedFrame? { next() }
  func encodedBytes(of frame: EncodedFrame) -> ArraySlice<UInt8> { bytes(of: frame) }
}

extension MPEGAudioFraming: AnyFraming {
  mutating func nextFrame() -> EncodedFrame? { next()?.encoded }
  func encodedBytes(of frame: EncodedFrame) -> ArraySlice<UInt8> { [] }
}

extension AnyFraming {
  /// Returns the frames of a stream that is fed in pieces of `size` bytes.
  static func frames(of bytes: [UInt8], pieces size: Int = .max) -> [EncodedFrame] {
    scan(bytes, pieces: size).frames
  }

  /// Returns the frames, and the number of bytes outside of them.
  static func scan(_ bytes: [UInt8], pieces size: Int = .max) -> (frames: [EncodedFrame], skipped: Int) {
    var framing = Self(offset: 0)
    var frames: [EncodedFrame] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      framing.feed(rest.prefix(size))
      rest = rest.dropFirst(size)
      while let frame = framing.nextFrame() { frames.append(frame) }
    }
    framing.end()
    while let frame = framing.nextFrame() { frames.append(frame) }
    return (frames, framing.skippedBytes)
  }
}

/// Returns the position and the size of each packet of a file, according to ffmpeg's demuxer.
func packets(ffmpeg path: String) throws -> [[Int]] {
  let arguments = ["-v", "error", "-show_entries", "packet=size,pos", "-of", "csv=p=0", path]
  return try Command.succeed("ffprobe", arguments).text.split(separator: "\n").map { line in
    line.split(separator: ",").compactMap { Int($0) }.reversed()
  }
}

/// Returns an ID3v2.4 tag of `size` bytes besides its header, with or without a footer.
func id3v2(_ size: Int, footer: Bool = false, fill: UInt8 = 0xFF) -> [UInt8] {
  let sizeBytes = [21, 14, 7, 0].map { UInt8(size >> $0 & 0x7F) }
  let body = [UInt8](repeating: fill, count: size)
  let flags: UInt8 = footer ? 0x10 : 0
  let end = footer ? Array("3DI".utf8) + [4, 0, flags] + sizeBytes : []
  return Array("ID3".utf8) + [4, 0, flags] + sizeBytes + body + end
}
