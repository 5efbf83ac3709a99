internal import EventLoop
internal import HeadsetLink

/// Where a board listens.
public enum BoardAddress: Sendable, Equatable {
  /// A unix socket.
  case unix(path: String)
  /// A port of this machine; 0 stands for any that is free.
  case tcp(host: String, port: UInt16)
  /// A pseudo-terminal, and a symbolic link to it where one is wanted.
  case pty(link: String?)

  /// The forms of addresses, for messages.
  public static let forms = "unix:PATH, tcp:127.0.0.1:PORT (0 for any), pty or pty:LINK"

  /// Reads `unix:PATH`, `tcp:HOST:PORT`, `pty[:LINK]`.
  /// - Throws: `address`, which names what was expected.
  public init(parsing text: String) throws(BoardError) {
    if text == "pty" {
      self = .pty(link: nil)
    } else if text.hasPrefix("pty:"),
      case .serial(let link, 115_200)? = try? LinkAddress(parsing: "serial:" + text.dropFirst(4)),
      link == text.dropFirst(4)
    {
      self = .pty(link: link)
    } else if text.hasPrefix("tcp:"), text.hasSuffix(":0"),
      case .tcp(let host, _)? = try? LinkAddress(parsing: text.dropLast() + "1")
    {
      self = .tcp(host: host, port: 0)
    } else {
      switch try? LinkAddress(parsing: text) {
      case .unix(let path): self = .unix(path: path)
      case .tcp(let host, let port): self = .tcp(host: host, port: port)
      default:
        throw BoardError(
          .address, "a board can't listen at \"\(text.prefix(120).description.onOneLine)\"",
          hint: "one of \(Self.forms)")
      }
    }
  }
}
