internal import HeadsetLink

/// The last answers of a session, so that a request that comes again is answered and not done again.
struct AnswerCache {
  /// The most answers that are kept.
  static let longest = 16

  private struct Entry {
    let session: UInt32
    let sequence: UInt16
    let checksum: UInt32
    let answer: LinkFrame
  }

  private var entries: [Entry] = []

  /// Forgets all answers.
  mutating func clear() { entries = [] }

  /// Keeps an answer to `request`, and forgets the oldest one when there are too many.
  mutating func keep(_ answer: LinkFrame, to request: LinkPacket, in session: UInt32) {
    if entries.count == Self.longest { entries.removeFirst() }
    entries.append(
      Entry(
        session: session, sequence: request.frame.sequence, checksum: request.checksum, answer: answer))
  }

  /// What was answered to the same request in the same session.
  func answer(to request: LinkPacket, in session: UInt32) -> LinkFrame? {
    entries.last {
      $0.session == session && $0.sequence == request.frame.sequence && $0.checksum == request.checksum
    }?.answer
  }
}
