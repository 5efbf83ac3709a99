internal import EventLoop
internal import LuaModules
internal import Roomtone
internal import StreamKit

/// One run of `roomtone record`, from the first connection to the closed file. Confined to the loop.
final class RecordRun {
  private let plan: RecordCommand.Plan
  private let engine: Engine
  private let line: RecordingLine
  private var recording: Recording?
  /// How long the station could not be heard at first.
  private var late = Duration.zero
  /// Why it is not on disk as it should be, also when a signal ended it.
  private(set) var failure: (any CodedError)?

  /// The interval at which the line on a terminal is drawn anew.
  private static let tick = Duration.milliseconds(250)
  /// Between two attempts to hear a station for the first time: doubled each time, up to the last.
  private static let (firstPause, lastPause) = (Duration.seconds(2), Duration.seconds(30))
  /// The longest that a server may have it wait instead.
  private static let longestWish = Duration.seconds(3600)

  init(_ plan: RecordCommand.Plan, _ engine: Engine, _ line: RecordingLine) {
    (self.plan, self.engine, self.line) = (plan, engine, line)
  }

  /// Records to the end, or until its task is cancelled; returns when all is safe on disk.
  func record() async throws {
    let (stream, recording) = try await plan.waitsForAudio ? beginPatiently() : begin(plan.options)
    if line.isShown {
      let options = plan.options
      let end = options.until.map { engine.loop.wallNow.duration(to: $0) } ?? options.duration
      line.total = end.map {
        Double($0.nanoseconds) / 1e9 + recording.seconds * (options.until == nil ? 0 : 1)
      }
      listen(to: stream)
    }
    if line.isShown {
      var isCancelled = false
      while !isCancelled, recording.state == .recording || recording.state == .waiting {
        line.show(recording, stream)
        do { try await engine.loop.sleep(for: Self.tick) } catch { isCancelled = true }
      }
    } else {
      // Its failure is thrown again below.
      try? await recording.ended()
    }
    stream.stop()
    do { try await recording.stop() } catch let error as any CodedError { failure = error }
    line.show(recording, stream)
  }

  // MARK: The beginning

  private func begin(_ options: RecordingOptions) async throws -> (StreamKit.Stream, Recording) {
    let stream = try engine.streams.stream(plan.url)
    var isThere = false
    stream.onEvent = { [line, engine] event in
      switch event {
      case .failed(let error) where isThere && line.isShown:
        engine.onLog(.warn, "\(error.message) (\(error.code))", [])
      case .reconnected: line.reconnects += 1
      default: break
      }
    }
    let recording = try await stream.record(options, by: engine.recorder) { [unowned self] recording in
      self.recording = recording
      recording.onEvent = { [unowned self] in take($0) }
    }
    isThere = true
    return (stream, recording)
  }

  /// Tries again until there is sound, for as long as was to be recorded: what comes then is something else, also when
  /// the sound comes late.
  private func beginPatiently() async throws -> (StreamKit.Stream, Recording) {
    var (pause, told) = (Self.firstPause, String?.none)
    let loop = engine.loop
    let start = loop.wallNow
    let end = plan.options.until ?? plan.options.duration.map { start.advanced(by: $0) }
    var options = plan.options
    while true {
      var failure: StreamError?
      do {
        let begun = try await begin(options)
        if told != nil { late = start.duration(to: loop.wallNow) }
        return begun
      } catch let error as StreamError {
        switch error.kind {
        case .url, .unsupported, .inUse: throw error
        default: failure = error
        }
      }
      guard let failure else { continue }
      if let end, loop.wallNow >= end { throw failure }
      if told != failure.message {
        // Where nobody watches, the first says what all are about; what has an end tells there.
        if line.isShown || told == nil && !(plan.isQuiet && end != nil) {
          engine.onLog(.info, "\(failure.message) (\(failure.code)); trying again", [])
        }
        told = failure.message
      }
      let wait = max(pause, min(failure.retryAfter ?? .zero, Self.longestWish))
      try await loop.sleep(for: min(wait, end.map { loop.wallNow.duration(to: $0) } ?? wait))
      if let end, loop.wallNow >= end { throw failure }
      pause = min(pause * 2, Self.lastPause)
      (options.duration, options.until) = (nil, end)
    }
  }

  private func take(_ event: RecordingEvent) {
    switch event {
    case .stopped(let error) where line.isShown:
      // What it does not go on after is told at the end.
      guard recording?.state == .waiting else { break }
      engine.onLog(.warn, error.description, [])
    case .track, .stopped, .finished: break
    }
  }

  /// What is only recorded is not decoded: its level is known where it also plays, without being heard.
  private func listen(to stream: StreamKit.Stream) {
    stream.isMetered = true
    stream.options.bufferWait = .seconds(1)
    engine.loop.start { try? await stream.start() }
  }

  // MARK: The end

  /// `recorded /radio/show.mp3, 1:00:00, 58 MB, 2 gaps (8.5 s)`; nil when there is nothing.
  var summary: String? {
    guard let recording, !recording.path.isEmpty else { return nil }
    let count = recording.paths.count
    let name = count > 1 ? "\(count) files, the last \(recording.path)" : recording.path
    let gaps = RecordingText.gaps(recording.gaps).map { ", gaps: \($0)" } ?? ""
    return "recorded \(name), \(RecordingText.clock(recording.seconds)), "
      + "\(ByteSize.describe(recording.bytes))\(gaps)".onOneLine
  }

  /// What of it is missing, when that is more than a flaw.
  var missing: MissingSound? {
    recording.flatMap { MissingSound(late: late, seconds: $0.seconds, gaps: $0.gaps) }
  }
}
