internal import EventLoop

/// Why firmware is none, or none for this board.
public enum FirmwareFault: Error, Equatable {
  /// The manifest's bytes mean nothing; what exactly.
  case manifest(String)
  /// The file has more or fewer bytes of image than the manifest says.
  case size(said: Int, found: Int)
  /// The image is another than the manifest says.
  case hash
  /// The signature is not of the key that is trusted.
  case signature
  /// The board is another model than the firmware is for.
  case model(firmware: String, board: String)
  /// The board has newer firmware.
  case downgrade(to: String, from: String)
  /// The board's firmware is older than what can be updated from.
  case tooOld(board: String, lowest: String)
  /// The board says a version that is none.
  case boardVersion(String)
}

extension FirmwareFault {
  /// What is wrong, one line that says so by itself.
  public var reason: String {
    switch self {
    case .manifest(let what): "the manifest \(what)"
    case .size(let said, let found): "the manifest says \(said) bytes of image, and \(found) follow"
    case .hash: "the image is not the one that the manifest was made for (its SHA-256 differs)"
    case .signature: "the signature is not by the key that is trusted"
    case .model(let firmware, let board):
      "the firmware is for \(firmware.onOneLine), and this is \(board.onOneLine)"
    case .downgrade(let to, let from): "the headset has \(from), and \(to) is older"
    case .tooOld(let board, let lowest): "the headset has \(board), and the update needs \(lowest) or newer"
    case .boardVersion(let text): "the headset says version \"\(text.onOneLine)\", which is none"
    }
  }

  /// What to do about it, where there is something to do.
  public var hint: String? {
    switch self {
    case .manifest: "name a firmware file, as `roomtone firmware pack` makes them"
    case .size, .hash: "get the file again"
    case .signature:
      "get the file from who makes the firmware, or sign it with the key that the headset trusts"
    case .model: "get the firmware for this model"
    case .downgrade: nil
    case .tooOld(_, let lowest): "update to \(lowest) first"
    case .boardVersion: nil
    }
  }
}
