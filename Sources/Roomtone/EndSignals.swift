internal import EventLoop
internal import Glibc
internal import Home

/// SIGINT, SIGTERM and SIGHUP: the first asks for a tidy end, a second one ends the process. Confined to the loop.
final class EndSignals {
  /// The signals that end a command. SIGHUP stays ignored where it was at the start, as `nohup` has it.
  static let usual = [SIGINT, SIGTERM, SIGHUP]

  /// 128 and the signal's number, once one has come.
  private(set) var status: Int32?
  private var thread: SignalThread?
  private let numbers: [Int32]

  /// Calls `end` with each signal of `numbers` that asks for a tidy end. A signal that insists is obeyed on a
  /// separate thread, whatever the loop does.
  init(_ numbers: [Int32] = usual, of engine: Engine, _ end: @escaping () -> Void) {
    self.numbers = numbers.filter { $0 != SIGHUP || !SignalWatch.isIgnored($0) }
    let count = Lock(EndSignalCount())
    let onForcedExit = engine.onForcedExit
    do {
      thread = try SignalThread(
        self.numbers, on: engine.loop,
        screen: { signal in
          switch count.withLock({ $0.receive(at: .now) }) {
          case .first: return true
          case .repeated: return false
          case .insists:
            onForcedExit()
            _exit(128 + signal)
          }
        }
      ) { [unowned self] signal in
        status = 128 + signal
        end()
      }
    } catch {
      engine.onLog(.warn, "signals end this process at once: \(error.message)", [])
    }
  }

  /// Restores the usual action of the signals; once one has come they are ignored, as the end of the process is all
  /// that is left to come, and the same one may be on its way again.
  func cancel() {
    if status != nil { for number in numbers { signal(number, SIG_IGN) } }
    thread?.cancel()
  }
}

/// Distinguishes a person who insists from a signal that is repeated: `timeout`, process groups and service
/// managers send the same signal to a process more than once.
struct EndSignalCount {
  enum Meaning {
    /// A tidy end is wanted.
    case first
    /// The same signal again.
    case repeated
    /// The end is wanted at once.
    case insists
  }

  /// Signals this soon after the first are the same one.
  private static let repetition = Duration.milliseconds(500)
  private var first: ContinuousClock.Instant?

  /// Counts a signal, by the machine's own clock, as virtual time may not advance.
  mutating func receive(at now: ContinuousClock.Instant) -> Meaning {
    guard let first else {
      self.first = now
      return .first
    }
    return first.duration(to: now) < Self.repetition ? .repeated : .insists
  }
}
