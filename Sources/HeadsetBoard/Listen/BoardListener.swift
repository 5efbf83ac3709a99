public import EventLoop
public import HeadsetLink

/// The address at which hosts reach a board. Confined to the board's loop; ends with `close`.
public final class BoardListener {
  /// The address that a configuration names: `headset { transport = … }`.
  public let address: LinkAddress
  private let board: Board
  private var socket: ListeningSocket?
  private var terminal: PseudoTerminal?

  /// Makes a board listen at an address.
  /// - Throws: `listen`: the address can't be used.
  public init(_ board: Board, at address: BoardAddress) throws(BoardError) {
    self.board = board
    let loop = board.loop
    let attach: (Int32) -> Void = { [weak board] fd in
      guard let channel = try? FDChannel(owning: fd, loop: loop) else { return }
      // Without a board the channel is released at once, and closes.
      board?.attach(channel)
    }
    switch address {
    case .unix(let path):
      let socket = try ListeningSocket(unix: path, loop: loop, onHost: attach)
      (self.address, self.socket) = (socket.address, socket)
    case .tcp(let host, let port):
      let socket = try ListeningSocket(tcp: host, port: port, loop: loop, onHost: attach)
      (self.address, self.socket) = (socket.address, socket)
    case .pty(let link):
      let terminal = try PseudoTerminal(link: link)
      (self.address, self.terminal) = (.serial(path: link ?? terminal.path, baud: 115_200), terminal)
      board.attach(try terminal.channel(loop)) { [weak self] in self?.renewLine() }
    }
  }

  /// Stops listening, and removes the files that it has created.
  public func close() {
    socket?.close()
    (socket, terminal) = (nil, nil)
  }

  /// Replaces the channel of a line whose host did not read the bytes sent to it.
  private func renewLine() {
    guard let channel = try? terminal?.channel(board.loop) else { return }
    board.attach(channel) { [weak self] in self?.renewLine() }
  }
}

/// The address at which a board listens.
public enum BoardAddress: Sendable, Equatable {
  /// A unix socket.
  case unix(path: String)
  /// A port of this machine; 0 chooses a free port.
  case tcp(host: String, port: UInt16)
  /// A pseudo-terminal, with an optional symbolic link to it.
  case pty(link: String?)

  /// The forms of addresses, for messages.
  public static let forms = "unix:PATH, tcp:127.0.0.1:PORT (0 for any), pty or pty:LINK"

  /// Reads `unix:PATH`, `tcp:HOST:PORT`, `pty[:LINK]`.
  /// - Throws: `address`, whose message has the expected forms.
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
