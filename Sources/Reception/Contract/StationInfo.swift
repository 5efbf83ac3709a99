internal import HTTP

/// The facts that a station publishes about itself.
public struct StationInfo: Sendable, Equatable {
  /// `icy-name`.
  public var name: String?
  /// `icy-genre`.
  public var genre: String?
  /// `icy-url`: its page.
  public var page: String?
  /// `true` if titles come with the sound.
  public var sendsTitles = false
  /// The rate in kbit/s of the headers.
  public var bitRate: Int?
  /// The URL of the sound, after lists and redirects.
  public var url = ""

  /// Creates the facts of a station that publishes none.
  package init() {}
}

extension StationInfo {
  /// Reads the headers of an answer.
  init(_ head: HTTPResponse) {
    name = head.headers["icy-name"]
    genre = head.headers["icy-genre"]
    page = head.headers["icy-url"]
    sendsTitles = head.headers["icy-metaint"].flatMap { Int($0) }.map { $0 > 0 } ?? false
    // Some stations send a list: "128, 128".
    let declared = head.headers["icy-br"].flatMap { Int($0.prefix { $0.isASCII && $0.isWholeNumber }) }
    bitRate = declared.flatMap { $0 > 0 ? $0 : nil }
    url = head.url
  }
}

/// The facts about a file.
public struct FileFacts: Sendable, Equatable {
  /// `true` if the file can be played from any position.
  public var canSeek = false
  /// The length in seconds; nil while unknown.
  public var duration: Double?
}
