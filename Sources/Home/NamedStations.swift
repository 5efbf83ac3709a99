public import EventLoop
internal import HTTP
public import Playback
public import StreamCore

/// Stations by name, each usable wherever a URL is.
public struct NamedStations: Sendable, Equatable {
  /// The addresses, by name.
  public var addresses: [String: StreamAddress]
  /// The settings of stations, by name.
  public var settings: [String: StationSettings] = [:]
  /// Settings of the command line, which precede those of each station.
  public var common = StationSettings()

  /// Creates a set of stations without settings.
  public init(_ addresses: [String: StreamAddress] = [:]) { self.addresses = addresses }

  /// A station that was named, or given by its URL.
  public struct Station: Sendable, CustomStringConvertible {
    /// The name in the configuration; nil for a URL.
    public let name: String?
    /// The address.
    public let address: StreamAddress

    /// The name, or the URL without user and password.
    public var description: String { name ?? address.description }
  }

  /// Returns the station called `given`, or the one at `given` when it is a URL.
  /// - Throws: `stream.url` for a text that is neither a URL nor a name, `stream.unsupported`.
  public func station(_ given: String) throws(StreamError) -> Station {
    if let address = addresses[given] { return Station(name: given, address: address) }
    guard !addresses.isEmpty, !given.isEmpty, StreamAddress.scheme(of: given) == nil else {
      return Station(name: nil, address: try StreamAddress(given))
    }
    let name = String(given.prefix(100)).onOneLine
    throw StreamError(
      .url, unknown("station", name, among: Array(addresses.keys)),
      hint: nearest(name, among: Array(addresses.keys)) == nil
        ? "stations have their names in the configuration; a URL begins with http:// or https://" : nil,
      facts: [.init("url", .string(StreamAddress.shown(given)))])
  }

  /// Returns `options` with the settings of the station called `name` applied, and those of the command line.
  /// - Parameter name: nil, or a text that names no station, for the settings of the command line alone.
  /// - Throws: `stream.auth` for a password that can't be read.
  public func options(
    for name: String?, from options: StreamOptions = .init()
  ) throws(StreamError) -> StreamOptions {
    var options = options
    if let name, let settings = settings[name] { try settings.apply(to: &options) }
    try common.apply(to: &options)
    return options
  }

  /// Returns the result of `options(for:from:)`; reads passwords on a separate thread, as a mount may never
  /// answer.
  public func options(for name: String?, on loop: EventLoop) async throws -> StreamOptions {
    guard !loop.isVirtual, let path = passwordFile(for: name) else { return try options(for: name) }
    guard let options = try await loop.callFiles({ try options(for: name) }) else {
      let (cause, hint) = FileDeadline.silence(of: path)
      throw StreamError(passwordFile: path, cause: cause, hint: hint)
    }
    return options
  }

  /// The file with the password of a station; nil without one.
  public func passwordFile(for name: String?) -> String? {
    for settings in [common, name.flatMap { settings[$0] }] {
      if case .file(let path)? = settings?.password { return path }
    }
    return nil
  }

  /// `true` if the text can be typed and differs from a URL and a path: `morning`, `Radio 5`.
  public static func isName(_ text: String) -> Bool {
    let isOdd = { (scalar: Unicode.Scalar) in
      scalar == "/" || scalar == ":" || scalar.properties.generalCategory == .control
    }
    return !text.isEmpty && text.first != " " && text.last != " " && text.first != "-"
      && text.utf8.count <= 100
      && !text.unicodeScalars.contains(where: isOdd)
  }
}

/// Settings for the reception of a station, for playing and recording; nil for the default.
public struct StationSettings: Sendable, Equatable {
  /// The encoding of its titles that are not UTF-8.
  public var charset: MetadataEncoding?
  /// The `User-Agent` of its requests.
  public var userAgent: String?
  /// A file of certificates that are trusted in place of the system's.
  public var certificateFile: String?
  /// The user's name, with `password`.
  public var user: String?
  /// The password, or the file that has it.
  public var password: Password?

  /// The source of a password.
  public enum Password: Sendable, Equatable {
    /// The password itself.
    case text(String)
    /// The path of a file that only its owner may read, with the password in its first line. Read when the station is
    /// requested: a missing file fails that request alone.
    case file(String)
  }

  /// Creates settings that keep all defaults.
  public init() {}

  /// Replaces those options that have a setting.
  /// - Throws: `stream.auth` for a password that can't be read.
  func apply(to options: inout StreamOptions) throws(StreamError) {
    if let charset { options.metadataEncoding = charset }
    if let userAgent { options.userAgent = userAgent }
    if let certificateFile { options.certificateFile = certificateFile }
    guard let user, let password else { return }
    switch password {
    case .text(let text): options.credentials = HTTPCredentials(user: user, password: text)
    case .file(let path):
      options.credentials = HTTPCredentials(user: user, password: try Self.password(inFile: path))
    }
  }

  /// Reads the first line of a file that only its owner may read.
  private static func password(inFile path: String) throws(StreamError) -> String {
    let bytes: [UInt8]
    do { bytes = try WholeFile.read(path, atMost: 4096, isSecret: true) } catch {
      throw StreamError(passwordFile: path, cause: error.reason, hint: error.hint)
    }
    let line = bytes.prefix { $0 != 10 && $0 != 13 }
    guard !line.isEmpty, line.count <= 1024, let password = String(validating: line, as: UTF8.self),
      !line.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else { throw StreamError(.auth, "the password file \(path) has no password in its first line") }
    return password
  }
}

extension StreamError {
  /// The error for a password file that can't be read.
  /// - Parameter cause: the reason, as the end of a sentence.
  public init(passwordFile path: String, cause: String, hint: String?) {
    self.init(.auth, "the password file \(path) can't be used: \(cause)", hint: hint)
  }
}
