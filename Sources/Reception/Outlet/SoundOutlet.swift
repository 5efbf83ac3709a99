internal import EventLoop
internal import HTTP
internal import StreamCore

/// The way of received sound from the readers of all bodies of a stream to its player and its recordings.
///
/// ```swift
/// outlet.begin(format)
/// let isAccepted = outlet.tee.receive { outlets in
///   outlet.deliver(frame, bytes, title: title, at: seconds, into: &outlets)
/// }
/// return outlet.flow(aheadBy: limit, at: now)
/// ```
/// A discontinuity that one body has left applies to the first frame of the next one. Confined to the loop of
/// the reception.
final class SoundOutlet {
  let tee: FrameTee
  /// Reports an event of the stream.
  let report: @Sendable (ReceiverEvent) -> Void
  /// The format of the frames; nil before the first.
  private(set) var format: StreamFormat?
  /// The discontinuity before the next frame; nil if it follows the last one.
  var discontinuity: PacketBuffer.Discontinuity?
  /// The detour of the player; nil while it receives the same frames as the recordings.
  var detour: PlayerDetour?
  /// The pause of the transfer that brings the sound.
  var pause = TransferPause()
  /// `true` if frames have been delivered since the last `drainDelivered`.
  private var hasDelivered = false

  /// - Parameter report: called on the loop of the reception.
  init(into tee: FrameTee, report: @escaping @Sendable (ReceiverEvent) -> Void) {
    (self.tee, self.report) = (tee, report)
  }

  // MARK: Frames

  /// Begins frames of a format, which is reported.
  func begin(_ new: StreamFormat) {
    if format != nil, format != new { discontinuity = discontinuity ?? .format }
    format = new
    report(.format(new))
  }

  /// Delivers a frame, and reports the title that begins with it.
  /// - Parameter time: the time in seconds.
  /// - Returns: `false` if the buffer is full, which is reported: the reception pauses.
  func deliver(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, title: ICYMetadata?, at time: Double,
    into outlets: inout FrameTee.Outlets
  ) -> Bool {
    let (part, isOnDetour) = (part(of: outlets.player, in: frame, at: time), detour != nil)
    let arrival = outlets.append(
      frame, bytes, discontinuity, title: title.map { StreamTitle($0) }, player: part)
    hasDelivered = true
    discontinuity = nil
    guard arrival.isAccepted else {
      report(.full)
      return false
    }
    if arrival.isEnough { reportEnough() }
    if let title, !isOnDetour { report(.metadata(title, at: arrival.start)) }
    return true
  }

  /// Appends a frame, and reports the title that begins with it if there is room. A discontinuity precedes the first frame
  /// of sound, not the headers before it.
  /// - Parameter generation: in a file that is played, the seek generation of the frame.
  func append(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, title: ICYMetadata? = nil, generation: Int?,
    into outlets: inout FrameTee.Outlets
  ) -> StreamBuffer.Arrival {
    let arrival = outlets.append(
      frame, bytes, frame.isHeaders ? nil : discontinuity, title: title.map { StreamTitle($0) },
      generation: generation)
    hasDelivered = true
    guard arrival.isAccepted else { return arrival }
    if !frame.isHeaders { discontinuity = nil }
    if arrival.isEnough { reportEnough() }
    if let title { report(.metadata(title, at: arrival.start)) }
    return arrival
  }

  /// Appends a frame of a file to the buffer that alone plays it.
  func append(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, generation: Int, to buffer: StreamBuffer
  ) -> StreamBuffer.Arrival {
    let arrival = buffer.append(frame, bytes, nil, generation: generation)
    if arrival.isEnough { reportEnough() }
    return arrival
  }

  /// Reports that a waiting player may resume.
  func reportEnough() { report(.buffered) }

  /// Returns `true` if frames have been delivered since the last call.
  func drainDelivered() -> Bool {
    defer { hasDelivered = false }
    return hasDelivered
  }

  /// Returns the player's share in a frame.
  /// - Parameter player: the buffer that is played.
  private func part(
    of player: StreamBuffer?, in frame: StreamFrame, at time: Double
  ) -> FrameTee.PlayerPart {
    guard let buffer = detour?.buffer else { return .same }
    guard buffer === player, let passage = detour?.pass(frame, at: time) else {
      detour = nil
      return .same
    }
    switch passage {
    case .past: return .none
    case .rejoins:
      detour = nil
      return .none
    case .lost:
      detour = nil
      return .behind(.gap(seconds: 0))
    }
  }

  // MARK: Flow

  /// Returns the flow of the transfer that brings the sound: paused while it sends faster than real time, or
  /// than disks accept.
  /// - Parameter limit: the greatest lead of the sound over the elapsed time; nil for no limit.
  func flow(aheadBy limit: StreamTime?, at now: Instant) -> HTTPFlow {
    pause.hold(above: limit, isDiskBehind: tee.isDiskBehind, at: now) ? .pause : .more
  }
}
