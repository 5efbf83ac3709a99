/// The schedule of the writes of an image, several of which are under way at once.
///
/// Answers come in the order of the writes. When the board asks for another offset, the writes under way are
/// answered first, and then writing resumes at the offset that the board named last.
struct WriteWindow {
  /// The most detours in a row without headway.
  private static let mostDetours = 8

  /// The next step of the caller.
  enum Action: Equatable {
    /// Send this part.
    case send(Range<Int>)
    /// Wait for the oldest answer.
    case wait
    /// The board has the whole image.
    case done
    /// The board's answers lead nowhere, for this reason.
    case stuck(String)
  }

  private let size, chunk, width: Int
  /// Bytes that the board has.
  private(set) var acknowledged: Int
  /// The offset of the next write, and the end of all that was sent.
  private var next: Int
  private var sent: Int
  private var underWay = 0
  /// The offset at which to resume once no write is under way.
  private var detour: Int?
  private var detours = 0
  private var fault: String?

  /// - Parameters:
  ///   - size: bytes of the image.
  ///   - start: those that the board has.
  ///   - chunk: the most bytes of a write; at least 1.
  ///   - width: the most writes that are under way; at least 1.
  init(size: Int, start: Int, chunk: Int, width: Int) {
    (self.size, self.chunk, self.width) = (size, chunk, width)
    (acknowledged, next, sent) = (start, start, start)
  }

  /// Returns the next step; a part to send counts as sent.
  mutating func act() -> Action {
    if underWay == 0, let offset = detour { (next, detour) = (offset, nil) }
    if let fault { return underWay > 0 ? .wait : .stuck(fault) }
    if detour == nil, underWay < width, next < size {
      let part = next..<min(next + chunk, size)
      next = part.upperBound
      sent = max(sent, next)
      underWay += 1
      return .send(part)
    }
    return underWay > 0 ? .wait : .done
  }

  /// The oldest write was done, and the board is so far.
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
    // Writes that were sent too far ahead are refused together: that is one detour.
    if detour == nil { detours += 1 }
    if detours > Self.mostDetours { fault = "the headset asks for the same part again and again" }
    if offset > sent { fault = "the headset asks for byte \(offset), and \(sent) were sent to it" }
    // A refusal may be older than what was acknowledged since.
    detour = max(min(offset, sent), acknowledged)
  }
}
