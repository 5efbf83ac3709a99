/// Makes one stream of a station's connections: nothing that the server still had is lost, and nothing comes twice.
///
/// A state machine that is fed the frames of every connection and says what becomes of each:
/// ```swift
/// switch stitcher.receive(frame, bytes, at: now, pending: framer.pendingBytes) {
/// case .pass: deliver(frame, bytes)
/// case .hold: break
/// case .joined, .gap: stitcher.release { deliver($0, $1) }  // whether it is taken
/// }
/// ```
/// and `lost(at:pending:)` between the connections. While it joins, new frames are held until the end of the old ones
/// is found among them (Icecast sends the last 64 KiB again, perhaps behind a pre-roll), and join there: as if nothing
/// had happened. If it is not found they join at a frame border, and the gap is told. Times are seconds of any clock
/// that is steady. Streams without frames pass, and every new connection of theirs, or behind them, is a gap at once.
///
/// Memory: 24 KiB of hashes; while it joins 128 KiB more.
public struct Stitcher: Sendable {
  /// What becomes of the frame that was received.
  public enum Action: Sendable, Equatable {
    /// It goes on at once.
    case pass
    /// It is held until more is known.
    case hold
    /// The new connection goes on exactly where the old one ended; `release` what is held.
    /// - `overlap`: frames that came again and are left out.
    /// - `preRoll`: frames in front of those, which are left out too.
    case joined(overlap: Int, preRoll: Int)
    /// The old connection's end is not in the new one; `release` what is held, behind a gap of about so many seconds.
    case gap(seconds: Double)
  }

  /// Bytes of a new connection in which the join is looked for.
  public static let searchBytes = 256 * 1024
  /// Seconds in which it is looked for; longer only while the frames are known to be old ones.
  public static let searchSeconds = 4.0
  /// The same when a player has nothing left to play: time for a burst to come.
  public static let urgentSeconds = 1.0
  /// How far an overlap that the frames alone do not prove may be from what the time says, in seconds.
  public static let timeTolerance = 1.0
  /// Frames in which the join is looked for: bounds the work that a station of tiny frames makes.
  private static let searchFrames = 2 * FrameHistory.frameLimit

  /// Seconds in which the join is looked for from now on.
  public var searchSeconds = Stitcher.searchSeconds

  private var history = FrameHistory()
  /// A piece of a stream without frames was passed on.
  private var hasPassedPieces = false
  private var join: Join?
  private var held = HeldFrames()
  /// A decision was told, and `release` gives what is held from this frame on.
  private var releaseFrom: Int?
  /// A loss that is told while frames are still to be released.
  private var afterLoss: (time: Double, pending: Double)?

  /// What is known of the new connection.
  private struct Join {
    /// When the last byte came of the frames that were passed on.
    let lossTime: Double
    /// What was received of the old connection and not passed on, in seconds.
    let pendingAtLoss: Double
    var search: OverlapSearch
    var bytes = 0
    var firstFrameTime: Double?
    /// The most audio that came beyond the time that passed, in seconds.
    var lead = -Double.infinity

    /// What the time says of the overlap with the old connection, a pre-roll included; below 0 it is a gap. Audio
    /// comes no earlier than it is made, so what came earliest tells best.
    var expectedOverlap: Double { lead - pendingAtLoss }
  }

  /// A stitcher for a new stream, whose first connection's frames all pass.
  public init() {}

  /// Bytes of memory that the frames which are held take.
  var heldSize: Int { held.size }
  /// Bytes of memory that the old frames' hashes take.
  var historySize: Int { history.size }

  /// Whether frames are held.
  public var isJoining: Bool { join != nil }

  /// The connection is gone, or was given up; frames that follow are a new one's.
  /// - Parameters:
  ///   - time: when the last byte came.
  ///   - pending: bytes that came behind the last frame.
  /// - Returns: nil, or what becomes of the frames of a connection that went before its join was found.
  public mutating func lost(at time: Double, pending: Int = 0) -> Action? {
    var action: Action?
    if let join {
      guard isNew(join) else {
        held = HeldFrames()
        begin(lossTime: join.lossTime, pendingAtLoss: join.pendingAtLoss)
        return nil
      }
      action = resolve(join)
    }
    guard history.count > 0 || hasPassedPieces else { return action }
    afterLoss = (time, Double(pending) * history.secondsPerByte)
    if releaseFrom == nil { beginAfterLoss() }
    return action
  }

  private mutating func beginAfterLoss() {
    guard let loss = afterLoss else { return }
    afterLoss = nil
    begin(lossTime: loss.time, pendingAtLoss: loss.pending)
  }

  private mutating func begin(lossTime: Double, pendingAtLoss: Double) {
    history.straighten()
    join = Join(lossTime: lossTime, pendingAtLoss: pendingAtLoss, search: OverlapSearch(history))
  }

  /// Takes the next frame of the connection, whose bytes are copied if it is held.
  /// - Parameters:
  ///   - time: now.
  ///   - pending: bytes that have come behind it.
  public mutating func receive(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, at time: Double = 0, pending: Int = 0
  ) -> Action {
    precondition(releaseFrom == nil, "release what is held before the next frame")
    guard frame.codec.hasFrames, join == nil || history.count > 0 else { return pass(frame, bytes, at: time) }
    guard var join else {
      history.append(frame)
      return .pass
    }
    self.join = nil  // so that it is not copied
    let found = join.search.add(frame, history: history)
    join.bytes += frame.length
    join.firstFrameTime = join.firstFrameTime ?? time
    let received = join.search.time.seconds + Double(pending) * history.secondsPerByte
    join.lead = max(join.lead, received - (time - join.lossTime))
    makeRoom(for: frame, join)
    held.append(frame, bytes)
    if let found { return finish(found) }
    let isFull = held.size >= HeldFrames.limit && !mayDrop(join)
    if isFull || isOver(join, at: time) { return resolve(join) }
    self.join = join
    return .hold
  }

  /// Time passes without frames.
  /// - Returns: nil when nothing is decided.
  public mutating func decide(at time: Double) -> Action? {
    guard let join, join.search.count > 0, isOver(join, at: time) else { return nil }
    return resolve(join)
  }

  /// When the search for a join ends, unless the frames are known to be old ones; nil before the first of them.
  public var searchEnd: Double? { join?.firstFrameTime.map { $0 + searchSeconds } }

  /// Gives the frames that a `joined` or `gap` lets go on, in order; to be called once, at once.
  /// - Parameter body: returns whether it takes the frame; it gets none behind one that it does not take, and what is not
  ///   taken counts as never received.
  public mutating func release(_ body: (StreamFrame, UnsafeRawBufferPointer) -> Bool) {
    guard let first = releaseFrom else { return }
    var isTaken = true
    held.forEach(from: first) { frame, bytes in
      guard isTaken else { return }
      isTaken = body(frame, bytes)
      if isTaken { history.append(frame) }
    }
    held = HeldFrames()
    releaseFrom = nil
    beginAfterLoss()
  }

  /// Without frames, on one side or the other, there is nothing to match: a new connection is a gap.
  private mutating func pass(
    _ piece: StreamFrame, _ bytes: UnsafeRawBufferPointer, at time: Double
  ) -> Action {
    if !piece.codec.hasFrames { hasPassedPieces = true }
    guard var join else { return .pass }
    join.lead = max(join.lead, join.lossTime - time)
    held.append(piece, bytes)
    return resolve(join)
  }

  // MARK: Decisions

  /// Whether so much came of a connection that was lost that it would be known if it were old. Less is as if it had
  /// not been: the next connection brings it again.
  private func isNew(_ join: Join) -> Bool {
    guard join.search.time.seconds >= Self.timeTolerance, !join.search.isWithin else { return false }
    return bestUncertain(join) != nil || join.expectedOverlap <= 0
  }

  private func isOver(_ join: Join, at time: Double) -> Bool {
    let hasWaited = time - (join.firstFrameTime ?? time) >= searchSeconds
    let isLong = join.bytes >= Self.searchBytes || join.search.count >= Self.searchFrames
    guard hasWaited || isLong else { return false }
    // Old frames cannot last longer than there are of them.
    return !join.search.isWithin || join.bytes >= Self.searchBytes + FrameHistory.byteLimit
  }

  /// Whether the oldest frames that are held are no loss: they are old ones, or the time says that what is new begins
  /// well behind them.
  private func mayDrop(_ join: Join) -> Bool {
    held.droppedTime < oldTime(join) || join.search.isWithin
  }

  /// Audio in front of the new connection that the time says is old, or a pre-roll.
  private func oldTime(_ join: Join) -> StreamTime {
    StreamTime(seconds: join.expectedOverlap - Self.timeTolerance)
  }

  private mutating func makeRoom(for frame: StreamFrame, _ join: Join) {
    let size = held.size + HeldFrames.size(of: frame)
    guard size > HeldFrames.limit else { return }
    let old = join.search.isWithin ? join.search.time : oldTime(join)
    held.dropOldest(size - HeldFrames.limit, until: old)
  }

  private mutating func resolve(_ join: Join) -> Action {
    if let overlap = bestUncertain(join) { return finish(overlap) }
    self.join = nil
    releaseFrom = 0
    return .gap(seconds: max(0, -join.expectedOverlap) + held.droppedTime.seconds)
  }

  private mutating func finish(_ overlap: OverlapSearch.Overlap) -> Action {
    join = nil
    releaseFrom = overlap.end
    return .joined(overlap: overlap.length, preRoll: overlap.end - overlap.length)
  }

  /// The overlap that is nearest to what the time says, one without a pre-roll before others; nil when none is near.
  private func bestUncertain(_ join: Join) -> OverlapSearch.Overlap? {
    func distance(_ overlap: OverlapSearch.Overlap) -> Double {
      (overlap.time.seconds - join.expectedOverlap).magnitude
    }
    let near = join.search.uncertain.filter {
      distance($0) <= Self.timeTolerance && $0.end >= held.dropped
    }
    let plain = near.filter(\.startsAtFront)
    return (plain.isEmpty ? near : plain).min { distance($0) < distance($1) }
  }
}
