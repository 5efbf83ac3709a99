import Glibc
import TestSupport
import TestTraits
import Testing

/// `roomtone volume` and the like where no daemon runs, or another house is meant than the daemon's.
@Suite("the house from the shell", .waiting, .tags(.command, .control)) struct HouseCommandTests {
  /// Writes the user's own configuration.
  private func configure(_ home: Home, _ text: String) throws {
    mkdir(home.path("config/roomtone"), 0o700)
    try home.script(text, as: "config/roomtone/config.lua")
  }

  @Test("without a daemon they act on the clients of the configured snapserver, and fail without it")
  func snapserver() throws {
    let rig = try SnapcastRig(clients: ["kitchen"])
    let home = try Home()
    try configure(home, "house { driver = \"snapcast\", port = \(rig.controlPort) }")
    let controller = try SnapcastController(port: rig.controlPort)
    func server() throws -> String { try controller.request("Server.GetStatus") }
    let set = try home.run("volume", "kitchen", "33", "--json")
    #expect(set.status == 0 && set.output.contains("\"volume\": 33") && set.errors == "", "\(set)")
    #expect(try server().contains("\"volume\":{\"muted\":false,\"percent\":66}"))
    #expect(try home.run("volume", "kitchen", "+2").output.contains("35"))
    #expect(try server().contains("\"percent\":70}"))
    #expect(try home.run("mute", "kitchen").output.contains("muted"))
    #expect(try server().contains("\"volume\":{\"muted\":true,\"percent\":70}"))
    #expect(try home.run("unmute").status == 0)
    #expect(try server().contains("\"volume\":{\"muted\":false,\"percent\":70}"))
    for verb in ["now", "stop"] {
      let outcome = try home.run(verb)
      #expect(
        outcome.status == 0 && outcome.lines == ["nothing that roomtone has started plays"], "\(outcome)")
    }
    for verb in ["pause", "resume", "next", "previous"] {
      let outcome = try home.run(verb)
      #expect(outcome.status == 1 && outcome.output == "", "\(verb): \(outcome)")
    }
    let unknown = try home.run("volume", "Bathroom", "3")
    #expect(unknown.status == 1 && unknown.errors.contains("speaker.unknown"), "\(unknown)")
    #expect(try !server().contains("\"percent\":6}"))
    rig.killServer()
    for words in [
      ["volume", "kitchen", "20"], ["volume", "kitchen"], ["mute"], ["stop"], ["now"], ["pause"], ["devices"],
      ["groups"], ["status"],
    ] {
      let outcome = try home.start(words).finish()
      #expect(outcome.status == 1 && outcome.output == "", "\(words): \(outcome)")
      #expect(outcome.errors.contains("no snapserver answers"), "\(words): \(outcome)")
    }
  }

  @Test("without a daemon they limit what they set, change nothing else, and keep what they were asked for")
  func limits() throws {
    let rig = try SnapcastRig(clients: ["kitchen"], records: false)
    let home = try Home()
    try configure(
      home,
      """
      house { driver = 'snapcast', port = \(rig.controlPort), speakers = {
        { name = 'kitchen', max_volume = 20 }, { name = 'Bath', max_volume = 30 } } }
      """)
    let controller = try SnapcastController(port: rig.controlPort)
    func server() throws -> String { try controller.request("Server.GetStatus") }
    // As an alarm of another process has it.
    try controller.request("Client.SetVolume", "{\"id\":\"kitchen\",\"volume\":{\"percent\":90}}")
    let devices = try home.run("devices")
    #expect(devices.output.contains("45 (limit 20)") && devices.errors == "", "\(devices)")
    #expect(try home.run("volume", "kitchen").output.contains("45"))
    #expect(try server().contains("\"percent\":90}"))
    for (words, asked) in [("40", 40), ("+3", 40), ("+0", 40)] {
      let outcome = try home.run("volume", "kitchen", words)
      #expect(
        outcome.output.contains("20") && outcome.output.contains("\(asked) was asked for"), "\(outcome)")
      #expect(try server().contains("\"percent\":40}"))
    }
    #expect(try home.run("volume", "kitchen").output.contains("40 was asked for"))
    let checks = try home.run("doctor", "--offline")
    let line = checks.lines.firstIndex { $0.hasPrefix("warn  snapserver ") }
    #expect(
      line.map { checks.lines[$0].contains("limits 'Bath', which no speaker is called") } == true, "\(checks)"
    )
    #expect(!checks.output.contains("limits 'kitchen'"))
    #expect(try home.run("volume", "kitchen", "5").status == 0)
    #expect(try !home.run("volume", "kitchen").output.contains("asked for"))
  }

  @Test(
    "a snapserver that the host starts lives as long as a program has the house, and is not started for a level"
  )
  func managed() throws {
    let home = try Home()
    try configure(home, "house { driver = \"snapcast\", managed = true }")
    let outcome = try home.run("volume", "kitchen", "20")
    #expect(outcome.status == 1 && outcome.output == "", "\(outcome)")
    #expect(
      outcome.errors.contains("does not run") && outcome.errors.contains("roomtone serve"), "\(outcome)")
  }

  @Test(
    "without a daemon they act on the speakers of the configured hub, and a mute that would not last is refused"
  )
  func hub() throws {
    let hub = try Hub()
    let home = try Home()
    try configure(home, "house { driver = \"hkwhub\", url = \"\(hub.url)\" }")
    let set = try home.run("volume", "kitchen", "33")
    #expect(set.status == 0 && set.lines == ["Kitchen  33"] && set.errors == "", "\(set)")
    #expect(hub.speakers.contains { $0.volume == "33" || $0.volume == "\"33\"" })
    #expect(try home.run("volume", "kitchen").lines == ["Kitchen  33"])
    for verb in ["mute", "unmute"] {
      let outcome = try home.run(verb, "kitchen")
      #expect(outcome.status == 1 && outcome.output == "", "\(outcome)")
      #expect(outcome.errors.contains("a hub knows no mute"), "\(outcome)")
    }
    #expect(try home.run("volume", "kitchen").lines == ["Kitchen  33"])
    hub.station.refuse()
    let lost = try home.run("volume", "kitchen", "5")
    #expect(lost.status == 1 && lost.output == "" && lost.errors.contains("local-server mode"), "\(lost)")
  }

  @Test("without a daemon a level of the embedded house is kept for what plays next, which is said")
  func embedded() throws {
    let home = try Home()
    let invented = try home.run("volume", "kitchen", "33")
    #expect(invented.status == 0 && invented.lines == ["Kitchen  33"], "\(invented)")
    #expect(
      invented.errors
        == "info: the speakers are invented, and no daemon has the house: the level is kept for what plays next\n"
    )
    #expect(
      try home.run("run", "--output", "null", "-e", "print(require 'speaker'.device('Kitchen').volume)").lines
        == ["33"])
    #expect(try home.run("volume", "kitchen").errors == "", "what only looks has nothing to say")
    try configure(home, "house { output = \"wav:out\", speakers = { { name = \"Study\" } } }")
    let own = try home.run("mute")
    #expect(own.status == 0 && own.lines == ["Study  25 muted"], "\(own)")
    #expect(own.errors == "info: no daemon has the house: the level is kept for what plays next\n")
    #expect(access(home.path("out"), F_OK) != 0, "no output is opened for a level")
    let homeless = try home.runInShell(
      "unset HOME XDG_STATE_HOME XDG_CONFIG_HOME; \"$ROOMTONE\" volume kitchen 3")
    #expect(homeless.status == 1 && homeless.output == "", "\(homeless)")
    #expect(homeless.errors.contains("no level is kept"), "\(homeless)")
  }

  @Test("an output with a configuration of another driver is refused, by run, play, repl, serve and in cron")
  func output() throws {
    let home = try Home()
    try home.script("print(#require 'speaker'.devices())", as: "a.lua")
    for driver in ["driver = \"snapcast\", port = 1", "driver = \"hkwhub\", url = \"http://127.0.0.1:1\""] {
      try configure(home, "house { \(driver) }")
      for words in [
        ["run", "--output", "null", "a.lua"], ["play", "--output", "null", "a.wav"],
        ["repl", "--output", "null"],
        ["serve", "--output", "null", "."], ["serve", "--install", "--output", "null", "."],
        ["cron", "add", "@daily", "run", "--output", "null", "a.lua"],
      ] {
        let outcome = try home.start(words).finish()
        #expect(outcome.status == 2 && outcome.output == "", "\(words): \(outcome)")
        #expect(
          outcome.errors.contains("--output is for the speakers of --house house"), "\(words): \(outcome)")
      }
      // Another house that is named is had.
      let named = try home.run("run", "--house", "house", "--output", "null", "a.lua")
      #expect(named.status == 0 && named.lines == ["6"], "\(named)")
      // A simulation has no network, and says so.
      let simulated = try home.run("simulate", "a.lua", "--for", "1m")
      #expect(
        simulated.status == 0 && simulated.errors.contains("invented ones stand for them"), "\(simulated)")
    }
  }

  @Test("beside a daemon, --config shows and changes the house of that file, or says who has it")
  func configuration() throws {
    let home = try Home()
    mkdir(home.path("scripts"), 0o700)
    try home.script("house { output = 'null', speakers = { { name = 'Study' } } }", as: "daemon.lua")
    try home.script("house { output = 'null', speakers = { { name = 'Attic' } } }", as: "other.lua")
    let process = try home.start(["serve", "--config", "daemon.lua", "scripts"])
    try ServeTests.awaitAnswer(home)
    func names(_ words: String...) throws -> [String] {
      try home.start(words).finish().lines.map { String($0.prefix { $0 != " " }) }
    }
    #expect(try names("devices") == ["NAME", "Study"])
    #expect(try names("devices", "--config", "other.lua") == ["NAME", "Attic"])
    #expect(try names("devices", "--config", "./daemon.lua") == ["NAME", "Study"])
    #expect(try home.run("status", "--config", "other.lua").output.contains("other.lua"))
    #expect(try home.run("status").output.contains(home.path("daemon.lua")))
    #expect(try home.run("volume", "study", "7", "--config", "daemon.lua").lines == ["Study  7"])
    let other = try home.run("volume", "attic", "7", "--config", "other.lua")
    #expect(other.status == 1 && other.output == "", "\(other)")
    #expect(other.errors.contains("roomtone serve (process \(process.process)) has the house"), "\(other)")
    let rig = try SnapcastRig(clients: ["kitchen"], records: false)
    try home.script("house { driver = 'snapcast', port = \(rig.controlPort) }", as: "rooms.lua")
    #expect(try home.run("volume", "kitchen", "21", "--config", "rooms.lua").output.contains("21"))
    #expect(
      try SnapcastController(port: rig.controlPort).request("Server.GetStatus").contains("\"percent\":42}"))
    process.send(SIGTERM)
    _ = try process.finish()
  }

  @Test("a run that has the house answers about it, and says that there is no daemon to the rest")
  func run() throws {
    let home = try Home()
    try home.longMusic()
    try home.script(
      """
      local speaker = require "speaker"
      speaker.play({ "long.mp3", "long.mp3" }, { loop = true, rooms = speaker.devices() })
      print "plays"
      require "task".sleep "1h"
      """)
    let script = try home.start(["run", "--output", "null", "routine.lua"])
    try script.expect("plays")
    #expect(try home.run("now").output.contains("playing"))
    #expect(try home.run("volume", "kitchen", "20").lines == ["Kitchen  20"])
    #expect(try home.run("mute", "kitchen").lines == ["Kitchen  20 muted"])
    #expect(try home.run("unmute", "kitchen").lines == ["Kitchen  20"])
    #expect(try home.run("pause").output.contains("paused"))
    #expect(try home.run("resume").output.contains("playing"))
    #expect(try home.run("next").status == 0)
    #expect(try home.run("ctl", "why", "kitchen").output.contains("person at ctl"))
    #expect(try home.run("ctl", "volume", "kitchen").lines == ["Kitchen  20"])
    for words in [["status"], ["ctl", "status"]] {
      let status = try home.start(words).finish()
      #expect(status.status == 0 && status.output.contains("roomtone run routine.lua"), "\(status)")
      #expect(status.output.contains("\(script.process)"), "\(status)")
    }
    #expect(try home.run("devices").output.contains("playing"))
    for words in [["jobs"], ["scripts"], ["eval", "1"], ["trigger", "x"], ["log"], ["reload"]] {
      let outcome = try home.start(["ctl"] + words).finish()
      #expect(outcome.status == 1 && outcome.output == "", "\(words): \(outcome)")
      #expect(
        outcome.errors.contains(
          "no daemon runs: roomtone run routine.lua (process \(script.process)) has the house (ctl.none)"),
        "\(words): \(outcome)")
    }
    #expect(try home.run("run", "--attach", "-e", "print(1)").errors.contains("no daemon runs"))
    #expect(try home.run("run", "-e", "print(1)").lines == ["1"], "what needs no house runs by itself")
    let serve = try home.run("serve", "--output", "null", ".")
    #expect(serve.status == 1 && serve.errors.contains("roomtone run routine.lua"), "\(serve)")
    #expect(try home.run("stop").lines == ["nothing plays"])
    script.send(SIGTERM)
    #expect(try script.finish().status == 143)
    #expect(access(home.path("runtime/roomtone/control.sock"), F_OK) != 0)
    #expect(
      try home.run("ctl").failures == ["roomtone: no daemon runs (ctl.none); start one: roomtone serve"])
  }

  @Test("an open control socket keeps no run alive, and a house that is closed is answered about no more")
  func end() throws {
    let home = try Home()
    let code = """
      local speaker, task = require "speaker", require "task"
      speaker.open()
      print "open"
      task.sleep(1)
      speaker.close()
      print "closed"
      io.read()
      """
    let run = try home.start(["run", "--output", "null", "-e", code], input: .pipe)
    try run.expect("open")
    #expect(try home.run("ctl", "status").status == 0)
    try run.expect("closed")
    try ServeTests.wait("nobody answers") { try home.run("ctl", "status").status == 1 }
    try run.type("\n")
    #expect(try run.finish().status == 0)
  }
}
