internal import Codecs
internal import EventLoop
internal import StreamCore

/// The frames at the end of a recording's file, which are compared with sound that may continue it.
enum RecordedTail {
  /// The number of bytes compared at the end of a FLAC frame, and that of the checksum after them: files
  /// number frames anew, which changes the remaining bytes.
  private static let (comparedFLAC, sumOfFLAC) = (256, 2)

  /// Returns the frames in the last 256 KiB of the file at `path`, in the form of `compared`.
  /// - Throws: `record.write` if it can't be read.
  static func frames(_ path: String, of format: StreamFormat) throws(RecordError) -> [StreamFrame] {
    let bytes = try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      let start = min(length, AudioFraming.tagLength(try FileBytes.read(file, path, at: 0, count: 10)))
      let from = max(start, length - FrameHistory.byteLimit)
      return try FileBytes.read(file, path, at: from, count: length - from)
    }
    if format.codec.isOgg { return pages(in: bytes, of: format) }
    var (framing, frames) = (AudioFraming(), [StreamFrame]())
    framing.feed(bytes)
    framing.end()
    while let found = framing.next() { frames.append(StreamFrame(found, of: framing)) }
    return frames
  }

  private static func pages(in bytes: [UInt8], of format: StreamFormat) -> [StreamFrame] {
    OggFraming.wholePages(in: bytes).map { page, offset in
      let frame = StreamFrame(offset: offset, length: page.length, hash: 0, format: format)
      return bytes[offset..<(offset + page.length)].withUnsafeBytes { compared(frame, $0) }
    }
  }

  /// Returns a frame with the hash by which it is compared with those of a file: in Ogg, whose pages are
  /// renumbered when written, the hash of the last packet.
  static func compared(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) -> StreamFrame {
    guard frame.codec.isOgg, !frame.isHeaders, let page = OggPage(bytes), var range = page.lastPacket,
      range.upperBound <= bytes.count
    else { return frame }
    if frame.codec == .oggflac { range = range.dropLast(sumOfFLAC).suffix(comparedFLAC) }
    return StreamFrame(
      offset: frame.offset, length: frame.length,
      hash: FrameHash.of(UnsafeRawBufferPointer(rebasing: bytes[range])),
      format: frame.format, samples: frame.samples)
  }
}
