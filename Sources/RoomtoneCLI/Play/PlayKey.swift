/// A key of `roomtone play` on a terminal.
enum PlayKey: Equatable, Sendable {
  case pause, next, previous, back, forward, louder, quieter, quit
  /// Ctrl-Z.
  case suspend

  /// The keys and their effects, in one line.
  static let help = "space pause · n next · p previous · ←/→ 10 s · ↑/↓ volume · q quit"

  /// The action of the method `playback`, and its step: 10 s, or 2 levels. Nil for a key that concerns this
  /// process alone.
  var request: (action: String, by: Int)? {
    switch self {
    case .pause: ("pause", 0)
    case .next: ("next", 0)
    case .previous: ("previous", 0)
    case .back: ("seek", -10)
    case .forward: ("seek", 10)
    case .louder: ("volume", 2)
    case .quieter: ("volume", -2)
    case .quit: ("stop", 0)
    case .suspend: nil
    }
  }
}

/// Parses the bytes that a terminal sends for keys; sequences may arrive in parts. Unknown keys are left out.
///
/// Source: ECMA-48 §5.4 for control sequences; cursor keys are `ESC [ A` to `D`, or `ESC O A` in application mode.
struct PlayKeyParser {
  private enum Phase {
    case plain
    case escape
    /// Inside a control sequence, up to its final byte.
    case sequence
  }

  private var phase = Phase.plain

  /// Returns the keys that `bytes` complete.
  mutating func parse(_ bytes: some Sequence<UInt8>) -> [PlayKey] { bytes.compactMap { key($0) } }

  private mutating func key(_ byte: UInt8) -> PlayKey? {
    switch phase {
    case .escape where byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O"):
      phase = .sequence
      return nil
    case .sequence:
      if (0x40...0x7E).contains(byte) { phase = .plain }
      return Self.cursorKey(byte)
    case .plain, .escape:
      phase = byte == 0x1B ? .escape : .plain
      return Self.plainKey(byte)
    }
  }

  private static func cursorKey(_ byte: UInt8) -> PlayKey? {
    switch byte {
    case UInt8(ascii: "A"): .louder
    case UInt8(ascii: "B"): .quieter
    case UInt8(ascii: "C"): .forward
    case UInt8(ascii: "D"): .back
    default: nil
    }
  }

  private static func plainKey(_ byte: UInt8) -> PlayKey? {
    switch byte {
    case UInt8(ascii: " "): .pause
    case UInt8(ascii: "n"), UInt8(ascii: "N"): .next
    case UInt8(ascii: "p"), UInt8(ascii: "P"): .previous
    case UInt8(ascii: "+"), UInt8(ascii: "="): .louder
    case UInt8(ascii: "-"): .quieter
    case UInt8(ascii: "q"), UInt8(ascii: "Q"): .quit
    case 0x1A: .suspend
    default: nil
    }
  }
}
