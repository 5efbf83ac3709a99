@testable import Codecs
import Glibc

/// Ends the process, which libFuzzer takes for a finding, when a promise is not kept.
func require(_ isKept: Bool, _ promise: String) {
  if !isKept { fatalError("not kept: \(promise)") }
}

/// The result of a scan.
private struct Scan: Equatable {
  var frames: [EncodedFrame] = []
  var skipped = 0
  var tags = 0
}

/// Scans a stream in one piece and in several: the same frames, in order, whole, and every byte accounted for.
func checkScanner<Header: FrameHeader>(_: Header.Type, _ input: UnsafeBufferPointer<UInt8>) {
  let whole = scan(Header.self, input, pieces: input.count)
  var end = 0
  for frame in whole.frames {
    require(frame.offset >= end, "frames don't overlap")
    require(
      frame.length > frame.headerLength && frame.length <= Header.longest + 4,
      "frames have a length that can be")
    require(frame.samples > 0 && frame.sampleRate > 0, "frames last some time")
    end = frame.offset + frame.length
  }
  require(end <= input.count, "frames lie in the stream")
  let total = whole.frames.reduce(0) { $0 + $1.length } + whole.skipped + whole.tags
  require(total == input.count, "every byte is of a frame, of a tag or passed over")
  let pieces = scan(Header.self, input, pieces: 1 + input.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFF })
  require(pieces == whole, "what is found does not depend on how the bytes are cut")
}

private func scan<Header: FrameHeader>(
  _: Header.Type, _ input: UnsafeBufferPointer<UInt8>, pieces size: Int
) -> Scan {
  var (scanner, result) = (FrameScanner<Header>(), Scan())
  var rest = input[...]
  repeat {
    scanner.feed(rest.prefix(size))
    rest = rest.dropFirst(size)
    if rest.isEmpty { scanner.end() }
    while let found = scanner.next() {
      require(scanner.bytes(of: found.frame).count == found.frame.length, "a frame has its bytes")
      result.frames.append(found.frame)
    }
  } while !rest.isEmpty
  (result.skipped, result.tags) = (scanner.skippedBytes, scanner.tagBytes)
  return result
}
