public import EventLoop

/// A failure with a headset. Matched by `kind` in Swift and by `code` in scripts.
public typealias HeadsetError = Failure<HeadsetErrorKind>

/// The kinds of failure with a headset; the raw value is the stable code, as scripts see it.
public enum HeadsetErrorKind: String, FailureKind, CaseIterable {
  /// The headset did not answer in time.
  case timeout = "headset.timeout"
  /// The board, or an update of its firmware, accepts no requests at present.
  case busy = "headset.busy"
  /// The board can't do that in the mode it is in.
  case wrongMode = "headset.wrong_mode"
  /// The two sides have different keys.
  case auth = "headset.auth"
  /// The headset is connected already.
  case alreadyConnected = "headset.already_connected"
  /// The address has no headset.
  case notAvailable = "headset.not_available"
  /// The connection did not come about, for another reason.
  case connectionFailed = "headset.connection_failed"
  /// The headset is not connected.
  case notConnected = "headset.not_connected"
  /// A request can't be written.
  case writeFailed = "headset.write_failed"
  /// A message was empty, or could not be read.
  case noData = "headset.no_data"
  /// A challenge or its answer is not 16 bytes long.
  case challengeLength = "headset.challenge_length"
  /// The headset has no equalizer bands.
  case noBands = "headset.no_bands"
  /// The headset has more than ten equalizer bands.
  case tooManyBands = "headset.too_many_bands"
  /// The number of values differs from the number of equalizer bands.
  case wrongBandCount = "headset.wrong_band_count"
  /// A value is outside the range that the headset accepts.
  case range = "headset.range"
  /// The headset has no such thing.
  case unsupported = "headset.unsupported"
  /// Firmware can't be written, or writing it failed.
  case updateFailed = "headset.update_failed"

  /// The name that the SDHMI framework has for the failure, as `seed_name`; empty without such a name.
  public var facts: [ErrorFact] {
    SDHMIErrorName(code: rawValue).map { [ErrorFact("seed_name", .string($0.rawValue))] } ?? []
  }
}

extension HeadsetError {
  /// Creates the error of a refusal of `operation` by the board; that of a write at an unexpected offset has
  /// the fact `next_offset`.
  package init(_ refusal: LinkRefusal, to operation: LinkOperation) {
    var kind = Kind.noData
    var words = "answers with status \(refusal.code), which is not known"
    if let status = refusal.status, let known = status.code.flatMap(Kind.init) {
      (kind, words) = (known, status.meaning)
    }
    self.init(
      kind, "\(operation.name): the board \(words)",
      hint: kind == .wrongMode ? "h:reboot() starts its firmware" : nil,
      facts: refusal.nextOffset.map { [ErrorFact("next_offset", .int(Int($0)))] } ?? [])
  }

  /// Creates the error of an answer or an event of the board that can't be read.
  package init(_ error: PayloadError, in operation: LinkOperation) {
    let message = operation.isEvent ? "event" : "answer"
    self.init(.noData, "\(operation.name): the board's \(message) can't be read (\(error.meaning))")
  }
}

/// The names of errors in Avnera's SDHMI framework 1.0, each in one spelling.
enum SDHMIErrorName: String, CaseIterable {
  case noRowData = "NO_ROW_DATA_ERROR"
  case challengeLength = "CHALLENGE_LENGTH_NOT_16_BYTES_AS_EXPECTED"
  case connectionFailed = "CONNECTION_PROCESS_FAILED_UNKNOW_REASON"
  case alreadyConnected = "CONNECTION_PROCESS_FAILED_DEVICE_IS_ALREADY_CONNECTED"
  case notAvailable = "CONNECTION_PROCESS_FAILED_DEVICE_IS_NOT_AVAILABLE"
  case notConnected = "DEVICE_NOT_CONNECTED"
  case writingFailed = "WRITING_PROCESS_IN_AVNERA_FAILED"
  case noBands = "TARGET_HAS_NO_BANDS"
  case wrongBandCount = "WRONG_NUMBER_OF_BANDS"
  case tooManyBands = "UP_TO_10_BANDS_ARE_UNSUPPORTED_ERROR"
  case updateFailed = "ERROR_FOUND_UPDATING_THE_FIRMWARE"

  /// Reads a name in any spelling of the framework's own documentation, and in the correct one.
  init?(spelling: String) {
    switch spelling {
    case "CHALLENGE_LENGHT_NOT_16_BYTES_AS_EXPECTED": self = .challengeLength
    case "CONNECTION_PROCESS_FAILED_IS_ALREADY_CONNECTED": self = .alreadyConnected
    case "CONNECTION_PROCESS_FAILED_IS_NOT_AVAILABLE": self = .notAvailable
    case "CONNECTION_PROCESS_FAILED_UNKNOWN_REASON": self = .connectionFailed
    default: self.init(rawValue: spelling)
    }
  }

  /// Creates the name of the error with a script's `code`; nil when the framework has no such error.
  init?(code: String) {
    switch code {
    case "headset.no_data": self = .noRowData
    case "headset.challenge_length": self = .challengeLength
    case "headset.auth", "headset.connection_failed": self = .connectionFailed
    case "headset.already_connected": self = .alreadyConnected
    case "headset.not_available": self = .notAvailable
    case "headset.not_connected": self = .notConnected
    case "headset.write_failed": self = .writingFailed
    case "headset.no_bands": self = .noBands
    case "headset.wrong_band_count": self = .wrongBandCount
    case "headset.too_many_bands": self = .tooManyBands
    case "headset.update_failed": self = .updateFailed
    default: return nil
    }
  }
}
