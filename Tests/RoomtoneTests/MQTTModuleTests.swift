import Home
import LuaRuntime
import Roomtone
import TestSupport
import TestTraits
import Testing

@Suite("mqtt", .waiting, .tags(.mqtt))
struct MQTTModuleTests {
  /// Returns the outcome of `code`, in real time, with that configuration of the broker.
  private func outcome(_ settings: String, _ code: String) throws -> EngineHarness.Outcome {
    var harness = try EngineHarness(wall: true)
    harness.configuration = "house { output = 'null' } \(settings)"
    return try harness.run("local mqtt = require 'mqtt'\n" + code)
  }

  private func settings(_ broker: Mosquitto) -> String {
    "mqtt { host = '127.0.0.1', port = \(broker.port) }"
  }

  @Test("messages come to filters with their topics, payloads and JSON; a run that listens stays alive")
  func messages() throws {
    let broker = try Mosquitto()
    let outcome = try outcome(
      settings(broker),
      #"""
      mqtt.on("home/+/set", function(m)
        print(m.topic, m.payload, m.json and m.json.level, m.retained, m.qos)
        if m.payload == "end" then os.exit(0) end
      end)
      mqtt.publish("home/a/set", { level = 3 }, { qos = 1 })
      mqtt.publish("home/b", "not for us")
      mqtt.publish("home/b/set", "\xff\0")
      mqtt.publish("home/c/set", "end")
      """#)
    #expect(outcome.failures.isEmpty)
    #expect(
      outcome.lines == [
        "home/a/set\t{\"level\":3}\t3\tfalse\t1", "home/b/set\t\u{FFFD}\0\tnil\tfalse\t0",
        "home/c/set\tend\tnil\tfalse\t0",
      ])
  }

  @Test("a retained message waits for a later subscriber, and an empty one ends that")
  func retained() throws {
    let broker = try Mosquitto()
    let outcome = try outcome(
      settings(broker),
      """
      mqtt.publish("state", 7, { retain = true, qos = 1 })
      local message = mqtt.wait("state", "10s")
      print(message.json, message.retained)
      mqtt.publish("state", nil, { retain = true, qos = 1 })
      print(mqtt.wait("state", 0.3))
      """)
    #expect(outcome.lines == ["7\ttrue", "nil\ttimeout"])
  }

  @Test("connected and disconnected are events; publishing while away raises, unless it is queued")
  func away() throws {
    let broker = try Mosquitto()
    var harness = try EngineHarness(wall: true)
    harness.configuration = "house { output = 'null' } \(settings(broker))"
    harness.prepare = { engine in
      engine.onPrint = { [print = engine.onPrint] line in
        print(line)
        if line == "kill" { broker.kill() }
        if line == "start" { try? broker.start() }
      }
    }
    let outcome = try harness.run(
      """
      local mqtt = require 'mqtt'
      mqtt.on("connected", function() print "on" end)
      mqtt.on("disconnected", function(e) print("off", e.reason) end)
      print(mqtt.wait("connected", "10s") ~= nil, mqtt.connected())
      print "kill"
      mqtt.wait("disconnected", "10s")
      print(code(mqtt.publish, "a", 1), mqtt.connected())
      mqtt.publish("kept", 2, { retain = true, queue = true })
      print "start"
      mqtt.wait("connected", "30s")
      print(mqtt.wait("kept", "10s").json)
      os.exit(0)
      """)
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(
      outcome.lines == [
        "on", "true\ttrue", "kill", "off\tthe connection was closed", "mqtt.not_connected\tfalse", "start",
        "on", "2",
      ])
  }

  @Test("messages that are queued by a script that then ends are sent")
  func queued() throws {
    let broker = try Mosquitto()
    let sender = try outcome(
      settings(broker),
      """
      for i = 1, 60 do mqtt.publish("kept/" .. i, i, { queue = true, retain = true, qos = 1 + i % 2 }) end
      """)
    #expect(sender.failures.isEmpty, "\(sender.failures)")
    let outcome = try outcome(
      settings(broker),
      """
      local count = 0
      mqtt.on("kept/+", function() count = count + 1 end)
      task.sleep(0.2)
      mqtt.publish("kept/end", 1, { qos = 1 })
      mqtt.wait("kept/end", 1)
      print(count - 1)
      os.exit(0)
      """)
    #expect(outcome.lines == ["60"])
  }

  @Test("messages that are queued for a broker that is away at the end are counted in the log")
  func unsent() throws {
    let port = try LoopbackListener(blocks: false).port
    let outcome = try outcome(
      "mqtt { host = '127.0.0.1', port = \(port) }",
      "for i = 1, 3 do mqtt.publish('kept', i, { queue = true }) end")
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(
      outcome.log.contains { $0.message.contains("3 messages for 127.0.0.1:\(port) dropped") },
      "\(outcome.log)")
  }

  @Test("a message that the broker's rules forbid raises, and the log names the topic")
  func refused() throws {
    let broker = try Mosquitto(["acl_file FOLDER/rules"]) { folder in
      _ = try folder.write(Array("topic readwrite allowed/#\n".utf8), to: "rules")
    }
    let outcome = try outcome(
      settings(broker), "print(code(mqtt.publish, 'forbidden', 1, { qos = 1 }))")
    #expect(outcome.lines == ["mqtt.refused"])
    #expect(outcome.log.contains { $0.message.contains("topic \"forbidden\"") })
  }

  @Test("without a broker in the configuration all functions but connected say so")
  func notConfigured() throws {
    let outcome = try outcome(
      "",
      """
      print(code(mqtt.on, "a", print), code(mqtt.wait, "a"), code(mqtt.publish, "a"), mqtt.connected())
      print(failure(mqtt.publish, "a").hint)
      """)
    #expect(
      outcome.lines == [
        "mqtt.not_configured\tmqtt.not_configured\tmqtt.not_configured\tfalse",
        "name the broker in the configuration, as in mqtt { host = \"192.168.1.10\" }",
      ])
  }

  @Test("a script without a daemon waits for a trigger of a rule, and ends when it only listens")
  func waits() throws {
    let broker = try Mosquitto()
    let settings = """
      mqtt { host = '127.0.0.1', port = \(broker.port), triggers = { bell = { topic = 'bell' } } }
      """
    let outcome = try outcome(
      settings,
      """
      local trigger = require "trigger"
      print(trigger.wait("bell", 0.5))
      mqtt.publish("bell", "x")
      print(trigger.wait("bell", 0.5))
      trigger.on("bell", print)
      """)
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(outcome.lines == ["nil\ttimeout", "nil\ttimeout"])
    var harness = try EngineHarness(wall: true)
    harness.configuration = "house { output = 'null' } \(settings)"
    harness.prepare = { engine in
      engine.onPrint = { [print = engine.onPrint] line in
        print(line)
        guard line == "connected" else { return }
        _ = try? Command.succeed(
          "mosquitto_pub", ["-p", "\(broker.port)", "-h", "127.0.0.1", "-t", "bell", "-m", "ring"])
      }
    }
    let waiting = try harness.run(
      """
      local mqtt, trigger = require "mqtt", require "trigger"
      task.spawn(function()
        while not mqtt.connected() do task.sleep(0.05) end
        task.sleep(0.3)
        print "connected"
      end)
      print(trigger.wait("bell").value)
      """)
    #expect(waiting.failures.isEmpty, "\(waiting.failures)")
    #expect(waiting.lines == ["connected", "ring"])
  }

  @Test("a press on a button starts a routine, and why names topic and payload")
  func press() throws {
    let broker = try Mosquitto()
    var harness = try EngineHarness(wall: true)
    harness.configuration = """
      house { output = 'null' }
      mqtt { host = '127.0.0.1', port = \(broker.port), triggers = {
        doorbell = { topic = 'zigbee2mqtt/door', field = 'action', equals = 'single' } } }
      """
    let outcome = try harness.run(
      """
      local mqtt, trigger = require 'mqtt', require 'trigger'
      task.spawn(function()
        local event = trigger.wait("doorbell", "10s")
        print(event.name, event.value, event.origin)
        speaker.device "Kitchen":set_volume(7)
        task.sleep(0.2)
        local cause = speaker.history { device = "Kitchen", kind = "volume" }[1].cause
        while cause.kind ~= "trigger" do cause = cause.parent end
        print(cause.trigger, cause.detail)
        os.exit(0)
      end)
      mqtt.publish("zigbee2mqtt/door", { action = "single", battery = 87 })
      task.sleep "10s"
      """)
    #expect(outcome.failures.isEmpty, "\(outcome.failures)")
    #expect(
      outcome.lines == [
        "doorbell\tsingle\tmqtt",
        #"doorbell\#ttopic zigbee2mqtt/door: {"action":"single","battery":87}"#,
      ])
  }
}
