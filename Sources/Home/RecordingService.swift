public import EventLoop
internal import Scheduling
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
  /// Records the beginnings and ends of recordings; nil for none that does.
  public var changes: ChangeLog?

  /// Reports what has become of a recording.
  /// - Parameter origin: the cause of its beginning.
  func report(_ report: RecordingReport, _ origin: Cause?) {
    guard let changes else { return onReport(report) }
    let cause = changes.current ?? origin
    changes.delivering(cause) { onReport(report) }
    switch report {
    case .began(let path): changes.record(.recording, of: .recording, path, cause: cause)
    case .finished(let path, let seconds):
      let length = DurationText.describe(.seconds(Int(seconds.rounded())))
      changes.record(.recorded, of: .recording, path, detail: length, cause: cause)
    case .failed(let path, let error):
      changes.record(.unrecorded, of: .recording, path, detail: error.description, cause: cause)
    }
  }

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
        report(.failed(path: shownPath(options.template), error), nil)
      }
      throw error
    }
    onSource(stream.stream.url)
    begun?.reportBeginning()
  }

  /// Returns the latest recording of the catalogue whose file is at `path`, or whose path ends with it; nil for none.
  /// - Throws: `record.write`, the error of the catalogue.
  public func entry(_ path: String) async throws -> RecordingEntry? {
    guard recorder.settings.catalogue != nil, !path.isEmpty else { return nil }
    return try await recorder.withLibrary { library in
      let entries = try library.list()
      return entries.first { $0.path == path } ?? entries.first { $0.path.hasSuffix("/" + path) }
    }
  }

  /// The path below the folder of recordings; the whole path for one elsewhere.
  public func shownPath(_ path: String) -> String {
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
  /// The cause of its beginning, and of its end once that is asked for.
  private var origin: Cause?
  private var isBeginningReported = false

  fileprivate init(_ recording: Recording, _ service: RecordingService) {
    (self.recording, self.service) = (recording, service)
    origin = service.changes?.current
    recording.onEvent = { [weak self] event in self?.receive(event) }
  }

  /// Keeps the cause of the command that ends it, whose event comes later.
  public func commandsEnd() { origin = service.changes?.current ?? origin }

  /// The cause of an event that is reported now.
  public var cause: Cause? { service.changes?.current ?? origin }
  /// The path below the folder of recordings, as reports have it.
  public var name: String { service.shownPath(recording.path) }

  /// True if no event can come any more.
  public var isOver: Bool { recording.state == .finished || recording.state == .failed }

  private func receive(_ event: RecordingEvent) {
    switch event {
    case .track, .continued: break
    // Never begun: that is thrown to the caller of `record`.
    case .stopped where recording.path.isEmpty: break
    case .stopped(let error):
      reportBeginning()
      service.report(.failed(path: service.shownPath(recording.path), error), origin)
    case .finished(let path, let seconds, _):
      reportBeginning()
      service.report(.finished(path: service.shownPath(path), seconds: seconds), origin)
    }
    onEvent(event)
  }

  /// Reports the beginning once, before all else.
  fileprivate func reportBeginning() {
    guard !isBeginningReported else { return }
    isBeginningReported = true
    service.report(.began(path: service.shownPath(recording.paths.first ?? recording.path)), origin)
  }
}
