internal import EventLoop
internal import Glibc
internal import Home
internal import Roomtone

/// The mistakes that a check finds in a script while it runs, so that the check delays no start. They appear after a
/// moment, or at the end of a shorter run, below its failures.
final class ScriptWarnings {
  private let found = Lock<[String]?>(nil)
  private var phase: Phase

  private enum Phase { case checking(UInt), shown }

  /// Time until the warnings appear: longer than a start takes.
  private static let delay = Duration.milliseconds(250)

  /// Starts the check on a thread of its own.
  init(about text: ScriptText, _ configuration: Configuration) {
    let found = found
    let thread = try? startThread("no check of the script") {
      let lines = CheckCommand.warnings(about: text, configuration)
      found.withLock { $0 = lines }
    }
    phase = thread.map { .checking($0) } ?? .shown
  }

  /// Shows the warnings during the run of a loop, as soon as they are known and the moment is over.
  func appear(on loop: EventLoop) {
    loop.after(Self.delay, keepsAlive: false) { [weak self, unowned loop] in
      guard let self, case .checking = phase else { return }
      if found.withLock({ $0 }) == nil { appear(on: loop) } else { finish() }
    }
  }

  /// Waits for the end of the check, and shows what it has found.
  func finish() {
    guard case .checking(let thread) = phase else { return }
    phase = .shown
    pthread_join(thread, nil)
    for line in found.withLock({ $0 }) ?? [] { Terminal.log(.warn, line, []) }
  }
}
