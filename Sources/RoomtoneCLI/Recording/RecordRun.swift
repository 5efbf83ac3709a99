internal import EventLoop
internal import Home
internal import Playback
internal import RecordingKit
internal import Roomtone
internal import StreamCore

/// A run of `roomtone record`, from the first connection to the closed file. Confined to the loop.
final class RecordRun {
  private let plan: RecordCommand.Plan
  private let engine: Engine
  private let line: RecordingLine
  private let cause: Cause
  private lazy var station = StationRecording(
    of: plan.station, plan.options, streams: engine.streams, recordings: engine.recordings, cause: cause
  ) { [unowned self] event in receive(event) }
  /// Failure to write the recording, also when a signal ended it; nil without a failure.
  private(set) var failure: (any CodedError)?

  /// The interval at which the line on a terminal is drawn anew.
  private static let tick = Duration.milliseconds(250)

  init(_ plan: RecordCommand.Plan, _ engine: Engine, _ line: RecordingLine) {
    (self.plan, self.engine, self.line) = (plan, engine, line)
    let now = engine.loop.wallNow
    cause =
      plan.options.job.map { Cause(.job, $0, detail: "roomtone record", at: now) }
      ?? Cause(.person, "the shell", at: now)
  }

  /// Records to the end, or until its task is cancelled; returns when all data is safe on disk.
  func record() async throws {
    let (stream, recording) = try await station.begin(retries: plan.waitsForAudio)
    if line.isShown {
      let options = plan.options
      let end = options.until.map { engine.loop.wallNow.duration(to: $0) } ?? options.duration
      line.total = end.map {
        $0.inSeconds + recording.seconds * (options.until == nil ? 0 : 1)
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

  private func receive(_ event: StationRecording.Event) {
    switch event {
    case .retrying(let error, let isFirst):
      // Without a visible line only the first failure is logged; a quiet run with an end reports at its end.
      let hasEnd = plan.options.until != nil || plan.options.duration != nil
      if line.isShown || isFirst && !(plan.isQuiet && hasEnd) {
        engine.onLog(.info, "\(error.message) (\(error.code)); trying again", [])
      }
    case .failed(let error):
      // The summary counts a lost connection as a gap, but does not contain an unsupported format.
      if line.isShown || error.kind == .unsupported {
        engine.onLog(.warn, "\(error.message) (\(error.code))", [])
      }
    case .reconnected: line.reconnects += 1
    case .waiting(let error): if line.isShown { engine.onLog(.warn, error.description, []) }
    }
  }

  /// Plays the stream without output: a stream that is only recorded is not decoded, and has no level.
  private func listen(to stream: Playback.Stream) {
    stream.isMetered = true
    stream.options.bufferWait = .seconds(1)
    engine.loop.start { try? await stream.start() }
  }

  // MARK: The end

  /// Summary line: `recorded /radio/show.mp3, 1:00:00, 58 MB, 2 gaps (8.5 s)`; nil without a file.
  var summary: String? {
    guard let recording = station.recording, !recording.path.isEmpty else { return nil }
    let count = recording.paths.count
    let name = count > 1 ? "\(count) files, the last \(recording.path)" : recording.path
    let gaps = RecordingText.gaps(recording.gaps).map { ", gaps: \($0)" } ?? ""
    return "recorded \(name), \(RecordingText.clock(recording.seconds)), "
      + "\(ByteSize.describe(recording.bytes))\(gaps)".onOneLine
  }

  /// The missing part, when it is large enough to be reported.
  var missing: MissingSound? {
    station.recording.flatMap { MissingSound(late: station.delay, seconds: $0.seconds, gaps: $0.gaps) }
  }
}
