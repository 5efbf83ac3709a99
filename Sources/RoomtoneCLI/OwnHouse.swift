internal import Roomtone
internal import SpeakerKit

/// The house of a command, as its options `--config`, `--house` and `--output` describe it.
struct OwnHouse {
  /// The configuration file; nil for the user's own, or the defaults.
  var file: String?
  /// The driver in place of the configured one.
  var driver: String?
  /// The output of all speakers in place of the configured ones.
  var output: Output?

  private let command: String

  /// Reads the options.
  /// - Throws: `UsageError` for an output of a driver that has no outputs.
  init(_ arguments: ParsedArguments, of command: String) throws(UsageError) {
    (file, driver, output) = (arguments.text(.config), arguments.text(.house), arguments.output(.output))
    self.command = command
    if let driver, output != nil, DriverKinds.named(driver)?.isEmbedded == false {
      throw withoutOutput(driver)
    }
  }

  /// `true` if an option names a house beside the daemon's.
  var isNamed: Bool { file != nil || driver != nil || output != nil }

  /// Reads the configuration, and changes it as the options say.
  /// - Throws: `UsageError` for an output of speakers that have no outputs, `LuaError`, `ScriptText.Missing`.
  func configuration() throws -> Configuration {
    var configuration = try EngineSetup.configuration(file: file)
    if let driver { try configuration.useDriver(driver) }
    if let output {
      guard configuration.isEmbedded else { throw withoutOutput(configuration.driverName) }
      configuration.house.use(output)
    }
    return configuration
  }

  private func withoutOutput(_ driver: String) -> UsageError {
    let origin =
      self.driver == nil ? "; the configuration names \(driver), and --house house another house" : ""
    return UsageError(
      .option,
      "--output is for the speakers of --house house; those of \(driver) sound where it plays them\(origin)",
      help: "roomtone \(command)")
  }
}
