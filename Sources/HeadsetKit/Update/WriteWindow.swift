/// The schedule of the writes of an image, several of which are under way at once.
///
/// Answers come in the order of the writes. When the board asks for another offset, the writes under way are
/// answered first, and then writing resumes at the offset that the board named last.
struct WriteWindow {
  /// The most consecutive detours without headway.
  private static let mostDetours = 8

  /// The next step for the caller.
  enum Action: Equatable {
    /// Send this part.
    case send(Range<Int>)
    /// Wait for the oldest answer.
    case wait
    /// The board has the whole image.
    case done
    /// The board's answers allow no headway, for this reason.
    case stuck(String)
  }

  /// The offset of the next write, once the writes under way are answered.
  private enum Course {
    /// The end of the last part.
    case straight
    /// The offset that the board named last.
    case detour(to: Int)
    /// No offset: the board's answers allow no headway, for this reason.
    case stuck(String)
  }

  private let size, chunk, width: Int
  /// The number of bytes that the board has.
  private(set) var acknowledged: Int
  /// The offset of the next write, and the end of all sent bytes.
  private var next: Int
  private var sent: Int
  private var underWay = 0
  private var course = Course.straight
  private var detours = 0

  /// - Parameters:
  ///   - size: bytes of the image.
  ///   - start: the bytes that the board has.
  ///   - chunk: the most bytes of a write; at least 1.
  ///   - width: the most writes that are under way; at least 1.
  init(size: Int, start: Int, chunk: Int, width: Int) {
    (self.size, self.chunk, self.width) = (size, chunk, width)
    (acknowledged, next, sent) = (start, start, start)
  }

  /// Returns the next step; a part to send counts as sent.
  mutating func act() -> Action {
    switch course {
    case .straight: break
    case .stuck(let reason): return underWay > 0 ? .wait : .stuck(reason)
    case .detour(let offset):
      guard underWay == 0 else { return .wait }
      (next, course) = (offset, .straight)
    }
    guard underWay < width, next < size else { return underWay > 0 ? .wait : .done }
    let part = next..<min(next + chunk, size)
    next = part.upperBound
    sent = max(sent, next)
    underWay += 1
    return .send(part)
  }

  /// Applies the answer to the oldest write, with the offset that the board has reached.
  mutating func answered(_ part: Range<Int>, next offset: Int) {
    underWay -= 1
    if offset > acknowledged, offset <= sent {
      acknowledged = offset
      detours = 0
    }
    if offset != part.upperBound { turn(to: offset) }
  }

  /// Applies the refusal of the oldest write, which names the offset to resume at.
  mutating func refused(resumeAt offset: Int) {
    underWay -= 1
    turn(to: offset)
  }

  private mutating func turn(to offset: Int) {
    // Several writes that were sent too far ahead are refused together: they count as one detour.
    if case .straight = course { detours += 1 }
    if offset > sent {
      course = .stuck("the headset asks for byte \(offset), and \(sent) were sent to it")
    } else if detours > Self.mostDetours {
      course = .stuck("the headset asks for the same part again and again")
    } else if case .stuck = course {
      return
    } else {
      // A refusal may be older than later acknowledgements.
      course = .detour(to: max(offset, acknowledged))
    }
  }
}
