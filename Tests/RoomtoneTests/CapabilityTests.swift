import AudioCore
import EventLoop
import HeadsetKit
import Home
import LuaModules
import LuaRuntime
import RecordingKit
import Scheduling
import SpeakerKit
import TestTraits
import Testing

@Suite("speaker: drivers other than the house's", .waiting, .tags(.speaker, .drivers))
struct CapabilityTests {
  /// One speaker that has a volume, and nothing else that can be done to it; a source takes a second to open.
  private final class PlainDriver: Driver {
    let name = "plain"
    let capabilities: Set<String>
    let format = AudioFormat.session
    let sessionLimit = 4
    private let loop: EventLoop
    private weak var reports: (any DriverReports)?
    private var cues = 0

    init(_ loop: EventLoop, and more: Set<String>) {
      self.loop = loop
      capabilities = more.union(["volume", "mute", "join", "play", "pause"])
    }

    func open(reports: any DriverReports) async throws -> [DeviceInfo] {
      self.reports = reports
      return [
        DeviceInfo(
          id: "1", name: "Kitchen", groupName: Group.ungrouped, model: "plain", ipAddress: "192.168.1.2",
          port: 1,
          macAddress: "00:00:00:00:00:01", version: "1", wifiSignal: -50)
      ]
    }
    func close() async {}
    func change(_ changes: [(device: String, change: LevelChange)]) {
      for case (let device, .volume(let volume)) in changes {
        reports?.levelsChanged([(device, volume, false)])
      }
    }
    func setSession(_ session: DriverStream?, ofDevice device: String) {}
    func load(_ request: SourceRequest) async throws -> Cue {
      cues += 1
      let cue = cues
      try await loop.sleep(for: .seconds(1))
      return Cue(id: cue, duration: 48_000)
    }
    func discard(_ cue: Cue) {}
    func start(_ cue: Cue, in session: DriverStream, paused: Bool) {}
    func pause(_ session: DriverStream) {}
    func resume(_ session: DriverStream) {}
    func stop(_ session: DriverStream) {}
    func position(of session: DriverStream) -> Int { 0 }
  }

  /// Returns the lines that `code` printed in a house of that driver.
  private func printed(_ code: String, and more: Set<String> = []) throws -> [String] {
    let loop = EventLoop(clock: .virtual(start: EngineHarness.monday))
    let state = try LuaState(name: "test.lua", loop: loop, limits: LuaLimits(), watchdog: try LuaWatchdog())
    let script = Script(name: "test.lua", folder: nil, number: 1, state: state)
    let door = HouseDoor(loop: loop) { _, _ in House(loop: loop, driver: PlainDriver(loop, and: more)) }
    let (triggers, streams) = (TriggerService(loop: loop), StreamService(loop: loop))
    let mqtt = MQTTService(
      loop: loop, options: nil, role: .guest, triggers: triggers, network: { loop }, log: { _, _ in })
    try script.registerModules(
      ModuleServices(
        house: door, jobs: JobTable(loop: loop, zone: ProcessZone()) { _, _ in }, zone: ProcessZone(),
        input: InputReader(loop: loop), streams: streams,
        recordings: RecordingService(Recorder(loop: loop)),
        headsets: HeadsetService(loop: loop, headsets: Headsets(loop: loop, settings: HeadsetSettings())),
        triggers: triggers, mqtt: mqtt, journal: Journal(loop: loop)),
      global: true)
    var lines: [String] = []
    var failure: LuaError?
    state.onPrint = { lines.append($0) }
    script.onFailure = { failure = $0 }
    let routine = state.start(try state.load(Array(code.utf8), chunkName: "@test.lua"), name: "test")
    var hasEnded = false
    routine.whenEnded { outcome in
      if case .failed(let error) = outcome { failure = error }
      loop.start {
        await script.end()
        await door.close()
        loop.next { loop.next { hasEnded = true } }
      }
    }
    _ = loop.run(until: { hasEnded })
    loop.close()
    if let failure { throw failure }
    return lines
  }

  @Test(
    "capabilities list what the driver can, and anything else raises speaker.unsupported with the driver's name"
  )
  func unsupported() throws {
    let lines = try printed(
      """
      local can = speaker.capabilities()
      print(can.volume, can.rename, can.sessions, can.interrupt)
      local kitchen = speaker.device "Kitchen"
      for name, call in pairs {
        set_name = function() kitchen:set_name "x" end, set_group = function() kitchen:set_group "x" end,
        leave_group = function() kitchen:set_group "x" end, set_role = function() kitchen:set_role "left" end,
        set_balance = function() kitchen:set_balance(1) end,
        set_gain = function() speaker.set_gain(1) end,
        fade_gain = function() speaker.fade { gain = 1, over = 1 } end,
        fade_volume = function() speaker.fade { volume = 1, over = 1 } end,
        house = function() speaker.house() end, refresh_wifi = function() kitchen:refresh_wifi() end,
      } do
        local _, err = task.try(call)
        print(name, err and err.code, err and err.message:match '^the driver "plain"' ~= nil)
      end
      print(select(2, task.try(kitchen.set_name, kitchen, "x")).capability)
      kitchen:set_volume(4)
      print(kitchen.volume)
      """)
    #expect(lines.first == "true\tnil\tnil\tnil")
    let refused = [
      "fade_gain", "fade_volume", "house", "leave_group", "refresh_wifi",
      "set_balance", "set_gain", "set_group", "set_name", "set_role",
    ]
    #expect(lines.dropFirst().dropLast(2).sorted() == refused.map { "\($0)\tspeaker.unsupported\ttrue" })
    #expect(lines.suffix(2) == ["rename", "4"])
  }

  @Test(
    "a second play, a stop, a close and a leave cancel a play that is still opening",
    arguments: [
      ("mine:stop()", "speaker.superseded", "stopped"),
      ("mine:play 'other.wav'", "speaker.superseded", "playing"),
      ("mine:close()", "speaker.closed", "stopped"),
      ("speaker.device 'Kitchen':leave()", "speaker.superseded", "stopped"), ("", "none", "playing"),
    ])
  func superseded(_ command: String, _ code: String, _ state: String) throws {
    let lines = try printed(
      """
      local mine = speaker.session { devices = { "Kitchen" } }
      local playing = task.spawn(function()
        local _, err = task.try(mine.play, mine, "song.wav")
        return err and err.code or "none"
      end)
      task.sleep(0.5)
      print(mine:state())
      \(command)
      print(playing:await(), mine:state())
      """, and: ["sessions"])
    #expect(lines == ["stopped", "\(code)\t\(state)"])
  }
}
