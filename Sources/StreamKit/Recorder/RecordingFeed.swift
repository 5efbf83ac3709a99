internal import EventLoop

/// Frames of one recording on their way from the thread that receives to the one that writes.
final class RecordingFeed: Sendable {
  /// What stands in front of a frame.
  enum Mark: Sendable, Equatable {
    case title(StreamTitle)
    /// About so many seconds are missing.
    case gap(seconds: Double)
  }

  /// Some of what has come, in its order.
  struct Batch: Sendable {
    /// The bytes of all frames, one behind the other.
    var bytes: [UInt8] = []
    var frames: [StreamFrame] = []
    /// By the index of the frame that they stand in front of; one that is not there yet for the last.
    var marks: [(frame: Int, mark: Mark)] = []
    /// Frames were lost as nobody took them: nothing follows.
    var isOverrun = false

    /// Of its frames.
    var length: StreamTime { frames.reduce(.zero) { $0 + $1.duration } }
    /// What is missing in it.
    var gaps: StreamTime {
      marks.reduce(.zero) { sum, mark in
        if case .gap(let seconds) = mark.mark { sum + StreamTime(seconds: seconds) } else { sum }
      }
    }
    /// The title that came last.
    var lastTitle: StreamTitle? {
      for case .title(let title) in marks.reversed().lazy.map(\.mark) { return title }
      return nil
    }

    fileprivate init(bytes: Int = 0, frames: Int = 0) {
      self.bytes.reserveCapacity(bytes)
      self.frames.reserveCapacity(frames)
    }
  }

  /// Bytes that wait for a disk that is slow, beside those that the recording begins with.
  static let byteLimit = 4 << 20
  /// Bytes of a batch. What a burst brings is in several: memory in pieces that are alike serves every recording in turn.
  private static let batchLimit = 16 << 10

  private struct State {
    var batches: [Batch] = []
    /// In all batches.
    var bytes = 0
    var limit = RecordingFeed.byteLimit
    var isOpen = true
    /// What has come by one tick: a batch takes so much memory at once.
    var usual = (bytes: RecordingFeed.batchLimit, frames: 0)
    var beginning = StreamTime.zero

    /// Whether it takes more.
    var takes: Bool { isOpen && batches.last?.isOverrun != true }

    /// Whether `length` bytes more are too many for the last batch.
    func isFull(for length: Int) -> Bool {
      batches.last.map { !$0.frames.isEmpty && $0.bytes.count + length > RecordingFeed.batchLimit } ?? false
    }

    /// The batch that takes what comes next, which is `length` bytes.
    mutating func withBatch(for length: Int, _ body: (inout Batch) -> Void) {
      if batches.isEmpty || isFull(for: length) {
        batches.append(Batch(bytes: usual.bytes, frames: usual.frames))
      }
      body(&batches[batches.count - 1])
    }
  }

  private let state = Lock(State())
  private let whenFull: @Sendable () -> Void

  /// - Parameter whenFull: called when a batch is full: a burst should not wait for a tick. On the thread that receives.
  init(whenFull: @escaping @Sendable () -> Void = {}) { self.whenFull = whenFull }

  /// Takes a frame behind `gap`; nothing once it is closed.
  func append(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, gap: Double?) {
    let isFull = state.withLock { state in
      guard state.takes else { return false }
      guard state.bytes + bytes.count <= state.limit else {
        state.withBatch(for: 0) { $0.isOverrun = true }
        return true
      }
      // Once: a disk that is slow need not be asked again and again.
      let isFull = state.batches.count == 1 && state.isFull(for: bytes.count)
      state.bytes += bytes.count
      state.withBatch(for: bytes.count) { batch in
        if let gap { batch.marks.append((batch.frames.count, .gap(seconds: gap))) }
        batch.bytes.append(contentsOf: bytes)
        batch.frames.append(frame)
      }
      return isFull
    }
    if isFull { whenFull() }
  }

  /// Takes the title of the frames that follow.
  func mark(_ title: StreamTitle) { mark(.title(title)) }

  /// About so many seconds are missing in front of the next frame.
  func miss(_ seconds: Double) { mark(.gap(seconds: seconds)) }

  private func mark(_ mark: Mark) {
    state.withLock { state in
      guard state.takes else { return }
      state.withBatch(for: 0) { batch in
        if batch.marks.count < Self.markLimit { batch.marks.append((batch.frames.count, mark)) }
      }
    }
  }

  /// Marks of a batch.
  private static let markLimit = 4096

  /// What has come by now may be more than the limit: it came from a buffer.
  func admitBeginning() { state.withLock { $0.limit = $0.bytes + Self.byteLimit } }

  /// What comes before `admitBeginning` is from a buffer: so much sound, without a limit.
  func awaitBeginning(_ length: StreamTime) { state.withLock { ($0.limit, $0.beginning) = (.max, length) } }

  /// The sound that it began with, which came before it was recorded.
  var beginning: StreamTime { state.withLock { $0.beginning } }

  /// Nothing more is taken; what has come stays.
  func close() { state.withLock { $0.isOpen = false } }

  /// Gives all that has come.
  func take() -> [Batch] {
    state.withLock { state in
      defer { (state.batches, state.bytes) = ([], 0) }
      // A tick is not quite like the other.
      let bytes = state.bytes + state.bytes / 4
      if let batch = state.batches.first, !batch.frames.isEmpty, bytes <= Self.batchLimit {
        state.usual = (bytes, batch.frames.count + batch.frames.count / 4)
      }
      return state.batches
    }
  }
}
