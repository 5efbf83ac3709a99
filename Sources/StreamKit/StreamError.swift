public import EventLoop

/// What fails with a stream. Matched by `kind` in Swift and by `code` in scripts.
public struct StreamError: CodedError, Equatable {
  /// The stable names.
  public enum Kind: String, Sendable {
    /// No URL, or none that can be read.
    case url = "stream.url"
    /// A scheme, a kind of playlist or a format that does not work here.
    case unsupported = "stream.unsupported"
    /// The server has no such thing, or a playlist lists nothing that can be played.
    case notFound = "stream.not_found"
    /// The server answers with another status of 400 or more.
    case http = "stream.http"
    /// The server wants to know who asks, or lets this one not in.
    case auth = "stream.auth"
    /// The server's name is not known.
    case dns = "stream.dns"
    /// No answer came in time.
    case timeout = "stream.timeout"
    /// The connection was refused or broke, or there is no network.
    case network = "stream.network"
    /// What came is no audio.
    case content = "stream.content"
    /// It can't be moved to that place.
    case noSeek = "stream.no_seek"
    /// It plays on another session.
    case inUse = "stream.in_use"
  }

  /// Which failure.
  public let kind: Kind
  /// What failed, one line.
  public let message: String
  /// What to do, one line.
  public let hint: String?
  /// The facts, in a fixed order.
  public let facts: [ErrorFact]

  /// A failure of `kind`.
  public init(_ kind: Kind, _ message: String, hint: String? = nil, facts: [ErrorFact] = []) {
    self.kind = kind
    self.message = message
    self.hint = hint
    self.facts = facts
  }

  /// The stable name, as scripts see it.
  public var code: String { kind.rawValue }
}
