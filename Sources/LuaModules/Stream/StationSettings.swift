internal import EventLoop
internal import HTTP
public import StreamKit

/// Settings for the reception of a station, for playing and recording; nil where the default holds.
public struct StationSettings: Sendable, Equatable {
  /// The encoding of its titles that are not UTF-8.
  public var charset: MetadataEncoding?
  /// The `User-Agent` that is sent to it.
  public var userAgent: String?
  /// A file of certificates that are trusted in place of the system's.
  public var certificateFile: String?
  /// The user's name, with `password`.
  public var user: String?
  /// The password, or where it is.
  public var password: Password?

  /// The source of a password.
  public enum Password: Sendable, Equatable {
    /// This is it.
    case text(String)
    /// It is the first line of the file with this path, which nobody but its owner may read. It is read when the station
    /// is asked for, so that nothing else fails when it is not there.
    case file(String)
  }

  /// As for others.
  public init() {}

  /// These settings in place of those of `options`.
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
      throw StreamError(.auth, "the password file \(path) can't be used: \(error.reason)", hint: error.hint)
    }
    let line = bytes.prefix { $0 != 10 && $0 != 13 }
    guard !line.isEmpty, line.count <= 1024, let password = String(validating: line, as: UTF8.self),
      !line.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else { throw StreamError(.auth, "the password file \(path) has no password in its first line") }
    return password
  }
}
