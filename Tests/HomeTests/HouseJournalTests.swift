import AudioCore
import EventLoop
import Home
import Scheduling
import SpeakerKit
import TestSupport
import TestTraits
import Testing

/// A driver of two speakers elsewhere, on which other clients act too: changes take effect at once, and a test reports
/// what happens there.
private final class RemoteDriver: Driver {
  let name = "snapcast"
  let capabilities: Set<String> = ["volume", "mute", "interrupt", "sessions"]
  let format = AudioFormat.session
  let sessionLimit = 4
  private weak var reports: (any DriverReports)?
  private var levels = [(volume: 22, isMuted: false), (volume: 20, isMuted: false)]
  private static let ids = ["kitchen", "bath"]

  func open(reports: any DriverReports) async throws -> [DeviceInfo] {
    self.reports = reports
    return zip(Self.ids, ["Kitchen", "Bath"]).enumerated().map { index, speaker in
      DeviceInfo(
        id: speaker.0, name: speaker.1, groupName: Group.ungrouped, model: "", ipAddress: "", port: 0,
        macAddress: "", version: "", wifiSignal: 0, volume: levels[index].volume)
    }
  }

  func change(_ changes: [(device: String, change: LevelChange)]) {
    for (device, change) in changes {
      guard let index = Self.ids.firstIndex(of: device) else { continue }
      switch change {
      case .volume(let volume): levels[index] = (volume, false)
      case .level(let volume): levels[index].volume = volume
      case .muted(let isMuted): levels[index].isMuted = isMuted
      case .role, .balance: break
      }
    }
    reports?.levelsChanged(Self.ids.indices.map { (Self.ids[$0], levels[$0].volume, levels[$0].isMuted) })
  }

  func close() async {}
  func setSession(_ session: DriverStream?, ofDevice device: String) {}
  func load(_ request: SourceRequest) async throws -> Cue { Cue(id: 0, duration: nil) }
  func discard(_ cue: Cue) {}
  func start(_ cue: Cue, in session: DriverStream, paused: Bool) {}
  func pause(_ session: DriverStream) {}
  func resume(_ session: DriverStream) {}
  func stop(_ session: DriverStream) {}
  func position(of session: DriverStream) -> Int { 0 }
}

@Suite("the changes of a house that others control too", .waiting, .tags(.history, .events))
struct HouseJournalTests {
  /// Runs `body` with an open house whose changes are kept, and returns the lines of the history.
  private func history(_ body: @escaping (House, EventLoop) async throws -> Void) throws -> [String] {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_000_000)))
    let log = Journal(loop: loop)
    let house = House(loop: loop, driver: RemoteDriver())
    try loop.finish(
      {
        try await house.open()
        log.follow(house)
        try await body(house, loop)
        try await loop.sleep(for: .seconds(1))
      }, last: { await house.close() })
    let text = JournalText(zone: ProcessZone(), now: loop.wallNow)
    return log.recent.map { String(text.line($0).drop { $0 != " " }.drop { $0 == " " }) }
  }

  @Test("what another client changes soon after an announcement is that client's")
  func controller() throws {
    let lines = try history { house, loop in
      let kitchen = try house.device("kitchen")
      try await Cause.$current.withValue(Cause(.person, "ctl", at: loop.wallNow)) {
        try await house.interrupt(devices: [kitchen], volume: 40, name: "gong") { _ in
          try await loop.sleep(for: .seconds(1))
        }
      }
      try await loop.sleep(for: .seconds(4))
      house.byController { house.levelsChanged([("kitchen", 30, false)]) }
      try await loop.sleep(for: .seconds(1))
      try Cause.$current.withValue(Cause(.person, "ctl", at: loop.wallNow)) { try kitchen.setVolume(9) }
      try await loop.sleep(for: .seconds(1))
      house.byController { house.levelsChanged([("kitchen", 9, true)]) }
      try await loop.sleep(for: .seconds(1))
      house.byController { house.deviceChanged(.name("Cook"), of: "kitchen") }
    }
    #expect(
      lines.filter { $0.contains("volume") || $0.contains("muted") || $0.contains("called") } == [
        #"Kitchen  volume 22 → 40  interruption "gong", by person at ctl"#,
        #"Kitchen  volume 40 → 22  the end of interruption "gong", by person at ctl"#,
        "Kitchen  volume 22 → 30  another client (snapcast)", "Kitchen  volume 30 → 9  person at ctl",
        "Kitchen  muted  another client (snapcast)",
        #"Cook  is called "Cook", before "Kitchen"  another client (snapcast)"#,
      ])
  }

  @Test("a speaker that another client moves or deletes is that client's doing, not the last command's")
  func moves() throws {
    let lines = try history { house, loop in
      let kitchen = try house.device("kitchen")
      try await Cause.$current.withValue(Cause(.person, "ctl", at: loop.wallNow)) {
        try await kitchen.join(house.session)
      }
      try await loop.sleep(for: .seconds(1))
      house.byController { _ = house.sessionChanged(nil, ofDevice: "kitchen") }
      house.byController { house.deviceRemoved("bath") }
    }
    #expect(
      lines == [
        #"Kitchen  joins session "test"  person at ctl"#,
        "Kitchen  leaves its session  another client (snapcast)",
        "Bath  is gone from the house  another client (snapcast)",
      ])
  }

  @Test("the loss of the connection is the cause of all speakers' absence, and of no later one")
  func loss() throws {
    let lines = try history { house, loop in
      func connect(_ isConnected: Bool, _ ids: [String]) {
        for id in ids { house.deviceChanged(.available(isConnected), of: id) }
      }
      house.failed(SpeakerError(.lost, "the snapserver is lost: it hangs up"), device: nil, stream: nil)
      connect(false, ["kitchen", "bath"])
      try await loop.sleep(for: .seconds(1))
      connect(true, ["kitchen", "bath"])
      try await loop.sleep(for: .seconds(1))
      connect(false, ["bath"])
      connect(true, ["bath"])
    }
    #expect(
      lines == [
        "Kitchen  can't be reached  the snapserver is lost: it hangs up",
        "Bath  can't be reached  the snapserver is lost: it hangs up",
        "Kitchen  can be reached again  the connection is back",
        "Bath  can be reached again  the connection is back", "Bath  can't be reached  by itself",
        "Bath  can be reached again  by itself",
      ])
  }

  @Test("two changes of a speaker in one turn are told each with its own values")
  func turns() throws {
    let lines = try history { house, loop in
      house.deviceChanged(.name("Cook"), of: "kitchen")
      house.deviceChanged(.name("Galley"), of: "kitchen")
      house.deviceChanged(.balance(-3), of: "bath")
      house.deviceChanged(.balance(2), of: "bath")
    }
    #expect(
      lines == [
        #"Galley  is called "Cook", before "Kitchen"  by itself"#,
        #"Galley  is called "Galley", before "Cook"  by itself"#, "Bath  has balance -3  by itself",
        "Bath  has balance 2  by itself",
      ])
  }
}
