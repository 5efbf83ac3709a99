internal import AudioCore
internal import EventLoop
internal import SpeakerKit

/// A session on eight speakers, from the file to the sinks: decoding, resampling, equalizer and mix on one
/// thread, the loop of a house under virtual time.
enum HouseBench {
  static func run() throws -> [Figure] {
    // The rate is 44.1 kHz, so that both are resampled; the frames are those of the 48 kHz file under another
    // rate index.
    let heAAC = try ADTS.renamed(try Fixture.bytes("Tests/Fixtures/he-aac-v1-48k.aac"), toRateIndex: 7)
    let mp3 = try Bench.median {
      try timesRealTime(try Fixture.path("scripts/wake_up.mp3")) { CountingSink() }
    }
    let aac = try Fixture.repeated(heAAC, times: 5) { path in
      try Bench.median { try timesRealTime(path) { ShortSink() } }
    }
    return [
      Figure(
        name: "MP3, 44.1 to 48 kHz, equalizer, 8 speakers, null sinks", value: mp3, unit: "x real time",
        against: "one core", goal: ">= 300 x", isReached: mp3 >= 300),
      Figure(
        name: "HE-AAC, the same, 8 sinks of 16 bit", value: aac, unit: "x real time", against: "one core",
        goal: ">= 150 x", isReached: aac >= 150),
    ]
  }

  /// Seconds of sound rendered for a figure.
  private static let seconds = 120.0

  /// Plays the file repeatedly, and returns the duration of its sound divided by the thread's processor time.
  private static func timesRealTime(
    _ path: String, _ makeSink: @escaping () -> any FrameCounting
  ) throws -> Double {
    let loop = EventLoop(name: "bench", clock: .virtual(start: WallTime(seconds: 1_767_571_200)))
    // As in a house, each has its own level, role and balance.
    let roles: [ChannelRole] = [.left, .right, .stereo, .mono]
    let speakers = (0..<8).map { index in
      SpeakerSpec(name: "\(index)", role: roles[index % 4], volume: 20 + 2 * index, balance: index % 3)
    }
    var sinks: [any FrameCounting] = []
    let driver = HouseDriver(DriverContext(loop: loop), speakers: speakers, output: .null)
    driver.makeSink = { (_: Int) -> any PCMSink in
      sinks.append(makeSink())
      return sinks[sinks.count - 1]
    }
    let house = House(loop: loop, driver: driver)
    var outcome: Result<Double, any Error>?
    loop.start {
      let ended: Result<Double, any Error>
      do {
        try await house.open()
        let session = try house.makeSession(devices: house.devices)
        try session.setEqualizer(try EqualizerGains([6, 4, 2, -1, -2, -3, 1, 3, 5, 2]))
        try await session.play(path, loops: true)
        let (start, before) = (Bench.threadTime(), sinks.first?.frames ?? 0)
        try await loop.sleep(for: .seconds(seconds))
        let took = Bench.threadTime() - start
        let frames = sinks.map { $0.frames - before }
        guard frames.count == 8, let least = frames.min(), let most = frames.max(), least == most else {
          throw StartBench.Failed(message: "not every speaker was rendered: \(frames)")
        }
        ended = .success(Double(least) / 48_000 / took)
      } catch { ended = .failure(error) }
      await house.close()
      loop.after(.milliseconds(1)) { outcome = ended }
    }
    defer { loop.close() }
    let result = loop.run(until: { outcome != nil })
    guard let outcome else { throw StartBench.Failed(message: "the loop ended: \(result)") }
    return try outcome.get()
  }
}

/// A sink that counts its frames.
private protocol FrameCounting: PCMSink {
  var frames: Int { get }
}

/// Counts samples and drops them.
private final class CountingSink: FrameCounting {
  let format = AudioFormat.session
  private(set) var frames = 0
  func write(_ samples: UnsafeBufferPointer<Float>) throws { frames += samples.count / 2 }
  func finish() throws {}
}

/// Converts samples to 16-bit numbers, as a sound card's sink does, and drops them.
private final class ShortSink: FrameCounting {
  let format = AudioFormat.session
  private(set) var frames = 0
  private var numbers = [Int16](repeating: 0, count: 2 * AudioFormat.session.framesPerBlock)
  func write(_ samples: UnsafeBufferPointer<Float>) throws {
    guard let first = samples.baseAddress, samples.count <= numbers.count else { return }
    numbers.withUnsafeMutableBufferPointer { numbers in
      if let to = numbers.baseAddress { SampleConversion.convert(first, to: to, count: samples.count) }
    }
    frames += samples.count / 2
  }
  func finish() throws {}
}
