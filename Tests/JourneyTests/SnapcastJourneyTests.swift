import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("roomtone and a snapserver", .waiting, .tags(.snapcast)) struct SnapcastJourneyTests {
  private func home(_ rig: SnapcastRig) throws -> Home {
    let home = try Home()
    try home.script("house { driver = \"snapcast\", port = \(rig.controlPort) }", as: "config.lua")
    return home
  }

  @Test("play sounds on the rooms that are named, to its end; devices and doctor show the server")
  func plays() throws {
    let rig = try SnapcastRig()
    let home = try home(rig)
    let tune = try home.tune(frames: 48_000)
    let outcome = try home.run("play", "--config", "config.lua", "tune.wav", "--on", "kitchen")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    usleep(300_000)
    let heard = try rig.played(by: "kitchen")
    #expect(heard.alignment(to: tune[9_600..<19_200]).correlation > 0.4)
    #expect(try rig.played(by: "bedroom").peak == 0)
    let devices = try home.run("devices", "--config", "config.lua")
    #expect(devices.status == 0 && devices.output.contains("kitchen") && devices.output.contains("bedroom"))
    let doctor = try home.run("doctor", "--offline", "--config", "config.lua")
    #expect(doctor.output.contains("2 clients, 2 connected; streams for 3 sessions"), "\(doctor)")
  }

  @Test("a script receives what another controller does, with its cause")
  func causes() throws {
    let rig = try SnapcastRig(clients: ["kitchen"])
    let home = try home(rig)
    try home.script(
      """
      local speaker, task = require "speaker", require "task"
      speaker.open { driver = "snapcast" }
      speaker.on("volume", function(e) print("volume", e.device.id, e.volume, e.cause) end)
      speaker.on("device", function(e) if e.reason == "renamed" then print(e.device.name, e.reason, e.cause) end end)
      print(pcall(function() speaker.device("kitchen"):set_role("left") end))
      print("ready")
      speaker.device("kitchen"):wait("device", "20s")
      task.sleep("100ms")
      """)
    let run = try home.start(["run", "--config", "config.lua", "routine.lua"])
    try run.expect("can't do other roles")
    try run.expect("ready")
    let controller = try SnapcastController(port: rig.controlPort)
    try controller.request("Client.SetVolume", "{\"id\":\"kitchen\",\"volume\":{\"percent\":21}}")
    try run.expect("volume\tkitchen\t11\tcontroller")
    try controller.request("Client.SetName", "{\"id\":\"kitchen\",\"name\":\"Küche\"}")
    try run.expect("Küche\trenamed\tcontroller")
  }

  @Test("the routines of the library do on snapclients what they do in the house")
  func routines() throws {
    let rooms = ["kitchen", "bedroom", "study"]
    let rig = try SnapcastRig(clients: rooms, buffer: 400)
    let home = try Home()
    try home.script(
      "house { driver = \"snapcast\", port = \(rig.controlPort), buffer = \"400ms\" }", as: "config.lua")
    try home.tune(frames: 480_000)
    try home.tune("gong.wav", frames: 24_000)
    let script = Fixtures.path("snapcast_routines.lua")
    let outcome = try home.start(
      ["run", "--config", "config.lua", script, "tune.wav", "gong.wav"] + rooms
    ).finish()
    #expect(outcome.lines.last == "all" && !outcome.output.contains("failed\t"), "\(outcome)")
    #expect(outcome.lines.count { $0.hasPrefix("ok\t") } >= 12)
  }

  @Test("managed = true starts a server and ends it with the program, also when that is killed")
  func managed() throws {
    let home = try Home()
    // Below the ports that the system gives to connections.
    let port = 20_001 + Int(getpid()) % 9_000
    try home.script("house { driver = \"snapcast\", managed = true, port = \(port) }", as: "config.lua")
    try home.script(
      "local speaker = require 'speaker' speaker.open() print('open') require('task').sleep('1m')")
    for signal in [SIGTERM, SIGKILL] {
      let run = try home.start(["run", "--config", "config.lua", "routine.lua"])
      try run.expect("open")
      _ = try SnapcastController(port: port)
      kill(run.process, signal)
      for _ in 0..<500 where (try? SnapcastController(port: port)) != nil { usleep(20_000) }
      #expect((try? SnapcastController(port: port)) == nil, "after signal \(signal)")
    }
  }

  @Test("snapserver-config prints the lines that a real server accepts; wrong options are named")
  func options() throws {
    let home = try Home()
    let lines = try home.run("snapserver-config", "2").lines
    #expect(
      lines.suffix(4) == [
        "[stream]",
        "source = tcp://127.0.0.1:4953?name=roomtone-idle&mode=server&sampleformat=48000:16:2&codec=flac",
        "source = tcp://127.0.0.1:4954?name=roomtone-1&mode=server&sampleformat=48000:16:2&codec=flac",
        "source = tcp://127.0.0.1:4955?name=roomtone-2&mode=server&sampleformat=48000:16:2&codec=flac",
      ])
    #expect(try home.run("snapserver-config", "none").status == 2)
    let names = "for _, d in ipairs(require 'speaker'.devices()) do print(d.name) end"
    try home.script("house { driver = 'snapcast', port = 1 }", as: "config.lua")
    let embedded = try home.run("run", "--config", "config.lua", "--house", "house", "-e", names)
    #expect(embedded.status == 0 && embedded.lines.contains("Kitchen"), "\(embedded)")
    let played = try home.run(
      "play", "--config", "config.lua", "--house=house", Fixtures.path("mp3-cbr128-44k.mp3"), "--on", "Attic")
    #expect(played.status == 1 && played.errors.contains("Kitchen"), "\(played)")
    let prompt = try home.run("repl", "--house", "hkwhub", input: .text(names))
    #expect(prompt.status == 1 && prompt.errors.contains("the configuration names no hub"), "\(prompt)")
    for words in [
      ["--house", "hub"], ["--house", "snapcast", "--output", "null"], ["--house", "house", "--attach"],
    ] {
      #expect(try home.start(["run"] + words + ["-e", names]).finish().status == 2)
    }
    for (text, complaint) in [
      ("driver = 'snapcats'", "did you mean 'snapcast'"),
      ("driver = 'snapcast', output = 'null'", "option 'output'"),
      ("port = 1705", "option 'port'"), ("driver = 'snapcast', port = 70000", "option 'port'"),
      ("driver = 'snapcast', managed = true, host = 'a'", "option 'host'"),
      ("driver = 'snapcast', buffer = '1ms'", "option 'buffer'"),
      ("driver = 'snapcast', sessions = 3", "option 'sessions'"),
      ("driver = 'snapcast', streams = 'a b'", "option 'streams'"),
      ("driver = 'snapcast', host = 'a b'", "option 'host'"), ("driver = 'snapcast', hots = 'a'", "host"),
    ] {
      try home.script("house { \(text) }", as: "config.lua")
      let outcome = try home.run("devices", "--config", "config.lua")
      #expect(outcome.status == 1 && outcome.errors.contains(complaint), "\(text): \(outcome)")
    }
  }
}
