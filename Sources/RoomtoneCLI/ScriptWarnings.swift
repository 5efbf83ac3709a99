internal import EventLoop
internal import Glibc
internal import Home
internal import LuaRuntime
internal import Roomtone

/// The mistakes that a check finds in a script while it runs, so that the check does not delay the start.
/// They appear after a moment, or at the end of a shorter run, below its failures; mistakes in lines that
/// have failed are left out.
final class ScriptWarnings {
  private let found = Lock<[String]?>(nil)
  /// The loop on which `finish` waits for the check. The thread is not joined: a forced end does not wait for it.
  private let arrival = EventLoop(name: "check")
  private var phase = Phase.checking
  /// The failures of the script so far.
  private var failures: [String] = []

  private enum Phase { case checking, shown }

  /// Time until the warnings appear: longer than a start takes.
  private static let delay = Duration.seconds(2)

  /// Starts the check on a thread of its own.
  init(about text: ScriptText, _ configuration: Configuration) {
    let (found, hold) = (found, arrival.hold("a script is checked"))
    do {
      try startDetachedThread("no check of the script") {
        let lines = CheckCommand.warnings(about: text, configuration)
        found.withLock { $0 = lines }
        hold.release()
      }
    } catch {
      found.withLock { $0 = [] }
    }
  }

  /// Shows the warnings during the run of an engine, as soon as they are known and the delay is over.
  func appear(during engine: Engine) {
    let report = engine.onFailure
    engine.onFailure = { [weak self] error in
      if let self, phase == .checking { failures.append(error.report) }
      report(error)
    }
    appear(on: engine.loop)
  }

  private func appear(on loop: EventLoop) {
    loop.after(Self.delay, keepsAlive: false) { [weak self, unowned loop] in
      guard let self, phase == .checking else { return }
      if found.withLock({ $0 }) == nil { appear(on: loop) } else { finish() }
    }
  }

  /// Returns the file and the line at the beginning of a warning, in the form of failures: `wake_up.lua:12:`.
  private static func place(_ warning: String) -> String {
    let parts = warning.split(separator: ":", maxSplits: 2)
    return parts.count < 3 ? warning : "\(parts[0]):\(parts[1]):"
  }

  /// Waits for the end of the check, and shows the mistakes that it has found.
  func finish() {
    guard phase == .checking else { return }
    phase = .shown
    _ = arrival.run { [found] in found.withLock { $0 != nil } }
    arrival.close()
    for line in found.withLock({ $0 }) ?? []
    where !failures.contains(where: { $0.contains(Self.place(line)) }) {
      Terminal.log(.warn, line, [])
    }
  }
}
