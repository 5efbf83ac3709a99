/// The states of a recording, and the actions that follow from each event. Knows no stream, queue, file or
/// thread.
///
/// | phase | finish, failure of the stream | failure of the disk | end of writing |
/// | --- | --- | --- | --- |
/// | open | ending | over | over |
/// | ending | | over | over |
struct RecordingMachine {
  /// The phase of a recording.
  enum Phase {
    /// Frames are written as they come.
    case open(Disk)
    /// The end was requested: received sound is still written. With the failure that ended the stream, if
    /// there was one.
    case ending(Disk, (any Error)?)
    /// Every file is closed.
    case over((any Error)?)
  }

  /// The state of writing.
  struct Disk: Equatable {
    /// `true` once the first frame is on disk.
    var hasFrames = false
    /// `true` while writing waits for room.
    var isWaiting = false
  }

  /// An action of a recording; actions are performed in the given order.
  enum Action {
    /// Ends the flow of frames into the queue.
    case detach
    /// Requests the end of writing from the disk thread.
    case requestEnd
    /// Removes the recording from its stream.
    case leaveStream
    case reportStopped(any Error)
    case reportFinished
    /// Ends the calls that wait for the first frame.
    case endBeginning(Result<Void, any Error>)
    /// Ends the calls that wait for the end.
    case endEnding(Result<Void, any Error>)
  }

  private(set) var phase = Phase.open(Disk())

  var state: Recording.State {
    switch phase {
    case .open(let disk), .ending(let disk, _): disk.isWaiting ? .waiting : .recording
    case .over(nil): .finished
    case .over: .failed
    }
  }

  /// The result of waiting for the first frame; nil until it is on disk.
  var beginning: Result<Void, any Error>? {
    switch phase {
    case .open(let disk), .ending(let disk, _): disk.hasFrames ? .success(()) : nil
    case .over(let failure): failure.map { .failure($0) } ?? .success(())
    }
  }

  /// The result of the recording; nil before its end.
  var result: Result<Void, any Error>? {
    guard case .over(let failure) = phase else { return nil }
    return failure.map { .failure($0) } ?? .success(())
  }

  /// Ends the recording.
  mutating func finish() -> [Action] { end(nil) }

  /// Ends the recording, as its stream has failed: the first failure counts.
  mutating func fail(_ error: any Error) -> [Action] { end(error) }

  private mutating func end(_ failure: (any Error)?) -> [Action] {
    switch phase {
    case .open(let disk):
      phase = .ending(disk, failure)
      return [.detach, .requestEnd]
    case .ending(let disk, let first):
      phase = .ending(disk, first ?? failure)
      return []
    case .over: return []
    }
  }

  /// Notes that the first frame is on disk.
  mutating func began() -> [Action] {
    changeDisk { $0.hasFrames = true }
    return [.endBeginning(.success(()))]
  }

  /// Notes that a file is written, also after a wait for room.
  mutating func continued() { changeDisk { $0.isWaiting = false } }

  /// Notes that writing waits for room.
  mutating func paused() { changeDisk { $0.isWaiting = true } }

  private mutating func changeDisk(_ body: (inout Disk) -> Void) {
    switch phase {
    case .open(var disk):
      body(&disk)
      phase = .open(disk)
    case .ending(var disk, let failure):
      body(&disk)
      phase = .ending(disk, failure)
    case .over: break
    }
  }

  /// Handles a disk thread that has given up, or does not answer; later reports of it are ignored.
  mutating func stopped(_ error: any Error) -> [Action] {
    if case .over = phase { return [] }
    let hadFrames = hasFrames
    phase = .over(error)
    return [.detach, .leaveStream, .reportStopped(error)] + ends(.failure(error), hadFrames)
  }

  /// Handles the end of writing: the disk thread has closed every file, and sends no further report.
  /// - Parameter silence: the failure of a recording that its own schedule has ended before the first frame.
  mutating func finished(silence: any Error) -> [Action] {
    let failure: (any Error)?
    switch phase {
    case .open(let disk): failure = disk.hasFrames ? nil : silence
    case .ending(_, let first): failure = first
    case .over: return []
    }
    let hadFrames = hasFrames
    phase = .over(failure)
    var report: [Action] = []
    // Without a frame, the calls that wait for the first one receive the failure.
    if hadFrames { report = [failure.map { .reportStopped($0) } ?? .reportFinished] }
    return [.detach, .leaveStream] + report + ends(failure.map { .failure($0) } ?? .success(()), hadFrames)
  }

  private var hasFrames: Bool {
    switch phase {
    case .open(let disk), .ending(let disk, _): disk.hasFrames
    case .over: false
    }
  }

  private func ends(_ result: Result<Void, any Error>, _ hadFrames: Bool) -> [Action] {
    let beginning = hadFrames ? .success(()) : result.flatMap { .failure(CancellationError()) }
    return [.endBeginning(beginning), .endEnding(result)]
  }
}
