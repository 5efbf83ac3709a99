public import AudioCore
internal import EventLoop

/// Speakers that sound together: one source, one state, one position. Confined to the loop.
public final class Session {
  /// 0 for the default session.
  public let id: SessionID
  /// What people call it.
  public let name: String
  /// Rank among sessions: a higher one receives the speakers of a lower one (default: 100).
  public private(set) var priority: Int
  /// Whether `close` was called.
  public internal(set) var isClosed = false

  weak var house: House?
  let driver: any Driver
  let loop: EventLoop
  var machine = SessionMachine()
  /// Routines in `finish`.
  var finishing = SessionWaiters()
  /// Routines in `fade`, for a gain.
  var fading = SessionWaiters()
  /// A seek that is opening its cue, and where it goes, in frames.
  var seekTarget: (number: Int, frame: Int)?
  var seekCount = 0
  /// The next `time` event.
  var secondTimer: LoopTimer?
  /// In dB; where a fade goes.
  public internal(set) var gain = 0.0
  /// The gains of its equalizer's bands.
  public internal(set) var equalizer = EqualizerGains.flat
  /// Of the newest change of its gain: an older fade gives way.
  var gainChanges = 0
  /// Interruptions that have its speakers.
  var suspensions = 0
  /// How long it has played.
  var playClock = PlayClock()
  /// Stops it, while it plays without a speaker that can be reached.
  var silenceTimer: LoopTimer?
  /// Whole seconds told last.
  var toldSeconds = 0

  /// Called when it is closed, in order of their numbers.
  var closeListeners: [Int: () -> Void] = [:]
  var closeListenerCount = 0

  init(id: SessionID, name: String, driver: any Driver, loop: EventLoop, priority: Int = 100) {
    self.priority = priority
    self.id = id
    self.name = name
    self.driver = driver
    self.loop = loop
  }

  /// Rate and channels in which its frames count.
  public var format: AudioFormat { driver.format }
  /// Its members, in the order of the house.
  public var devices: [Device] { house?.devices.filter { $0.session === self } ?? [] }
  /// What it does.
  public var state: PlayerState { machine.state }
  /// What plays or is paused.
  public var source: SourceInfo? { machine.current?.source }
  /// Frames of the source that have been heard, counted from its start; where it is in the source when it
  /// loops. 0 when stopped. Of a source with a time of its own, that time.
  public var position: Int {
    guard let time = timedSound?.time else { return heardFrames }
    return Int(time * Double(format.sampleRate))
  }
  /// The source that plays, where it has a time of its own.
  var timedSound: (any TimedSound)? {
    guard case .source(let sound)? = machine.current?.request.sound, let timed = sound as? any TimedSound,
      timed.time != nil
    else { return nil }
    return timed
  }
  /// Frames that have been heard since the source began; as `position` for files.
  public var heardFrames: Int {
    guard let current = machine.current else { return 0 }
    if let seekTarget { return seekTarget.frame }
    let heard = driver.position(of: id)
    guard current.request.loops, let length = current.cue.duration, length > 0 else { return heard }
    return heard % length
  }
  /// Length of the source in frames; nil when stopped, or when it can't be known.
  public var duration: Int? {
    guard let timedSound else { return machine.current?.cue.duration }
    return timedSound.length.map { Int($0 * Double(format.sampleRate)) }
  }

  /// Plays a file on its members, in place of what played. Returns when it plays.
  /// - Parameters:
  ///   - path: WAV, AIFF, CAF, MP3, AAC (ADTS), M4A/MP4, FLAC, Ogg Vorbis.
  ///   - title: what a person would call it; by default the file's name.
  ///   - seconds: where to begin; 0...1e9.
  ///   - loops: whether it begins again after its last frame, for ever.
  ///   - priority: the session's from now on.
  /// - Throws: `speaker.no_active_device` before it opens the file; `audio.not_found`, `audio.unreadable`, and
  ///   what played goes on then; `speaker.superseded`, `speaker.range`, `speaker.closed`, `CancellationError`.
  public func play(
    _ path: String, title: String? = nil, start seconds: Double = 0, loops: Bool = false,
    priority: Int? = nil
  ) async throws {
    loop.assertOnLoop()
    _ = try openHouse()
    guard (0...1e9).contains(seconds) else {
      throw SpeakerError(
        .range, "start \(seconds) s is not in 0...1e9",
        facts: [.init("start", .number(seconds))])
    }
    let fileName = path.split(separator: "/").last.map(String.init) ?? path
    let request = SourceRequest(path: path, start: seconds, loops: loops)
    try await play(request, as: SourceInfo(path: path, title: title ?? fileName))
    if let priority { self.priority = priority }
  }

  /// Plays sound that is made elsewhere, such as a stream, in place of what played. Returns when it plays. Its position
  /// counts what has been heard of it.
  /// - Parameters:
  ///   - sound: used by this session until it ends there.
  ///   - source: what it is called.
  ///   - priority: the session's from now on.
  /// - Throws: as for a file; and what `sound` throws when it makes its decoder.
  public func play(_ sound: any SoundSource, as source: SourceInfo, priority: Int? = nil) async throws {
    loop.assertOnLoop()
    _ = try openHouse()
    try await play(SourceRequest(sound, name: source.path), as: source)
    if let priority { self.priority = priority }
  }

  /// That it could play, as `play` asks before it opens anything.
  /// - Throws: `speaker.no_active_device`, `speaker.closed`.
  public func requireMembers() throws(SpeakerError) {
    _ = try openHouse()
    guard hasAvailableMember || isSuspended else { throw SessionMachine.noActiveDevice }
  }

  /// The sound that is played goes on from another place of its own choice: what was decoded ahead gives way to a new
  /// decoder, over a ramp of one block. Nothing when another sound plays, or none.
  public func soundMoved(_ sound: any SoundSource) {
    guard plays(sound), let current = machine.current else { return }
    reposition(current, toFrame: heardFrames)
  }

  /// Whether it is this sound that plays or is paused.
  public func plays(_ sound: any SoundSource) -> Bool {
    guard let current = machine.current, case .source(let playing) = current.request.sound else {
      return false
    }
    return playing === sound
  }

  /// The sound that is played is called something else from now on. Nothing when another sound plays, or none.
  public func soundRenamed(_ sound: any SoundSource, _ source: SourceInfo) {
    guard plays(sound) else { return }
    machine.renamed(source)
    house?.announcePlaying()
  }

  /// Plays a source, or lets it stand where it begins. Throws as `play`.
  func play(_ request: SourceRequest, as source: SourceInfo, paused: Bool = false) async throws {
    let ticket = try machine.beginOpening(hasMembers: hasAvailableMember || isSuspended)
    let cue = try await driver.load(request)
    let actions: [SessionMachine.Action]
    do {
      _ = try openHouse()
      if let length = cue.duration, (request.start * Double(format.sampleRate)).rounded() > Double(length) {
        throw SpeakerError(
          .range, "start \(request.start) s is past the end of \(request.name)",
          facts: [.init("start", .number(request.start))])
      }
      actions = try machine.opened(
        ticket, .init(source: source, cue: cue, request: request),
        hasMembers: hasAvailableMember || isSuspended, paused: paused)
    } catch {
      driver.discard(cue)
      throw error
    }
    seekTarget = nil
    toldSeconds = Int(request.start)
    perform(actions)
  }

  /// Silences it; it keeps its place. Nothing when it does not play.
  public func pause() { perform(machine.pause()) }

  /// Goes on after `pause`.
  /// - Throws: `speaker.not_paused`.
  public func resume() throws(SpeakerError) { perform(try machine.resume()) }

  /// Stops, and gives up a `play` that is still opening. Nothing when neither is so.
  public func stop() { perform(machine.stop()) }

  /// Goes to another place of the source, playing or paused; to its end exactly: ends.
  ///
  /// `position` is the new one at once; it is heard a moment later, and a source that can't be read there ends
  /// with `failed`.
  /// - Parameter seconds: from the start of the source.
  /// - Throws: `speaker.range` outside the source, `speaker.no_seek` when stopped, and for what is no file; what the
  ///   file throws that is received as a stream.
  public func seek(toSeconds seconds: Double) throws {
    guard let current = machine.current else {
      throw SpeakerError(.noSeek, "seek: nothing plays")
    }
    if let timedSound { return try timedSound.seek(to: seconds) }
    guard case .file = current.request.sound else {
      throw SpeakerError(
        .noSeek, "seek: \"\(current.source.title)\" is a stream", hint: "move the stream itself")
    }
    // Rounded first: frames that went through seconds need not come back as whole numbers.
    let frame = (seconds * Double(format.sampleRate)).rounded()
    guard frame >= 0, frame <= Double(current.cue.duration ?? 1 << 52) else {
      throw SpeakerError(
        .range, "seek to \(seconds) s is outside \"\(current.source.title)\"",
        facts: [.init("seconds", .number(seconds))])
    }
    house?.report(.seek(frame: Int(frame)), of: self)
    reposition(current, toFrame: Int(frame))
  }

  /// Awaits the end of what plays or is paused, whatever its reason: when the last frame has been heard, unless
  /// it is stopped or replaced before.
  /// - Parameter timeout: nil waits for as long as it takes.
  /// - Returns: the reason of the end, `.idle` at once when nothing plays, `.timeout`.
  /// - Throws: `CancellationError`.
  public func finish(timeout: Duration? = nil) async throws -> FinishResult {
    loop.assertOnLoop()
    guard machine.current != nil else { return .idle }
    return try await SessionWaiters.wait(on: self, \.finishing, timeout: timeout)
  }

  /// Sets its members to one level; see `House.setVolume`.
  /// - Throws: `speaker.range`, `speaker.closed`.
  public func setVolume(_ volume: Int) throws(SpeakerError) {
    try openHouse().change(.volume(volume), of: devices)
  }
  /// Silences its members; each keeps its level.
  /// - Throws: `speaker.closed`.
  public func mute() throws(SpeakerError) { try openHouse().change(.muted(true), of: devices) }
  /// Gives each member the level that it had.
  /// - Throws: `speaker.closed`.
  public func unmute() throws(SpeakerError) { try openHouse().change(.muted(false), of: devices) }
  /// The average level of its members; see `House.volume`.
  public var volume: Int { House.average(of: devices) }
  /// Whether all its available members are muted.
  public var isMuted: Bool { House.areMuted(devices) }

  var hasAvailableMember: Bool { devices.contains(where: \.isAvailable) }
}
