internal import EventLoop

/// The content of a firmware file: the manifest, then the image up to the file's end.
public struct FirmwareFile: Equatable, Sendable {
  /// The description of the image; made of the bytes before it.
  public private(set) var manifest: FirmwareManifest
  /// The image; its length is `manifest.imageSize`.
  public let image: [UInt8]

  /// The most bytes of a file.
  package static let longest = FirmwareManifest.longest + FirmwareManifest.imageSizes.upperBound

  /// Creates signed firmware of an image.
  /// - Parameter lowestVersion: the lowest version that can be updated from; any when nil.
  /// - Throws: `manifest` when the values can't be those of a manifest.
  public init(
    image: [UInt8], model: String, version: FirmwareVersion, lowestVersion: FirmwareVersion? = nil,
    key: SigningKey
  ) throws(FirmwareFault) {
    manifest = try FirmwareManifest(
      model: model, version: version, lowestVersion: lowestVersion ?? .lowest, image: image, key: key)
    self.image = image
  }

  /// Parses the bytes of a firmware file. Neither the hash nor the signature is checked.
  /// - Throws: `manifest`, `size`.
  package init(parsing bytes: [UInt8]) throws(FirmwareFault) {
    var reader = PayloadReader(bytes)
    manifest = try FirmwareManifest(from: &reader)
    guard reader.rest.count == manifest.imageSize else {
      throw .size(said: manifest.imageSize, found: reader.rest.count)
    }
    image = Array(reader.rest)
  }

  /// The whole file.
  public var bytes: [UInt8] { manifest.bytes + image }

  /// `true` if the SHA-256 of the image is the manifest's.
  public var isIntact: Bool { SHA256.hash(image) == manifest.imageHash }

  /// Signs anew.
  public mutating func sign(with key: SigningKey) { manifest.sign(with: key) }

  /// Refuses a damaged image, and a signature by another key.
  /// - Throws: `hash`, `signature`.
  public func check(trusting key: VerifyingKey) throws(FirmwareFault) {
    guard isIntact else { throw .hash }
    guard manifest.isSigned(by: key) else { throw .signature }
  }
}

extension FirmwareManifest {
  /// Refuses firmware that is not for `board`, before anything is sent.
  /// - Parameter allowsDowngrade: `true` if older firmware than the board has is accepted.
  /// - Throws: `model`, `boardVersion`, `downgrade`, `tooOld`.
  package func check(for board: BoardInfo, allowingDowngrade allowsDowngrade: Bool = false)
    throws(FirmwareFault)
  {
    guard model == board.model else { throw .model(firmware: model, board: board.model) }
    guard let current = FirmwareVersion(board.firmwareVersion) else {
      throw .boardVersion(board.firmwareVersion)
    }
    if !allowsDowngrade, version < current {
      throw .downgrade(to: version.description, from: board.firmwareVersion)
    }
    guard current >= lowestVersion else {
      throw .tooOld(board: board.firmwareVersion, lowest: lowestVersion.description)
    }
  }
}

/// The reason why bytes are not firmware, or not firmware for this board.
public enum FirmwareFault: Error, Equatable {
  /// The manifest's bytes are invalid; the text is the reason.
  case manifest(String)
  /// The number of bytes of image in the file differs from the manifest's.
  case size(said: Int, found: Int)
  /// The SHA-256 of the image differs from the manifest's.
  case hash
  /// The signature was not made with the trusted key.
  case signature
  /// The board is another model than the firmware is for.
  case model(firmware: String, board: String)
  /// The board has newer firmware.
  case downgrade(to: String, from: String)
  /// The board's firmware is older than the lowest version that can be updated from.
  case tooOld(board: String, lowest: String)
  /// The board's version can't be read.
  case boardVersion(String)
}

extension FirmwareFault {
  /// The reason, one line that is complete by itself.
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
    case .boardVersion(let text): "the headset reports \"\(text.onOneLine)\" as its version: not a version"
    }
  }

  /// The remedy; nil without one.
  public var hint: String? {
    switch self {
    case .manifest: "name a firmware file, as `roomtone firmware pack` makes them"
    case .size, .hash: "get the file again"
    case .signature:
      "get the file from the maker of the firmware, or sign it with the key that the headset trusts"
    case .model: "get the firmware for this model"
    case .downgrade: nil
    case .tooOld(_, let lowest): "update to \(lowest) first"
    case .boardVersion: nil
    }
  }
}
