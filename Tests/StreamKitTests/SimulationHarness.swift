import EventLoop
import TestSupport

@testable import Playback
@testable import Reception
@testable import StreamCore

/// A stream from a simulated station, on a loop of its own in virtual time. Used on the thread that calls `run`.
final class SimulationHarness {
  static let url: StreamAddress = "http://radio.example/live.mp3"

  let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_700_000_000)))
  let stream: Playback.Stream
  /// The events, each with the seconds since the start.
  private(set) var reported: [String] = []

  private init(_ stations: SimulatedStations, _ options: StreamOptions) throws {
    stream = Playback.Stream(
      at: Self.url, options: options, loop: loop, source: .simulation(stations))
    stream.onEvent { [unowned self] event in reported.append("\(now) \(Self.words(for: event))") }
  }

  /// Seconds, to tenths.
  var now: Double { (Double(Instant.start.duration(to: loop.now).nanoseconds) / 1e8).rounded() / 10 }

  @discardableResult
  static func run(
    _ stations: SimulatedStations, options: StreamOptions = StreamOptions(),
    _ body: @escaping (SimulationHarness) async throws -> Void
  ) throws -> [String] {
    let harness = try SimulationHarness(stations, options)
    try harness.loop.finish({ try await body(harness) }, last: { harness.stream.stop() })
    return harness.reported
  }

  func sleep(_ seconds: Double) async throws { try await loop.sleep(for: .seconds(seconds)) }

  private static func words(for event: StreamEvent) -> String {
    switch event {
    case .metadata(let title, let isRealtime): "\(isRealtime ? "came" : "heard") \(title.text)"
    case .reconnected(let gap, let stitched, let overlap):
      "reconnected \((gap * 10).rounded() / 10) \(stitched) \(overlap > 0)"
    default: event.word
    }
  }
}
