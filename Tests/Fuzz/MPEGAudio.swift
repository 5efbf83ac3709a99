@testable import Codecs

/// libFuzzer's entry: an MPEG audio stream, through the scanner and through what reads the sound's length.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = UnsafeBufferPointer(start: start, count: count)
  checkScanner(MPEGAudioHeader.self, input)
  readLength(Array(input))
  var framing = MPEGAudioFraming()
  framing.feed(input)
  framing.end()
  while let frame = framing.next() {
    require(framing.bytes(of: frame).count == frame.encoded.length, "a frame has its bytes")
    require((0...511).contains(frame.mainDataBegin), "the bit reservoir reaches back 511 bytes at most")
  }
  return 0
}

/// Reads the facts of a first frame. In a stream that needs three headers that agree, which random changes seldom leave.
private func readLength(_ bytes: [UInt8]) {
  guard let header = MPEGAudioHeader(bytes, at: 0) else { return }
  let frame = bytes.prefix(header.frameLength ?? MPEGAudioHeader.longest)
  guard let length = StreamLength(frame, header: header) else { return }
  require((length.frames ?? 0) >= 0 && (length.bytes ?? 0) >= 0, "lengths are not negative")
  require((length.delay ?? 0) < 4096 && (length.padding ?? 0) < 4096, "delay and padding have 12 bits")
}
