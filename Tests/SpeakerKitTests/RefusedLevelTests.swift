import AudioCore
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

/// A driver of one speaker that answers in the next turn of the loop, and can refuse levels.
private final class RefusingDriver: Driver {
  let name = "refusing"
  let capabilities: Set<String> = ["volume", "join", "fade", "interrupt", "sessions"]
  let format = AudioFormat.session
  let sessionLimit = 2
  /// `true` while it refuses levels.
  var refuses = false
  private let loop: EventLoop
  private weak var reports: (any DriverReports)?

  init(_ loop: EventLoop) { self.loop = loop }

  func open(reports: any DriverReports) async throws -> [DeviceInfo] {
    self.reports = reports
    return [
      DeviceInfo(
        id: "a", name: "A", groupName: Group.ungrouped, model: "", ipAddress: "", port: 0, macAddress: "",
        version: "", wifiSignal: nil, volume: 10)
    ]
  }
  func close() async { reports = nil }

  func change(_ changes: [(device: String, change: LevelChange)]) {
    loop.next { [self] in
      for case (let device, .volume(let volume)) in changes {
        if refuses {
          reports?.failed(SpeakerError(.unavailable, "refused"), device: device, stream: nil)
        } else {
          reports?.levelsChanged([(device, volume, false)])
        }
      }
    }
  }

  func setSession(_ session: DriverStream?, ofDevice device: String) {}
  func load(_ request: SourceRequest) async throws -> Cue { Cue(id: 0, duration: nil) }
  func discard(_ cue: Cue) {}
  func start(_ cue: Cue, in session: DriverStream, paused: Bool) {}
  func pause(_ session: DriverStream) {}
  func resume(_ session: DriverStream) {}
  func stop(_ session: DriverStream) {}
  func position(of session: DriverStream) -> Int { 0 }
}

@Suite("Levels that a driver refuses", .tags(.speaker, .fades, .interruption))
struct RefusedLevelTests {
  @Test("a level whose restoring is refused does not keep later fades waiting, nor the one in progress")
  func fades() throws {
    for isLater in [false, true] {
      let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_700_000_000)))
      let driver = RefusingDriver(loop)
      let house = House(loop: loop, driver: driver)
      try loop.finish(
        {
          try await house.open(addAll: true)
          let device = house.devices[0]
          var isDone = false
          func fade() {
            loop.start {
              try? await house.session.fade(volume: 30, over: .seconds(20))
              isDone = true
            }
          }
          if !isLater { fade() }
          try await house.interrupt(devices: [device], volume: 45) { _ in
            try await loop.sleep(for: .seconds(1))
            driver.refuses = true
          }
          try await loop.sleep(for: .seconds(1))
          driver.refuses = false
          #expect(device.volume == 45)
          if isLater { fade() }
          try await loop.sleep(for: .seconds(30))
          #expect(device.volume == 30 && isDone)
        }, last: { await house.close() })
    }
  }
}
