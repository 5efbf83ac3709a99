import AudioCore
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

/// Test harness: a house of a real snapserver, with a record of its events. Used on the thread that calls `run`.
final class SnapcastHarness {
  let loop: EventLoop
  let house: House
  let driver: SnapcastDriver
  let rig: SnapcastRig
  let folder: TemporaryFolder
  /// The lines of the driver's log.
  var logged: [String] { log.lines }
  private let log: Log
  private final class Log { var lines: [String] = [] }
  /// Events, as `HouseHarness` words them; those that another controller has caused begin with `*`.
  private(set) var reported: [String] = []

  private init(
    _ loop: EventLoop, _ rig: SnapcastRig, _ folder: TemporaryFolder, _ limits: [String: SpeakerLimit]
  ) throws {
    (self.loop, self.rig, self.folder) = (loop, rig, folder)
    var settings = SnapcastSettings()
    settings.port = rig.controlPort
    let log = Log()
    self.log = log
    driver = SnapcastDriver(
      DriverContext(loop: loop, stateFolder: folder.file("state"), log: { log.lines.append($0) }), settings)
    house = House(loop: loop, driver: driver, limits: SpeakerLimits(limits))
  }

  static func run(
    clients: [String] = ["bedroom", "kitchen"], sessions: Int = 3, addAll: Bool = true,
    rig: SnapcastRig? = nil,
    folder: TemporaryFolder? = nil, limits: [String: SpeakerLimit] = [:],
    _ body: @escaping (SnapcastHarness) async throws -> Void
  ) throws {
    let loop = EventLoop()
    let harness = try SnapcastHarness(
      loop, rig ?? SnapcastRig(clients: clients, sessions: sessions), folder ?? TemporaryFolder(), limits)
    try loop.finish(
      {
        try await harness.house.open(addAll: addAll)
        harness.record()
        try await body(harness)
      }, last: { await harness.house.close() })
  }

  private func record() {
    house.events.on { [unowned self] event in
      guard let text = event.text(isByController: house.events.isByController) else { return }
      let cause: LevelCause? = if case .volume(_, _, _, _, let cause, _) = event { cause } else { nil }
      reported.append(text + (cause.map { " by \($0.rawValue)" } ?? ""))
    }
  }

  /// Returns the speaker with an id.
  func device(_ id: String) throws -> Device { try house.device(id) }

  /// Returns another controller of the server.
  func controller() throws -> SnapcastController { try SnapcastController(port: rig.controlPort) }

  /// Writes a file at 48 kHz.
  func source(_ samples: [Float]) throws -> String {
    let path = folder.file("source.wav")
    try Sound(sampleRate: 48_000, channels: [samples, samples]).write(to: path)
    return path
  }

  /// Returns what a client has played after a frame.
  func played(by client: String, after frame: Int) throws -> Sound {
    let sound = try rig.played(by: client)
    return sound[min(frame, sound.frameCount)..<sound.frameCount]
  }

  /// Waits until a client has played something loud; each frame is read once.
  func wait(untilHeard client: String) async throws {
    var start = 0
    try await wait {
      let sound = try rig.played(by: client, frames: start..<start + 480_000)
      start += sound.frameCount
      return sound.peak > 0.4
    }
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
    let state = (try? controller().request("Server.GetStatus")) ?? "no answer"
    throw TestFailure("it did not come: \(reported); the server's state: \(state)")
  }
}

extension RealTimeTests {
  @Suite("The snapcast driver on a real snapserver", .tags(.snapcast))
  struct SnapcastTests {
    @Test("a file reaches all clients without a gap, and ends when it was heard")
    func plays() throws {
      let noise = Signal.noise(seed: 5, amplitude: 0.5, frames: 96_000)
      try SnapcastHarness.run { harness in
        let source = try Sound(file: try harness.source(noise))
        let clock = ContinuousClock()
        let start = clock.now
        try await harness.house.session.play(harness.folder.file("source.wav"))
        try await harness.wait(0.5)
        #expect(harness.house.session.position == 0)
        #expect(try await harness.house.session.finish() == .ended(.finished))
        let took = start.duration(to: clock.now)
        #expect(took > .milliseconds(2970) && took < .seconds(20))
        try await harness.wait(0.3)
        let heard = try ["bedroom", "kitchen"].map { try harness.rig.played(by: $0) }
        for sound in heard {
          // A client drops or repeats samples to remain in step, and skips some on a machine that is too busy: each tenth
          // of a second is found by itself. The correlation of a twentieth of the source is 0.22.
          let found = (0..<20).compactMap { part -> Int? in
            let piece = sound.alignment(to: source[part * 4800..<part * 4800 + 4800])
            return piece.correlation > 0.19 ? piece.frames - part * 4800 : nil
          }
          let median = found.sorted()[found.count / 2]
          #expect(found.count >= 12 && found.count { abs($0 - median) <= 96 } >= 10, "\(found)")
        }
      }
    }

    @Test("a level above the limit that another controller sets is set back at once, and named")
    func limit() throws {
      try SnapcastHarness.run(limits: ["kitchen": try #require(SpeakerLimit(maximum: 20))]) { harness in
        let kitchen = try harness.device("kitchen")
        try await harness.wait { kitchen.volume == 20 }
        let controller = try harness.controller()
        try controller.request("Client.SetVolume", "{\"id\":\"kitchen\",\"volume\":{\"percent\":90}}")
        try await harness.wait {
          harness.reported.suffix(2) == ["*kitchen 45 by controller", "kitchen 20 by limit"]
        }
        #expect(kitchen.requestedVolume == 45)
        #expect(try controller.request("Server.GetStatus").contains("{\"muted\":false,\"percent\":40}"))
        try controller.request("Client.SetVolume", "{\"id\":\"kitchen\",\"volume\":{\"percent\":20}}")
        try await harness.wait { kitchen.volume == 10 }
        #expect(kitchen.requestedVolume == 10 && kitchen.appliedLimit == nil)
        let group = try controller.group(of: "kitchen")
        try controller.request("Group.SetMute", "{\"id\":\"\(group)\",\"mute\":true}")
        try await harness.wait { kitchen.isMuted }
        try controller.request("Client.SetVolume", "{\"id\":\"kitchen\",\"volume\":{\"percent\":90}}")
        try await harness.wait { harness.reported.last?.contains("20 muted by limit") == true }
        #expect(kitchen.isMuted && kitchen.volume == 20)
        #expect(harness.house.borrowedLevels.map(\.device) == ["kitchen"])
        #expect(harness.driver.limited == ["kitchen"])
        harness.rig.stopClient("kitchen")
        try await harness.wait { !kitchen.isAvailable }
        try controller.request("Server.DeleteClient", "{\"id\":\"kitchen\"}")
        try await harness.wait { kitchen.isRemoved }
        #expect(harness.house.borrowedLevels.isEmpty && harness.driver.limited.isEmpty)
      }
    }

    @Test("a gain and an equalizer's boost make no stream louder than its source while a speaker has a limit")
    func limitedStreams() throws {
      try SnapcastHarness.run(limits: ["kitchen": try #require(SpeakerLimit(maximum: 50))]) { harness in
        let session = harness.house.session
        try await session.play(try harness.source(Signal.constant(0.2, frames: 96_000)))
        try session.setGain(12)
        _ = try await session.finish()
        try await harness.wait(1)
        let sound = try harness.played(by: "kitchen", after: 0).channels[0]
        #expect(sound.contains { $0 > 0.19 } && sound.allSatisfy { $0 < 0.201 })
      }
    }

    @Test("levels, mute, names and groups are those of the server, both ways")
    func bothWays() throws {
      try SnapcastHarness.run { harness in
        let (kitchen, bedroom) = (try harness.device("kitchen"), try harness.device("bedroom"))
        let controller = try harness.controller()
        try kitchen.setVolume(20)
        try await harness.wait { harness.reported.contains("kitchen 20") }
        #expect(try controller.request("Server.GetStatus").contains("{\"muted\":false,\"percent\":40}"))
        try controller.request("Client.SetVolume", "{\"id\":\"kitchen\",\"volume\":{\"percent\":65531}}")
        try await harness.wait { kitchen.volume == 50 }
        try controller.request(
          "Client.SetVolume", "{\"id\":\"kitchen\",\"volume\":{\"percent\":33,\"muted\":true}}")
        try await harness.wait { kitchen.volume == 17 && kitchen.isMuted }
        // Rounded when it is read, and never written back.
        #expect(try controller.request("Server.GetStatus").contains("\"percent\":33"))
        try controller.request("Client.SetName", "{\"id\":\"bedroom\",\"name\":\"Schlafzimmer\"}")
        try await harness.wait { bedroom.name == "Schlafzimmer" }
        try await kitchen.setName("Küche")
        #expect(kitchen.name == "Küche")
        #expect(try controller.request("Server.GetStatus").contains("Küche"))
        try kitchen.unmute()
        try await harness.wait { !kitchen.isMuted }
        let group = try controller.group(of: "kitchen")
        try controller.request("Group.SetMute", "{\"id\":\"\(group)\",\"mute\":true}")
        try await harness.wait { kitchen.isMuted }
        try kitchen.unmute()
        try await harness.wait { !kitchen.isMuted }
        #expect(
          harness.reported.filter { $0.hasPrefix("*") } == [
            "*kitchen 50 by controller", "*kitchen 17 muted by controller", "*bedroom renamed",
            "*kitchen 17 muted by controller",
          ])
        try await kitchen.setGroup("Downstairs")
        try await bedroom.setGroup("Downstairs")
        #expect(try harness.house.group("Downstairs").devices.map(\.id) == ["kitchen", "bedroom"])
        #expect(try controller.group(of: "kitchen") == controller.group(of: "bedroom"))
        try controller.request(
          "Group.SetClients", "{\"id\":\"\(try controller.group(of: "kitchen"))\",\"clients\":[\"kitchen\"]}")
        try await harness.wait { bedroom.group == nil }
        try controller.request(
          "Group.SetName", "{\"id\":\"\(try controller.group(of: "kitchen"))\",\"name\":\"Ground\"}")
        try await harness.wait { kitchen.groupName == "Ground" }
        #expect(
          harness.reported.filter { $0.hasPrefix("*") && $0.hasSuffix("regrouped") } == [
            "*bedroom regrouped", "*kitchen regrouped",
          ])
      }
    }

    @Test("a level that was requested a moment before is in a snapshot, and is reported once")
    func pendingLevels() throws {
      try SnapcastHarness.run { harness in
        let kitchen = try harness.device("kitchen")
        try kitchen.setVolume(20)
        try await harness.wait { harness.reported == ["kitchen 20"] }
        try kitchen.setVolume(25)
        try kitchen.setVolume(30)
        let snapshot = try harness.house.snapshot()
        #expect(kitchen.volume == 30)
        try kitchen.setVolume(3)
        try await snapshot.restore()
        #expect(kitchen.volume == 30)
        try await harness.wait(0.2)
        #expect(harness.reported == ["kitchen 20", "kitchen 30", "kitchen 3", "kitchen 30"])
        #expect(harness.driver.pendingChangeCount == 0 && kitchen.volume == 30)
        #expect(try harness.controller().request("Server.GetStatus").contains("\"percent\":60"))
        // A level of another controller is seen again once all is answered.
        try harness.controller().request(
          "Client.SetVolume", "{\"id\":\"kitchen\",\"volume\":{\"percent\":8}}")
        try await harness.wait { kitchen.volume == 4 }
      }
    }

    @Test("sessions play through streams of their own; one too many is refused with the way to more")
    func sessions() throws {
      try SnapcastHarness.run(sessions: 2) { harness in
        let house = harness.house
        let (kitchen, bedroom) = (try harness.device("kitchen"), try harness.device("bedroom"))
        let other = try house.makeSession(devices: [kitchen])
        let low = Signal.sine(440, amplitude: 0.5, frames: 4_800_000, sampleRate: 48_000)
        let path = try harness.source(low)
        try await other.play(path)
        try await harness.wait { other.position > 24_000 }
        try await harness.wait(0.1)
        #expect(try harness.rig.played(by: "kitchen").peak > 0.4)
        #expect(try harness.rig.played(by: "bedroom").peak == 0)
        // The interrupted session keeps its stream, and the interruption has the other one.
        try await house.interrupt(devices: [kitchen]) { _ in
          do {
            try await house.session.play(path)
            Issue.record("a third sound on two streams")
          } catch let error as SpeakerError {
            #expect(error.kind == .noStream && error.hint?.contains("snapserver-config") == true)
          }
        }
        // Another controller moves the bedroom to the sound of the other session, and away from all.
        let controller = try harness.controller()
        let group = try controller.group(of: "bedroom")
        try controller.request("Group.SetStream", "{\"id\":\"\(group)\",\"stream_id\":\"roomtone-2\"}")
        try await harness.wait { bedroom.session === other }
        try controller.request("Group.SetStream", "{\"id\":\"\(group)\",\"stream_id\":\"roomtone-idle\"}")
        try await harness.wait { bedroom.session == nil }
        #expect(
          harness.reported.filter { $0.hasPrefix("*") } == [
            "*bedroom left", "*bedroom joined", "*bedroom left",
          ])
        // A speaker that leaves falls silent.
        try await kitchen.leave()
        try await harness.wait(0.5)
        let before = try harness.rig.played(by: "kitchen").frameCount
        try await harness.wait(0.5)
        #expect(try harness.played(by: "kitchen", after: before).peak == 0)
        #expect(harness.reported.suffix(2) == ["stopped", "ended no_devices"])
      }
    }

    @Test("twenty silent sessions cost none of four streams; the fifth that plays hears who has them")
    func silentSessions() throws {
      let rooms = ["attic", "bath", "cellar", "den", "entry"]
      try SnapcastHarness.run(clients: rooms, sessions: 4, addAll: false) { harness in
        let house = harness.house
        let sessions = try (0..<20).map { try house.makeSession(name: "script \($0)") }
        let path = try harness.source(
          Signal.sine(440, amplitude: 0.5, frames: 14_400_000, sampleRate: 48_000))
        for (index, room) in rooms.enumerated() {
          try await harness.device(room).join(sessions[3 * index])
        }
        for index in 0..<4 { try await sessions[3 * index].play(path) }
        do {
          try await sessions[12].play(path)
          Issue.record("a fifth sound on four streams")
        } catch let error as SpeakerError {
          #expect(error.kind == .noStream)
          #expect(error.message == "4 sessions play, and the driver has no stream for one more")
          #expect(
            error.hint?.hasPrefix(
              "stop one of: \"script 0\" in attic, \"script 3\" in bath, \"script 6\" in cellar, "
                + "\"script 9\" in den; ") == true)
        }
        for room in rooms.prefix(4) {
          try await harness.wait(untilHeard: room)
        }
        #expect(try harness.rig.played(by: "entry").peak == 0)
        sessions[3].stop()
        try await sessions[12].play(path)
        try await harness.wait(untilHeard: "entry")
      }
    }

    @Test("a killed server is reported, and all is restored when it is back: zones, levels, and the sound")
    func returns() throws {
      try SnapcastHarness.run { harness in
        let kitchen = try harness.device("kitchen")
        try kitchen.setVolume(40)
        try await kitchen.setGroup("Downstairs")
        try await harness.house.session.play(
          try harness.source(Signal.sine(440, amplitude: 0.5, frames: 14_400_000, sampleRate: 48_000)))
        try await harness.wait { harness.house.session.position > 24_000 }
        harness.rig.killServer()
        try await harness.wait { !kitchen.isAvailable }
        #expect(harness.reported.contains("error speaker.lost"))
        let loss = try #require(harness.house.loss)
        #expect(loss.hasPrefix("the snapserver at 127.0.0.1 port \(harness.rig.controlPort) is lost: "))
        #expect(harness.logged == [loss])
        let position = harness.house.session.position
        try await harness.wait(0.5)
        #expect(harness.house.session.position > position && harness.house.session.state == .playing)
        try harness.rig.startServer()
        try await harness.wait { kitchen.isAvailable }
        #expect(kitchen.volume == 40 && kitchen.groupName == "Downstairs")
        #expect(harness.house.loss == nil && harness.logged.count == 2)
        #expect(harness.logged.last?.contains(" is connected again, after ") == true)
        // It sounds again, and ends where it would have ended.
        let silent = try harness.rig.played(by: "kitchen").frameCount
        try await harness.wait { try harness.played(by: "kitchen", after: silent).peak > 0.05 }
        harness.house.session.stop()
        let status = try harness.controller().request("Server.GetStatus")
        #expect(status.contains("\"percent\":80") && status.contains("\"name\":\"Downstairs\""))
      }
    }

    @Test("zones persist where the server has forgotten them")
    func zones() throws {
      let (rig, folder) = (try SnapcastRig(), try TemporaryFolder())
      try SnapcastHarness.run(rig: rig, folder: folder) { harness in
        try await harness.device("kitchen").setGroup("Downstairs")
      }
      let controller = try SnapcastController(port: rig.controlPort)
      try controller.request(
        "Group.SetName", "{\"id\":\"\(try controller.group(of: "kitchen"))\",\"name\":\"\"}")
      try SnapcastHarness.run(rig: rig, folder: folder) { harness in
        #expect(try harness.device("kitchen").groupName == "Downstairs")
        try await harness.wait { try controller.request("Server.GetStatus").contains("Downstairs") }
      }
    }

    @Test("names that are empty, equal or endless become names that rooms can be called by")
    func oddNames() throws {
      try SnapcastHarness.run(clients: ["a", "b", "c"]) { harness in
        let controller = try harness.controller()
        let long = String(repeating: "ü", count: 300)
        for (id, name) in [("a", ""), ("b", "Twin\\u001b[31m"), ("c", "Twin")] {
          try controller.request("Client.SetName", "{\"id\":\"\(id)\",\"name\":\"\(name)\"}")
        }
        try await harness.wait {
          Set(["b", "c"].compactMap { try? harness.device($0).name }) == ["Twin", "Twin 2"]
        }
        #expect(try !harness.device("a").name.isEmpty)
        try controller.request("Client.SetName", "{\"id\":\"b\",\"name\":\"\(long)\"}")
        try await harness.wait { try harness.device("b").name == String(repeating: "ü", count: 100) }
        #expect(try harness.device("c").name.hasPrefix("Twin"))
        #expect(harness.reported.allSatisfy { $0.hasSuffix("renamed") })
      }
    }

    @Test("a server of the host's own is started on free ports, started again, and ended")
    func managed() throws {
      let loop = EventLoop()
      var settings = SnapcastSettings()
      settings.isManaged = true
      settings.port = try SnapcastRig.freePorts(1)[0]
      let folder = try TemporaryFolder()
      let driver = SnapcastDriver(
        DriverContext(loop: loop, stateFolder: folder.file("state")), settings)
      let house = House(loop: loop, driver: driver)
      let rig = try SnapcastRig(clients: [])
      var processes: [pid_t] = []
      try loop.finish(
        {
          try await house.open()
          #expect(house.devices.isEmpty && driver.sessionLimit == 4)
          processes.append(try #require(driver.serverProcess))
          try rig.startClient("kitchen", port: driver.clientPort)
          for _ in 0..<1000 where house.devices.isEmpty { try await loop.sleep(for: .milliseconds(10)) }
          #expect(house.devices.map(\.id) == ["kitchen"])
          kill(processes[0], SIGKILL)
          for _ in 0..<1000 where house.devices[0].isAvailable {
            try await loop.sleep(for: .milliseconds(10))
          }
          for _ in 0..<1000 where !house.devices[0].isAvailable {
            try await loop.sleep(for: .milliseconds(10))
          }
          #expect(house.devices.count == 1 && house.devices[0].isAvailable)
          processes.append(try #require(driver.serverProcess))
        }, last: { await house.close() })
      #expect(processes.count == 2 && processes.allSatisfy { kill($0, 0) == -1 && errno == ESRCH })
    }
  }
}
