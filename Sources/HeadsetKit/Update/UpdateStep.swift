internal import EventLoop
internal import HeadsetLink

/// The steps of an update, by the names that its errors have in their fact `step`.
enum UpdateStep: String, CaseIterable {
  /// The file is looked at, and held against what the board says of itself.
  case check
  /// The battery is looked at.
  case battery
  /// The board goes over to its bootloader.
  case enter
  /// The transfer begins, or goes on where it was broken off.
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

/// How an update ended well.
public enum UpdateOutcome: Equatable, Sendable {
  /// The headset runs this version now, and keeps it.
  case updated(version: String)
  /// It had it already.
  case alreadyThere(version: String)

  /// The version that the headset runs.
  var version: String {
    switch self {
    case .updated(let version), .alreadyThere(let version): version
    }
  }
}

extension HeadsetError {
  /// An update that failed.
  /// - Parameters:
  ///   - reason: one line that says by itself what is wrong.
  ///   - cause: what it comes of, whose code becomes a fact.
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

/// How far an update is: acknowledged bytes, as a part of the image. Never falls, and is 1 only for an image that the
/// board has verified.
struct UpdateProgress {
  /// Less than this more is not told.
  private static let least = 0.001
  /// As much as all bytes are before they are verified.
  private static let unverified = 0.99

  private let size: Int
  /// What was told last.
  private(set) var fraction = 0.0

  /// - Parameter size: bytes of the image.
  init(of size: Int) { self.size = size }

  /// The board has so many bytes.
  /// - Returns: what is to be told, if anything.
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
