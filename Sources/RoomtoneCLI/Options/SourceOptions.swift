internal import EventLoop
internal import Home
internal import StreamCore

// Options for requests to servers and for trust in them, shared by the commands that accept a URL.

extension OptionSpec {
  static let charset = OptionSpec(
    "charset", .text, "the character set of titles that are not UTF-8 (default: latin1)")
  static let userAgent = OptionSpec(
    "user-agent", .text, "the User-Agent of the requests (default: Roomtone)")
  static let user = OptionSpec("user", .text, "the user's name at the server; with --password-file")
  static let passwordFile = OptionSpec(
    "password-file", .file, "the password is the first line of this file, which only its owner may read")
  static let certificates = OptionSpec(
    "ca-file", .file, sources: [.files(["pem", "crt"])],
    "certificates that are trusted in place of the system's")

  static let ofSource: [OptionSpec] = [.charset, .userAgent, .user, .passwordFile, .certificates]
}

extension StationSettings {
  /// Creates the settings from a command's options.
  /// - Throws: `UsageError`.
  init(_ arguments: ParsedArguments, of command: String) throws(UsageError) {
    self.init()
    let help = "roomtone \(command)"
    if let name = arguments.text(.charset) {
      guard let encoding = MetadataEncoding(name: name) else {
        throw UsageError(.value, "--charset: no encoding is called \(quoted(name))", help: help)
      }
      charset = encoding
    }
    userAgent = arguments.text(.userAgent)
    certificateFile = arguments.text(.certificates)
    guard arguments.has(.user) == arguments.has(.passwordFile) else {
      throw UsageError(.value, "--user and --password-file go together", help: help)
    }
    user = arguments.text(.user)
    if let user, user.contains(":") {
      throw UsageError(.value, "--user: a user's name can't have a colon", help: help)
    }
    password = arguments.text(.passwordFile).map { .file($0) }
  }
}
