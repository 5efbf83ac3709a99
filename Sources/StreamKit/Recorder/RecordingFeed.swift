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

    /// Bytes that more than one frame may have. What a burst brings is in several: memory in pieces that are alike
    /// serves every recording in turn.
    static let limit = 16 << 10
    private static let markLimit = 4096

    var isEmpty: Bool { frames.isEmpty && marks.isEmpty }
    /// Whether `length` bytes more are too many.
    func isFull(for length: Int) -> Bool { !frames.isEmpty && bytes.count + length > Self.limit }

    /// Takes memory for so much.
    mutating func reserve(bytes: Int, frames: Int) {
      self.bytes.reserveCapacity(bytes)
      self.frames.reserveCapacity(frames)
    }

    mutating func append(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) {
      self.bytes.append(contentsOf: bytes)
      frames.append(frame)
    }

    /// Puts a mark in front of the next frame.
    mutating func mark(_ mark: Mark) {
      if marks.count < Self.markLimit { marks.append((frames.count, mark)) }
    }

    /// About what it takes of memory.
    fileprivate var size: Int {
      marks.reduce(bytes.count) { size, mark in
        if case .title(let title) = mark.mark { size + 64 + title.text.utf8.count } else { size + 64 }
      }
    }
  }

  /// Bytes that wait for a disk that is slow, beside those that the recording begins with.
  static let byteLimit = 4 << 20
  /// Bytes from which on nothing more is read until the disk has taken them.
  static let behindLimit = 1 << 20

  private struct State {
    var batches: [Batch] = []
    /// In all batches.
    var bytes = 0
    var limit = RecordingFeed.byteLimit
    var isOpen = true
    var beginning = StreamTime.zero
    /// The end of the names of files whose bytes it receives; nil for the frames of a station.
    var fileEnd: String?
    /// More waits than should, and the disk has not taken it.
    var isBehind = false
    var onRoom: (@Sendable () -> Void)?

    /// Returns the call that is due as nothing waits any more.
    mutating func makeRoom() -> (@Sendable () -> Void)? {
      defer { isBehind = false }
      return isBehind ? onRoom : nil
    }

    /// Whether it takes more.
    var takes: Bool { isOpen && batches.last?.isOverrun != true }
  }

  private let state = Lock(State())
  private let whenFull: @Sendable () -> Void
  /// True if it may be a file that is recorded as it is.
  let takesFile: Bool

  /// - Parameter whenFull: called when more than a batch waits: a burst should not wait for a tick. On the thread that
  ///   receives.
  init(takesFile: Bool = true, whenFull: @escaping @Sendable () -> Void = {}) {
    (self.takesFile, self.whenFull) = (takesFile, whenFull)
  }

  /// The end of the names of files whose bytes it receives; nil for the frames of a station.
  var fileEnd: String? {
    get { state.withLock { $0.fileEnd } }
    set { state.withLock { $0.fileEnd = newValue } }
  }

  /// Takes what has come; nothing once it is closed.
  func append(_ batch: Batch) {
    guard !batch.isEmpty else { return }
    let size = batch.size
    let isFull = state.withLock { state in
      guard state.takes else { return false }
      guard state.bytes + size <= state.limit else {
        var overrun = Batch()
        overrun.isOverrun = true
        state.batches.append(overrun)
        return true
      }
      state.batches.append(batch)
      defer {
        state.bytes += size
        if state.bytes > Self.behindLimit { state.isBehind = true }
      }
      // Once: a disk that is slow need not be asked again and again.
      return state.bytes <= Batch.limit && state.bytes + size > Batch.limit
    }
    if isFull { whenFull() }
  }

  /// What has come by now may be more than the limit: it came from a buffer.
  func admitBeginning() { state.withLock { $0.limit = $0.bytes + Self.byteLimit } }

  /// What comes before `admitBeginning` is from a buffer: so much sound, without a limit.
  func awaitBeginning(_ length: StreamTime) { state.withLock { ($0.limit, $0.beginning) = (.max, length) } }

  /// The sound that it began with, which came before it was recorded.
  var beginning: StreamTime { state.withLock { $0.beginning } }

  /// True if so much waits for the disk that nothing more is to be read.
  var isBehind: Bool { state.withLock { $0.isBehind } }

  /// Has `tell` called when the disk has taken what waited, on its thread.
  func onRoom(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.onRoom = tell } }

  /// Nothing more is taken; what has come stays.
  func close() {
    let told = state.withLock { state in
      state.isOpen = false
      return state.makeRoom()
    }
    told?()
  }

  /// Puts all that has come behind `batches`.
  func take(into batches: inout [Batch]) {
    let told = state.withLock { state in
      batches += state.batches
      state.batches.removeAll(keepingCapacity: true)
      state.bytes = 0
      return state.makeRoom()
    }
    told?()
  }
}
