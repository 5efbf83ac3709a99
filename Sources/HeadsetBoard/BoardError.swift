public import EventLoop

/// A failure of an emulated board.
public typealias BoardError = Failure<BoardErrorKind>

/// The kinds of failure of an emulated board; the raw value is the stable code.
public enum BoardErrorKind: String, FailureKind, CaseIterable {
  /// The profile is unknown.
  case profile = "board.profile"
  /// A fault that can't be read.
  case fault = "board.fault"
  /// An address that a board can't listen at.
  case address = "board.address"
  /// The address to listen at can't be used.
  case listen = "board.listen"
  /// The state can't be read or written.
  case state = "board.state"
  /// A gesture of the wearer that can't be performed.
  case gesture = "board.gesture"
}

extension BoardError {
  /// Creates the failure of a store.
  init(_ error: BoardStoreError) {
    switch error {
    case .powerLost: self.init(.state, "the board has lost its power")
    case .failed(let what): self.init(.state, what)
    }
  }

  /// Returns the failure for an unknown name; the hint has the nearest known name.
  static func unknown(_ kind: Kind, _ what: String, _ name: String, among known: [String]) -> BoardError {
    let hint =
      nearest(name, among: known).map { "did you mean \($0)?" } ?? "known: \(known.joined(separator: ", "))"
    return BoardError(kind, "no \(what) of the board is called \"\(name.onOneLine)\"", hint: hint)
  }
}
