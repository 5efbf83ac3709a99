internal import EventLoop
internal import HeadsetLink

/// The headway of an update; an update without headway ends.
struct UpdateHeadway {
  /// The least number of new bytes that counts as headway.
  private static let least = 4_096

  /// The moment of the last headway.
  private(set) var last: Instant
  /// The number of bytes of the image that the board had then.
  private var bytes = 0
  /// The moment since which the board has answered; nil while the link is lost.
  private var answeringSince: Instant?
  /// The number of losses of the link since the last headway, without attempts at a headset that was not
  /// there.
  private(set) var losses = 0
  /// The number of proofs of the key that the board or the host has refused since the last headway.
  private(set) var wrongKeys = 0
  /// The reason of the latest retry, for the error that ends the update.
  private(set) var trouble: (reason: String, cause: HeadsetError?)?
  /// The delay before the next attempt.
  var retry = Backoff.connecting

  init(at now: Instant) { last = now }

  /// Notes headway: earlier failures do not count any more.
  mutating func made(at now: Instant) {
    last = now
    retry.reset()
    (wrongKeys, losses, trouble) = (0, 0, nil)
  }

  /// Applies the number of bytes that the board has of an image of `size` bytes.
  mutating func acknowledged(_ count: Int, of size: Int, at now: Instant) {
    guard count >= min(bytes + Self.least, size), count > bytes else { return }
    bytes = count
    made(at: now)
  }

  /// Applies a loss: the board has only `count` bytes of the image left.
  mutating func fellBack(to count: Int) { bytes = count }

  /// Notes any answer of the board.
  mutating func answered(at now: Instant) { answeringSince = answeringSince ?? now }

  /// Notes that a step has to be tried again, for this reason.
  mutating func failed(_ reason: String) { trouble = (reason, nil) }

  /// Notes that an answer or the link is missing.
  mutating func lost(_ error: HeadsetError) {
    (answeringSince, trouble) = (nil, (error.message, error))
    if error.kind != .notAvailable { losses += 1 }
    if error.kind == .auth || error.kind == .challengeLength { wrongKeys += 1 }
  }

  /// `true` if the board answers, but there has been no headway for `limit`.
  /// - Parameter ready: the moment before which the bootloader is not expected to work.
  func isStalled(for limit: Duration, notBefore ready: Instant?, at now: Instant) -> Bool {
    guard let answeringSince else { return false }
    return max(last, answeringSince, ready ?? last).duration(to: now) >= limit
  }
}

/// The progress of an update: acknowledged bytes as a part of the image. Never falls, and is 1 only for an
/// image that the board has verified.
struct UpdateProgress {
  /// The smallest increase that is reported.
  private static let least = 0.001
  /// The progress of a whole image that is not verified yet.
  private static let unverified = 0.99

  private let size: Int
  /// The greatest progress so far.
  private(set) var reached = 0.0
  /// The progress that was drained last.
  private var drained = 0.0

  /// - Parameter size: bytes of the image.
  init(of size: Int) { self.size = size }

  /// Applies the number of bytes that the board has.
  mutating func acknowledged(_ bytes: Int) { rise(to: min(Double(bytes) / Double(size), Self.unverified)) }

  /// Notes that the board has verified the image.
  mutating func verified() { rise(to: 1) }

  /// Returns the progress if it has increased enough since the last call, otherwise nil.
  mutating func drain() -> Double? {
    guard reached > drained else { return nil }
    drained = reached
    return reached
  }

  private mutating func rise(to new: Double) { if new >= reached + Self.least { reached = new } }
}
