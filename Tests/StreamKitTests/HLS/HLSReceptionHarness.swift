import EventLoop
import HTTP
import TestSupport

@testable import Reception
@testable import StreamCore

/// Segments that are received from memory in virtual time, over a connection and into an outlet of the test: without a
/// server, a network thread and a `StationReceiver`.
final class HLSReceptionHarness: BodyConnection {
  /// The answer to requests for a path.
  enum Answer {
    case bytes([UInt8], headers: [(name: String, value: String)] = [])
    /// The connection is lost after some of the bytes.
    case cut([UInt8])
  }

  /// A request: its path and its further headers.
  struct Request {
    let path: String
    let headers: [String: String]
  }

  static let address: StreamAddress = "http://radio.example/live.m3u8"

  let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_700_000_000)))
  let outlet: SoundOutlet
  let buffer: StreamBuffer
  let programme: FrameProgramme
  /// The first frame of each segment of about a second, and the end.
  private let borders: [Int]
  private let reported = Lock<[String]>([])
  /// The present reception, which refers to this connection: released at the end.
  private var current: HLSReception?
  private var timer: LoopTimer?
  private var listHeaders: [(name: String, value: String)] = [("icy-name", "Memory")]

  var answers: [String: Answer] = [:]
  private(set) var requests: [Request] = []
  /// The codes of the failures that ended the connection.
  private(set) var losses: [String] = []
  /// The times at which the buffer was full.
  private(set) var fullTimes = 0
  private(set) var silenceLimit = Duration.zero
  private(set) var sound = StreamTime.zero

  // MARK: BodyConnection

  var options = ReceiverOptions()
  private(set) var isStopped = false
  private(set) var hasSounded = false
  let shownURL = HLSReceptionHarness.address.description
  var candidates: [ListedAddress] = []
  var now: Instant { loop.now }

  /// - Parameters:
  ///   - seconds: the length of the programme.
  ///   - blocks: the size of the buffer.
  private init(seconds: Double, blocks: Int) throws {
    let programme = try FrameProgramme(.mp3, seconds: seconds)
    let starts = (0..<Int(seconds)).map { second in programme.ends.firstIndex { $0 > Double(second) } ?? 0 }
    (self.programme, borders) = (programme, starts + [programme.frames.count])
    buffer = StreamBuffer(blocks: blocks, wait: .zero)
    buffer.keepUnheard(true)
    let tee = FrameTee()
    tee.play(buffer)
    outlet = SoundOutlet(into: tee) { [reported] event in
      let words = Receiver.words(for: event)
      reported.withLock { $0.append(words) }
    }
    for (index, (start, end)) in zip(borders, borders.dropFirst()).enumerated() {
      answers["/\(index).mp3"] = .bytes(bytes(of: start..<end))
    }
  }

  static func run(
    seconds: Double = 12, blocks: Int = 200, _ body: @escaping (HLSReceptionHarness) async throws -> Void
  ) throws {
    let harness = try HLSReceptionHarness(seconds: seconds, blocks: blocks)
    try harness.loop.finish({ try await body(harness) }, last: { harness.end() })
  }

  func end() {
    (isStopped, timer) = (true, nil)
    reception.end()
    current = nil
  }

  var reception: HLSReception {
    if let current { return current }
    let first = HLSReception(at: Self.address, gap: nil, over: self, into: outlet)
    current = first
    return first
  }

  // MARK: The station

  private func bytes(of frames: Range<Int>) -> [UInt8] {
    frames.flatMap { number in
      let frame = programme.frames[number]
      return programme.bytes[frame.offset..<(frame.offset + frame.length)]
    }
  }

  /// The numbers of the frames in segments.
  func frames(of segments: Range<Int>) -> Range<Int> {
    borders[segments.lowerBound]..<borders[segments.upperBound]
  }

  /// Lists segments; the next answer has the list, with these headers.
  func list(_ segments: Range<Int>, isEnded: Bool = false, headers: [(name: String, value: String)] = []) {
    var lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:1", "#EXT-X-MEDIA-SEQUENCE:\(segments.lowerBound)"]
    for segment in segments {
      let (first, last) = (borders[segment], borders[segment + 1] - 1)
      let start = first == 0 ? 0 : programme.ends[first - 1]
      lines += ["#EXTINF:\(programme.ends[last] - start),", "\(segment).mp3"]
    }
    if isEnded { lines.append("#EXT-X-ENDLIST") }
    answers[Self.address.path] = .bytes(Array(lines.joined(separator: "\n").utf8), headers: headers)
    listHeaders = [("icy-name", "Memory")] + headers
  }

  /// The connection has received the list.
  /// - Parameter gap: the seconds missing before, if the stream was one of another kind.
  func open(gap: Double? = nil) {
    isStopped = false
    if let gap { current = HLSReception(at: Self.address, gap: gap, over: self, into: outlet) }
    guard case .bytes(let list, _) = answers[Self.address.path] else { return }
    let head = HTTPResponse(status: 200, url: Self.address.description, headers: HTTPHeaders(listHeaders))
    reception.open(list, at: Self.address, head)
  }

  // MARK: The listener

  var events: [String] { reported.withLock { $0 } }

  /// Reads all frames of the buffer: their numbers in the programme, and what is before the first.
  func read() -> (numbers: [Int], discontinuity: PacketBuffer.Discontinuity?) {
    var (numbers, discontinuity) = ([Int](), PacketBuffer.Discontinuity?.none)
    while case .frame(let packet, _) = buffer.read() {
      if numbers.isEmpty { discontinuity = packet.discontinuity }
      numbers.append(programme.frames.firstIndex { $0.hash == packet.frame.hash } ?? -1)
    }
    return (numbers, discontinuity)
  }

  /// Waits for a minute of virtual time at most.
  func wait(_ what: String, until isThere: () -> Bool) async throws {
    for _ in 0..<1_200 {
      if isThere() { return }
      try await loop.sleep(for: .milliseconds(50))
    }
    throw TestFailure("no \(what); \(events), requests \(requests.map(\.path))")
  }

  func hasRequested(_ segment: Int) -> Bool { requests.contains { $0.path == "/\(segment).mp3" } }

  // MARK: BodyConnection

  func open(
    _ address: StreamAddress, headers: [(name: String, value: String)], on receiver: any HTTPReceiver
  ) throws(HTTPError) -> any BodyTransfer {
    requests.append(
      Request(path: address.path, headers: Dictionary(headers.map { ($0, $1) }) { _, last in last }))
    return MemoryTransfer(of: address.description, answers[address.path], to: receiver, on: loop)
  }

  func received(_ sound: StreamTime, isJoining: Bool) {
    self.sound = self.sound + sound
    if outlet.drainDelivered() { hasSounded = true }
  }

  func keepAlive() {}
  func flow(lead: StreamTime) -> HTTPFlow { outlet.flow(aheadBy: nil, at: now) }
  func setSilenceLimit(_ limit: Duration) { silenceLimit = limit }

  func arm() {
    timer?.cancel()
    guard !isStopped, let due = reception.deadline else { return }
    timer = loop.at(due) { [unowned self] in
      reception.deadlinePassed()
      arm()
    }
  }

  func lost(_ error: StreamError, retryAfter: Duration) { losses.append(error.code) }

  func bufferIsFull() {
    fullTimes += 1
    isStopped = true
    reception.end()
  }

  func finish() {
    outlet.report(.complete)
    isStopped = true
    reception.end()
  }
}

/// A transfer of bytes in memory, in pieces.
///
/// Unchecked: confined to its loop.
private final class MemoryTransfer: BodyTransfer, @unchecked Sendable {
  private static let piece = 4096

  private let receiver: any HTTPReceiver
  private let loop: EventLoop
  private var rest: ArraySlice<UInt8>
  private let failure: HTTPError?
  private var (isOver, isPaused) = (false, false)

  init(
    of url: String, _ answer: HLSReceptionHarness.Answer?, to receiver: any HTTPReceiver, on loop: EventLoop
  ) {
    (self.receiver, self.loop) = (receiver, loop)
    let (status, headers): (Int, [(name: String, value: String)])
    switch answer {
    case .bytes(let bytes, let own): (status, headers, rest, failure) = (200, own, bytes[...], nil)
    case .cut(let bytes):
      (status, headers, rest) = (200, [], bytes[...])
      failure = HTTPError(.reset, host: "radio.example")
    case nil: (status, headers, rest, failure) = (404, [], [], nil)
    }
    let head = HTTPResponse(status: status, url: url, headers: HTTPHeaders(headers))
    loop.after(.milliseconds(20)) { [self] in
      guard !isOver else { return }
      follow(receiver.receiveHead(head))
    }
  }

  func cancel() { isOver = true }

  func resume() {
    guard isPaused else { return }
    isPaused = false
    deliverNext()
  }

  private func deliverNext() {
    loop.after(.milliseconds(1)) { [self] in
      guard !isOver, !isPaused else { return }
      guard !rest.isEmpty else {
        isOver = true
        return receiver.receiveEnd(failure)
      }
      let bytes = Array(rest.prefix(Self.piece))
      rest = rest.dropFirst(Self.piece)
      follow(bytes.withUnsafeBytes { receiver.receiveBody($0) })
    }
  }

  private func follow(_ flow: HTTPFlow) {
    switch flow {
    case .more: deliverNext()
    case .pause: isPaused = true
    case .stop: isOver = true
    }
  }
}
