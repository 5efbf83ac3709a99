internal import EventLoop
internal import HeadsetLink

/// The steps of an update, with the names for the fact `step` of its errors.
enum UpdateStep: String, CaseIterable {
  /// The file is checked, also against the board's description.
  case check
  /// The charge of the battery is checked.
  case battery
  /// The board starts its bootloader.
  case enter
  /// The transfer begins or resumes.
  case begin
  /// The image is sent.
  case write
  /// The board verifies the whole image in its flash.
  case verify
  /// The image is selected for a trial at the next start.
  case commit
  /// The board starts the image.
  case reboot
  /// The board keeps the image.
  case confirm
}

/// The outcome of an update without failure.
public enum UpdateOutcome: Equatable, Sendable {
  /// The headset runs and keeps this version now.
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
  ///   - cause: the underlying error, whose code becomes a fact.
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
