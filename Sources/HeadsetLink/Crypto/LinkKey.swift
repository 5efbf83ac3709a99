public import EventLoop

/// The secret that a headset and its hosts share: 32 bytes. Never shown.
public struct LinkKey: Sendable, Equatable {
  /// The number of bytes of a key.
  public static let length = 32

  /// The key of the emulated board when none is configured. It is published here and protects nothing.
  public static let development = LinkKey(bytes: Array("roomtone development key, no use".utf8))

  package let bytes: [UInt8]

  package init(bytes: [UInt8]) {
    precondition(bytes.count == Self.length, "a key of a link has \(Self.length) bytes")
    self.bytes = bytes
  }

  /// A key from text: 64 hexadecimal digits, with spaces and line ends around them.
  /// - Throws: `auth`, which contains nothing of the text.
  public init(text: String, from source: String) throws(HeadsetError) {
    let digits = text.utf8.drop { $0 <= 0x20 }
    let key = digits.prefix { $0 > 0x20 }
    let values = key.map { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.dropFirst(key.count).allSatisfy({ $0 <= 0x20 }), key.count == 2 * Self.length,
      !values.contains(nil)
    else {
      throw HeadsetError(
        .auth, "\(source) is not a key of a headset: \(2 * Self.length) hexadecimal digits expected",
        hint: "openssl rand -hex \(Self.length) makes one")
    }
    let nibbles = values.compactMap { $0 }
    bytes = (0..<Self.length).map { UInt8(nibbles[2 * $0] << 4 | nibbles[2 * $0 + 1]) }
  }

  /// Reads a key file, which only its owner may be able to read.
  /// - Throws: `auth`.
  public init(file path: String) throws(HeadsetError) {
    let bytes: [UInt8]
    do { bytes = try WholeFile.read(path, atMost: 256, isSecret: true) } catch {
      throw HeadsetError(keyFile: path, cause: error.reason, hint: error.hint)
    }
    try self.init(text: String(decoding: bytes, as: UTF8.self), from: "the key file \(path)")
  }
}

extension HeadsetError {
  /// The error for a key file that can't be read.
  /// - Parameter cause: the reason, as the end of a sentence.
  public init(keyFile path: String, cause: String, hint: String?) {
    self.init(.auth, "the key file \(path) can't be used: \(cause)", hint: hint)
  }
}
