public import EventLoop
public import HeadsetLink

/// The headsets of a simulation: a board in software at each address in use. Confined to a loop.
public final class SimulatedBoards {
  /// The address of the headset when the configuration has none.
  public static let usualAddress = LinkAddress.unix(path: "headset")

  private let loop: EventLoop
  private var options: BoardOptions
  private var boards: [LinkAddress: Board] = [:]
  private var logListeners = Listeners<(String) -> Void>()

  /// Creates an empty list.
  /// - Parameter profile: the profile of the boards.
  public init(loop: EventLoop, profile: BoardProfile = .standard) {
    self.loop = loop
    options = BoardOptions()
    options.profile = profile
  }

  /// Calls `body` with the log of the boards, a line each.
  public func onLog(_ body: @escaping (String) -> Void) { _ = logListeners.add(body) }

  /// The board at an address; nil before somebody connected to it.
  public subscript(address: LinkAddress) -> Board? { boards[address] }

  /// Returns the host's end of a new link to the board at an address. The board is created with the keys of
  /// the first call.
  /// - Parameter trusted: the key that its firmware must be signed for.
  package func connect(
    to address: LinkAddress, key: LinkKey, trusting trusted: VerifyingKey
  ) throws(HeadsetError) -> any LinkChannel {
    if let board = boards[address] { return board.connect() }
    (options.key, options.trusted) = (key, trusted)
    do throws(BoardError) {
      let board = try Board(options, loop: loop) { [weak self] line in
        for listener in self?.logListeners.all ?? [] { listener(line) }
      }
      boards[address] = board
      return board.connect()
    } catch { throw HeadsetError(.notAvailable, "no headset at \(address): \(error.message)") }
  }

  /// Ends all boards.
  public func close() {
    for board in boards.values { board.close() }
    boards = [:]
  }
}
