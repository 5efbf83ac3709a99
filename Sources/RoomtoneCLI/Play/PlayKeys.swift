internal import EventLoop
internal import Glibc
internal import JSONText

/// Controls a playback by keys, each of which is a request of the method `playback`. Confined to the loop.
final class PlayKeys {
  private let house: HouseConnection
  /// The number of the playback; nil without one.
  private var playback: Int?
  private var parser = PlayKeyParser()
  private var watch: FDWatch?
  private let began: () -> Void

  /// Keys for the house, which are not read yet.
  /// - Parameter began: called when keys are read from then on: when the terminal is this process's, and again after
  ///   another one had it.
  init(_ house: HouseConnection, began: @escaping () -> Void) { (self.house, self.began) = (house, began) }

  /// Controls a playback, by the keys of standard input if that is a terminal.
  func begin(_ playback: Int) {
    self.playback = playback
    resume()
  }

  /// Reads keys, unless they are read already or the terminal is not this process's. To be called now and then: a shell
  /// does not report that it has brought a running process to the foreground.
  func resume() {
    guard playback != nil, watch == nil, KeyTerminal.begin() else { return }
    watch = house.watch(STDIN_FILENO) { [unowned self] in read() }
    if watch == nil { KeyTerminal.restore() } else { began() }
  }

  /// Restores the terminal, and reads no more keys.
  func end() {
    playback = nil
    pause()
    KeyTerminal.restore()
  }

  private func pause() {
    watch?.cancel()
    watch = nil
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
    guard let playback else { return }
    guard let (action, step) = key.request else {
      if KeyTerminal.suspend() { began() } else { pause() }
      return
    }
    house.start(
      "playback",
      [("playback", .number(playback)), ("action", .string(action)), ("by", .number(step))])
  }
}
