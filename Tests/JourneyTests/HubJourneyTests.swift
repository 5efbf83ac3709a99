import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("roomtone and a hub", .waiting, .tags(.hub)) struct HubJourneyTests {
  private func home(_ hub: Hub) throws -> Home {
    let home = try Home()
    try home.script("house { driver = \"hkwhub\", url = \"\(hub.url)\" }", as: "config.lua")
    return home
  }

  @Test("play is heard on the rooms that are named, to its end; devices and doctor show the hub")
  func plays() throws {
    let hub = try Hub()
    let home = try home(hub)
    let tune = try home.tune(frames: 24_000)
    let outcome = try home.run("play", "--config", "config.lua", "tune.wav", "--on", "kitchen")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    try home.write(try #require(hub.media.first), to: "heard.wav")
    #expect(try Sound(file: home.path("heard.wav")).channels == tune.channels)
    #expect(hub.orders.last == "close_session")
    let devices = try home.run("devices", "--config", "config.lua")
    #expect(devices.status == 0 && devices.output.contains("Kitchen"))
    let doctor = try home.run("doctor", "--offline", "--config", "config.lua")
    #expect(doctor.output.contains("2 speakers; it fetches sound from 127.0.0.1"), "\(doctor)")
    hub.station.refuse()
    let silent = try home.run("doctor", "--offline", "--config", "config.lua")
    #expect(silent.status == 1 && silent.output.contains("refuses connections"), "\(silent)")
    let failed = try home.run("play", "--config", "config.lua", "tune.wav")
    #expect(failed.status != 0 && failed.errors.contains("local-server mode"), "\(failed)")
  }

  @Test("a script sees what the driver can't do, and what the hub's app does")
  func script() throws {
    let hub = try Hub()
    let home = try home(hub)
    _ = try home.tune(frames: 4_800)
    try home.script(
      """
      local speaker, task = require "speaker", require "task"
      speaker.open { driver = "hkwhub" }
      local kitchen = speaker.device "Kitchen"
      speaker.on("volume", function(e) print("volume", e.device.name, e.volume, e.cause) end)
      local function try(name, f)
        local ok, e = pcall(f)
        print(name, not ok and e.code, speaker.capabilities()[name])
      end
      try("rename", function() kitchen:set_name("Bath") end)
      try("group", function() kitchen:set_group("Up") end)
      try("role", function() kitchen:set_role("left") end)
      try("balance", function() kitchen:set_balance(3) end)
      try("controls", function() speaker.house() end)
      print("ready")
      task.sleep("1m")
      """)
    let run = try home.start(["run", "--config", "config.lua", "routine.lua"])
    for name in ["rename", "group", "role", "balance", "controls"] {
      try run.expect("\(name)\tspeaker.unsupported\tnil")
    }
    try run.expect("ready")
    hub.change { $0[0].volume = "11" }
    try run.expect("volume\tKitchen\t11\tcontroller")
    kill(run.process, SIGTERM)
  }

  @Test("an alarm rings, and goes on after an announcement, as the hub plays one sound at a time")
  func alarm() throws {
    let hub = try Hub()
    let home = try home(hub)
    try home.tune("wake.wav", frames: 480_000)
    try home.tune("gong.wav", frames: 48_000)
    try home.script(
      """
      local alarm, announce, speaker, task = require "alarm", require "announce", require "speaker", require "task"
      speaker.open { driver = "hkwhub" }
      local wake = alarm.set {
        at = os.date("%Y-%m-%d %H:%M:%S", os.time() + 2), rooms = "Kitchen", sources = { "wake.wav" }, fade = 0,
        duration = "2m",
      }
      wake:on("ringing", function() print "rings" end)
      wake:on("fallback", function(e) print("fallback", e.reason) end)
      wake:wait "ringing"
      task.sleep(1)
      announce.play { "gong.wav", rooms = "Kitchen" }
      print "announced"
      local ended = speaker.device("Kitchen"):wait("state", "20s")
      print(speaker.device("Kitchen").is_playing and "rings again")
      task.sleep "1m"
      """)
    let run = try home.start(["run", "--config", "config.lua", "routine.lua"], deadline: .seconds(60))
    try run.expect("rings")
    try run.expect("announced")
    try run.expect("rings again")
    try ServeTests.wait("the hub plays the alarm again") {
      hub.orders.count { $0 == "play_web_media_selected_speakers" } >= 3 && hub.mediaURL != nil
    }
    run.send(SIGTERM)
    _ = try run.finish()
  }

  @Test("a station reaches the hub as it comes, also after a pause")
  func radio() throws {
    let (hub, station) = (try Hub(), try Station())
    let frames = Array(try readBytes(Fixtures.path("mp3-without-tag.mp3")))
    var live = Live(.init(repeating: frames, bytesPerSecond: 16_000))
    live.pace = .realTime(1)
    station.answer("/live", with: .live(live))
    let home = try home(hub)
    try home.script(
      """
      local speaker, task = require "speaker", require "task"
      speaker.open { add_all = true }
      speaker.on("error", function(e) print("error", e.code, e.message) end)
      speaker.play_stream "\(station.url("/live"))"
      print("plays")
      task.sleep("3s")
      speaker.pause()
      task.sleep("500ms")
      speaker.resume()
      task.sleep("2s")
      print(speaker.state(), speaker.position() > 2)
      speaker.stop()
      """)
    let outcome = try home.run("run", "--config", "config.lua", "routine.lua")
    #expect(outcome.status == 0 && outcome.output == "plays\nplaying\ttrue\n", "\(outcome)")
    #expect(hub.media.count == 2 && hub.media.allSatisfy { $0.count > 44 + 192_000 })
    for (number, bytes) in hub.media.enumerated() {
      try home.write(bytes, to: "heard.wav")
      #expect(try Sound(file: home.path("heard.wav")).peak > 0.05, "medium \(number)")
    }
  }

  @Test("a stream by RTSP reaches the hub")
  func rtsp() throws {
    let hub = try Hub()
    let server = try RTSPServer([
      "tone":
        "audiotestsrc is-live=true freq=440 ! audio/x-raw,rate=8000 ! alawenc ! rtppcmapay name=pay0 pt=8"
    ])
    let home = try home(hub)
    try home.script(
      """
      local speaker, task = require "speaker", require "task"
      speaker.open()
      speaker.play_stream("\(server.url("tone"))", { rooms = "Kitchen" })
      task.sleep("3s")
      print(speaker.state())
      speaker.stop()
      """)
    let outcome = try home.run("run", "--config", "config.lua", "routine.lua")
    #expect(outcome.status == 0 && outcome.output == "playing\n", "\(outcome)")
    try home.write(try #require(hub.media.first), to: "heard.wav")
    #expect(try Sound(file: home.path("heard.wav")).peak > 0.05)
  }

  @Test("wrong options are named")
  func options() throws {
    let home = try Home()
    for (text, complaint) in [
      ("driver = 'hkwhubb'", "did you mean 'hkwhub'"), ("driver = 'hkwhub'", "option 'url'"),
      ("driver = 'hkwhub', url = 'hub'", "option 'url'"),
      ("driver = 'hkwhub', url = 'http://hub.example'", "option 'serve'"),
      ("driver = 'hkwhub', url = 'http://127.0.0.1:1', serve = '0.0.0.0'", "option 'serve'"),
      ("driver = 'hkwhub', url = 'http://127.0.0.1:1', port = 7", "option 'port'"),
      ("url = 'http://127.0.0.1:1'", "option 'url'"), ("driver = 'hkwhub', ulr = 'x'", "did you mean 'url'"),
    ] {
      try home.script("house { \(text) }", as: "config.lua")
      let outcome = try home.run("devices", "--config", "config.lua")
      #expect(outcome.status != 0 && outcome.errors.contains(complaint), "\(text): \(outcome)")
    }
    let help = try home.run("help", "hkwhub")
    #expect(help.status == 0 && help.output.contains("interrupt") && help.output.contains("token_file"))
  }
}
