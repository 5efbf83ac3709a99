internal import EventLoop

/// Frames of one recording on their way from the thread that receives to the one that writes.
final class RecordingFeed: Sendable {
  /// What stands in front of a frame.
  enum Mark: Sendable, Equatable {
    case title(StreamTitle)
    /// About so many seconds are missing.
    case gap(seconds: Double)
  }

  /// What has come since the last was taken.
  struct Batch: Sendable {
    /// The bytes of all frames, one behind the other.
    var bytes: [UInt8] = []
    var frames: [StreamFrame] = []
    /// By the index of the frame that they stand in front of; one that is not there yet for the last.
    var marks: [(frame: Int, mark: Mark)] = []
    /// Frames were lost as nobody took them: nothing follows.
    var isOverrun = false

    var isEmpty: Bool { frames.isEmpty && marks.isEmpty && !isOverrun }

    /// What a tick brings at 320 kbit/s.
    private static let usualBytes = 32 << 10
    private static let usualFrames = 64

    /// Keeps the memory, save for what a burst took: that would be there for as long as the recording.
    mutating func removeAll() {
      bytes.removeAll(keepingCapacity: bytes.capacity <= Self.usualBytes)
      frames.removeAll(keepingCapacity: frames.capacity <= Self.usualFrames)
      marks.removeAll()
      isOverrun = false
    }
  }

  /// Bytes that wait for a disk that is slow, beside those that the recording begins with.
  static let byteLimit = 4 << 20

  private struct State {
    var batch = Batch()
    var limit = RecordingFeed.byteLimit
    var isOpen = true
  }

  private let state = Lock(State())

  /// Takes a frame behind `gap`; nothing once it is closed.
  func append(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, gap: Double?) {
    state.withLock { state in
      guard state.isOpen, !state.batch.isOverrun else { return }
      guard state.batch.bytes.count + bytes.count <= state.limit else { return state.batch.isOverrun = true }
      if let gap { state.batch.marks.append((state.batch.frames.count, .gap(seconds: gap))) }
      state.batch.bytes.append(contentsOf: bytes)
      state.batch.frames.append(frame)
    }
  }

  /// Takes the title of the frames that follow.
  func mark(_ title: StreamTitle) {
    state.withLock { state in
      guard state.isOpen, state.batch.marks.count < 4096 else { return }
      state.batch.marks.append((state.batch.frames.count, .title(title)))
    }
  }

  /// What has come by now may be more than the limit: it came from a buffer.
  func admitBeginning() { state.withLock { $0.limit = $0.batch.bytes.count + Self.byteLimit } }

  /// No limit before `admitBeginning`.
  func awaitBeginning() { state.withLock { $0.limit = .max } }

  /// Nothing more is taken; what has come stays.
  func close() { state.withLock { $0.isOpen = false } }

  /// Gives all that has come for `batch`, which is empty and has memory for what comes next.
  func take(_ batch: inout Batch) {
    let given = batch
    batch = state.withLock { state in
      let taken = state.batch
      state.batch = given
      return taken
    }
  }
}
