internal import EventLoop
internal import Glibc
internal import Synchronization

/// The moments at which snapclients write what they play. For one thread; another one observes the files.
///
/// A file player writes blocks of 50 ms, each at the moment from which it is heard (and 10 ms, which are the same for all).
/// It is created anew, out of step with the one before, whenever the stream of its client changes, so frames of a file are
/// no clock: only the moments of nearby blocks are. A block is observed late rather than early, so the earliest of them
/// counts.
public final class PlayTimes {
  /// Growth of a file: its length in frames from a moment on.
  private struct Mark {
    let moment: Double
    let frames: Int
  }

  /// Observations of the thread.
  private final class Record: Sendable {
    let marks = Lock<[String: [Mark]]>([:])
    let isOver = Atomic(false)

    func observe(_ paths: [String: String]) {
      var lengths: [String: Int] = [:]
      while !isOver.load(ordering: .relaxed) {
        for (client, path) in paths {
          var status = stat()
          guard stat(path, &status) == 0 else { continue }
          let (frames, moment) = (Int(status.st_size) / 4, PlayTimes.now)
          guard frames != lengths[client] else { continue }
          lengths[client] = frames
          marks.withLock { $0[client, default: []].append(Mark(moment: moment, frames: frames)) }
        }
        usleep(400)
      }
    }
  }

  private static let blockFrames = 2400
  private let record = Record()
  private let thread: TestThread

  /// Begins to observe files, by the ids of the clients.
  public init(_ paths: [String: String]) throws {
    thread = try TestThread { [record] in record.observe(paths) }
  }

  deinit {
    record.isOver.store(true, ordering: .relaxed)
    thread.join()
  }

  /// Seconds of the clock of all moments.
  public static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Returns the moment at which a frame of a client's file was played, in seconds of the monotonic clock.
  /// - Parameter reach: blocks before and after that are considered.
  /// - Throws: `TestFailure` when nothing was observed near it.
  public func moment(of frame: Int, by client: String, reach: Int = 10) throws -> Double {
    let near = record.marks.withLock { marks in
      (marks[client] ?? []).filter { abs($0.frames - frame) <= reach * Self.blockFrames }
    }
    let moments = near.map {
      $0.moment + Double(frame - ($0.frames - Self.blockFrames)) / 48_000
    }
    guard let first = moments.min() else { throw TestFailure("\(client) has not played frame \(frame)") }
    return first
  }

  /// Returns the number of frames that a client had written at a moment.
  public func frames(of client: String, at moment: Double) -> Int {
    record.marks.withLock { $0[client]?.last { $0.moment <= moment }?.frames ?? 0 }
  }

  /// Largest distance between two writes of a client from a moment on, in seconds: 0.05 on a machine that is in time.
  public func largestPause(of client: String, from start: Double) -> Double {
    let moments = record.marks.withLock { ($0[client] ?? []).map(\.moment).filter { $0 >= start } }
    return zip(moments, moments.dropFirst()).map { $1 - $0 }.max() ?? .infinity
  }
}
