internal import EventLoop
internal import HTTP
internal import StreamCore

/// Receives the sound that the list of a live stream has before the start of the buffer: performs the actions
/// of an `HLSWindow`, beside the segments that the connection receives, and inserts the sound at the start of
/// the buffer. Recordings receive none of it. Confined to the loop of the reception.
///
/// Memory: the received sound, which is at most that of a whole buffer.
final class HLSEarlierSound {
  private let connection: any BodyConnection
  private let outlet: SoundOutlet
  private var window = HLSWindow()
  /// The buffer that is played, whose frames are marked.
  private weak var buffer: StreamBuffer?
  /// The last known number of renumberings of the segments.
  private var renumberings = 0
  private lazy var fetch = HLSFetch(on: connection.loop) { [unowned self] in
    start($0, at: $1)
  } handle: { [unowned self] in
    handle($0)
  }

  /// The request of a player, and the sound received for it.
  private struct Request {
    var time: StreamTime
    /// The time of the oldest frame of the buffer.
    let end: StreamTime
    var piece: HLSPiece?
    /// `true` if bytes of the segment have come.
    var hasStarted = false
    var sound = HLSSound()
    var frames: [TitledFrame] = []
    var bytes = 0
  }
  private var request: Request?
  /// The requested segment: the moments of its last bytes and of its end, however slowly it comes.
  private var limits = (progress: Instant.start, end: Instant.start)
  private var timer: LoopTimer?

  init(over connection: any BodyConnection, into outlet: SoundOutlet) {
    (self.connection, self.outlet) = (connection, outlet)
  }

  // MARK: The buffer and its list

  /// Notes that the next frame of a segment is about to enter the buffer that is played.
  func note(_ segment: HLSProgress?, in buffer: StreamBuffer?) {
    guard let segment, let buffer else { return }
    if buffer !== self.buffer {
      cancel()
      window.reset()
      self.buffer = buffer
    }
    let number = segment.piece.segment.sequence
    guard window.lastMarked != number else { return }
    window.mark(HLSWindow.Mark(number: number, time: buffer.range.end, isStart: segment.isAtStart))
    publish(to: buffer)
  }

  /// Receives a newer list, or the present one with the sound of another segment.
  func follow(_ list: HLSList?, renumberings: Int) {
    if renumberings != self.renumberings {
      self.renumberings = renumberings
      cancel()
      window.reset()
    }
    if let list { window.follow(list.media, at: list.base, of: list.version) }
    if let buffer { publish(to: buffer) }
  }

  private func publish(to buffer: StreamBuffer) {
    buffer.setEarlier(
      StreamTime(seconds: window.reach(before: buffer.range.start)), lead: StreamTime(seconds: window.lead))
  }

  /// Ends the reception; the player continues with the buffered sound.
  func cancel() {
    timer?.cancel()
    fetch.cancel()
    window.cancel()
    guard let old = request else { return }
    request = nil
    outlet.report(.earlier(from: old.time, [], nil))
  }

  // MARK: Requests

  /// Receives the sound from a time before the start of the buffer, for which the player waits.
  func receive(from time: StreamTime) {
    guard let buffer = outlet.tee.buffer, buffer === self.buffer else {
      return outlet.report(.earlier(from: time, [], nil))
    }
    let start = buffer.range.start
    if request?.end == start {
      request?.time = time
    } else {
      fetch.cancel()
      window.cancel()
      request = Request(time: time, end: start)
    }
    perform(window.request(from: time, before: start))
  }

  private func perform(_ actions: [HLSWindow.Action]) {
    for action in actions {
      guard let old = request else { return }
      switch action {
      case .fetch(let piece):
        request?.piece = piece
        request?.hasStarted = false
        let now = connection.loop.now
        limits = (now, now.advanced(by: connection.options.dataTimeout * Self.patience))
        watch()
        fetch.request(piece)
      case .discard:
        fetch.cancel()
        request = Request(time: old.time, end: old.end)
      case .deliver(let isAligned, let error): deliver(isAligned: isAligned, error)
      }
    }
  }

  /// The number of data timeouts within which a segment must be whole.
  private static let patience = 3

  /// Ends the request of a segment that does not come, or comes too slowly.
  private func watch() {
    timer?.cancel()
    let silence = limits.progress.advanced(by: connection.options.dataTimeout)
    timer = connection.loop.at(min(silence, limits.end)) { [weak self] in
      guard let self, let piece = request?.piece, fetch.isOpen else { return }
      let silence = limits.progress.advanced(by: connection.options.dataTimeout)
      guard connection.loop.now >= min(silence, limits.end) else { return watch() }
      fetch.cancel()
      let error = StreamError(
        .timeout, "\(piece.address) does not come", facts: [.init("url", .string(piece.address))])
      perform(window.segmentFailed(error, .connection))
    }
  }

  private func start(_ transfer: HLSTransfer, at address: StreamAddress) -> Bool {
    do throws(HTTPError) {
      try transfer.start(over: connection)
      return true
    } catch {
      let piece = request?.piece
      connection.loop.after(.zero) { [weak self] in
        guard let self, request?.piece == piece else { return }
        perform(window.segmentFailed(StreamError(error, at: address), .content))
      }
      return false
    }
  }

  private func handle(_ event: HLSFetch.Event) -> HTTPFlow {
    guard let piece = request?.piece else { return .stop }
    var obstacle: HLSSound.Obstacle?
    do throws(HLSSound.Obstacle) {
      switch event {
      case .bytes(let bytes, let initialization):
        limits.progress = connection.loop.now
        try receive(bytes, initialization, of: piece)
        return .more
      case .complete:
        try feed { (sound, body) throws(HLSSound.Obstacle) in try sound.endSegment(body) }
        perform(window.segmentReceived())
      case .failed(let error, let failure): perform(window.segmentFailed(error, failure))
      }
    } catch { obstacle = error }
    if let obstacle {
      fetch.cancel()
      perform(window.segmentFailed(obstacle.error(at: piece.address), .content))
    }
    return .stop
  }

  private func receive(
    _ bytes: UnsafeRawBufferPointer, _ initialization: [UInt8]?, of piece: HLSPiece
  ) throws(HLSSound.Obstacle) {
    if request?.hasStarted == false {
      request?.hasStarted = true
      try feed { (sound, body) throws(HLSSound.Obstacle) in
        try sound.begin(
          title: piece.segment.title, initialization: initialization, isContinuous: piece.isContinuous, body)
      }
    }
    try feed { (sound, body) throws(HLSSound.Obstacle) in try sound.consume(bytes, body) }
  }

  /// Collects the frames that `body` finds.
  private func feed(
    _ body: (inout HLSSound, (HLSSound.Item) -> Bool) throws(HLSSound.Obstacle) -> Void
  ) throws(HLSSound.Obstacle) {
    guard var new = request else { return }
    request = nil  // so that its memory is not copied
    defer { request = new }
    let limit = (buffer?.size ?? 0) * PacketBuffer.blockSize
    var isTooLong = false
    var (frames, count) = (new.frames, new.bytes)
    new.frames = []
    try body(&new.sound) { item in
      guard case .frame(let frame, let bytes, let title) = item else { return true }
      count += bytes.count
      isTooLong = count > limit
      if !isTooLong { frames.append(TitledFrame(frame: frame, bytes: Array(bytes), title: title)) }
      return !isTooLong
    }
    (new.frames, new.bytes) = (frames, count)
    if isTooLong { throw HLSSound.Obstacle(found: "more sound than its list states") }
  }

  // MARK: Delivery

  /// Inserts the received sound at the start of the buffer.
  private func deliver(isAligned: Bool, _ error: StreamError?) {
    try? feed { (sound, body) throws(HLSSound.Obstacle) in sound.finish(body) }
    guard let old = request else { return }
    request = nil
    guard let buffer else { return outlet.report(.earlier(from: old.time, [], error)) }
    var frames = old.frames[...]
    if !isAligned {
      let oldest = buffer.oldest(frames: Self.joinLength)
      let expected = frames.count - frames.reversed().prefix { $0.frame.hash != oldest.first }.count - 1
      let end = HLSWindow.join(frames.map(\.frame.hash), to: oldest, near: expected)
      frames = frames.prefix(end ?? 0)
    }
    var titles: [(title: ICYMetadata, time: StreamTime)] = []
    if !frames.isEmpty, buffer.prepend(frames, before: old.end) {
      var time = buffer.range.start
      window.extend(to: time)
      for frame in frames {
        if let title = frame.title { titles.append((title, time)) }
        time = time + frame.frame.duration
      }
    }
    publish(to: buffer)
    outlet.report(.earlier(from: old.time, titles, error))
  }

  /// The number of frames by which the oldest one is found: beyond a second of silence more would prove no
  /// more.
  private static let joinLength = 32
}
