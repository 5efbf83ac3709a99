public import EventLoop
public import StreamKit

/// An event of a recording, for a person who follows the house. Paths are relative to the folder of recordings.
public enum RecordingReport {
  /// Sound goes into a file.
  case began(path: String)
  /// The recording has ended, with that many seconds of sound.
  case finished(path: String, seconds: Double)
  /// The recording did not begin, or can't continue.
  case failed(path: String, any CodedError)
}

/// The recordings of an engine, for scripts and commands. Confined to the loop.
public final class RecordingService {
  /// The recorder, which writes and keeps the catalogue.
  public let recorder: Recorder
  /// Receives the reports of recordings that `record` begins.
  public var onReport: (RecordingReport) -> Void = { _ in }

  /// Receives the URL of each stream that is recorded.
  public var onSource: (String) -> Void = { _ in }

  /// Creates a service that records with `recorder`.
  public init(_ recorder: Recorder) { self.recorder = recorder }

  /// Records a stream, and reports the recording as long as its object lives.
  /// - Parameter made: receives the recording before its first event.
  /// - Returns: the recording, once its first frame is on disk.
  /// - Throws: the error of the first connection, `RecordError`, `CancellationError`.
  public func record(
    _ stream: HouseStream, _ options: RecordingOptions, made: (HouseRecording) -> Void
  ) async throws {
    var begun: HouseRecording?
    do {
      _ = try await stream.stream.record(options, by: recorder) { recording in
        let new = HouseRecording(recording, self)
        begun = new
        made(new)
      }
    } catch {
      if let error = error as? any CodedError {
        onReport(.failed(path: shownPath(options.template), error))
      }
      throw error
    }
    onSource(stream.stream.url)
    begun?.reportBeginning()
  }

  /// The path below the folder of recordings; the whole path for one elsewhere.
  fileprivate func shownPath(_ path: String) -> String {
    var rest = path[...]
    for start in [recorder.settings.root, recorder.settings.folder] {
      if let start, !start.isEmpty, rest.hasPrefix(start) { rest = rest.dropFirst(start.count) }
    }
    return rest.count == path.count ? path : String(rest.drop { $0 == "/" })
  }
}

/// A recording whose events go to a listener and, in short, to the reports of the service. Confined to the loop.
public final class HouseRecording {
  /// The recording itself, whose events this object receives.
  public let recording: Recording
  /// Receives every event, after its report.
  public var onEvent: (RecordingEvent) -> Void = { _ in }
  private unowned let service: RecordingService
  private var isBeginningReported = false

  fileprivate init(_ recording: Recording, _ service: RecordingService) {
    (self.recording, self.service) = (recording, service)
    recording.onEvent = { [weak self] event in self?.receive(event) }
  }

  /// True if no event can come any more.
  public var isOver: Bool { recording.state == .finished || recording.state == .failed }

  private func receive(_ event: RecordingEvent) {
    switch event {
    case .track: break
    // Never begun: that is thrown to the caller of `record`.
    case .stopped where recording.path.isEmpty: break
    case .stopped(let error):
      reportBeginning()
      service.onReport(.failed(path: service.shownPath(recording.path), error))
    case .finished(let path, let seconds, _):
      reportBeginning()
      service.onReport(.finished(path: service.shownPath(path), seconds: seconds))
    }
    onEvent(event)
  }

  /// Reports the beginning once, before all else.
  fileprivate func reportBeginning() {
    guard !isBeginningReported else { return }
    isBeginningReported = true
    service.onReport(.began(path: service.shownPath(recording.paths.first ?? recording.path)))
  }
}
