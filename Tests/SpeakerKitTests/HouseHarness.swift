import AudioCore
import EventLoop
import Scheduling
import SpeakerKit
import TestSupport
import Testing

/// The zone without an offset.
struct UniversalTime: LocalZone {
  let name = "UTC"
  func offset(at seconds: Int) -> Int { 0 }
}

/// Test harness: a house on a loop of its own, with a record of its events. Used on the thread that calls
/// `run`.
final class HouseHarness {
  let loop: EventLoop
  let house: House
  let folder: TemporaryFolder
  /// Lines of the driver's log.
  private(set) var logged: [String] = []
  /// Events of the house, as `record` words them.
  private(set) var reported: [String] = []
  private var isRecording = false

  /// Two speakers that render all of a stereo source at unity.
  static let pair = [SpeakerSpec(name: "A", volume: 50), SpeakerSpec(name: "B", volume: 50)]

  private init(
    loop: EventLoop, speakers: [SpeakerSpec]?, output: Output?, limits: SpeakerLimits
  ) throws {
    self.loop = loop
    folder = try TemporaryFolder()
    var log: (String) -> Void = { _ in }
    let driver = HouseDriver(
      DriverContext(loop: loop, log: { log($0) }), speakers: speakers,
      output: output ?? .wav(folder: folder.file("out")))
    house = House(loop: loop, driver: driver, limits: limits)
    log = { [weak self] in self?.logged.append($0) }
  }

  /// Opens a house, runs `body` on its loop and closes the house, also after a failure.
  /// - Parameters:
  ///   - isVirtual: `true` for virtual time.
  ///   - speakers: nil for the demonstration house.
  ///   - output: nil for WAV files in `folder`/out.
  ///   - limits: those of speakers, by their names, in universal time; the clock begins at 22:13:20.
  ///   - enforcesLimits: `false` if another process would keep the speakers to them.
  ///   - addAll: `true` if all speakers join the session "test".
  /// - Returns: the closed house.
  @discardableResult
  static func run(
    isVirtual: Bool = true, speakers: [SpeakerSpec]? = HouseHarness.pair, output: Output? = nil,
    limits: [String: SpeakerLimit] = [:], enforcesLimits: Bool = true, addAll: Bool = true,
    _ body: @escaping (HouseHarness) async throws -> Void
  ) throws -> HouseHarness {
    let loop = EventLoop(clock: isVirtual ? .virtual(start: WallTime(seconds: 1_700_000_000)) : .wall)
    let limits = SpeakerLimits(limits, zone: UniversalTime(), areEnforced: enforcesLimits)
    let harness = try HouseHarness(loop: loop, speakers: speakers, output: output, limits: limits)
    try loop.finish(
      {
        try await harness.house.open(addAll: addAll)
        try await loop.sleep(for: .milliseconds(1))
        try await body(harness)
      }, last: { await harness.house.close() })
    return harness
  }

  /// Writes a 16-bit WAV file at 48 kHz and returns its path.
  func source(_ name: String, _ left: [Float], _ right: [Float]? = nil) throws -> String {
    let path = folder.file(name)
    try Sound(sampleRate: 48_000, channels: [left, right ?? left]).write(to: path)
    return path
  }

  /// Returns the sound of a speaker, from its file.
  func played(_ speaker: String) throws -> Sound { try Sound(file: folder.file("out/\(speaker).wav")) }

  /// Starts recording all events, with an empty record.
  func record() {
    reported = []
    guard !isRecording else { return }
    isRecording = true
    house.events.on { [unowned self] event in
      switch event {
      case .device(let device, let reason): reported.append("device \(device.name) \(reason.rawValue)")
      case .volume(let device, let volume, let muted, let average, _, _):
        reported.append("volume \(device.name) \(volume)\(muted ? " muted" : ""), average \(average)")
      case .state(let state, _, _): reported.append("state \(state.rawValue)")
      case .time(let elapsed, _): reported.append("time \(elapsed)")
      case .track(_, let source, let index, let count):
        reported.append("track \(source.title) \(index)/\(count)")
      case .ended(_, let source, let reason): reported.append("ended \(source.title) \(reason.rawValue)")
      case .suspension(let phase, let session, _): reported.append("\(phase.rawValue) \(session.name)")
      case .error(let code, _, _, _): reported.append("error \(code)")
      }
    }
  }

  /// Recorded events of sessions.
  var reportedBySession: [String] { reported.filter { !$0.hasPrefix("device") && !$0.hasPrefix("volume") } }

  /// Waits for `seconds` of the loop's time.
  func wait(_ seconds: Double) async throws { try await loop.sleep(for: .seconds(seconds)) }

  /// Waits until `condition` is `true`.
  /// - Throws: `TestFailure` after a minute.
  func wait(until condition: () -> Bool) async throws {
    for _ in 0..<6_000 where !condition() { try await wait(0.01) }
    if !condition() { throw TestFailure("it did not come: \(reported)") }
  }

  /// Waits until the position of a session has not moved for a fifth of a second.
  /// - Throws: `TestFailure` after a minute.
  func rest(_ session: Session) async throws {
    var position = -1
    try await wait(0.2)
    for _ in 0..<300 where session.position != position {
      position = session.position
      try await wait(0.2)
    }
    if session.position != position { throw TestFailure("it plays on at \(position)") }
  }

  /// Returns the error that `body` throws; nil for none.
  func failure(of body: () async throws -> Void) async -> (any CodedError)? {
    do {
      try await body()
      return nil
    } catch { return error as? any CodedError }
  }
}

extension HouseHarness {
  /// Expects that noise which `amplify` makes louder than full scale is limited to −0.3 dBFS, and that every bit passes
  /// again from `restore` on, a second later.
  static func expectLimited(
    seed: UInt64, _ amplify: @escaping (Session) throws -> Void,
    until restore: @escaping (Session) throws -> Void
  ) throws {
    let noise = Signal.noise(seed: seed, amplitude: 0.9, frames: 240_000)
    var source: Sound?
    let harness = try run { harness in
      let session = harness.house.session
      let path = try harness.source("a.wav", noise)
      source = try Sound(file: path)
      try await session.play(path)
      try await harness.wait(1)
      try amplify(session)
      try await harness.wait(1)
      try restore(session)
      _ = try await session.finish()
    }
    let sound = try harness.played("A")
    #expect(sound.peak <= Decibels.gain(-0.3) + 0x1p-15)
    let (played, exact) = (sound.channels[0], try #require(source).channels[0])
    #expect(played[..<47_000] == exact[..<47_000])
    #expect(played[60_000..<90_000] != exact[60_000..<90_000])
    #expect(played.suffix(48_000) == exact.suffix(48_000))
  }
}
