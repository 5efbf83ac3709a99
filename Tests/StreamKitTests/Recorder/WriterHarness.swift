import EventLoop
import TestSupport

@testable import RecordingKit
@testable import StreamCore

extension RecordingQueue {
  /// Appends one frame, as a batch of its own.
  func append(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) {
    var batch = Batch()
    batch.append(frame, bytes)
    append(batch)
  }

  /// Marks a title of the frames that follow.
  func mark(_ title: StreamTitle) { mark(.title(title)) }
  /// Marks a gap in front of the frames that follow.
  func miss(_ seconds: Double) { mark(.gap(seconds: seconds)) }

  private func mark(_ mark: Mark) {
    var batch = Batch()
    batch.mark(mark)
    append(batch)
  }
}

/// A test harness: one writer, whose ticks are called by the test.
final class WriterHarness {
  let folder: TemporaryFolder
  let programme: FrameProgramme
  let queue = RecordingQueue()
  let progress = RecordingProgress()
  let core: RecorderCore
  private(set) var writer: RecordingWriter!
  private(set) var reported: [String] = []
  /// The files whose name changed at their end.
  private(set) var closed: [String] = []
  private let loop: EventLoop
  private let start: WallTime
  private var tick = 0
  /// The number of the frame that comes next.
  var frame = 0

  /// Creates a harness in a folder.
  /// - Parameter log: receives each line of the log.
  init(
    _ template: String, _ change: (inout RecordingOptions) -> Void = { _ in },
    settings: RecorderSettings = .init(), in folder: TemporaryFolder? = nil,
    of programme: FrameProgramme? = nil, from start: Double = 1_000_000,
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) throws {
    self.folder = try folder ?? TemporaryFolder()
    self.start = WallTime(inSeconds: start)
    loop = EventLoop(clock: .virtual(start: self.start))
    self.programme = try programme ?? FrameProgramme(.mp3, seconds: 30, seed: 3)
    var options = RecordingOptions(template: self.folder.file(template))
    change(&options)
    core = RecorderCore(loop: loop, settings: settings, localTime: { LocalTime($0) }, log: log)
    let files = RecordingFiles(
      options, try RecordingTemplate(options.template),
      .init(address: "http://radio/", station: StationName()),
      core)
    writer = RecordingWriter(queue, files, progress) { [unowned self] event in
      switch event {
      case .began(let path): reported.append("began \(path.split(separator: "/").last ?? "")")
      case .closed(let reported, let path):
        closed.append(
          "\(reported.split(separator: "/").last ?? "") \(path?.split(separator: "/").last ?? "-")")
      case .continued(_, let gap, let overlap):
        let joins = overlap.map { "exactly, \($0) again" } ?? "behind \(Int((gap * 10).rounded())) tenths"
        reported.append("continued \(joins)")
      case .track(_, let title): reported.append("track \(title ?? "-")")
      case .stopped(let error, _): reported.append("stopped \(error.code)")
      case .finished(let path): reported.append("finished \(path?.split(separator: "/").last ?? "-")")
      }
    }
  }

  deinit { loop.close() }

  /// Appends so many seconds of the programme.
  func come(_ seconds: Double) {
    var left = seconds
    while left > 0 {
      let next = programme.frames[frame]
      let bytes = Array(programme.bytes[next.offset..<(next.offset + next.length)])
      bytes.withUnsafeBytes { queue.append(next, $0) }
      (frame, left) = (frame + 1, left - next.duration.seconds)
    }
  }

  /// Advances the clock by half a second, and ticks.
  func pass() {
    tick += 1
    writer.tick(
      at: Instant.start.advanced(by: .milliseconds(500) * tick),
      start.advanced(by: .milliseconds(500) * tick))
  }

  /// Writes the rows of the open files, as the core does now and then.
  func keepRows() { for entry in writer.entries { core.update(entry) } }

  /// Ends the recording.
  func end() {
    writer.finish(
      at: Instant.start.advanced(by: .milliseconds(500) * tick),
      start.advanced(by: .milliseconds(500) * tick))
  }

  /// The names of the files, sorted.
  var files: [String] { fileNames(in: folder.path).sorted() }
}
