@testable import Codecs

/// libFuzzer's entry: an MPEG audio stream, through the scanner and through what reads the sound's length.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = UnsafeBufferPointer(start: start, count: count)
  checkScanner(MPEGAudioHeader.self, input)
  var framing = MPEGAudioFraming()
  framing.feed(input)
  framing.end()
  while let frame = framing.next() {
    require(framing.bytes(of: frame).count == frame.encoded.length, "a frame has its bytes")
    require((0...511).contains(frame.mainDataBegin), "the bit reservoir reaches back 511 bytes at most")
  }
  return 0
}
