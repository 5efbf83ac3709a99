public import EventLoop
public import Playback
public import RecordingKit
public import StreamCore

/// A recording of one station for a command, from the first connection to the closed file. Confined to the loop.
public final class StationRecording {
  /// An event that may interest a person.
  public enum Event {
    /// An attempt to begin failed, as the first one or in a new way; more attempts follow.
    case retrying(StreamError, isFirst: Bool)
    /// A connection failed after sound had come; another one follows by itself.
    case failed(StreamError)
    /// Sound comes again after a connection was lost.
    case reconnected
    /// Writing pauses until the disk has room.
    case waiting(any CodedError)
  }

  /// The recording, once it was made.
  public private(set) var recording: Recording?
  /// The time that passed before the station was heard at first; zero where the first attempt succeeded.
  public private(set) var delay = Duration.zero

  private let station: NamedStations.Station
  private let options: RecordingOptions
  private let streams: StreamService
  private let recordings: RecordingService
  /// The cause of the recording.
  private let cause: Cause?
  private let report: (Event) -> Void
  /// The stream of the last attempt.
  private var stream: HouseStream?
  private var loop: EventLoop { streams.loop }

  /// The delay between attempts to begin.
  private static let retryDelay = Backoff(from: .seconds(2), upTo: .seconds(30))
  /// The longest pause that a server may ask for.
  private static let longestRetryAfter = Duration.seconds(3600)

  /// Creates a recording that has not begun.
  /// - Parameters:
  ///   - cause: the cause of the recording among the changes of the house.
  ///   - report: receives the events, on the loop.
  public init(
    of station: NamedStations.Station, _ options: RecordingOptions, streams: StreamService,
    recordings: RecordingService, cause: Cause? = nil, report: @escaping (Event) -> Void = { _ in }
  ) {
    (self.station, self.options, self.streams) = (station, options, streams)
    (self.recordings, self.cause, self.report) = (recordings, cause, report)
  }

  /// Begins to record.
  /// - Parameter retries: `true` if failed attempts are repeated, during the planned time of the recording.
  /// - Returns: the stream and its recording, when its first frame is on disk.
  /// - Throws: `StreamError` of the last attempt, `RecordError`, `CancellationError`.
  public func begin(retries: Bool) async throws -> (Playback.Stream, Recording) {
    try await retries ? beginWithRetries() : begin(options)
  }

  private func begin(_ options: RecordingOptions) async throws -> (Playback.Stream, Recording) {
    let stream = streams.stream(
      station, options: try await streams.named.options(for: station.name, on: streams.loop))
    self.stream = stream
    // Failures before the first sound are dropped, except about its format; one that ends the attempt is
    // thrown.
    var (hasSound, early) = (false, [StreamError]())
    stream.listen { [weak self] event in
      switch event {
      case .stream(.failed(let error)) where hasSound: self?.report(.failed(error))
      case .stream(.failed(let error)): if error.kind == .unsupported { early.append(error) }
      case .stream(.reconnected): self?.report(.reconnected)
      case .stream, .suspension: break
      }
    }
    let recording = try await stream.stream.record(options, by: recordings.recorder) { recording in
      self.recording = recording
      recording.onEvent { [weak self] event in self?.receive(event) }
    }
    recordings.record(.recording, recordings.shownPath(recording.paths.first ?? recording.path), cause)
    hasSound = true
    for error in early { report(.failed(error)) }
    return (stream.stream, recording)
  }

  /// Repeats attempts until there is sound. The end stays where it was planned, also when the sound comes
  /// late: after it, another programme begins.
  private func beginWithRetries() async throws -> (Playback.Stream, Recording) {
    var (retryDelay, reported) = (Self.retryDelay, String?.none)
    let start = loop.wallNow
    let end = options.until ?? options.duration.map { start.advanced(by: $0) }
    var options = options
    while true {
      let failure: StreamError
      do {
        let begun = try await begin(options)
        if reported != nil { delay = start.duration(to: loop.wallNow) }
        return begun
      } catch let error as StreamError {
        switch error.kind {
        case .url, .unsupported, .inUse: throw error
        default: failure = error
        }
      }
      if let end, loop.wallNow >= end { throw failure }
      if reported != failure.message {
        report(.retrying(failure, isFirst: reported == nil))
        reported = failure.message
      }
      let wait = max(retryDelay.next(), min(failure.retryAfter ?? .zero, Self.longestRetryAfter))
      try await loop.sleep(for: min(wait, end.map { loop.wallNow.duration(to: $0) } ?? wait))
      if let end, loop.wallNow >= end { throw failure }
      (options.duration, options.until) = (nil, end)
    }
  }

  private func receive(_ event: RecordingEvent) {
    switch event {
    // The error of a recording that does not continue is thrown at its end.
    case .stopped(let error):
      if let path = recording?.path, !path.isEmpty {
        recordings.report(error, of: recordings.shownPath(path), cause)
      }
      if recording?.state == .waiting { report(.waiting(error)) }
    case .finished(let path, let seconds, _):
      recordings.report(recordings.shownPath(path), seconds: seconds, cause)
    case .track, .continued: break
    }
  }
}
