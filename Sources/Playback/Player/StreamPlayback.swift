public import AudioCore
public import EventLoop
public import StreamCore

extension Stream {
  /// Attaches a player of its sound: from now on the play position follows the sound being heard.
  /// - Parameters:
  ///   - heard: returns the seconds of sound that were heard since the playback's last decoder began, on the
  ///     loop.
  ///   - moved: called when the position has been moved: a new decoder is needed.
  /// - Throws: `stream.in_use` if it is played elsewhere; `stream.no_seek` before it plays.
  public func attach(
    heard: @escaping () -> Double, moved: @escaping () -> Void
  ) throws(StreamError) -> StreamPlayback {
    switch listener {
    case .none, .metered: break
    case .session, .clocked:
      throw StreamError(.inUse, "the stream plays on another session", hint: "stop it there first")
    }
    guard machine.hasPosition, let buffer else {
      throw StreamError(.noSeek, "the stream does not play yet")
    }
    // Sound of a file that passed silently while the player got ready must not be missing.
    let wasReady = file == nil || clock.since.map { $0.duration(to: loop.now) > .milliseconds(250) } ?? true
    let start = clock.start
    halt()
    if !wasReady { clock.rest(at: start) }
    let playback = makePlayback(of: buffer, heard: heard, moved: moved)
    listener = .session(playback)
    // Received titles are reported by the clock of the session from now on.
    followTitles()
    keepReserve()
    return playback
  }

  /// Creates a playback at the position.
  func makePlayback(
    of buffer: StreamBuffer, heard: @escaping () -> Double, moved: @escaping () -> Void
  ) -> StreamPlayback {
    _ = buffer.move(to: clock.start)
    return StreamPlayback(of: self, buffer, sound.chain, heard: heard, moved: moved)
  }

  /// Detaches the player of its sound; the position continues silently.
  public func detach() {
    guard hasListener else { return }
    halt()
    listener = .none
    buffer?.forgetReader()
    if machine.isPlaying { run() }
  }
}

/// The sound of a stream, for its player.
///
/// Unchecked: `makeDecoder` and `makeLiveDecoder` may be called on any thread and use only Sendable values;
/// everything else belongs to the loop.
public final class StreamPlayback: ClockedSound, TimedSound, @unchecked Sendable {
  private let source: Lock<(buffer: StreamBuffer, map: PlayMap)>
  private let heard: () -> Double
  private let onMoved: () -> Void
  private let levelMap = Lock(LevelMap())
  private let chain: SoundChain
  /// The pace of its decoders.
  let pace = PlayPace()
  private(set) weak var stream: Stream?

  init(
    of stream: Stream, _ buffer: StreamBuffer, _ chain: SoundChain, heard: @escaping () -> Double,
    moved: @escaping () -> Void
  ) {
    self.stream = stream
    source = Lock((buffer, PlayMap()))
    self.chain = chain
    self.heard = heard
    onMoved = moved
  }

  /// Creates a decoder at the play position.
  public func makeDecoder() -> any Decoder { makeLiveDecoder() }

  /// Creates a decoder at the play position, which distinguishes an empty buffer from the end.
  public func makeLiveDecoder() -> any LiveDecoder {
    let new = PlayMap()
    let buffer = source.withLock { source in
      source.map = new
      return source.buffer
    }
    let levels = LevelMap()
    levelMap.withLock { $0 = levels }
    return ProcessedDecoder(
      StreamDecoder(buffer, map: new, pace: pace), chain, levels,
      deadline: chain.loop.isVirtual ? nil : .init())
  }

  /// Continues in another buffer.
  func resume(with buffer: StreamBuffer) {
    source.withLock { $0 = (buffer, PlayMap()) }
    onMoved()
  }

  /// The position in a file in seconds; nil for a live stream. On the loop.
  public var time: Double? { stream?.fileTime }
  /// The length of a file in seconds; nil for a live stream, and while it is unknown. On the loop.
  public var length: Double? { stream?.fileDuration }
  /// Seeks to a time of the file. On the loop.
  /// - Throws: `stream.no_seek`.
  public func seek(to seconds: Double) throws(StreamError) { try stream?.seek(to: seconds) }

  var position: StreamTime? { source.withLock { $0.map }.time(heard: heard()) }
  var levels: MeterReading? { levelMap.withLock { $0 }.reading(heard: heard()) }

  /// Reports that the position has been moved. Heard sound is counted from zero again, so the map of the old
  /// decoder is void.
  func moved() {
    source.withLock { $0.map = PlayMap() }
    onMoved()
  }

  /// Plays by the loop's clock, without a decoder: the stream decides the position. On the loop.
  /// - Parameters:
  ///   - report: called when the sound flows, waits, or has ended.
  ///   - paused: `true` if its session is paused or suspended.
  public func play(byClock report: @escaping (SoundFlow) -> Void, paused: Bool) {
    stream?.play(byClock: report, isPaused: paused)
  }

  /// Stops the clock with its session, or starts it again. On the loop.
  public func pause(_ isPaused: Bool) { stream?.silentSession(isPaused: isPaused) }
}

/// Maps the sound of a decoder to times of the stream, between the thread that decodes and the loop.
///
/// Sound and stream run alike except where sound is missing or stretched, so a few marks are enough.
final class PlayMap: Sendable {
  private struct Mark {
    /// The seconds of sound that the decoder had delivered.
    let delivered: Double
    let time: StreamTime
    /// The seconds of the stream in a second of sound.
    let pace: Double
  }

  private let marks = Lock<[Mark]>([])

  /// Marks that the sound after `delivered` seconds is from `time` on, with `pace` seconds of the stream in a
  /// second of sound.
  func mark(delivered: Double, time: StreamTime, pace: Double = 1) {
    marks.withLock { marks in
      marks.append(Mark(delivered: delivered, time: time, pace: pace))
      // Sound being heard is at most some seconds old.
      if marks.count > 64 { marks.removeFirst() }
    }
  }

  /// Returns the time of the stream that is heard after `heard` seconds of the decoder's sound; nil before
  /// the first mark.
  func time(heard: Double) -> StreamTime? {
    marks.withLock { marks in
      guard let mark = marks.last(where: { $0.delivered <= heard }) ?? marks.first else { return nil }
      return mark.time + StreamTime(seconds: max(0, heard - mark.delivered) * mark.pace)
    }
  }
}
