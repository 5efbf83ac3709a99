internal import EventLoop

/// A file of a queue.
public struct QueueEntry: Sendable, Equatable {
  /// The path of the file.
  public let path: String
  /// The display title.
  public let title: String

  /// Creates the entry of the file at `path`.
  /// - Parameter title: nil for the file's name.
  public init(path: String, title: String? = nil) {
    self.path = path
    self.title = title ?? path.split(separator: "/").last.map(String.init) ?? path
  }

  var source: SourceInfo { SourceInfo(path: path, title: title) }
}

/// A list of files, to be played one after the other.
public struct FileQueue: Sendable, Equatable {
  /// Files in the order of the list; at least one.
  public let entries: [QueueEntry]
  /// `true` if the first file follows the last.
  public let loops: Bool
  /// The seed of the shuffled order; nil for the order of the list.
  public let seed: UInt64?

  /// Creates a queue.
  /// - Returns: nil for no entry.
  public init?(_ entries: [QueueEntry], loops: Bool = false, seed: UInt64? = nil) {
    guard !entries.isEmpty else { return nil }
    (self.entries, self.loops, self.seed) = (entries, loops, seed)
  }
}

/// The state machine of a queue: methods apply an event and return the action to perform. Has no file, clock
/// or listener.
///
/// A value: the thread that decodes advances a copy ahead of the sound, and the session adopts each state when it is
/// heard.
struct QueueMachine: Sendable, Equatable {
  /// Action to perform.
  enum Action: Equatable {
    /// Plays the current file from its beginning.
    case play
    /// Ends, after the last file.
    case end
    /// Ends, as no file of the queue can be played.
    case fail
  }

  private enum Phase: Equatable {
    /// At an index of the order; the files before it in a row that gave no sound.
    case at(Int, failures: Int)
    case ended
  }

  /// Seconds at the beginning of a file within which `previous` means the file before it.
  static let restartTime = 3.0

  let queue: FileQueue
  /// The indices of the entries in the order in which they play; drawn anew for each round of a shuffled
  /// queue.
  private(set) var order: [Int]
  private var phase = Phase.at(0, failures: 0)
  private var random: SeededRandom

  init(_ queue: FileQueue) {
    self.queue = queue
    order = Array(queue.entries.indices)
    random = SeededRandom(seed: queue.seed ?? 0)
    if queue.seed != nil { order.shuffle(using: &random) }
  }

  /// The index of the current file in the order of playing; nil at the end.
  var index: Int? { if case .at(let index, _) = phase { index } else { nil } }
  /// The current file; nil at the end.
  var entry: QueueEntry? { index.map { queue.entries[order[$0]] } }
  /// All files, in the order in which they play.
  var entries: [QueueEntry] { order.map { queue.entries[$0] } }

  /// Goes to the next file, by command.
  mutating func next() -> Action { advance(failures: 0) }

  /// Goes to the next file, as the current one has been played.
  mutating func ended() -> Action { advance(failures: 0) }

  /// Goes to the next file, as the current one gave no sound. Fails once that is true of all files in a row.
  mutating func failed() -> Action {
    guard case .at(_, let failures) = phase else { return .end }
    if failures + 1 >= queue.entries.count {
      phase = .ended
      return .fail
    }
    return advance(failures: failures + 1)
  }

  /// Goes to the previous file, by command; to the beginning of the current one later than `restartTime` in it, and
  /// at the first file, unless the queue loops.
  mutating func previous(position seconds: Double) -> Action {
    guard let index else { return .end }
    let isRestart = seconds >= Self.restartTime || index == 0 && !queue.loops
    phase = .at(isRestart ? index : (index > 0 ? index : order.count) - 1, failures: 0)
    return .play
  }

  private mutating func advance(failures: Int) -> Action {
    guard let index else { return .end }
    if index + 1 < order.count {
      phase = .at(index + 1, failures: failures)
      return .play
    }
    guard queue.loops else {
      phase = .ended
      return .end
    }
    if queue.seed != nil { shuffleAgain(after: order[index]) }
    phase = .at(0, failures: failures)
    return .play
  }

  /// Draws the order of another round, which does not begin with the file that has just been played.
  private mutating func shuffleAgain(after last: Int) {
    order.shuffle(using: &random)
    guard order.count > 1, order[0] == last else { return }
    order.swapAt(0, Int.random(in: 1..<order.count, using: &random))
  }
}
