internal import HeadsetLink
internal import JSONText

/// The result of inspecting a firmware file.
struct FirmwareFinding {
  let path: String
  let file: FirmwareFile
  /// Key for verifying the signature.
  let key: VerifyingKey
  /// Path of the key; nil for the development key.
  let keyPath: String?

  /// `true` if hash and signature are valid.
  var isGood: Bool { file.isIntact && isSigned }

  private var isSigned: Bool { file.manifest.isSigned(by: key) }
  private var isDevelopment: Bool { file.manifest.isSigned(by: .development) }
  private var hash: String {
    file.manifest.imageHash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Table for people.
  var table: TextTable {
    let manifest = file.manifest
    var table = TextTable()
    table.add(["File", path])
    table.add(["Model", manifest.model])
    table.add(["Version", "\(manifest.version)"])
    table.add([
      "Updates", manifest.lowestVersion == .lowest ? "any version" : "\(manifest.lowestVersion) or newer",
    ])
    table.add(["Image", "\(manifest.imageSize) bytes"])
    table.add(["SHA-256", hash])
    table.add(["Hash", file.isIntact ? "holds" : "does not hold: the image is damaged"])
    table.add(["Signature", signature])
    return table
  }

  private var signature: String {
    let own = "the development key, which only emulated boards trust"
    switch (isSigned, keyPath) {
    case (true, let path?): return "holds, by \(path)" + (isDevelopment ? ": \(own)" : "")
    case (true, nil): return "holds, by \(own)"
    case (false, let path?): return "does not hold for \(path)" + (isDevelopment ? ": it is by \(own)" : "")
    case (false, nil): return "is not by the development key; --key FILE checks it against yours"
    }
  }

  /// Object for programs.
  var json: JSON {
    let manifest = file.manifest
    return .object([
      ("file", .string(path)), ("model", .string(manifest.model)),
      ("version", .string("\(manifest.version)")), ("lowest_version", .string("\(manifest.lowestVersion)")),
      ("size", .number(manifest.imageSize)), ("sha256", .string(hash)), ("hash_holds", .bool(file.isIntact)),
      ("signature_holds", .bool(isSigned)), ("key", .string(keyPath ?? "development")),
      ("is_development", .bool(isDevelopment)),
    ])
  }
}
