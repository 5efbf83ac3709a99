import Codecs
@testable import StreamCore

private let types = [
  nil, "audio/mpeg", "audio/aacp; x=1", "application/ogg", "video/mp4", "text/html", "\u{0}", "",
]

/// libFuzzer's entry: whatever a station may send. The first byte is the content type, and how often all comes again:
/// the limits are further away than an input is long.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let (type, times) = (types[Int(start[0]) & 7], 1 + (Int(start[0]) >> 3) % 8)
  let once = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  let input = Array(repeatElement(once, count: times).joined())
  let whole = frames(of: input, type, pieces: 4096)
  require(
    frames(of: input, type, pieces: pieceSize(of: once)) == whole,
    "what is found does not depend on how the bytes are cut")
  return 0
}

private struct Found: Equatable {
  var formats: [StreamFormat] = []
  var frames: [StreamFrame] = []
  /// Bytes that went through in pieces.
  var passed: [UInt8] = []
  var refusal: String?
}

private func frames(of input: [UInt8], _ type: String?, pieces size: Int) -> Found {
  var (framer, found, end) = (StreamFramer(contentType: type, offset: 7), Found(), 7)
  func receive() {
    while let item = framer.next() {
      require(found.refusal == nil, "nothing follows a refusal")
      switch item {
      case .format(let format):
        require(found.formats.last != format, "a format is told when it changes")
        found.formats.append(format)
      case .frame(let frame):
        require(frame.format == found.formats.last, "frames have the format that was told")
        require(frame.offset >= end && frame.length > 0, "frames are in order, and don't overlap")
        end = frame.offset + frame.length
        require(end <= input.count + 7, "frames lie in the stream")
        let source = input[(frame.offset - 7)..<(end - 7)]
        let isSame = framer.withBytes(of: frame) { $0.elementsEqual(source) }
        require(isSame == true, "frames have their bytes")
        if frame.codec.hasFrames {
          require(source.withUnsafeBytes(FrameHash.of) == frame.hash, "the hash is that of the bytes")
          require(frame.duration > .zero, "frames take some time")
          found.frames.append(frame)
        } else {
          found.passed += source
        }
      case .notAudio(let words):
        require(!words.isEmpty && words.utf8.count < 400, "what was found is told in a few words")
        found.refusal = words
      }
    }
    require(framer.pendingBytes <= 56 * 1024 + size, "no more is kept than is promised")
    if case .some = found.refusal { require(framer.pendingBytes == 0, "of what is refused nothing is kept") }
  }
  inPieces(input, of: size) { bytes in
    framer.feed(bytes)
    receive()
  }
  framer.end()
  receive()
  return found
}
