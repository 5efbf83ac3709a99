import EventLoop
import Home
import Reception
import RecordingKit
import SpeakerKit
import StreamCore
import TestSupport

/// The services of a house in virtual time, with simulated stations.
final class StationHarness {
  static let url = "http://radio.example/live.mp3"

  let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_700_000_000)))
  let folder: TemporaryFolder
  let streams: StreamService
  let recordings: RecordingService
  let house: House

  private init(_ station: SimulatedStation) throws {
    folder = try TemporaryFolder()
    let address = try StreamAddress(Self.url)
    streams = StreamService(
      loop: loop, stations: SimulatedStations([address: station]), named: NamedStations(["live": address]))
    var settings = RecorderSettings()
    settings.folder = folder.path
    recordings = RecordingService(Recorder(loop: loop, settings: settings))
    house = House(loop: loop, driver: HouseDriver(DriverContext(loop: loop), output: .null))
  }

  /// Runs `body` in an open house whose speakers are all in its session.
  static func run(
    _ station: SimulatedStation, _ body: @escaping (StationHarness) async throws -> Void
  ) throws {
    let harness = try StationHarness(station)
    try harness.loop.finish {
      try await harness.house.open()
      try harness.house.session.want(harness.house.devices)
      try await body(harness)
    } last: {
      await harness.house.close()
      harness.streams.close()
      harness.recordings.recorder.close()
    }
  }

  /// A station with 20 s of sound, over and over.
  static func station() throws -> SimulatedStation {
    SimulatedStation(.programme(try StationSound(file: Fixtures.path("mp3-cbr128-44k.mp3"))))
  }

  /// The error that `body` throws, nil for none.
  func failure(_ body: () async throws -> Void) async -> StreamError? {
    do {
      try await body()
      return nil
    } catch { return error as? StreamError }
  }

  func sleep(_ seconds: Double) async throws { try await loop.sleep(for: .seconds(seconds)) }
}

extension House {
  /// The session "test", made at its first use.
  var session: Session {
    if let known = sessions.first(where: { $0.name == "test" }) { return known }
    do { return try makeSession(name: "test") } catch { fatalError("no session: \(error)") }
  }
}
