import EventLoop
@testable import StreamKit

/// libFuzzer's entry: a segment, a list, a tag, or events of a listener. The first byte is the kind, the second divides
/// the bytes.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 2 else { return 0 }
  let input = Array(UnsafeBufferPointer(start: start + 2, count: count - 2))
  switch start[0] % 4 {
  case 0: checkSegment(input, piece: Int(start[1]) + 1)
  case 1: checkList(input)
  case 3:
    var listener = Listener(input)
    listener.run()
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

/// A listener whose lists and segments come, fail or hang as bytes say.
private struct Listener {
  private var bytes: ArraySlice<UInt8>
  private var follower = HLSFollower(rateLimit: 128_000)
  private var now = Instant(nanoseconds: 0)
  private var isOpen = false
  private var isOver = false
  private var (isLoading, isFetching) = (false, false)

  init(_ input: [UInt8]) { bytes = input[...] }

  private mutating func byte() -> Int { Int(bytes.popFirst() ?? 0) }

  mutating func run() {
    while !bytes.isEmpty, !isOver {
      let event = byte()
      now = now.advanced(by: .milliseconds(byte() * 20))
      handle(event)
      guard isOpen, !isOver else { continue }
      require(isLoading || isFetching || follower.deadline != nil, "a listener never waits for nothing")
      require(follower.targetDuration >= 0, "lengths are lengths")
    }
  }

  private mutating func handle(_ event: Int) {
    guard isOpen else { return open() }
    let seconds = Double(event >> 4) / 4
    switch event % 9 {
    case 0 where isLoading:
      isLoading = false
      perform(follower.loaded(.media(media()), at: address(event), at: now))
    case 1 where isLoading && follower.isReloading:
      isLoading = false
      perform(follower.unchanged(at: now))
    case 2 where isLoading:
      isLoading = false
      perform(follower.loadFailed(failure, kind(event), received: seconds, at: now))
    case 3 where isFetching, 4 where isFetching:
      isFetching = false
      perform(follower.segmentReceived(at: now))
    case 5 where isFetching:
      isFetching = false
      let hasSound = event & 128 != 0
      perform(
        follower.segmentFailed(failure, kind(event >> 3), received: seconds, hasSound: hasSound, at: now))
    case 6: close(silent: event & 16 != 0, seconds)
    default:
      guard let deadline = follower.deadline else { return close(silent: true, seconds) }
      now = max(now, deadline)
      perform(follower.deadlinePassed(received: seconds, at: now))
      require(follower.deadline.map { $0 > now } ?? true, "what is due is done")
    }
  }

  private let failure = StreamError(.network, "gone")

  private func kind(_ event: Int) -> HLSFailure {
    switch event % 4 {
    case 0: .connection
    case 1: .content
    default: .answer(retryAfter: .seconds((event >> 2) % 64))
    }
  }

  private func address(_ number: Int) -> StreamAddress {
    guard let address = try? StreamAddress("http://a/\(number % 4)") else { fatalError("an address is one") }
    return address
  }

  private mutating func media() -> HLSMedia {
    var media = HLSMedia(sequence: byte() % 32, targetDuration: Double(byte() % 16) / 2)
    let shape = byte()
    media.isEnded = shape % 8 == 7
    media.segments = (0..<(shape >> 3 & 7)).map { index in
      var segment = HLSSegment(
        sequence: media.sequence + index, reference: "\((media.sequence + index) * (shape >> 6))",
        duration: media.targetDuration)
      segment.isAbsent = shape % 8 == index
      return segment
    }
    return media
  }

  private mutating func open() {
    let shape = byte()
    isOpen = true
    guard shape % 3 == 0 else {
      return perform(follower.open(.media(media()), at: address(shape >> 2), at: now))
    }
    let variants = (0...(shape >> 2 & 3)).map {
      HLSMaster.Variant(reference: "\($0)", bitRate: $0, kind: .audio)
    }
    perform(follower.open(.master(HLSMaster(variants: variants)), at: address(0), at: now))
  }

  private mutating func close(silent: Bool, _ seconds: Double) {
    if silent { follower.silent(received: seconds, at: now) }
    follower.close(received: seconds)
    (isOpen, isLoading, isFetching) = (false, false, false)
  }

  private mutating func perform(_ actions: [HLSFollower.Action]) {
    for action in actions {
      require(isOpen, "nothing follows the end of a connection")
      switch action {
      case .load: isLoading = true
      case .fetch(let piece):
        require(!isFetching, "one segment is requested at a time")
        require(piece.received >= 0 && !piece.segment.isAbsent, "what is requested is there")
        isFetching = true
      case .cancelFetch: isFetching = false
      case .lost(let seconds): require(seconds > 0 && seconds.isFinite, "what is missing has a length")
      case .file(let media): require(media.duration >= 0, "files have a length")
      case .grown, .report: break
      case .fail: close(silent: false, 0)
      case .complete: isOver = true
      }
    }
  }
}
