internal import EventLoop
internal import JSONText
internal import Playback
public import RecordingKit

/// The recordings of an engine, for scripts and commands. Confined to the loop.
public final class RecordingService {
  /// The recorder, which writes and keeps the catalogue.
  public let recorder: Recorder
  /// The journal of the beginnings and ends of recordings that `record` begins; nil without one.
  public var journal: Journal?

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
        report(error, of: shownPath(options.template), nil)
      }
      throw error
    }
    journal?.report(.source, stream.stream.url, to: .number(1))
    begun?.reportBeginning()
  }

  /// Records a change of the state of a recording.
  /// - Parameter origin: the cause of its beginning.
  func record(
    _ kind: JournalEntry.Kind, _ path: String, _ origin: Cause?, detail: String? = nil,
    _ facts: [JournalEntry.Fact] = []
  ) {
    journal?.record(
      kind, of: .recording, path, detail: detail, facts: facts, cause: journal?.current ?? origin)
  }

  /// Records the end of a recording, with that many seconds of sound.
  func report(_ path: String, seconds: Double, _ origin: Cause?) {
    record(
      .recorded, path, origin, detail: JournalText.text(of: .seconds(Int(seconds.rounded()))),
      [.init("seconds", .decimal(seconds))])
  }

  /// Records the failure of a recording.
  func report(_ error: any CodedError, of path: String, _ origin: Cause?) {
    record(
      .unrecorded, path, origin, detail: "\(error.message) (\(error.code))",
      [.init("message", .string(error.message)), .init("code", .string(error.code))]
        + (error.hint.map { [.init("hint", .string($0))] } ?? []))
  }

  /// Returns the latest recording of the catalogue whose file is at `path`, or whose path ends with it; nil
  /// without one.
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

/// A recording whose events go to a listener and, in short, to the journal of the service. Confined to the loop.
public final class HouseRecording {
  /// The recording itself, whose events this object receives.
  public let recording: Recording
  private var listeners = Listeners<(RecordingEvent) -> Void>()
  private unowned let service: RecordingService
  /// The cause of its beginning, and of its end once that was requested.
  private var origin: Cause?
  private var isBeginningReported = false

  fileprivate init(_ recording: Recording, _ service: RecordingService) {
    (self.recording, self.service) = (recording, service)
    origin = service.journal?.current
    recording.onEvent { [weak self] event in self?.receive(event) }
  }

  /// Calls `listener` with every event, after its report.
  public func onEvent(_ listener: @escaping (RecordingEvent) -> Void) { _ = listeners.add(listener) }

  /// Keeps the cause of the command that ends it, whose event comes later.
  public func commandsEnd() { origin = service.journal?.current ?? origin }

  /// The cause of an event that is reported now.
  public var cause: Cause? { service.journal?.current ?? origin }
  /// The path below the folder of recordings, as in reports.
  public var name: String { service.shownPath(recording.path) }

  /// `true` if no event can come any more.
  public var isOver: Bool { recording.state == .finished || recording.state == .failed }

  private func receive(_ event: RecordingEvent) {
    switch event {
    case .track, .continued: break
    // The recording has never begun: the error is thrown to the caller of `record`.
    case .stopped where recording.path.isEmpty: break
    case .stopped(let error):
      reportBeginning()
      service.report(error, of: service.shownPath(recording.path), origin)
    case .finished(let path, let seconds, _):
      reportBeginning()
      service.report(service.shownPath(path), seconds: seconds, origin)
    }
    for listener in listeners.all { listener(event) }
  }

  /// Reports the beginning once, before all else.
  fileprivate func reportBeginning() {
    guard !isBeginningReported else { return }
    isBeginningReported = true
    service.record(.recording, service.shownPath(recording.paths.first ?? recording.path), origin)
  }
}
