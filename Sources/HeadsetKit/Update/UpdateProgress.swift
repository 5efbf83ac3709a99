internal import EventLoop
internal import HeadsetLink

/// The headway of an update, by which one that does not get any further ends.
struct UpdateHeadway {
  /// Bytes of the image that count as headway.
  private static let least = 4_096

  /// The moment of the last headway.
  private(set) var last: Instant
  /// Bytes of the image that the board had then.
  private var bytes = 0
  /// The moment since which the board answers; nil while the link is lost.
  private var answeringSince: Instant?
  /// Losses of the link since the last headway, without attempts at a headset that was not there.
  private(set) var losses = 0
  /// Proofs of the key since the last headway that the board or the host has refused.
  private(set) var wrongKeys = 0
  /// The latest reason for trying again, for the error that ends the update.
  private(set) var trouble: (reason: String, cause: HeadsetError?)?
  /// The delay before the next attempt.
  var retry = Backoff.connecting

  init(at now: Instant) { last = now }

  /// The update has got further: what failed before counts no more.
  mutating func made(at now: Instant) {
    last = now
    retry.reset()
    (wrongKeys, losses, trouble) = (0, 0, nil)
  }

  /// The board has so many bytes of an image of `size` bytes.
  mutating func acknowledged(_ count: Int, of size: Int, at now: Instant) {
    guard count >= min(bytes + Self.least, size), count > bytes else { return }
    bytes = count
    made(at: now)
  }

  /// The board has lost what it had of the image beyond so many bytes.
  mutating func fellBack(to count: Int) { bytes = count }

  /// The board has answered, whatever it was.
  mutating func answered(at now: Instant) { answeringSince = answeringSince ?? now }

  /// Something has to be tried again, for this reason.
  mutating func failed(_ reason: String) { trouble = (reason, nil) }

  /// An answer or the link is missing.
  mutating func lost(_ error: HeadsetError) {
    (answeringSince, trouble) = (nil, (error.message, error))
    if error.kind != .notAvailable { losses += 1 }
    if error.kind == .auth || error.kind == .challengeLength { wrongKeys += 1 }
  }

  /// true if the board answers and there is no headway for so long.
  /// - Parameter ready: the moment before which a bootloader is not expected to do anything.
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
  /// The progress of a whole image that is not verified.
  private static let unverified = 0.99

  private let size: Int
  /// The progress that was reached last.
  private(set) var reached = 0.0
  /// The progress that was drained last.
  private var drained = 0.0

  /// - Parameter size: bytes of the image.
  init(of size: Int) { self.size = size }

  /// Applies the number of bytes that the board has.
  mutating func acknowledged(_ bytes: Int) { rise(to: min(Double(bytes) / Double(size), Self.unverified)) }

  /// The board has verified the image.
  mutating func verified() { rise(to: 1) }

  /// Returns the progress to report since the last call; nil for none.
  mutating func drain() -> Double? {
    guard reached > drained else { return nil }
    drained = reached
    return reached
  }

  private mutating func rise(to new: Double) { if new >= reached + Self.least { reached = new } }
}
