import Codecs
import EventLoop

@testable import Reception
@testable import StreamCore

/// Runs of the machines of HLS by events that bytes choose, for libFuzzer and for tests: the listener, the sound in front
/// of a buffer, the segment under way, the times of a file, and the versions of a programme.
enum HLSMachineRun {
  /// Returns the promises that a run breaks: the first byte chooses the machine, the others are its events.
  static func broken(by input: some Collection<UInt8>) -> [String] {
    let rest = Array(input.dropFirst())
    switch (input.first ?? 0) % 5 {
    case 0:
      var listener = Listener(rest)
      listener.run()
      return listener.promises.broken
    case 1:
      var window = WindowRun(rest)
      window.run()
      return window.promises.broken
    case 2: return progress(rest)
    case 3: return file(rest)
    default: return versions(rest)
    }
  }

  /// The promises of a machine that were not kept.
  struct Promises {
    private(set) var broken: [String] = []
    mutating func require(_ isKept: Bool, _ promise: String) { if !isKept { broken.append(promise) } }
  }

  /// The bytes that are left.
  struct Choices {
    private var rest: ArraySlice<UInt8>
    init(_ bytes: [UInt8]) { rest = bytes[...] }
    var isEmpty: Bool { rest.isEmpty }
    mutating func next() -> Int { Int(rest.popFirst() ?? 0) }

    /// Returns a list: its first number, target duration, segments, and which of them are absent or protected.
    mutating func media(from first: Int) -> HLSMedia {
      var media = HLSMedia(sequence: first, targetDuration: Double(next() % 16) / 2)
      let shape = next()
      media.segments = (0..<(shape & 15)).map { index in
        let kind = next()
        var segment = HLSSegment(
          sequence: first + index, reference: "\(first + index)", duration: Double(kind >> 4) / 2)
        segment.isAbsent = kind % 16 == 1
        segment.isDiscontinuous = kind % 16 == 2
        if kind % 16 == 3 { segment.encryption = .foreign("X") }
        return segment
      }
      media.isEnded = shape & 128 != 0
      return media
    }
  }

  static func address(_ number: Int) -> StreamAddress {
    guard let address = try? StreamAddress("http://a/\(number)") else { fatalError("an address is one") }
    return address
  }

  private static func frame(_ number: Int, samples: Int = 1024) -> StreamFrame {
    StreamFrame(
      offset: number, length: 8, hash: UInt64(number),
      format: StreamFormat(codec: .aac, sampleRate: 48_000, channels: 2), samples: samples)
  }

  /// A segment is received in several attempts: each frame is delivered once, in order.
  private static func progress(_ input: [UInt8]) -> [String] {
    var (choices, promises) = (Choices(input), Promises())
    let count = 1 + choices.next() % 40
    let duration = frame(0).duration.seconds
    // Of another version so many frames were delivered.
    let other = choices.next() % 8
    func piece(_ received: Double) -> HLSPiece {
      HLSPiece(
        segment: HLSSegment(sequence: 1, reference: "1", duration: Double(count) * duration),
        base: address(0), version: address(0), isContinuous: true, received: received)
    }
    var progress = HLSProgress(piece(Double(other) * duration), from: HLSSound())
    var delivered = other
    while !choices.isEmpty {
      progress.begin()
      for number in 0..<(choices.next() % (count + 1)) {
        guard progress.find(frame(number)) else { continue }
        // The buffer may refuse it.
        if choices.next() % 8 == 7 { break }
        promises.require(
          number == min(delivered, count) || number >= count, "frames are delivered in order, each once")
        progress.deliver(frame(number))
        delivered = number + 1
      }
      let expected = Double(delivered) * duration
      promises.require(
        abs(progress.delivered.seconds - expected) < 1e-4, "the length is that of what was delivered")
      promises.require(progress.isSame(as: piece(0)), "a segment is itself")
      progress.restart(as: piece(progress.delivered.seconds))
      promises.require(!progress.hasStarted, "an attempt begins anew")
    }
    return promises.broken
  }

  /// A complete list is moved in: each target is found in some segments, whatever their clocks state.
  private static func file(_ input: [UInt8]) -> [String] {
    var (choices, promises) = (Choices(input), Promises())
    let media = choices.media(from: choices.next())
    var file = HLSFile(media)
    promises.require(file.duration >= 0 && file.duration.isFinite, "files have a length")
    var generation = 0
    while !choices.isEmpty {
      generation += 1
      let seconds = Double(choices.next()) / 4
      var number = file.seek(to: StreamTime(seconds: seconds), generation: generation)
      var looks = 0
      search: while true {
        promises.require(
          number == media.sequence || media.segment(number) != nil, "a target is in the list")
        guard media.segment(number) != nil else { break }
        let ticks = choices.next()
        switch file.place(number, frame(number), ticks: ticks % 4 == 0 ? nil : ticks << 16) {
        case .next: promises.require(file.target == nil, "a target is not passed over"); break search
        case .begins(let time):
          promises.require(
            time >= .zero && time.ticks % frame(0).duration.ticks == 0, "times are those of frames")
          break search
        case .other(let new):
          promises.require(new != number, "another segment is another one")
          number = new
        }
        looks += 1
        promises.require(looks < 10, "a search ends")
        if looks >= 10 { break }
      }
    }
    return promises.broken
  }

  /// Versions fail and are tried again: one that can be left is left for another one.
  private static func versions(_ input: [UInt8]) -> [String] {
    var (choices, promises) = (Choices(input), Promises())
    var addresses = [address(0)]
    var versions = HLSVersions(addresses[0])
    var now = Instant.start
    while !choices.isEmpty {
      now = now.advanced(by: .seconds(choices.next() % 40))
      let event = choices.next()
      switch event % 5 {
      case 0:
        addresses = (0...(event >> 5)).map { address(($0 * 7 + event) % 11) }
        versions.replace(by: addresses, at: now)
      case 1: versions.avoid(address(event % 11), at: now)
      case 2:
        let (old, can) = (versions.current, versions.canLeave(at: now))
        let hasLeft = versions.leave(at: now)
        promises.require(hasLeft || versions.current == old, "a version that is not left is kept")
        promises.require(!can || hasLeft, "what can be left is left")
      case 3:
        if let better = versions.better(at: now) {
          versions.move(to: better)
          promises.require(versions.current == better, "a better version is moved to")
        }
      default:
        promises.require(
          !versions.hasLower(at: now) || versions.canLeave(at: now), "a lower one is another one")
      }
      promises.require(addresses.contains(versions.current), "the current version is one of all")
    }
    return promises.broken
  }
}

/// The sound in front of a buffer is requested while the list moves: it has no hole.
private struct WindowRun {
  private var choices: HLSMachineRun.Choices
  private(set) var promises = HLSMachineRun.Promises()
  private var window = HLSWindow()
  /// The first number of the list, and the number with which the buffer begins and ends.
  private var first = 0
  private var buffer: Range<Int>?
  /// The time of the oldest frame, in seconds of the buffer.
  private var start = StreamTime(seconds: 1_000)
  private var end = StreamTime(seconds: 1_000)
  private var list: HLSMedia?
  private var fetching: HLSPiece?
  /// The numbers that were received since the last was dropped.
  private var received: [Int] = []

  init(_ input: [UInt8]) { choices = HLSMachineRun.Choices(input) }

  mutating func run() {
    while !choices.isEmpty {
      let event = choices.next()
      switch event % 6 {
      case 0: follow(event)
      case 1: mark(isStart: event & 64 == 0)
      case 2:
        guard buffer != nil else { break }
        let time = start - StreamTime(seconds: Double(event >> 3) / 2)
        perform(window.request(from: time, before: start))
      case 3, 4:
        guard let piece = fetching else { break }
        fetching = nil
        received.append(piece.segment.sequence)
        perform(window.segmentReceived())
      default:
        guard fetching != nil else { break }
        fetching = nil
        perform(
          window.segmentFailed(StreamError(.network, "gone"), event & 64 == 0 ? .content : .connection))
      }
      let reach = window.reach(before: start)
      promises.require(reach >= 0 && reach.isFinite, "the reach is a length")
    }
  }

  private mutating func follow(_ event: Int) {
    first += event >> 5
    let new = choices.media(from: first)
    list = new
    window.follow(new, at: HLSMachineRun.address(0), of: HLSMachineRun.address(0))
  }

  /// A segment of the list is received into the buffer.
  private mutating func mark(isStart: Bool) {
    guard let list, let number = buffer.map(\.upperBound) ?? Optional(list.end - 1), number < list.end else {
      return
    }
    window.mark(HLSWindow.Mark(number: number, time: end, isStart: isStart))
    buffer = (buffer?.lowerBound ?? number)..<(number + 1)
    end = end + StreamTime(seconds: 2)
  }

  private mutating func perform(_ actions: [HLSWindow.Action]) {
    for action in actions {
      switch action {
      case .discard: (received, fetching) = ([], nil)
      case .fetch(let piece):
        promises.require(fetching == nil, "one segment is requested at a time")
        promises.require(
          received.last.map { $0 + 1 == piece.segment.sequence } ?? true, "segments are requested in order")
        promises.require(
          piece.segment.sequence == buffer?.lowerBound
            || !piece.segment.isAbsent && piece.segment.encryption == nil, "what is requested is there")
        fetching = piece
      case .deliver(let isAligned, _):
        if let last = received.last, let buffer {
          // Sound that is not aligned is searched for the oldest frame, and dropped without it.
          let isClosed = last == buffer.lowerBound - 1 || !isAligned && last == buffer.lowerBound
          promises.require(isClosed, "the sound has no hole")
        }
        if let first = received.first {
          start = start - StreamTime(seconds: Double(received.count))
          window.extend(to: start)
          buffer = first..<(buffer?.upperBound ?? first + 1)
        }
        received = []
      }
    }
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

  private(set) var promises = HLSMachineRun.Promises()
  /// The complete list that it plays; nil for a station.
  private var file: HLSMedia?

  init(_ input: [UInt8]) { bytes = input[...] }

  private mutating func byte() -> Int { Int(bytes.popFirst() ?? 0) }

  mutating func run() {
    while !bytes.isEmpty, !isOver {
      let event = byte()
      now = now.advanced(by: .milliseconds(byte() * 20))
      handle(event)
      guard isOpen, !isOver else { continue }
      promises.require(
        isLoading || isFetching || follower.deadline != nil, "a listener never waits for nothing")
      promises.require(follower.targetDuration >= 0, "lengths are lengths")
    }
  }

  private mutating func handle(_ event: Int) {
    guard isOpen else { return open() }
    let seconds = Double(event >> 4) / 4
    switch event % 12 {
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
    case 7: follower.resumed(at: now)
    case 8 where isFetching && file != nil:
      isFetching = false
      perform(follower.segmentInterrupted(received: seconds, at: now))
    case 9, 10:
      guard let file, !file.segments.isEmpty else { return }
      isFetching = false
      perform(follower.seek(to: file.sequence + (event >> 4) % file.segments.count, at: now))
    default:
      guard let deadline = follower.deadline else { return close(silent: true, seconds) }
      now = max(now, deadline)
      perform(follower.deadlinePassed(received: seconds, at: now))
      promises.require(follower.deadline.map { $0 > now } ?? true, "what is due is done")
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
      promises.require(isOpen, "nothing follows the end of a connection")
      switch action {
      case .load: isLoading = true
      case .fetch(let piece):
        promises.require(!isFetching, "one segment is requested at a time")
        promises.require(piece.received >= 0 && !piece.segment.isAbsent, "what is requested is there")
        isFetching = true
      case .cancelFetch: isFetching = false
      case .lost(let seconds):
        promises.require(seconds > 0 && seconds.isFinite, "what is missing has a length")
      case .file(let media):
        promises.require(file == nil && media.duration >= 0, "a stream is a file once, with a length")
        file = media
      case .grown, .report: break
      case .fail: close(silent: false, 0)
      case .complete: isOver = true
      }
    }
  }
}
