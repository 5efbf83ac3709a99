public import HeadsetLink

/// The place at which hosts reach a board. Confined to the board's loop; ends with `close`.
public final class BoardListener {
  /// What a configuration says to reach the board: `headset { transport = … }`.
  public let address: LinkAddress
  private let board: Board
  private var socket: ListeningSocket?
  private var terminal: PseudoTerminal?

  /// Has a board listen.
  /// - Throws: `listen`: the place can't be had.
  public init(_ board: Board, at address: BoardAddress) throws(BoardError) {
    self.board = board
    let loop = board.loop
    let take: (Int32) -> Void = { [weak board] fd in
      guard let channel = try? FDChannel(taking: fd, loop: loop) else { return }
      // Without a board it goes at once, and closes.
      board?.attach(channel)
    }
    switch address {
    case .unix(let path):
      let socket = try ListeningSocket(unix: path, loop: loop, onHost: take)
      (self.address, self.socket) = (socket.address, socket)
    case .tcp(let host, let port):
      let socket = try ListeningSocket(tcp: host, port: port, loop: loop, onHost: take)
      (self.address, self.socket) = (socket.address, socket)
    case .pty(let link):
      let terminal = try PseudoTerminal(link: link)
      (self.address, self.terminal) = (.serial(path: link ?? terminal.path, baud: 115_200), terminal)
      board.attach(try terminal.channel(loop), isLine: true)
      board.onLineEnd = { [unowned self] in renewLine() }
    }
  }

  /// Ends; the files that were made are removed.
  public func close() {
    socket?.close()
    board.onLineEnd = {}
    (socket, terminal) = (nil, nil)
  }

  /// A line whose host did not read what it was sent begins anew.
  private func renewLine() {
    guard let channel = try? terminal?.channel(board.loop) else { return }
    board.attach(channel, isLine: true)
  }
}
