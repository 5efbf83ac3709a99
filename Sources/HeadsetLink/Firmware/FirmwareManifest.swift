internal import EventLoop

/// The first part of a firmware file, which is sent to the board before the image.
///
/// Little-endian: "RTFW", the format u8 = 1, model, version and lowest version (each u8 length + UTF-8), the
/// image's size u32 and SHA-256 (32 bytes), an Ed25519 signature (64 bytes) over all bytes before it.
public struct FirmwareManifest: Equatable, Sendable {
  /// The most bytes of a manifest.
  static let longest = 1_024
  /// The sizes of images: 1 byte to 16 MiB.
  package static let imageSizes = 1...(16 << 20)

  private static let magic = Array("RTFW".utf8)
  private static let format: UInt8 = 1

  /// The model that the image is for, as boards send it in HELLO: 1 to 255 bytes without control characters.
  public let model: String
  /// The version of the image.
  public let version: FirmwareVersion
  /// The lowest version that can be updated from; not above `version`.
  public let lowestVersion: FirmwareVersion
  /// The number of bytes of the image.
  public let imageSize: Int
  /// The SHA-256 of the image.
  public let imageHash: [UInt8]
  /// The signature of all bytes before it, 64 bytes.
  private(set) var signature: [UInt8]

  /// Creates a signed manifest for `image`.
  /// - Throws: `manifest`, `size`.
  package init(
    model: String, version: FirmwareVersion, lowestVersion: FirmwareVersion, image: [UInt8], key: SigningKey
  ) throws(FirmwareFault) {
    (self.model, self.version, self.lowestVersion) = (model, version, lowestVersion)
    (imageSize, imageHash) = (image.count, SHA256.hash(image))
    signature = []
    try check()
    sign(with: key)
  }

  /// Parses a whole manifest.
  /// - Throws: `manifest`.
  package init(parsing bytes: [UInt8]) throws(FirmwareFault) {
    var reader = PayloadReader(bytes)
    try self.init(from: &reader)
    guard reader.rest.isEmpty else { throw .manifest("has \(reader.rest.count) bytes after its end") }
  }

  /// Reads a manifest from the start of the remaining bytes.
  /// - Throws: `manifest`.
  package init(from reader: inout PayloadReader) throws(FirmwareFault) {
    let (versionText, lowestText): (String, String)
    do {
      guard try reader.bytes(Self.magic.count) == Self.magic else {
        throw FirmwareFault.manifest("does not begin with RTFW")
      }
      let format = try reader.u8()
      guard format == Self.format else {
        throw FirmwareFault.manifest("is of format \(format), and this program knows format \(Self.format)")
      }
      model = try reader.text()
      (versionText, lowestText) = try (reader.text(), reader.text())
      imageSize = Int(try reader.u32())
      imageHash = try reader.bytes(SHA256.length)
      signature = try reader.bytes(SigningKey.signatureLength)
    } catch let fault as FirmwareFault {
      throw fault
    } catch {
      throw .manifest(error as? PayloadError == .text ? "has a text that is not UTF-8" : "ends too early")
    }
    guard let version = FirmwareVersion(versionText) else {
      throw .manifest("has \"\(versionText.onOneLine)\" as version: not a version")
    }
    guard let lowest = FirmwareVersion(lowestText) else {
      throw .manifest("has \"\(lowestText.onOneLine)\" as lowest version: not a version")
    }
    (self.version, lowestVersion) = (version, lowest)
    try check()
  }

  private func check() throws(FirmwareFault) {
    guard Self.isModel(model) else {
      throw .manifest("has an invalid model name (1 to 255 bytes, no control characters)")
    }
    guard lowestVersion <= version else {
      throw .manifest("is for updates from \(lowestVersion), which is newer than its version \(version)")
    }
    guard Self.imageSizes.contains(imageSize) else {
      throw .manifest(
        "is for an image of \(imageSize) bytes, and an image has 1 to \(Self.imageSizes.upperBound)")
    }
  }

  /// `true` if `text` can be the name of a model.
  public static func isModel(_ text: String) -> Bool {
    (1...255).contains(text.utf8.count) && text == text.onOneLine
  }

  /// Signs anew.
  mutating func sign(with key: SigningKey) { signature = key.sign(signedBytes) }

  /// `true` if the signature is by `key`.
  public func isSigned(by key: VerifyingKey) -> Bool {
    key.isValid(signature: signature, message: signedBytes)
  }

  /// The whole manifest.
  package var bytes: [UInt8] { signedBytes + signature }

  private var signedBytes: [UInt8] {
    var writer = PayloadWriter()
    writer.raw(Self.magic)
    writer.u8(Self.format)
    for text in [model, version.description, lowestVersion.description] {
      // `check` has made sure that its length fits a byte.
      let bytes = Array(text.utf8)
      writer.u8(UInt8(bytes.count))
      writer.raw(bytes)
    }
    writer.u32(UInt32(imageSize))
    writer.raw(imageHash)
    return writer.bytes
  }

  /// The SHA-256 of the whole manifest, which identifies it.
  package var digest: [UInt8] { SHA256.hash(bytes) }
}

/// The version of firmware: one to four decimal numbers joined by dots, "1.10.2".
///
/// Versions are compared number by number; a missing number counts as 0, so 1.2 and 1.2.0 are the same.
public struct FirmwareVersion: Sendable, CustomStringConvertible {
  /// The numbers that are written.
  private let written: [UInt32]

  /// Reads a version; nil for an invalid text. Numbers are below 2³² and have no leading zeros, so that a
  /// version has one spelling.
  public init?(_ text: String) {
    // A longer text can't be a version, and is not parsed.
    guard text.utf8.count <= 43 else { return nil }
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard (1...4).contains(parts.count) else { return nil }
    var numbers: [UInt32] = []
    for part in parts {
      let isDecimal = part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard isDecimal, part.count == 1 || part.first != UInt8(ascii: "0"),
        let number = UInt32(String(decoding: part, as: UTF8.self))
      else { return nil }
      numbers.append(number)
    }
    written = numbers
  }

  /// The lowest version of all.
  public static let lowest = FirmwareVersion(numbers: [0])

  private init(numbers: [UInt32]) { written = numbers }

  /// The version as it is written, "1.10.2".
  public var description: String { written.map(String.init).joined(separator: ".") }

  private var numbers: [UInt32] { written + Array(repeating: 0, count: 4 - written.count) }
}

extension FirmwareVersion: Comparable, Hashable {
  /// `true` if all numbers are equal.
  public static func == (one: FirmwareVersion, other: FirmwareVersion) -> Bool {
    one.numbers == other.numbers
  }
  /// `true` if the first number that differs is lower.
  public static func < (one: FirmwareVersion, other: FirmwareVersion) -> Bool {
    one.numbers.lexicographicallyPrecedes(other.numbers)
  }
  /// Adds the numbers.
  public func hash(into hasher: inout Hasher) { hasher.combine(numbers) }
}
