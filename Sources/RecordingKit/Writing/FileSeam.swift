internal import EventLoop
internal import StreamCore

/// The beginning of a recording that is appended to a file: sound is held until its position after the end of
/// the file is found, so that sound from a burst is not repeated. The sound missing between the two is
/// measured.
///
/// ```swift
/// seam.add(batch, at: now)
/// if let decision = seam.decision { write(seam.release()) }
/// ```
/// Times are seconds of any steady clock. Memory: that of a `Stitcher`.
struct FileSeam {
  /// The result of the search.
  enum Decision: Equatable {
    /// The sound continues exactly where the file ends; `overlap` frames that the file has were left out.
    case joined(overlap: Int)
    /// The end of the file is not in the sound: about `seconds` are missing.
    case gap(seconds: Double)
  }

  /// Marks and headers that came before a held frame.
  private enum Item {
    case mark(RecordingQueue.Mark)
    case headers(StreamFrame, [UInt8])
  }

  /// The limit of marks kept while frames are held.
  private static let itemLimit = 4096

  /// The file.
  let path: String
  /// The time of the first sound.
  let start: WallTime
  /// The result; nil while the search lasts.
  private(set) var decision: Decision?
  private var stitcher: Stitcher
  /// The number of frames received before the decision.
  private var count = 0
  private var items: [(frame: Int, item: Item)] = []
  private var released: [RecordingQueue.Batch] = []

  /// Creates a seam after a file.
  /// - Parameters:
  ///   - frames: the frames at its end, at least one, in the form of `RecordedTail.compared`.
  ///   - lossTime: the time at which the last of them came.
  init(behind path: String, _ frames: [StreamFrame], lostAt lossTime: Double, start: WallTime) {
    (self.path, self.start) = (path, start)
    stitcher = Stitcher(continuing: frames, lostAt: lossTime)
  }

  /// Adds received sound.
  mutating func add(_ batch: RecordingQueue.Batch, at time: Double) {
    // Dropped sound is not compared.
    if batch.isOverrun { return released.append(batch) }
    var (marks, start) = (batch.marks[...], 0)
    for (index, frame) in batch.frames.enumerated() {
      while let mark = marks.first, mark.frame <= index {
        add(.mark(mark.mark))
        marks.removeFirst()
      }
      let range = start..<(start + frame.length)
      batch.bytes[range].withUnsafeBytes { add(frame, $0, at: time) }
      start = range.upperBound
    }
    for mark in marks { add(.mark(mark.mark)) }
  }

  /// Applies time that passes without sound.
  mutating func timePassed(at time: Double) { if let action = stitcher.decide(at: time) { apply(action) } }

  /// Ends the search, as no more sound comes: held sound is released, unless it is known to be in the file.
  mutating func end() { if decision == nil, let action = stitcher.end() { apply(action) } }

  /// Returns the sound after the file, as far as it is decided and not yet returned.
  mutating func release() -> [RecordingQueue.Batch] {
    defer { released = [] }
    return released
  }

  private mutating func add(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, at time: Double) {
    if decision != nil { return put(frame, bytes) }
    if frame.isHeaders { return add(.headers(frame, [UInt8](bytes))) }
    count += 1
    apply(stitcher.receive(RecordedTail.compared(frame, bytes), bytes, at: time))
  }

  private mutating func add(_ item: Item) {
    if decision != nil { return put(item) }
    if items.count < Self.itemLimit { items.append((count, item)) }
  }

  private mutating func apply(_ action: Stitcher.Action) {
    switch action {
    case .hold, .pass: return
    case .joined(let overlap, _): decision = .joined(overlap: overlap)
    case .gap(let seconds): decision = .gap(seconds: seconds)
    }
    var held: [(frame: StreamFrame, bytes: [UInt8])] = []
    stitcher.release { frame, bytes in
      held.append((frame, [UInt8](bytes)))
      return true
    }
    let first = count - held.count
    putLast(of: items.prefix { $0.frame <= first }.map(\.item))
    var rest = items.drop { $0.frame <= first }
    for (index, (frame, bytes)) in held.enumerated() {
      while let next = rest.first, next.frame <= first + index {
        put(next.item)
        rest.removeFirst()
      }
      bytes.withUnsafeBytes { put(frame, $0) }
    }
    for (_, item) in rest { put(item) }
    items = []
  }

  /// Puts the items that apply to the first frame: the last title and the last headers before it.
  private mutating func putLast(of items: [Item]) {
    var (title, headers) = (Item?.none, Item?.none)
    for item in items {
      switch item {
      case .mark(.title): title = item
      // The gap is in sound that the file has, or before all sound.
      case .mark(.gap): break
      case .mark: put(item)
      case .headers: headers = item
      }
    }
    for item in [title, headers].compactMap(\.self) { put(item) }
  }

  private mutating func put(_ item: Item) {
    switch item {
    case .mark(let mark):
      if released.isEmpty { released.append(RecordingQueue.Batch()) }
      released[released.count - 1].mark(mark)
    case .headers(let frame, let bytes): bytes.withUnsafeBytes { put(frame, $0) }
    }
  }

  private mutating func put(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer) {
    if released.last.map({ $0.isFull(for: bytes.count) || $0.isOverrun }) ?? true {
      released.append(RecordingQueue.Batch())
    }
    released[released.count - 1].append(frame, bytes)
  }
}
