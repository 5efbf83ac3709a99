internal import AudioCore
internal import EventLoop
internal import Glibc
internal import Home
internal import Roomtone
internal import SpeakerKit

/// Controls the playback of a session by keys. Confined to the loop.
final class PlayKeys {
  /// Seconds by which the cursor keys seek.
  private static let seekStep = 10.0
  /// Steps of the volume of one key.
  private static let volumeStep = 2

  private let session: Session
  private let engine: Engine
  private let onChange: () -> Void
  /// Volumes that keys have set and that have not taken effect yet, by speaker.
  private var volumes: [String: Int] = [:]
  private var volumesTimer: LoopTimer?
  private var parser = PlayKeyParser()
  private var watch: FDWatch?
  /// `true` if a key ended the playback: q, or n behind the last file.
  private(set) var hasEnded = false

  /// Begins to read keys.
  /// - Parameter onChange: called after each key whose effect no event reports.
  /// - Returns: nil when standard input is no terminal, or not this process's.
  init?(_ session: Session, _ engine: Engine, onChange: @escaping () -> Void) {
    (self.session, self.engine, self.onChange) = (session, engine, onChange)
    guard KeyTerminal.begin() else { return nil }
    do {
      watch = try engine.loop.watch(STDIN_FILENO, for: .readable) { [unowned self] _ in read() }
    } catch {
      KeyTerminal.restore()
      return nil
    }
  }

  /// Restores the terminal, and reads no more keys.
  func end() {
    volumesTimer?.cancel()
    watch?.cancel()
    watch = nil
    KeyTerminal.restore()
  }

  private func read() {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0 && (errno == EINTR || errno == EAGAIN) { return }
    // The terminal is gone.
    guard count > 0 else { return end() }
    for key in parser.parse(bytes[..<count]) { press(key) }
  }

  private func press(_ key: PlayKey) {
    do {
      switch key {
      case .pause:
        if session.state == .playing {
          session.pause()
        } else if session.state == .paused {
          try session.resume()
        }
      case .next:
        try session.next()
        hasEnded = session.state == .stopped
      case .previous: try session.previous()
      case .back: try seek(by: -Self.seekStep)
      case .forward: try seek(by: Self.seekStep)
      case .louder: try changeVolume(by: Self.volumeStep)
      case .quieter: try changeVolume(by: -Self.volumeStep)
      case .quit:
        hasEnded = true
        session.stop()
      case .suspend: if !KeyTerminal.suspend() { end() }
      }
      // Another file is drawn when it begins.
      if key == .next || key == .previous { return }
    } catch let error as any CodedError { engine.onLog(.warn, error.description, []) } catch {
      engine.onLog(.warn, "\(error)", [])
    }
    onChange()
  }

  /// Seeks within the file: not before its beginning, and behind its end to the end.
  private func seek(by seconds: Double) throws {
    let rate = Double(session.format.sampleRate)
    let target = max(0, Double(session.position) / rate + seconds)
    try session.seek(toSeconds: min(target, session.duration.map { Double($0) / rate } ?? .infinity))
  }

  /// Changes the volumes of all members alike; not at all when one of them can't follow, which would change
  /// their balance.
  private func changeVolume(by step: Int) throws {
    let devices = session.devices.filter(\.isAvailable)
    let targets = devices.map { (volumes[$0.id] ?? $0.volume) + step }
    guard targets.allSatisfy(House.volumeRange.contains) else { return }
    for (device, volume) in zip(devices, targets) {
      try device.setVolume(volume)
      volumes[device.id] = volume
    }
    volumesTimer?.cancel()
    volumesTimer = engine.loop.after(.milliseconds(100)) { [weak self] in self?.volumes = [:] }
  }
}
