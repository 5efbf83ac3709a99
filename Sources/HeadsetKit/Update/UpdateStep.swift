internal import EventLoop
internal import HeadsetLink

/// The steps of an update, by the names that its errors have in their fact `step`.
enum UpdateStep: String, CaseIterable {
  /// The file is checked, also against the board's description.
  case check
  /// The battery is looked at.
  case battery
  /// The board goes over to its bootloader.
  case enter
  /// The transfer begins or resumes.
  case begin
  /// The image is sent.
  case write
  /// The board looks at the whole image in its flash.
  case verify
  /// The image becomes the one that is tried at the next start.
  case commit
  /// The board starts it.
  case reboot
  /// The image is kept.
  case confirm
}

/// The outcome of an update without failure.
public enum UpdateOutcome: Equatable, Sendable {
  /// The headset runs this version now, and keeps it.
  case updated(version: String)
  /// The headset had this version already.
  case alreadyThere(version: String)

  /// The version that the headset runs.
  var version: String {
    switch self {
    case .updated(let version), .alreadyThere(let version): version
    }
  }
}

extension HeadsetError {
  /// Creates the error of an update that failed.
  /// - Parameters:
  ///   - reason: the reason, one line that is complete by itself.
  ///   - cause: the error behind it, whose code becomes a fact.
  init(
    update name: String, at step: UpdateStep, _ reason: String, hint: String? = nil,
    cause: HeadsetError? = nil
  ) {
    var facts = [ErrorFact("step", .string(step.rawValue)), ErrorFact("reason", .string(reason))]
    if let cause { facts.append(ErrorFact("cause", .string(cause.code))) }
    self.init(
      .updateFailed, "the firmware of \(name) was not updated (\(step.rawValue)): \(reason)", hint: hint,
      facts: facts)
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
  /// The progress that was reported last.
  private(set) var fraction = 0.0

  /// - Parameter size: bytes of the image.
  init(of size: Int) { self.size = size }

  /// Applies the number of bytes that the board has.
  /// - Returns: the progress to report, if any.
  mutating func acknowledged(_ bytes: Int) -> Double? {
    rise(to: min(Double(bytes) / Double(size), Self.unverified))
  }

  /// The board has verified the image.
  mutating func verified() -> Double? { rise(to: 1) }

  private mutating func rise(to new: Double) -> Double? {
    guard new >= fraction + Self.least else { return nil }
    fraction = new
    return new
  }
}
