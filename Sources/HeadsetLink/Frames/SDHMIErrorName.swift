/// The names that Avnera's SDHMI framework 1.0 gives its errors, each in one spelling.
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

  /// A name in any spelling of the framework's own documentation, and without its slips.
  init?(spelling: String) {
    switch spelling {
    case "CHALLENGE_LENGHT_NOT_16_BYTES_AS_EXPECTED": self = .challengeLength
    case "CONNECTION_PROCESS_FAILED_IS_ALREADY_CONNECTED": self = .alreadyConnected
    case "CONNECTION_PROCESS_FAILED_IS_NOT_AVAILABLE": self = .notAvailable
    case "CONNECTION_PROCESS_FAILED_UNKNOWN_REASON": self = .connectionFailed
    default: self.init(rawValue: spelling)
    }
  }

  /// The name of what scripts know by `code`; nil when the framework has none.
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
