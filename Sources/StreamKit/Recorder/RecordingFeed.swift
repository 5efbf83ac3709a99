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

    /// With its memory: what waits for the next tick should not cost what a burst once took.
    mutating func removeAll() { self = Batch() }
  }

  /// Bytes that wait for a disk that is slow, beside those that the recording begins with.
  static let byteLimit = 4 << 20

  private struct State {
    var batch = Batch()
    var limit = RecordingFeed.byteLimit
    var isOpen = true
    /// What the batch before had: the next one takes so much memory at once.
    var usual = (bytes: 0, frames: 0)
    var beginning = StreamTime.zero
  }

  private let state = Lock(State())

  /// Takes a frame behind `gap`; nothing once it is closed.
  func append(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, gap: Double?) {
    state.withLock { state in
      guard state.isOpen, !state.batch.isOverrun else { return }
      guard state.batch.bytes.count + bytes.count <= state.limit else { return state.batch.isOverrun = true }
      if state.batch.frames.isEmpty {
        state.batch.bytes.reserveCapacity(state.usual.bytes)
        state.batch.frames.reserveCapacity(state.usual.frames)
      }
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

  /// What comes before `admitBeginning` is from a buffer: so much sound, without a limit.
  func awaitBeginning(_ length: StreamTime) { state.withLock { ($0.limit, $0.beginning) = (.max, length) } }

  /// The sound that it began with, which came before it was recorded.
  var beginning: StreamTime { state.withLock { $0.beginning } }

  /// About so many seconds are missing in front of the next frame.
  func miss(_ seconds: Double) {
    state.withLock { state in
      guard state.isOpen, state.batch.marks.count < 4096 else { return }
      state.batch.marks.append((state.batch.frames.count, .gap(seconds: seconds)))
    }
  }

  /// Nothing more is taken; what has come stays.
  func close() { state.withLock { $0.isOpen = false } }

  /// Bytes for which memory is taken at once: what a tick brings at 320 kbit/s.
  private static let usualLimit = 24 << 10

  /// Gives all that has come for `batch`, which is empty.
  func take(_ batch: inout Batch) {
    batch = state.withLock { state in
      let taken = state.batch
      state.batch = Batch()
      // A tick is not quite like the other.
      let bytes = taken.bytes.count + taken.bytes.count / 4
      if !taken.frames.isEmpty, bytes <= Self.usualLimit {
        state.usual = (bytes, taken.frames.count + taken.frames.count / 4)
      }
      return taken
    }
  }
}
