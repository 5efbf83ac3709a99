/// The outcome of a request: the first two bytes of a response's payload.
package enum LinkStatus: UInt16, CaseIterable {
  case ok = 0
  case badRequest = 1
  case challengeLength = 2
  case authentication = 3
  case noBands = 4
  case wrongBandCount = 5
  case outOfRange = 6
  case unsupported = 7
  case busy = 8
  case wrongMode = 9
  case wrongModel = 16
  case badSignature = 17
  case downgrade = 18
  case wrongOffset = 19
  case flash = 20
  case wrongHash = 21
  case batteryLow = 22
  case noTransfer = 23

  /// The code of the error that a script sees; nil for `ok`.
  package var code: String? {
    switch self {
    case .ok: nil
    case .badRequest: "headset.no_data"
    case .challengeLength: "headset.challenge_length"
    case .authentication: "headset.auth"
    case .noBands: "headset.no_bands"
    case .wrongBandCount: "headset.wrong_band_count"
    case .outOfRange: "headset.range"
    case .unsupported: "headset.unsupported"
    case .busy: "headset.busy"
    case .wrongMode: "headset.wrong_mode"
    case .wrongModel, .badSignature, .downgrade, .wrongOffset, .flash, .wrongHash, .batteryLow, .noTransfer:
      "headset.update_failed"
    }
  }

  /// The meaning, as the end of a sentence: "the board …".
  package var meaning: String {
    switch self {
    case .ok: "did it"
    case .badRequest: "could not read the request"
    case .challengeLength: "wants a challenge and its answer to be 16 bytes long"
    case .authentication: "does not know this key"
    case .noBands: "has no equalizer bands"
    case .wrongBandCount: "has another number of equalizer bands"
    case .outOfRange: "does not take a value that large or small"
    case .unsupported: "can't do that"
    case .busy: "is busy"
    case .wrongMode: "can't do that in the mode it is in"
    case .wrongModel: "is another model than the firmware is for"
    case .badSignature: "does not trust the signature of the firmware"
    case .downgrade: "does not go back to older firmware"
    case .wrongOffset: "expects another part of the firmware"
    case .flash: "could not write its flash"
    case .wrongHash: "has other firmware in its flash than was announced"
    case .batteryLow: "has too little battery left"
    case .noTransfer: "knows of no such transfer"
    }
  }

  /// The name that the SDHMI framework has for it.
  var sdhmiName: SDHMIErrorName? { code.flatMap(SDHMIErrorName.init(code:)) }
}
