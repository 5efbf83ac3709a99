internal import Codecs

/// Makes one stream of a station's connections: nothing that the server still had is lost, and nothing comes
/// twice.
///
/// A state machine that receives the frames of every connection and returns an action for each:
/// ```swift
/// switch stitcher.receive(frame, bytes, at: now, pending: framer.pendingBytes) {
/// case .pass: deliver(frame, bytes)
/// case .hold: break
/// case .joined, .gap: stitcher.release { deliver($0, $1) }  // `true` if it was accepted
/// }
/// ```
/// and `lost(at:pending:)` between the connections. While it joins, new frames are held until the end of the
/// old ones is found among them (Icecast sends the last 64 KiB again, perhaps after a pre-roll), and join
/// there: as if nothing had happened. If it is not found they join at a frame border, and the gap is
/// reported. Missing Ogg pages within a connection are reported, too. Times are seconds of any steady clock.
/// Streams without frames pass; every new connection of such a stream, or after one, is a gap at once.
///
/// Memory: 16 KiB of hashes; while it joins 128 KiB more.
public struct Stitcher: Sendable {
  /// The action for a received frame.
  public enum Action: Sendable, Equatable {
    /// The frame passes at once.
    case pass
    /// The frame is held until more is known.
    case hold
    /// The new connection continues exactly where the old one ended; `release` the held frames.
    /// - `overlap`: the number of repeated frames, which are left out.
    /// - `preRoll`: the number of frames before those, which are left out too.
    case joined(overlap: Int, preRoll: Int)
    /// The old connection's end is not in the new one; `release` the held frames, after a gap of about
    /// `seconds`.
    case gap(seconds: Double)
  }

  /// The limit in bytes of the search for a join in a new connection.
  public static let searchBytes = 256 * 1024
  /// The limit in seconds of the search; longer only while the frames are known to be old ones.
  public static let searchSeconds = 4.0
  /// The limit in seconds when a player has run out of sound: time for a burst to come.
  public static let urgentSeconds = 1.0
  /// The tolerance in seconds between the time and an overlap that the frames alone do not prove.
  public static let timeTolerance = 1.0
  /// The limit in frames of the search: bounds the work for a station of tiny frames.
  private static let searchFrames = 2 * FrameHistory.frameLimit

  /// The current limit in seconds of the search.
  public var searchSeconds = Stitcher.searchSeconds

  private var history = FrameHistory()
  /// The last page of an Ogg stream, and the hash of its headers.
  private var lastPage: OggPosition?
  /// The last page that states a position, and the one of these after which pages are missing, of a length
  /// not known yet.
  private var (lastTimed, missingBehind) = (OggPosition?.none, OggPosition?.none)
  private var lastHeaders: UInt64?
  /// `true` if a piece of a stream without frames has passed.
  private var hasPassedPieces = false
  private var join: Join?
  private var held = HeldFrames()
  /// The first of the held frames that `release` delivers, after a decision; nil while nothing is decided.
  private var releaseFrom: Int?
  /// A loss reported while frames are still to be released.
  private var afterLoss: (time: Double, pending: Double)?

  /// The state of the search in a new connection.
  private struct Join {
    /// The time at which the last byte of the frames that passed came.
    let lossTime: Double
    /// The length in seconds of the old connection's bytes in which no frame was found.
    let pendingAtLoss: Double
    var search: OverlapSearch
    var bytes = 0
    /// The last Ogg headers, and `true` if sound has come after the first of them.
    var headers: UInt64?
    var hasPages = false
    var firstFrameTime: Double?
    /// The maximum lead of the audio over the elapsed time, in seconds.
    var lead = -Double.infinity

    /// The overlap with the old connection that the time implies, a pre-roll included; below 0 it is a gap.
    /// Audio comes no earlier than it is made, so the earliest arrival is the best estimate.
    var expectedOverlap: Double { lead - pendingAtLoss }
  }

  /// Creates a stitcher for a new stream, whose first connection's frames all pass.
  public init() {}

  /// Creates a stitcher for a connection that may continue known sound of another source, such as a file.
  /// - Parameters:
  ///   - frames: the end of that sound; without any, all frames pass.
  ///   - lossTime: the time at which its last frame came.
  public init(continuing frames: [StreamFrame], lostAt lossTime: Double) {
    for frame in frames { history.append(frame) }
    if history.count > 0 { begin(lossTime: lossTime, pendingAtLoss: 0) }
  }

  /// The memory use of the held frames in bytes.
  var heldSize: Int { held.size }
  /// The memory use of the old frames' hashes in bytes.
  var historySize: Int { history.size }

  /// `true` if frames are held.
  public var isJoining: Bool { join != nil }

  /// Ends the connection, which closed or was given up; later frames belong to a new one.
  /// - Parameters:
  ///   - time: the time at which the last byte came.
  ///   - pending: the number of bytes that came after the last frame.
  /// - Returns: the action for the frames of a connection that ended before its join was found; nil if there
  ///   are no such frames.
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

  /// Receives the next frame of the connection, whose bytes are copied if it is held.
  /// - Parameters:
  ///   - time: the current time.
  ///   - pending: the number of bytes that came after it.
  public mutating func receive(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, at time: Double = 0, pending: Int = 0
  ) -> Action {
    precondition(releaseFrom == nil, "release the held frames before the next frame")
    guard frame.codec.hasFrames, join == nil || history.count > 0 else { return pass(frame, bytes, at: time) }
    guard var join else {
      if frame.codec.isOgg, let seconds = missing(before: frame, bytes) {
        held.append(frame, bytes)
        releaseFrom = 0
        return .gap(seconds: seconds)
      }
      note(frame, bytes)
      return .pass
    }
    self.join = nil  // so that it is not copied
    if let action = continuation(frame, bytes, &join, at: time) { return action }
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

  /// Applies time that passes without frames.
  /// - Returns: nil when nothing is decided.
  public mutating func decide(at time: Double) -> Action? {
    guard let join, join.search.count > 0, isOver(join, at: time) else { return nil }
    return resolve(join)
  }

  /// Ends the search, as no frame follows.
  /// - Returns: nil if no frame is held, or all held frames are known to be old.
  package mutating func end() -> Action? {
    guard let join, join.search.count > 0, !join.search.isWithin else { return nil }
    return resolve(join)
  }

  /// The time at which the search for a join ends, unless the frames are known to be old ones; nil before the
  /// first of them.
  public var searchEnd: Double? { join?.firstFrameTime.map { $0 + searchSeconds } }

  /// Delivers the frames that `joined` or `gap` releases, in order; to be called once, at once.
  /// - Parameter body: returns `true` if it accepts the frame; it receives no frame after one that it
  ///   refuses, and refused frames count as never received.
  public mutating func release(_ body: (StreamFrame, UnsafeRawBufferPointer) -> Bool) {
    guard let first = releaseFrom else { return }
    var isAccepted = true
    held.forEach(from: first) { frame, bytes in
      guard isAccepted else { return }
      isAccepted = body(frame, bytes)
      if isAccepted { note(frame, bytes) }
    }
    held = HeldFrames()
    releaseFrom = nil
    beginAfterLoss()
  }

  /// Adds a frame that passed to the history, with which a new connection is compared.
  private mutating func note(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) {
    history.append(frame)
    if frame.isHeaders { lastHeaders = frame.hash }
    lastPage = OggPosition(frame, bytes)
    if frame.isHeaders { (lastTimed, missingBehind) = (nil, nil) }
    if let lastPage, lastPage.isTimed { lastTimed = lastPage }
  }

  /// Returns the seconds of sound missing before a page, as pages were lost or damaged on the way to the
  /// station's server; nil if none are missing, and while their length is not known.
  private mutating func missing(before frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) -> Double? {
    guard let new = OggPosition(frame, bytes) else { return nil }
    if missingBehind == nil, let lastPage, new.isBehindGap(after: lastPage) { missingBehind = lastTimed }
    guard let seconds = missingBehind.flatMap({ new.missing(after: $0) }) else { return nil }
    missingBehind = nil
    return seconds > 0 ? seconds : nil
  }

  /// The tolerance in seconds between the time and a gap that the positions of pages state.
  private static let positionTolerance = 15.0

  /// Decides by the number of the first page of a connection with the headers of the old one: it may be the
  /// very next page, or a page some seconds later.
  /// - Returns: nil for an old page, and if the numbers decide nothing.
  private mutating func continuation(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ join: inout Join, at time: Double
  ) -> Action? {
    if frame.isHeaders { join.headers = frame.hash }
    guard !join.hasPages, let new = OggPosition(frame, bytes) else { return nil }
    join.hasPages = true
    guard let last = lastPage, join.headers == nil || join.headers == lastHeaders else { return nil }
    let isNext = new.follows(last)
    let gap = isNext ? 0 : new.gap(behind: last)
    guard let gap, gap <= max(0, time - join.lossTime) + Self.positionTolerance else { return nil }
    // The repeated headers are left out.
    releaseFrom = join.search.count
    held.append(frame, bytes)
    return isNext ? .joined(overlap: 0, preRoll: join.search.count) : .gap(seconds: gap)
  }

  /// Passes a piece without frames, or a frame after such pieces: as they can't be compared, a new connection
  /// is a gap.
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

  /// Returns `true` if enough of a lost connection was received to recognize old frames. Otherwise the
  /// connection is ignored: the next one sends its frames again.
  private func isNew(_ join: Join) -> Bool {
    guard join.search.time.seconds >= Self.timeTolerance, !join.search.isWithin else { return false }
    return bestUncertain(join) != nil || join.expectedOverlap <= 0
  }

  private func isOver(_ join: Join, at time: Double) -> Bool {
    let hasWaited = time - (join.firstFrameTime ?? time) >= searchSeconds
    let isLong = join.bytes >= Self.searchBytes || join.search.count >= Self.searchFrames
    guard hasWaited || isLong else { return false }
    // The search among old frames can't last longer than the history.
    return !join.search.isWithin || join.bytes >= Self.searchBytes + FrameHistory.byteLimit
  }

  /// Returns `true` if the oldest held frames may be dropped: they are old ones, or the time implies that the
  /// new ones begin well after them.
  private func mayDrop(_ join: Join) -> Bool {
    held.droppedTime < oldTime(join) || join.search.isWithin
  }

  /// Returns the length of the audio at the start of the new connection that is old by the time, or a
  /// pre-roll.
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

  /// Returns the overlap nearest to the one that the time implies, preferring those without a pre-roll; nil
  /// if none is near.
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
