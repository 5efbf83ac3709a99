internal import EventLoop

/// The queue of one recording's frames, from the receiving thread to the writing one.
package final class RecordingQueue: Sendable {
  /// A mark before a frame.
  package enum Mark: Sendable, Equatable {
    case title(StreamTitle)
    /// A gap of about `seconds`.
    case gap(seconds: Double)
    /// A file of a server begins: its bytes, for a file with this extension, or its frames for nil.
    case file(end: String?)
    /// The bytes of the current file turned out not to be sound.
    case discard
  }

  /// The reason to write the queued sound.
  package enum Arrival: Sendable {
    /// Sound has come into an empty queue.
    case some
    /// More than a batch is queued: a burst need not wait.
    case burst
  }

  /// A batch of received frames and marks, in order.
  package struct Batch: Sendable {
    /// The concatenated bytes of all frames.
    package var bytes: [UInt8] = []
    package var frames: [StreamFrame] = []
    /// The marks, each with the index of the frame after it; the last one may precede a frame that has not
    /// come yet.
    package var marks: [(frame: Int, mark: Mark)] = []
    /// `true` if frames were dropped as the queue was full: nothing follows.
    package var isOverrun = false

    package init() {}

    /// The duration of the frames.
    package var length: StreamTime { frames.reduce(.zero) { $0 + $1.duration } }
    /// The total length of the gaps.
    package var gaps: StreamTime {
      marks.reduce(.zero) { sum, mark in
        if case .gap(let seconds) = mark.mark { sum + StreamTime(seconds: seconds) } else { sum }
      }
    }
    /// The last title; nil without a title.
    package var lastTitle: StreamTitle? {
      for case .title(let title) in marks.reversed().lazy.map(\.mark) { return title }
      return nil
    }

    /// The limit in bytes of a batch with more than one frame. A burst fills several batches: memory in
    /// blocks of one size serves every recording in turn.
    static let limit = 16 << 10
    private static let markLimit = 4096

    var isEmpty: Bool { frames.isEmpty && marks.isEmpty }
    /// Returns `true` if a batch with frames has no room for `length` more bytes.
    package func isFull(for length: Int) -> Bool { !frames.isEmpty && bytes.count + length > Self.limit }

    /// Reserves memory for `bytes` bytes and `frames` frames.
    mutating func reserve(bytes: Int, frames: Int) {
      self.bytes.reserveCapacity(bytes)
      self.frames.reserveCapacity(frames)
    }

    package mutating func append(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) {
      self.bytes.append(contentsOf: bytes)
      frames.append(frame)
    }

    /// Adds a mark before the next frame.
    package mutating func mark(_ mark: Mark) {
      if marks.count < Self.markLimit { marks.append((frames.count, mark)) }
    }

    /// The approximate memory use in bytes.
    fileprivate var size: Int {
      marks.reduce(bytes.count) { size, mark in
        if case .title(let title) = mark.mark { size + 64 + title.text.utf8.count } else { size + 64 }
      }
    }
  }

  /// The limit in bytes of the queue for a slow disk, besides the beginning of the recording.
  static let byteLimit = 4 << 20
  /// The size of the queue in bytes above which reading pauses until the disk has drained it.
  static let behindLimit = 1 << 20

  private struct State {
    var batches: [Batch] = []
    /// The size of all batches in bytes.
    var bytes = 0
    var limit = RecordingQueue.byteLimit
    var isOpen = true
    var beginning = StreamTime.zero
    /// `true` from the moment when the queue exceeds `behindLimit` until it is drained.
    var isBehind = false
    var roomListener: (@Sendable () -> Void)?

    /// Returns the callback for an overfull queue that was drained or closed; nil if it is not due.
    mutating func makeRoom() -> (@Sendable () -> Void)? {
      defer { isBehind = false }
      return isBehind ? roomListener : nil
    }

    /// `true` if it accepts more batches.
    var accepts: Bool { isOpen && batches.last?.isOverrun != true }
  }

  private let state = Lock(State())
  private let onArrival: @Sendable (Arrival) -> Void
  /// `true` if a file may be recorded byte for byte.
  let takesFile: Bool
  /// `true` if the recording ends after a certain length of sound.
  let hasLength: Bool

  /// Creates an open queue.
  /// - Parameter onArrival: called on the receiving thread.
  package init(
    takesFile: Bool = true, hasLength: Bool = false,
    onArrival: @escaping @Sendable (Arrival) -> Void = { _ in }
  ) {
    (self.takesFile, self.hasLength, self.onArrival) = (takesFile, hasLength, onArrival)
  }

  /// Appends a batch, or the mark of an overrun if the queue is full; does nothing once it is closed.
  func append(_ batch: Batch) {
    guard !batch.isEmpty else { return }
    let size = batch.size
    let arrival = state.withLock { state -> Arrival? in
      guard state.accepts else { return nil }
      guard state.bytes + size <= state.limit else {
        var overrun = Batch()
        overrun.isOverrun = true
        state.batches.append(overrun)
        return .burst
      }
      let wasEmpty = state.batches.isEmpty
      state.batches.append(batch)
      defer {
        state.bytes += size
        if state.bytes > Self.behindLimit { state.isBehind = true }
      }
      // Reported once: a slow disk need not be asked repeatedly.
      if state.bytes <= Batch.limit && state.bytes + size > Batch.limit { return .burst }
      return wasEmpty ? .some : nil
    }
    if let arrival { onArrival(arrival) }
  }

  /// Announces that another file begins, whose kind is not known yet.
  package func beginFile() {
    var batch = Batch()
    batch.mark(.file(end: nil))
    append(batch)
  }

  /// Ends the beginning of the recording: the batches queued by now do not count towards the limit.
  func admitBeginning() { state.withLock { $0.limit = $0.bytes + Self.byteLimit } }

  /// Lifts the limit until `admitBeginning`, for `length` of sound from a buffer.
  func awaitBeginning(_ length: StreamTime) { state.withLock { ($0.limit, $0.beginning) = (.max, length) } }

  /// The length of the sound at the beginning that came before the recording began.
  package var beginning: StreamTime { state.withLock { $0.beginning } }

  /// `true` if the queue is so full that reading must pause.
  var isBehind: Bool { state.withLock { $0.isBehind } }

  /// Sets the callback for an overfull queue that was drained or closed, on the thread that did it.
  func onRoom(_ notify: @escaping @Sendable () -> Void) { state.withLock { $0.roomListener = notify } }

  /// Refuses further batches; those in the queue stay.
  package func close() {
    let notify = state.withLock { state in
      state.isOpen = false
      return state.makeRoom()
    }
    notify?()
  }

  /// Moves all batches of the queue to the end of `batches`.
  package func drain(into batches: inout [Batch]) {
    let notify = state.withLock { state in
      batches += state.batches
      state.batches.removeAll(keepingCapacity: true)
      state.bytes = 0
      return state.makeRoom()
    }
    notify?()
  }
}
