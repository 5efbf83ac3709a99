internal import EventLoop
internal import Home
internal import LuaModules
internal import Roomtone
internal import StreamKit

/// A run of `roomtone record`, from the first connection to the closed file. Confined to the loop.
final class RecordRun {
  private let plan: RecordCommand.Plan
  private let engine: Engine
  private let line: RecordingLine
  private var recording: Recording?
  /// Time before the first sound of the station.
  private var late = Duration.zero
  /// Failure to write the recording, also when a signal ended it; nil for none.
  private(set) var failure: (any CodedError)?

  /// The interval at which the line on a terminal is drawn anew.
  private static let tick = Duration.milliseconds(250)
  /// First and last retry delay of the first connection; doubled each time.
  private static let (firstPause, lastPause) = (Duration.seconds(2), Duration.seconds(30))
  /// Maximum retry delay that a server may request instead.
  private static let longestWish = Duration.seconds(3600)

  init(_ plan: RecordCommand.Plan, _ engine: Engine, _ line: RecordingLine) {
    (self.plan, self.engine, self.line) = (plan, engine, line)
  }

  /// Records to the end, or until its task is cancelled; returns when all data is safe on disk.
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
    let stream = try engine.streams.stream(plan.url).stream
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

  /// Retries until there is sound, until the end of the planned time: later sound belongs to another
  /// programme, also after a late start.
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
        // Without a terminal only the first failure is logged; a quiet run with an end reports it there.
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
      // A failure without a retry is reported at the end.
      guard recording?.state == .waiting else { break }
      engine.onLog(.warn, error.description, [])
    case .track, .stopped, .finished: break
    }
  }

  /// Plays the stream without output: a stream that is only recorded is not decoded, and has no level.
  private func listen(to stream: StreamKit.Stream) {
    stream.isMetered = true
    stream.options.bufferWait = .seconds(1)
    engine.loop.start { try? await stream.start() }
  }

  // MARK: The end

  /// Summary line: `recorded /radio/show.mp3, 1:00:00, 58 MB, 2 gaps (8.5 s)`; nil without a file.
  var summary: String? {
    guard let recording, !recording.path.isEmpty else { return nil }
    let count = recording.paths.count
    let name = count > 1 ? "\(count) files, the last \(recording.path)" : recording.path
    let gaps = RecordingText.gaps(recording.gaps).map { ", gaps: \($0)" } ?? ""
    return "recorded \(name), \(RecordingText.clock(recording.seconds)), "
      + "\(ByteSize.describe(recording.bytes))\(gaps)".onOneLine
  }

  /// The missing part, when it is large enough to be reported.
  var missing: MissingSound? {
    recording.flatMap { MissingSound(late: late, seconds: $0.seconds, gaps: $0.gaps) }
  }
}
