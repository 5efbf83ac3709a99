import EventLoop
@testable import Reception
@testable import StreamCore

/// libFuzzer's entry: a segment, a list or a tag. The first byte is the kind, the second divides the bytes.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 2 else { return 0 }
  let input = Array(UnsafeBufferPointer(start: start + 2, count: count - 2))
  switch start[0] % 3 {
  case 0: checkSegment(input, piece: Int(start[1]) + 1)
  case 1: checkList(input)
  default: if let title = TimedTag(input)?.title { require(!title.isEmpty, "a title is a text") }
  }
  return 0
}

/// Frames are the same however the segment is divided.
private func checkSegment(_ input: [UInt8], piece: Int) {
  require(frames(input, piece: piece) == frames(input, piece: input.count), "frames depend on pieces")
}

private func frames(_ input: [UInt8], piece: Int) -> [Int] {
  var sound = HLSSound()
  var (hashes, length): ([Int], Int) = ([], 0)
  func receive(_ item: HLSSound.Item) -> Bool {
    if case .frame(let frame, let bytes, _) = item {
      require(frame.length == bytes.count, "a frame has its bytes")
      hashes.append(Int(truncatingIfNeeded: frame.hash))
      length += bytes.count
    }
    return true
  }
  do throws(HLSSound.Obstacle) {
    try sound.begin(title: nil, initialization: nil, isContinuous: false) { receive($0) }
    var failure: HLSSound.Obstacle?
    for start in stride(from: 0, to: input.count, by: piece) where failure == nil {
      Array(input[start..<min(input.count, start + piece)]).withUnsafeBytes { bytes in
        do throws(HLSSound.Obstacle) { try sound.consume(bytes) { receive($0) } } catch { failure = error }
      }
    }
    if let failure { throw failure }
    try sound.endSegment { receive($0) }
  } catch {
    require(!error.found.isEmpty, "an obstacle has words")
    // Frames in front of damage come as far as their bytes had come.
    return []
  }
  require(length <= input.count, "frames are of the bytes that came")
  return hashes
}

private func checkList(_ input: [UInt8]) {
  do throws(StreamError) {
    switch try HLSPlaylist(input, url: "u") {
    case .master(let master):
      let candidates = master.candidates(limit: 128_000)
      require(candidates.count <= 2 * master.variants.count, "versions are listed")
    case .media(let media):
      for (index, segment) in media.segments.enumerated() {
        require(segment.sequence == media.sequence + index, "numbers follow each other")
        require(segment.duration >= 0 && segment.duration.isFinite, "lengths are lengths")
      }
      require(media.segments.isEmpty || media.segment(media.start) != nil, "a listener begins in the list")
    }
  } catch {
    require([.content, .notFound].contains(error.kind), "damage is reported as such")
    require(!error.message.utf8.contains { $0 == 10 || $0 == 13 }, "messages are of one line")
  }
}
