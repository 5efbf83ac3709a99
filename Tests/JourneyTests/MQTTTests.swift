import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("MQTT of the program", .waiting, .tags(.mqtt, .trigger, .daemon))
struct MQTTJourneyTests {
  private func home(_ broker: Mosquitto, _ more: String = "") throws -> Home {
    let home = try Home()
    guard mkdir(home.path("config/roomtone"), 0o700) == 0, mkdir(home.path("scripts"), 0o700) == 0 else {
      throw TestFailure("cannot make a folder")
    }
    try home.script(
      "house { output = 'null' } mqtt { host = '127.0.0.1', port = \(broker.port)\(more) }",
      as: "config/roomtone/config.lua")
    return home
  }

  @Test("doctor says if the broker answers, and if the login works")
  func doctor() throws {
    let broker = try Mosquitto(isOpen: false)
    let home = try home(broker)
    let refused = try home.run("doctor", "--offline").lines.first { $0.contains(" mqtt ") }
    #expect(refused?.hasPrefix("FAIL") == true && refused?.contains("it wants a user and a password") == true)
    let open = try Mosquitto()
    let other = try self.home(open)
    let accepted = try other.run("doctor", "--offline").lines.first { $0.contains(" mqtt ") }
    #expect(accepted?.hasPrefix("ok") == true && accepted?.contains("127.0.0.1:\(open.port) answers") == true)
    open.kill()
    let away = try other.run("doctor", "--offline").lines.first { $0.contains(" mqtt ") }
    #expect(away?.hasPrefix("FAIL") == true && away?.contains("can't be reached: Connection refused") == true)
  }

  @Test("a run beside a daemon has a client id of its own, and both stay connected")
  func beside() throws {
    let broker = try Mosquitto()
    let home = try home(broker)
    let script = try home.script(
      """
      local mqtt, task = require "mqtt", require "task"
      local losses = 0
      mqtt.on("disconnected", function() losses = losses + 1 end)
      print(mqtt.wait("roomtone/house/status", "10s").payload)
      task.sleep(1)
      print(losses)
      os.exit(0)
      """)
    try home.script("require 'mqtt'.on('disconnected', function() print 'kicked' end)", as: "scripts/a.lua")
    let daemon = try home.start(["serve", "--output", "null", "scripts"])
    try daemon.expectError("MQTT: connected to 127.0.0.1:\(broker.port)")
    let status = try home.run("ctl", "status").lines
    #expect(status.contains { $0.hasPrefix("MQTT ") && $0.contains("connected since") }, "\(status)")
    let other = try home.run("run", "--no-attach", script)
    #expect(other.lines == ["online", "0"], "\(other)")
    daemon.send(SIGTERM)
    let outcome = try daemon.finish()
    #expect(!outcome.output.contains("kicked"), "\(outcome)")
  }
}
