internal import EventLoop
internal import Glibc

/// The settings of a terminal as they were found, for their restoration.
public final class TerminalSettings: Sendable {
  private struct State {
    let found: termios
    var hasChanged = false
  }

  private let terminal: Int32
  private let state: Lock<State>

  /// Remembers the settings of a terminal.
  /// - Returns: nil when the descriptor is not a terminal.
  init?(of terminal: Int32) {
    var found = termios()
    guard tcgetattr(terminal, &found) == 0 else { return nil }
    self.terminal = terminal
    state = Lock(State(found: found))
  }

  /// Marks the settings as changed.
  func noteChange() { state.withLock { $0.hasChanged = true } }

  /// Restores changed settings; callable on any thread.
  public func restore() {
    state.withLock { state in
      guard state.hasChanged else { return }
      state.hasChanged = false
      var found = state.found
      tcsetattr(terminal, TCSANOW, &found)
    }
  }
}
