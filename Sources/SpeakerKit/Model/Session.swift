public import AudioCore
public import EventLoop

/// The result of waiting for the end of a source.
public enum FinishResult: Sendable, Equatable {
  /// No source was playing or paused.
  case idle
  /// The source has ended.
  case ended(EndReason)
  /// The timeout passed before the end.
  case timeout
}

/// Identifies an open session within its house, from 1 on; a later session may have the same one.
public typealias SessionID = Int

/// Speakers that sound together: one source, one state, one position. Confined to the loop.
public final class Session {
  /// The identifier of the session.
  public let id: SessionID
  /// The stream of the driver; nil for a silent session of which the driver knows nothing. A session with a source has one.
  var stream: DriverStream?
  /// The moment of its last `stop`.
  var lastStop = Instant.start
  /// The display name.
  public let name: String
  /// The name of the script that it belongs to; nil for none.
  public var owner: String?
  /// The rank among sessions: a higher one receives the speakers of a lower one (default: 100).
  public internal(set) var priority: Int
  /// `true` if `close` was called.
  public internal(set) var isClosed = false

  /// The speakers that the session wants, in the order in which it was asked for them.
  public internal(set) var wanted: [Device] = []
  /// The wanted speakers that it did not get when it began to sound last.
  public internal(set) var missed: [MissedRoom] = []

  /// The volume up to which its own commands may exceed the limits of its speakers, which is that of an alarm; nil for
  /// none.
  var volumeOverLimit: Int?

  weak var house: House?
  let driver: any Driver
  let loop: EventLoop
  var machine = SessionMachine()
  /// The calls of `finish`.
  let finishing = PendingCalls<FinishResult>()
  /// The calls that wait for the end of the session.
  let closing = PendingCalls<Void>()
  /// The calls of `fade(gain:over:)`.
  let fading = PendingCalls<Void>()
  /// The seek that is opening its cue.
  var seeking = SeekState()
  /// The timer of the next `time` event.
  var secondTimer: LoopTimer?
  /// The gain of the source, with its fade.
  var gainState = GainState()
  /// The gains of the equalizer's bands.
  public internal(set) var equalizer = EqualizerGains.flat
  /// The number of suspensions in effect.
  var suspensions = 0
  /// The time that the session has played.
  var playClock = PlayClock()
  /// The timer that stops the session while it plays without an available speaker.
  var silenceTimer: LoopTimer?
  /// The timer of the next file of a queue.
  var turnTimer: LoopTimer?
  /// The lengths of the files of queues that are not decoded.
  lazy var fileLengths = FileLengths(format: format)
  /// Whole seconds of the last `time` event.
  var reportedSeconds = 0

  /// Callbacks for `close`, called in order of their keys.
  var closeListeners = Listeners<() -> Void>()

  init(id: SessionID, name: String, driver: any Driver, loop: EventLoop, priority: Int = 100) {
    self.priority = priority
    self.id = id
    self.name = name
    self.driver = driver
    self.loop = loop
  }

  /// The rate and channels of the session's frames.
  public var format: AudioFormat { driver.format }
  /// The members of the session, in the order of the house.
  public var devices: [Device] {
    house?.devices.filter { $0.session === self || $0.overlay?.session === self } ?? []
  }
  /// The gain in dB; the target of a running fade.
  public var gain: Double { gainState.target }
  /// The playback state.
  public var state: PlayerState { machine.state }
  /// The source that plays or is paused; nil when stopped.
  public var source: SourceInfo? { machine.current?.source }
  /// The number of frames of the source that have been heard, from its start; the position within the source
  /// when it loops; in a queue, of the current file. 0 when stopped. For a source with a time of its own,
  /// that time in frames.
  public var position: Int {
    if let passage { return max(0, heardFrames - passage.frame) }
    guard let time = timedSound?.time else { return heardFrames }
    return Int(time * Double(format.sampleRate))
  }
  /// The source that plays, if it has a time of its own.
  var timedSound: (any TimedSound)? {
    guard case .source(let sound)? = machine.current?.request.sound, let timed = sound as? any TimedSound,
      timed.time != nil
    else { return nil }
    return timed
  }
  /// The number of frames heard since the source began; equal to `position` for single files.
  public var heardFrames: Int {
    guard let current = machine.current else { return 0 }
    if let target = seeking.target { return target.frame }
    let heard = framesHeard
    guard current.request.loops, let length = current.cue.duration, length > 0 else { return heard }
    return heard % length
  }
  /// The number of frames of the cue that have been heard, over all repetitions.
  var framesHeard: Int { stream.map { driver.position(of: $0) } ?? 0 }
  /// The length of the source in frames; nil when stopped, or when unknown.
  public var duration: Int? {
    if let passage { return passage.length }
    guard let timedSound else { return machine.current?.cue.duration }
    return timedSound.length.map { Int($0 * Double(format.sampleRate)) }
  }

  /// Plays a file on the session's members, in place of the current source. Returns when it plays.
  /// - Parameters:
  ///   - path: WAV, AIFF, CAF, MP3, AAC (ADTS), M4A/MP4, FLAC, Ogg Vorbis.
  ///   - title: display title; by default the file's name.
  ///   - seconds: start position, 0...1e9.
  ///   - loops: `true` if the file is repeated without end.
  ///   - rooms: the speakers that the session wants once the file is open, and others leave it; nil for those that it
  ///     wants.
  ///   - priority: the session's from now on.
  /// - Throws: `speaker.no_active_device`, `speaker.outranked`, `speaker.no_stream` before it opens the file, see
  ///   `requireRooms`; `audio.not_found`, `audio.unreadable`, after which the current source continues;
  ///   `speaker.superseded`, `speaker.range`, `speaker.closed`, `CancellationError`; the refusal of a driver that plays
  ///   elsewhere, after which nothing plays.
  public func play(
    _ path: String, title: String? = nil, start seconds: Double = 0, loops: Bool = false,
    rooms: [Device]? = nil, priority: Int? = nil
  ) async throws {
    loop.assertOnLoop()
    _ = try openHouse()
    try Self.check(start: seconds)
    let fileName = path.split(separator: "/").last.map(String.init) ?? path
    let request = SourceRequest(path: path, start: seconds, loops: loops)
    try await play(
      request, as: SourceInfo(path: path, title: title ?? fileName), rooms: RoomRequest(rooms),
      priority: priority)
  }

  static func check(start seconds: Double) throws(SpeakerError) {
    guard (0...1e9).contains(seconds) else {
      throw SpeakerError(
        .range, "start \(seconds) s is not in 0...1e9",
        facts: [.init("start", .number(seconds))])
    }
  }

  /// Plays a sound source other than a file, such as a stream, in place of the current source. Returns when
  /// it plays. The session's position counts the sound that has been heard.
  /// - Parameters:
  ///   - sound: used by this session until it ends there.
  ///   - source: its path and title.
  ///   - rooms: as for a file.
  ///   - priority: the session's from now on.
  /// - Throws: as for a file; and errors of `sound` when it creates its decoder.
  public func play(
    _ sound: any SoundSource, as source: SourceInfo, rooms: [Device]? = nil, priority: Int? = nil
  ) async throws {
    loop.assertOnLoop()
    _ = try openHouse()
    try await play(
      SourceRequest(sound, name: source.path), as: source, rooms: RoomRequest(rooms), priority: priority)
  }

  /// Continues `sound` at another position that it has chosen itself: audio decoded ahead is replaced by that
  /// of a new decoder, over a ramp of one block. Does nothing when `sound` is not the current source.
  public func soundMoved(_ sound: any SoundSource) {
    guard plays(sound), let current = machine.current else { return }
    reposition(current, toFrame: heardFrames)
  }

  /// Returns `true` if `sound` plays or is paused.
  public func plays(_ sound: any SoundSource) -> Bool {
    guard let current = machine.current, case .source(let playing) = current.request.sound else {
      return false
    }
    return playing === sound
  }

  /// Counts the seconds of the sound from its position on, which is that of the next file of a list. Does nothing when
  /// `sound` is not the current source.
  public func soundStarted(_ sound: any SoundSource) {
    guard plays(sound) else { return }
    restartSeconds()
  }

  /// Renames the current source. Does nothing when `sound` is not the current source.
  public func soundRenamed(_ sound: any SoundSource, _ source: SourceInfo) {
    guard plays(sound) else { return }
    machine.renamed(source)
    house?.announcePlaying()
  }

  /// Plays a source, or opens it paused at its start. Throws as the public `play` does.
  /// - Parameters:
  ///   - rooms: the speakers that the session asks for at the start of the source.
  ///   - priority: the session's from the start of the source on; nil for the present one.
  func play(
    _ request: SourceRequest, as source: SourceInfo, paused: Bool = false, rooms: RoomRequest,
    priority: Int?
  ) async throws {
    do {
      try await open(request, as: source, paused: paused, rooms: rooms, priority: priority)
    } catch let error as SpeakerError where error.kind == .superseded {
      guard let command = house?.lastCommand(self) else { throw error }
      throw SpeakerError(.superseded, "\(error.message): \(command)", hint: error.hint)
    }
  }

  private func open(
    _ request: SourceRequest, as source: SourceInfo, paused: Bool, rooms: RoomRequest, priority: Int?
  ) async throws {
    _ = try check(rooms, priority: priority ?? self.priority)
    let ticket = machine.beginOpening()
    house?.report(.play(self))
    let cue = try await openHouse().openings.perform(on: loop) {
      try machine.check(ticket, source)
      return try await driver.load(request)
    }
    let actions: [SessionMachine.Action]
    do {
      _ = try openHouse()
      if let length = cue.duration, (request.start * Double(format.sampleRate)).rounded() > Double(length) {
        throw SpeakerError(
          .range, "start \(request.start) s is past the end of \(request.name)",
          facts: [.init("start", .number(request.start))])
      }
      try machine.check(ticket, source)
      try takeRooms(rooms, priority: priority ?? self.priority)
      actions = try machine.opened(
        ticket, .init(source: source, cue: cue, request: request),
        hasMembers: hasAvailableMember || isSuspended, paused: paused)
    } catch {
      driver.discard(cue)
      throw error
    }
    seeking.end()
    reportedSeconds = Int(request.start)
    if let priority {
      self.priority = priority
      if let stream { driver.setPriority(priority, of: stream) }
    }
    perform(actions)
    applyTurns()
    do { try await driver.awaitStart(of: cue) } catch {
      perform(machine.refused(cue: cue.id, error is CancellationError ? .stopped : .failed))
      throw error
    }
    _ = try openHouse()
    try machine.check(ticket, source)
  }

  /// Pauses the session; it keeps its position. Does nothing when it does not play.
  public func pause() {
    house?.report(.stop(self))
    perform(machine.pause())
  }

  /// Resumes the session after `pause`.
  /// - Throws: `speaker.not_paused`.
  public func resume() throws(SpeakerError) {
    let actions = try machine.resume()
    house?.report(.resume(self))
    perform(actions)
  }

  /// Stops the session, and a `play` that is still opening. Does nothing when neither is the case.
  public func stop() {
    if state != .stopped || machine.isOpening { house?.report(.stop(self)) }
    perform(machine.stop())
  }

  /// Seeks to another position of the source, playing or paused; at exactly its end, the source ends.
  ///
  /// `position` has the new value at once; it is heard a moment later, and a source that can't be read there
  /// ends with `failed`.
  /// - Parameter seconds: position from the start of the source.
  /// - Throws: `speaker.range` outside the source, `speaker.no_seek` when stopped, and for a source that can't seek;
  ///   the errors of a source that seeks by itself, as a stream, live ones included.
  public func seek(toSeconds seconds: Double) throws {
    guard let current = machine.current else {
      throw SpeakerError(.noSeek, "seek: nothing plays")
    }
    let passage = passage
    if case .source(let sound) = current.request.sound, passage == nil {
      guard let timed = sound as? any TimedSound else {
        throw SpeakerError(.noSeek, "seek: \"\(current.source.title)\" has no other positions")
      }
      return try timed.seek(to: seconds)
    }
    // Rounded first: frames converted to seconds and back need not be whole numbers.
    let frame = (seconds * Double(format.sampleRate)).rounded()
    guard frame >= 0, frame <= Double(duration ?? 1 << 52) else {
      throw SpeakerError(
        .range, "seek to \(seconds) s is outside \"\(current.source.title)\"",
        facts: [.init("seconds", .number(seconds))])
    }
    house?.report(.seek(frame: Int(frame)), of: self)
    guard let passage else { return reposition(current, toFrame: Int(frame)) }
    seek(current, toFrame: Int(frame), in: passage)
  }

  /// Waits for the end of the current source, whatever its reason: when the last frame has been heard, unless
  /// it is stopped or replaced before.
  /// - Parameter timeout: nil waits without a limit.
  /// - Returns: the reason of the end, `.idle` at once when nothing plays, `.timeout`.
  /// - Throws: `CancellationError`.
  public func finish(timeout: Duration? = nil) async throws -> FinishResult {
    loop.assertOnLoop()
    guard machine.current != nil else { return .idle }
    return try await finishing.wait(on: loop, timeout: timeout) ?? .timeout
  }

  /// The speakers that the session wants, and those that it has without having asked, in the order of the house. The
  /// commands for its level act on them, whoever plays there.
  public var rooms: [Device] {
    let members = devices
    return house?.devices.filter { device in
      members.contains { $0 === device } || wanted.contains { $0 === device }
    } ?? []
  }

  func requireRooms(for command: String) throws(SpeakerError) -> [Device] {
    _ = try openHouse()
    let rooms = rooms
    guard rooms.isEmpty else { return rooms }
    throw SpeakerError(
      .noActiveDevice, "\(command): the session \"\(name)\" wants no room",
      hint: "join one first, or name the speakers: speaker.device(…):\(command)(…)")
  }

  /// Sets the session's `rooms` to one level; see `House.setVolume`.
  /// - Throws: `speaker.no_active_device` without a room, `speaker.range`, `speaker.closed`.
  public func setVolume(_ volume: Int) throws(SpeakerError) {
    try openHouse().change(.volume(volume), of: requireRooms(for: "set_volume"), for: self)
  }
  /// Mutes the session's `rooms`; each keeps its level.
  /// - Throws: `speaker.no_active_device` without a room, `speaker.closed`.
  public func mute() throws(SpeakerError) {
    try openHouse().change(.muted(true), of: requireRooms(for: "mute"))
  }
  /// Unmutes the session's `rooms`, each at the level that it kept.
  /// - Throws: `speaker.no_active_device` without a room, `speaker.closed`.
  public func unmute() throws(SpeakerError) {
    try openHouse().change(.muted(false), of: requireRooms(for: "unmute"))
  }
  /// The average level of the session's `rooms`; see `House.volume`.
  public var volume: Int { House.average(of: rooms) }
  /// The average level of the speakers that the session has.
  public var heardVolume: Int { House.average(of: devices) }
  /// `true` if at least one of the session's `rooms` is available and all available ones are muted.
  public var isMuted: Bool { House.areMuted(rooms) }

  var hasAvailableMember: Bool { devices.contains(where: \.isAvailable) }
}
