internal import HTTP

/// What a station says of itself.
public struct StationInfo: Sendable, Equatable {
  /// `icy-name`.
  public var name: String?
  /// `icy-genre`.
  public var genre: String?
  /// `icy-url`: its page.
  public var page: String?
  /// kbit/s, as the headers tell.
  public var bitRate: Int?
  /// Where the sound comes from, after lists and redirects.
  public var url = ""
}

extension StationInfo {
  /// What the headers of an answer tell.
  init(_ head: HTTPResponse) {
    name = head.headers["icy-name"]
    genre = head.headers["icy-genre"]
    page = head.headers["icy-url"]
    // Some stations tell a list: "128, 128".
    let told = head.headers["icy-br"].flatMap { Int($0.prefix { $0.isASCII && $0.isWholeNumber }) }
    bitRate = told.flatMap { $0 > 0 ? $0 : nil }
    url = head.url
  }
}
