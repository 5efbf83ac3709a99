internal import Codecs
internal import EventLoop
internal import HTTP
internal import StreamCore

/// Reads the sound of a station: its frames and titles are joined to those of the connections before, and go
/// to the outlet. Confined to the loop of the reception.
final class StationBody: BodyReader {
  let outlet: SoundOutlet
  let connection: any BodyConnection
  private(set) var sound = ReceivedSound()
  private var titles = ReceivedTitles()
  private var stitcher = Stitcher()
  private var clock = SoundClock()
  private var repetition = RepeatedBody()
  /// The facts that the station of the last connection publishes about itself.
  private var station: StationInfo?
  private var lastByte = Instant.start

  init(over connection: any BodyConnection, into outlet: SoundOutlet) {
    (self.connection, self.outlet) = (connection, outlet)
  }

  /// The number of audio bytes so far, of all connections.
  var position: Int { sound.position }
  /// `true` while frames are held, until their join with those before is found.
  var isJoining: Bool { stitcher.isJoining }
  /// `true` if only a dry player waits for sound, which need not be complete. A join that comes too early is
  /// heard for a moment, but recorded for ever.
  var isUrgent: Bool {
    outlet.tee.isDry && !outlet.tee.isRecorded && connection.options.catchUp == .skip
  }
  /// The time at which the last byte was due, in seconds: not later than it was read.
  var lastDue: Double {
    let read = Double(lastByte.nanoseconds) / 1e9
    return min(read, clock.due(pending: sound.pendingBytes) ?? read)
  }

  // MARK: Connections

  /// Begins the body of an answer.
  /// - Parameter mayBeFile: `true` if the answer may be a file without a length.
  func connect(_ head: HTTPResponse, mayBeFile: Bool) {
    station = StationInfo(head)
    sound.connect(head)
    titles.connect()
    clock = SoundClock()
    repetition.connect(mayBeFile: mayBeFile, at: connection.now)
  }

  /// Notes that bytes have come, whatever they are.
  func noteArrival() { lastByte = connection.now }

  /// Ends the search for a join, as the connection is lost; frames that are not joined yet are not part of
  /// the stream.
  func lost() {
    setSearchTime()
    if let action = stitcher.lost(at: lastDue, pending: sound.pendingBytes) { resolve(action) }
  }

  /// Forgets the frames of the connections before: content of another kind has followed them.
  func forget() { stitcher = Stitcher() }

  /// Returns a test of whether a second connection continues this one.
  func overlapTrial() -> OverlapTrial { OverlapTrial(sound, stitcher, lossTime: lastDue) }

  // MARK: Time

  var deadline: Instant? {
    guard let end = stitcher.searchEnd else { return nil }
    let (moment, now) = (Instant(nanoseconds: Int64((end * 1e9).rounded(.up))), connection.now)
    return moment > now ? moment : now.advanced(by: .milliseconds(500))
  }

  /// Decides about the held frames, if it is time.
  func deadlinePassed() {
    if let action = stitcher.decide(at: connection.seconds) { resolve(action) }
  }

  /// Handles a player that has run out of sound: held sound may be the only one for long.
  func playerIsDry() {
    setSearchTime()
    deadlinePassed()
  }

  private func setSearchTime() {
    stitcher.searchSeconds = isUrgent ? Stitcher.urgentSeconds : Stitcher.searchSeconds
  }

  // MARK: The body

  /// Receives the next bytes of the body.
  /// - Returns: the reason why it can't be used; nil if it can.
  func receive(_ bytes: UnsafeRawBufferPointer) -> StreamError? {
    var received = StreamTime.zero
    let time = connection.seconds
    var isAccepted = true
    var isNew = false
    var otherwise: String?
    outlet.tee.receive { outlets in
      sound.consume(bytes) { item in
        switch item {
        case .title(let block): titles.add(block, encoding: connection.options.encoding)
        case .comments(let title, let position): titles.add(title, position: position)
        case .format(let new):
          if let station { outlet.report(.answered(station)) }
          outlet.begin(new)
          isNew = true
        case .frame(let frame, let bytes, let pending):
          received = received + frame.duration
          isAccepted = receive(frame, bytes, at: time, pending: pending, into: &outlets)
        case .notAudio(let found): otherwise = found
        }
        return isAccepted && otherwise == nil
      }
    }
    guard isAccepted else {
      connection.bufferIsFull()
      return nil
    }
    if let otherwise { return .noAudio(otherwise, from: connection.shownURL) }
    let tee = outlet.tee
    if isNew, let codec = outlet.format?.codec, !codec.hasFrames, tee.buffer != nil, !tee.isRecorded {
      return .notPlayed(codec, connection.shownURL)
    }
    if repetition.isFile {
      connection.finish()
    } else {
      connection.received(received, isJoining: isJoining)
    }
    return nil
  }

  /// Ends a body that was too short to be recognised.
  /// - Returns: the reason why it can't be used; nil if it may be sound.
  func endUnrecognised() -> StreamError? {
    sound.end().map { .noAudio($0, from: connection.shownURL) }
  }

  /// Ends a body, or an answer of another kind.
  /// - Parameters:
  ///   - isComplete: `true` if it ended in order.
  ///   - isSound: `true` for a body.
  /// - Returns: `true` if it was the whole of a file without a length.
  func ended(isComplete: Bool, isSound: Bool) -> Bool {
    if isComplete, isSound, repetition.mayBeFile { receiveLast() }
    return repetition.ended(isComplete: isComplete)
  }

  /// Receives the end of a body that may have been a file: its last frame is whole.
  private func receiveLast() {
    let time = connection.seconds
    var isAccepted = true
    outlet.tee.receive { outlets in
      sound.finish { item in
        guard case .frame(let frame, let bytes, let pending) = item else { return true }
        isAccepted = receive(frame, bytes, at: time, pending: pending, into: &outlets)
        return isAccepted
      }
    }
    if !isAccepted { connection.bufferIsFull() }
  }

  // MARK: Frames

  /// - Returns: `false` if the buffer is full.
  private func receive(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, at time: Double, pending: Int,
    into outlets: inout FrameTee.Outlets
  ) -> Bool {
    clock.add(frame, at: time)
    if repetition.add(frame) { return true }
    let action = stitcher.receive(frame, bytes, at: time, pending: pending)
    if case .pass = action { return deliver(frame, bytes, at: time, into: &outlets) }
    return release(action, at: time, into: &outlets)
  }

  private func resolve(_ action: Stitcher.Action) {
    let time = connection.seconds
    let isAccepted = outlet.tee.receive { release(action, at: time, into: &$0) }
    if !isAccepted, !connection.isStopped { connection.bufferIsFull() }
  }

  /// - Returns: `false` if the buffer is full, or the reception has ended.
  private func release(
    _ action: Stitcher.Action, at time: Double, into outlets: inout FrameTee.Outlets
  ) -> Bool {
    switch action {
    case .pass, .hold: return true
    case .joined(let overlap, _):
      if outlet.detour == nil { outlet.report(.reconnected(gap: 0, stitched: true, overlap: overlap)) }
    case .gap(let seconds):
      outlet.discontinuity = .gap(seconds: seconds)
      // On a detour, the sound that the player skips has been reported already.
      if outlet.detour == nil { outlet.report(.reconnected(gap: seconds, stitched: false, overlap: 0)) }
    }
    var isAccepted = true
    stitcher.release { frame, bytes in
      isAccepted = !connection.isStopped && deliver(frame, bytes, at: time, into: &outlets)
      return isAccepted
    }
    return isAccepted
  }

  /// - Returns: `false` if the buffer is full.
  private func deliver(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, at time: Double,
    into outlets: inout FrameTee.Outlets
  ) -> Bool {
    let title = titles.next(before: frame.offset + frame.length)
    let isAccepted = outlet.deliver(frame, bytes, title: title, at: time, into: &outlets)
    // The following sound is lost: the next connection reports a gap, and the title.
    if !isAccepted, title != nil { titles.revokeLast() }
    return isAccepted
  }
}
