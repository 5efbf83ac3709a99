/// The kind of a frame.
package enum LinkKind: UInt8, CaseIterable {
  case request = 0
  case response = 1
  case event = 2
}

/// The operations of HBP/1, by their code on the wire. Events have the highest bit.
package enum LinkOperation: UInt16, CaseIterable {
  case hello = 0x0001
  case authenticate = 0x0002
  case ping = 0x0003
  case info = 0x0004
  case bye = 0x0005

  case noiseCancelling = 0x0010
  case setNoiseCancelling = 0x0011

  case ambientLimits = 0x0020
  case ambient = 0x0021
  case setAmbient = 0x0022

  case equalizerInfo = 0x0030
  case equalizerBands = 0x0031
  case equalizer = 0x0032
  case setEqualizerBand = 0x0033
  case selectPreset = 0x0034
  case setEqualizer = 0x0035
  case resetEqualizer = 0x0036

  case battery = 0x0040

  case imageType = 0x0050
  case enterBootloader = 0x0051
  case beginTransfer = 0x0052
  case writeTransfer = 0x0053
  case transferStatus = 0x0054
  case verifyTransfer = 0x0055
  case commitTransfer = 0x0056
  case abortTransfer = 0x0057
  case reboot = 0x0058
  case confirmImage = 0x0059

  case areYouThere = 0x8003
  case noiseCancellingChanged = 0x8010
  case ambientChanged = 0x8020
  case equalizerChanged = 0x8030
  case batteryChanged = 0x8040
  case jumpingToBootloader = 0x8051
  case transferChanged = 0x8054

  /// `true` for a report of the board that no request precedes.
  package var isEvent: Bool { rawValue & 0x8000 != 0 }

  /// The name in messages: "set noise cancelling".
  package var name: String {
    switch self {
    case .hello: "hello"
    case .authenticate: "authenticate"
    case .ping: "ping"
    case .info: "info"
    case .bye: "bye"
    case .noiseCancelling: "noise cancelling"
    case .setNoiseCancelling: "set noise cancelling"
    case .ambientLimits: "ambient limits"
    case .ambient: "ambient"
    case .setAmbient: "set ambient"
    case .equalizerInfo: "equalizer info"
    case .equalizerBands: "equalizer bands"
    case .equalizer: "equalizer"
    case .setEqualizerBand: "set equalizer band"
    case .selectPreset: "select preset"
    case .setEqualizer: "set equalizer"
    case .resetEqualizer: "reset equalizer"
    case .battery: "battery"
    case .imageType: "image type"
    case .enterBootloader: "enter bootloader"
    case .beginTransfer: "begin transfer"
    case .writeTransfer: "write transfer"
    case .transferStatus: "transfer status"
    case .verifyTransfer: "verify transfer"
    case .commitTransfer: "commit transfer"
    case .abortTransfer: "abort transfer"
    case .reboot: "reboot"
    case .confirmImage: "confirm image"
    case .areYouThere: "are you there"
    case .noiseCancellingChanged: "noise cancelling changed"
    case .ambientChanged: "ambient changed"
    case .equalizerChanged: "equalizer changed"
    case .batteryChanged: "battery changed"
    case .jumpingToBootloader: "jumping to bootloader"
    case .transferChanged: "transfer changed"
    }
  }
}
