public import AudioCore
internal import EventLoop

extension Stream {
  /// Lets its sound be played: the play position follows what is heard from now on.
  /// - Parameters:
  ///   - heard: seconds of sound that were heard since the playback's last decoder began, on the loop.
  ///   - moved: called when the position has leapt: a new decoder is wanted.
  /// - Throws: `stream.in_use` when it is played elsewhere; `stream.no_seek` before it plays.
  public func attach(
    heard: @escaping () -> Double, moved: @escaping () -> Void
  ) throws(StreamError) -> StreamPlayback {
    guard silentSession == nil, playback == nil || silentPlayer != nil else {
      throw StreamError(.inUse, "the stream plays on another session", hint: "stop it there first")
    }
    guard hasPosition, let buffer else { throw StreamError(.noSeek, "the stream does not play yet") }
    // What went by silently while the player got ready is not to be missing from a file.
    let wasReady = file == nil || silentSince.map { $0.duration(to: loop.now) > .milliseconds(250) } ?? true
    let start = silentTime
    standStill()
    if !wasReady { silentTime = start }
    silentPlayer = nil
    return attach(to: buffer, heard: heard, moved: moved)
  }

  func attach(
    to buffer: StreamBuffer, heard: @escaping () -> Double, moved: @escaping () -> Void
  ) -> StreamPlayback {
    _ = buffer.move(to: silentTime)
    let playback = StreamPlayback(of: self, buffer, sound.chain, heard: heard, moved: moved)
    self.playback = playback
    return playback
  }

  /// Its sound is played no longer; the position goes on silently.
  public func detach() {
    guard playback != nil || silentSession != nil else { return }
    standStill()
    (playback, silentPlayer, silentSession) = (nil, nil, nil)
    buffer?.forgetWakers()
    if hasPosition, !isPaused { goOn() }
  }
}

/// The sound of a stream, for who plays it.
///
/// Unchecked: `makeDecoder` and `makeLiveDecoder` may be called on any thread and uses what is Sendable; all else belongs to the loop.
public final class StreamPlayback: ClockedSound, TimedSound, @unchecked Sendable {
  private let source: Lock<(buffer: StreamBuffer, map: PlayMap)>
  private let heard: () -> Double
  private let onMoved: () -> Void
  private let levelMap = Lock(LevelMap())
  private let chain: SoundChain
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

  /// A decoder at the play position.
  public func makeDecoder() -> any Decoder { makeLiveDecoder() }

  /// A decoder at the play position, which tells an empty buffer from the end.
  public func makeLiveDecoder() -> any LiveDecoder {
    let new = PlayMap()
    let buffer = source.withLock { source in
      source.map = new
      return source.buffer
    }
    let levels = LevelMap()
    levelMap.withLock { $0 = levels }
    return SoundDecoder(
      StreamDecoder(buffer, map: new), chain, levels, patience: chain.loop.isVirtual ? nil : .init())
  }

  /// The stream goes on in another buffer.
  func goOn(with buffer: StreamBuffer) {
    source.withLock { $0 = (buffer, PlayMap()) }
    onMoved()
  }

  /// Seconds of the file that have been heard; nil for a live stream. On the loop.
  public var time: Double? { stream?.fileTime }
  /// Seconds of the whole file; nil for a live stream, and while nobody knows. On the loop.
  public var length: Double? { stream?.fileDuration }
  /// Goes to a time of the file. On the loop.
  /// - Throws: `stream.no_seek`.
  public func seek(to seconds: Double) throws(StreamError) { try stream?.seek(to: seconds) }

  var position: StreamTime? { source.withLock { $0.map }.time(heard: heard()) }
  var levels: MeterReading? { levelMap.withLock { $0 }.reading(heard: heard()) }

  /// The position has leapt. What is heard is counted anew from here, so the old decoder's map tells no longer where.
  func moved() {
    source.withLock { $0.map = PlayMap() }
    onMoved()
  }
}
