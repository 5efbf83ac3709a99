internal import EventLoop
internal import HeadsetLink

/// A link between a board and a host. Confined to a loop.
final class BoardLink {
  /// The most bytes that wait for a board to start.
  static let longestHeld = 64 << 10
  /// The time for which a line is silent, as it can't be closed.
  static let silence = Duration.seconds(1)

  /// Attaches a new channel when that of a line has ended; nil for a channel that can be closed. On a line hosts come
  /// and go unseen.
  let renewLine: (() -> Void)?
  var session: BoardSession
  /// Performs an action of the session; nil before the board listens, and after the end.
  private var act: ((BoardSession.Action) -> Void)?

  private let channel: any LinkChannel
  private let loop: EventLoop
  private var reader = LinkReader()
  /// Bytes that came before the board had started, or listened.
  private var held: [UInt8] = []
  private var earlyEnd: LinkEnd?
  private var silentUntil = Instant.start
  /// The moment at which the last of the delayed actions is due.
  private var due = Instant.start
  private var generation = 0
  private var timer: LoopTimer?

  init(_ channel: any LinkChannel, renewLine: (() -> Void)?, session: BoardSession, loop: EventLoop) {
    (self.channel, self.renewLine, self.session, self.loop) = (channel, renewLine, session, loop)
    channel.deliver(
      to: LinkReceiver(bytes: { [unowned self] in hold($0) }, end: { [unowned self] in earlyEnd = $0 }))
  }

  /// `true` for a channel that can't be closed.
  var isLine: Bool { renewLine != nil }

  /// Passes on the bytes received, those from before this call too.
  /// - Parameter act: performs an action of the session, delayed when the board is slow.
  func listen(_ receiver: LinkReceiver, act: @escaping (BoardSession.Action) -> Void) {
    self.act = act
    channel.deliver(to: receiver)
    if !held.isEmpty { receiver.bytes(drainHeld()) }
    if let earlyEnd { receiver.end(earlyEnd) }
  }

  /// The number of byte sequences that were not frames.
  var droppedFrames: Int { reader.droppedFrames }

  /// Returns the frames that end in these bytes; empty while the line is silent.
  func packets(in bytes: ArraySlice<UInt8>) -> [LinkPacket] {
    loop.now < silentUntil ? [] : reader.read(bytes)
  }

  /// Keeps bytes until the board reads them.
  func hold(_ bytes: ArraySlice<UInt8>) {
    if held.count + bytes.count <= Self.longestHeld { held += bytes }
  }

  /// Returns the bytes that were held, once.
  func drainHeld() -> ArraySlice<UInt8> {
    defer { held = [] }
    return held[...]
  }

  func send(_ bytes: [UInt8]) { channel.send(bytes) }

  /// Performs actions now, or after `delay`, but never before earlier actions.
  func perform(_ actions: [BoardSession.Action], after delay: Duration) {
    let now = loop.now
    if delay == .zero, due <= now { return actions.forEach { act?($0) } }
    due = max(due, now.advanced(by: delay))
    let generation = generation
    loop.at(due) { [weak self] in
      for action in actions where self?.generation == generation { self?.act?(action) }
    }
  }

  /// Calls `body` after `time`, unless another limit is set or the link ends before that.
  func limit(to time: Duration?, _ body: @escaping () -> Void) {
    timer?.cancel()
    timer = time.map { loop.after($0, keepsAlive: false, body) }
  }

  /// Forgets the host. The channel is closed unless it is a line.
  /// - Parameter session: the session for the next host of a line.
  func end(_ session: BoardSession, silent: Bool) {
    generation += 1
    guard isLine else { return close() }
    (self.session, reader, due) = (session, LinkReader(), loop.now)
    if silent { silentUntil = loop.now.advanced(by: Self.silence) }
  }

  /// Closes the channel, even a line.
  func close() {
    generation += 1
    timer?.cancel()
    act = nil
    channel.close()
  }
}
