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
  private var paths: [String] = []
  /// Why it is not on disk as it should be, also when a signal ended it.
  private(set) var failure: (any CodedError)?

  /// How often what is shown is drawn anew, and how soon the end is seen.
  private static let tick = Duration.milliseconds(250)
  /// Between two attempts to hear a station for the first time: doubled each time, up to the last.
  private static let (firstPause, lastPause) = (Duration.seconds(2), Duration.seconds(30))

  init(_ plan: RecordCommand.Plan, _ engine: Engine, _ line: RecordingLine) {
    (self.plan, self.engine, self.line) = (plan, engine, line)
  }

  /// Records to the end, or until its task is cancelled; returns when all is safe on disk.
  func record() async throws {
    let (stream, recording) = try await plan.waitsForAudio ? beginPatiently() : begin()
    if line.isShown { listen(to: stream) }
    var isCancelled = false
    while !isCancelled, recording.state == .recording || recording.state == .waiting {
      line.show(recording, stream)
      do { try await engine.loop.sleep(for: Self.tick) } catch { isCancelled = true }
    }
    stream.stop()
    do { try await recording.stop() } catch let error as any CodedError { failure = error }
    line.show(recording, stream)
  }

  // MARK: The beginning

  private func begin() async throws -> (StreamKit.Stream, Recording) {
    let stream = try engine.streams.stream(plan.url)
    var isThere = false
    stream.onEvent = { [line, engine] event in
      switch event {
      case .failed(let error) where isThere && line.isShown:
        line.clear()
        engine.onLog(.warn, "\(error.message) (\(error.code))", [])
      case .reconnected: line.reconnects += 1
      default: break
      }
    }
    let recording = try await stream.record(plan.options, by: engine.recorder) { [unowned self] recording in
      self.recording = recording
      recording.onEvent = { [unowned self] in take($0) }
    }
    isThere = true
    return (stream, recording)
  }

  /// Tries again until there is sound, for as long as was to be recorded: what comes then is something else.
  private func beginPatiently() async throws -> (StreamKit.Stream, Recording) {
    var (pause, told) = (Self.firstPause, String?.none)
    let loop = engine.loop
    let end = plan.options.until ?? plan.options.duration.map { loop.wallNow.advanced(by: $0) }
    while true {
      var failure: StreamError?
      do { return try await begin() } catch let error as StreamError {
        switch error.kind {
        case .url, .unsupported, .inUse: throw error
        default: failure = error
        }
      }
      guard let failure else { continue }
      if let end, loop.wallNow >= end { throw failure }
      if line.isShown, told != failure.message {
        told = failure.message
        engine.onLog(.info, "\(failure.message) (\(failure.code)); trying again", [])
      }
      try await loop.sleep(for: min(pause, end.map { loop.wallNow.duration(to: $0) } ?? pause))
      pause = min(pause * 2, Self.lastPause)
    }
  }

  private func take(_ event: RecordingEvent) {
    switch event {
    case .track(let path, _): if paths.last != path { paths.append(path) }
    case .stopped(let error) where line.isShown:
      // What it does not go on after is told at the end.
      guard recording?.state == .waiting else { break }
      line.clear()
      engine.onLog(.warn, error.description, [])
    case .stopped, .finished: break
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
    let files = paths.count > 1 ? "\(paths.count) files, the last \(recording.path)" : recording.path
    let gaps = RecordingText.gaps(recording.gaps).map { ", gaps: \($0)" } ?? ""
    return "recorded \(files), \(RecordingText.clock(recording.seconds)), "
      + "\(ByteSize.describe(recording.bytes))\(gaps)".onOneLine
  }
}
