import AudioCore
import EventLoop
import HTTP
import TestSupport

@testable import SpeakerKit

/// Test harness: a house of a hub, with a record of its events. Used on the thread that calls `run`.
final class HubHarness {
  let loop: EventLoop
  let house: House
  let driver: HubDriver
  let hub: Hub
  let folder: TemporaryFolder
  /// Lines of the driver's log.
  private(set) var logged: [String] = []
  /// Events; those that another controller has caused begin with `*`.
  private(set) var reported: [String] = []

  private init(_ loop: EventLoop, _ hub: Hub, tokenFile: String?) throws {
    (self.loop, self.hub, folder) = (loop, hub, try TemporaryFolder())
    let network = try NetworkThread()
    var settings = try HubSettings(url: hub.url)
    settings.tokenFile = tokenFile
    var log: (String) -> Void = { _ in }
    driver = HubDriver(DriverContext(loop: loop, network: { network }, log: { log($0) }), settings)
    (driver.pollTime, driver.statusTime) = (.milliseconds(50), .milliseconds(50))
    driver.retryTime = .milliseconds(100)
    house = House(loop: loop, driver: driver)
    log = { [weak self] in self?.logged.append($0) }
  }

  static func run(
    _ hub: Hub? = nil, addAll: Bool = true, tokenFile: String? = nil,
    set: (HubDriver) -> Void = { _ in }, _ body: @escaping (HubHarness) async throws -> Void
  ) throws {
    let loop = EventLoop()
    let harness = try HubHarness(loop, try hub ?? Hub(), tokenFile: tokenFile)
    set(harness.driver)
    try loop.finish(
      {
        try await harness.house.open(addAll: addAll)
        harness.record()
        try await body(harness)
      }, last: { await harness.house.close() })
  }

  private func record() {
    house.events.on { [unowned self] event in
      if let text = event.text(isByController: house.events.isByController) { reported.append(text) }
    }
  }

  /// Forgets the events so far.
  func forget() { reported = [] }

  /// Writes a file of a rising ramp at 48 kHz, so that each frame says its place.
  func ramp(seconds: Double) throws -> String {
    let path = folder.file("ramp.wav")
    let samples = (0..<Int(seconds * 48_000)).map { Float($0 / 48) / 32_768 }
    try Sound(sampleRate: 48_000, channels: [samples, samples]).write(to: path)
    return path
  }

  /// Returns the sound of a medium that the hub has fetched.
  func fetched(_ number: Int) throws -> Sound {
    try Sound(file: try folder.write(hub.media[number], to: "fetched.wav"))
  }

  func wait(_ seconds: Double) async throws { try await loop.sleep(for: .seconds(seconds)) }

  /// Waits until `condition`, and until the events of that turn of the loop have been delivered.
  /// - Throws: `TestFailure` after 30 s.
  func wait(until condition: () throws -> Bool) async throws {
    for _ in 0..<3000 {
      let isMet = try condition()
      try await wait(0.01)
      if isMet { return }
    }
    throw TestFailure("it did not come: \(reported), \(hub.orders)")
  }

  /// Returns the code of the error that `body` throws; nil for none.
  func code(_ body: () async throws -> Void) async -> String? {
    do {
      try await body()
      return nil
    } catch { return (error as? any CodedError)?.code ?? "\(error)" }
  }
}
