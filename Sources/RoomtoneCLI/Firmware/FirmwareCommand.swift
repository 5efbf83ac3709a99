internal import EventLoop
internal import HeadsetKit
internal import HeadsetLink
internal import JSONText

/// Command `roomtone firmware`: creates, signs and inspects firmware files of headsets.
enum FirmwareCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    switch arguments.action?.name {
    case "pack": try pack(arguments)
    case "sign": try sign(arguments)
    default: try inspect(arguments)
    }
  }

  // MARK: pack

  private static func pack(_ arguments: ParsedArguments) throws -> Int32 {
    let output = try needed(.firmwareOutput, arguments)
    let model = try needed(.model, arguments)
    guard FirmwareManifest.isModel(model) else {
      throw usage(
        .model, "\(quoted(model)) is not a valid model name (1 to 255 bytes, no control characters)")
    }
    _ = try needed(.firmwareVersion, arguments)
    guard let version = try version(.firmwareVersion, arguments) else { return UsageError.exitStatus }
    let lowest = try self.version(.lowest, arguments)
    if let lowest, lowest > version {
      throw usage(.lowest, "\(lowest) is newer than the version itself, \(version)")
    }
    let source = arguments.operands[0]
    if OutputFile.areSame(source, output) {
      throw usage(.firmwareOutput, "leads to the image itself")
    }
    let key = try arguments.text(.key).map { try SigningKey(file: $0) }
    let image = try FirmwareFile.image(at: source)
    let file: FirmwareFile
    do {
      file = try FirmwareFile(
        image: image, model: model, version: version, lowestVersion: lowest, key: key ?? .development)
    } catch { throw HeadsetError(error, file: source) }
    try write(file, to: output, replaces: arguments.has(.force))
    let signer = key == nil ? "; signed with the development key, which only emulated boards trust" : ""
    Terminal.print("\(output.onOneLine): \(model) \(version), \(image.count) bytes of image\(signer)")
    return 0
  }

  // MARK: sign

  private static func sign(_ arguments: ParsedArguments) throws -> Int32 {
    let path = arguments.operands[0]
    let keyPath = try needed(.key, arguments)
    let key = try SigningKey(file: keyPath)
    var file = try FirmwareFile(contentsOf: path)
    // A signature would confirm a damaged file.
    guard file.isIntact else { throw HeadsetError(FirmwareFault.hash, file: path) }
    file.sign(with: key)
    try write(file, to: path, replaces: true)
    Terminal.print("\(path.onOneLine): signed with \(keyPath.onOneLine)")
    return 0
  }

  private static func write(_ file: FirmwareFile, to path: String, replaces: Bool) throws {
    try OutputFile(path, replaces: replaces, kind: .firmwareFile).write(file.bytes)
  }

  // MARK: inspect

  private static func inspect(_ arguments: ParsedArguments) throws -> Int32 {
    let path = arguments.operands[0]
    let keyPath = arguments.text(.key)
    let key = try keyPath.map { try VerifyingKey(file: $0) } ?? .development
    let finding = FirmwareFinding(
      path: path, file: try FirmwareFile(contentsOf: path), key: key, keyPath: keyPath)
    if arguments.has(.jsonList) {
      Terminal.print(finding.json.lines)
    } else {
      finding.table.lines.forEach(Terminal.print)
    }
    return finding.isGood ? 0 : 1
  }

  // MARK: options

  private static func needed(_ option: OptionSpec, _ arguments: ParsedArguments) throws -> String {
    guard let text = arguments.text(option) else {
      throw UsageError(
        .option, "\(arguments.command.name) \(arguments.action?.name ?? "") needs \(option.dashed)",
        help: "roomtone firmware")
    }
    return text
  }

  private static func version(
    _ option: OptionSpec, _ arguments: ParsedArguments
  ) throws -> FirmwareVersion? {
    guard let text = arguments.text(option) else { return nil }
    guard let version = FirmwareVersion(text) else {
      throw usage(
        option, "\(quoted(text)) is not a version (one to four numbers joined by dots, as in 1.10.2)")
    }
    return version
  }

  private static func usage(_ option: OptionSpec, _ what: String) -> UsageError {
    UsageError(.value, "\(option.dashed): \(what)", help: "roomtone firmware")
  }
}
