public import EventLoop

/// A failure of a stream. Matched by `kind` in Swift and by `code` in scripts.
public struct StreamError: CodedError, Equatable {
  /// The stable codes.
  public enum Kind: String, Sendable {
    /// The URL is missing, or can't be parsed.
    case url = "stream.url"
    /// A scheme, a kind of playlist or a format that does not work here.
    case unsupported = "stream.unsupported"
    /// The server has no such thing, or a playlist lists nothing that can be played.
    case notFound = "stream.not_found"
    /// The server answers with another status of 400 or more.
    case http = "stream.http"
    /// The server requires credentials, or refuses those sent.
    case auth = "stream.auth"
    /// The server's name is not known.
    case dns = "stream.dns"
    /// The time limit for an answer passed.
    case timeout = "stream.timeout"
    /// The connection was refused or broke, or there is no network.
    case network = "stream.network"
    /// The content is not audio.
    case content = "stream.content"
    /// The stream can't be moved to that position.
    case noSeek = "stream.no_seek"
    /// The stream plays on another session.
    case inUse = "stream.in_use"
  }

  /// The kind of failure.
  public let kind: Kind
  /// The failure, in one line.
  public let message: String
  /// The remedy, in one line.
  public let hint: String?
  /// The facts, in a fixed order.
  public let facts: [ErrorFact]

  /// Creates a failure of `kind`.
  public init(_ kind: Kind, _ message: String, hint: String? = nil, facts: [ErrorFact] = []) {
    self.kind = kind
    self.message = message
    self.hint = hint
    self.facts = facts
  }

  /// The stable name, as scripts see it.
  public var code: String { kind.rawValue }
}
