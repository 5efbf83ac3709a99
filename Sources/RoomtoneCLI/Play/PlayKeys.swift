internal import EventLoop
internal import Glibc
internal import JSONText

/// Controls a playback in this process by keys, each of which is a request of the method `playback`. Confined to the loop.
final class PlayKeys {
  private let house: HouseConnection
  private var playback = 0
  private var parser = PlayKeyParser()
  private var watch: FDWatch?

  private let resumed: () -> Void

  /// Keys for the house, which are not read yet.
  /// - Parameter resumed: called when the process continues after a key has stopped it.
  init(_ house: HouseConnection, resumed: @escaping () -> Void) {
    (self.house, self.resumed) = (house, resumed)
  }

  /// Begins to read keys for a playback.
  /// - Returns: `false` when standard input is not a terminal, or not this process's, and for another
  ///   process's house.
  func begin(_ playback: Int) -> Bool {
    self.playback = playback
    guard KeyTerminal.begin() else { return false }
    watch = house.watch(STDIN_FILENO) { [unowned self] in read() }
    if watch == nil { KeyTerminal.restore() }
    return watch != nil
  }

  /// Restores the terminal, and reads no more keys.
  func end() {
    watch?.cancel()
    watch = nil
    KeyTerminal.restore()
  }

  private func read() {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0 && (errno == EINTR || errno == EAGAIN) { return }
    // The terminal was closed.
    guard count > 0 else { return end() }
    for key in parser.parse(bytes[..<count]) { press(key) }
  }

  private func press(_ key: PlayKey) {
    guard let (action, step) = key.request else {
      if KeyTerminal.suspend() { resumed() } else { end() }
      return
    }
    house.start(
      "playback",
      [("playback", .number(playback)), ("action", .string(action)), ("by", .number(step))])
  }
}
