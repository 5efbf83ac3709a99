internal import EventLoop

/// The identity of a house at its base topic, by which two with the same one notice each other: each says its own when it
/// connects, and answers another's.
struct HouseIdentity {
  enum Verdict: Equatable {
    case own
    /// Another house that is known already; `true` if it is to be answered.
    case known(Bool)
    case other
  }

  private static let answerInterval = Duration.seconds(60)
  let id: String
  private var answered: Instant?

  init() { id = String(UInt64.random(in: .min ... .max), radix: 16) }

  /// Returns the verdict on an identity that is heard.
  mutating func receive(_ other: String, at now: Instant) -> Verdict {
    guard other != id, !other.isEmpty else { return .own }
    guard let answered else {
      self.answered = now
      return .other
    }
    // Answers to answers have an end.
    guard answered.duration(to: now) >= Self.answerInterval else { return .known(false) }
    self.answered = now
    return .known(true)
  }
}
