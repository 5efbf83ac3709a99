import Home
import JSONText
import LuaRuntime
import MQTT
import Roomtone
import TestTraits
import Testing

@Suite("mqtt in the configuration file", .tags(.configuration, .mqtt))
struct MQTTConfigurationTests {
  private func read(_ text: String) throws -> Configuration {
    try Configuration(text: Array(text.utf8), path: "config.lua")
  }

  @Test("sets the broker, the login, the base and the triggers; without it there is none")
  func all() throws {
    #expect(try read("").mqtt == nil)
    let mqtt = try #require(
      try read(
        """
        mqtt { host = "mqtt.home", user = "house", password_file = "/etc/key", tls = true,
               ca_file = "/etc/ca.pem", client_id = "me", base = "upstairs/music", home_assistant = true,
               triggers = { doorbell = { topic = "zigbee2mqtt/door", field = "action", equals = "single" },
                            any = { topic = "a/#", equals = 3.5, repeats = true } } }
        """
      ).mqtt)
    #expect(mqtt.settings.address == "mqtt.home:8883" && mqtt.settings.clientID == "me")
    #expect(mqtt.settings.user == "house" && mqtt.settings.passwordFile == "/etc/key")
    #expect(mqtt.settings.certificateFile == "/etc/ca.pem" && mqtt.homeAssistant)
    #expect(mqtt.base == "upstairs/music" && mqtt.triggers.map(\.name) == ["any", "doorbell"])
    #expect(mqtt.triggers[0].repeats && mqtt.triggers[0].equals?.line == "3.5")
    #expect(mqtt.triggers[1].filter.text == "zigbee2mqtt/door" && mqtt.triggers[1].field == "action")
    let usual = try #require(try read("mqtt { host = '192.168.1.10' }").mqtt)
    #expect(usual.settings.address == "192.168.1.10:1883" && usual.base == "roomtone")
    #expect(!usual.settings.usesTLS && !usual.homeAssistant && usual.triggers.isEmpty)
  }

  @Test(
    "a mistake is named",
    arguments: [
      ("mqtt {}", "'host': missing"), ("mqtt { host = '' }", "'host'"),
      ("mqtt { host = 'mqtt://a' }", "a name or an address expected"),
      ("mqtt { host = 'a', prot = 1 }", "did you mean 'port'"),
      ("mqtt { host = 'a', port = 0 }", "'port'"), ("mqtt { host = 'a', port = 65536 }", "'port'"),
      ("mqtt { host = 'a', password_file = '/k' }", "'user': missing"),
      ("mqtt { host = 'a', user = 'u', password_file = 'k' }", "an absolute path"),
      ("mqtt { host = 'a', ca_file = '/k' }", "tls = true"),
      ("mqtt { host = 'a', base = 'a/+' }", "no wildcards"), ("mqtt { host = 'a', base = '/a' }", "'base'"),
      ("mqtt { host = 'a', base = '$SYS' }", "'base'"),
      ("mqtt { host = 'a', client_id = '' }", "'client_id'"),
      ("mqtt { host = 'a', client_id = 'a\\u{80}' }", "'client_id'"),
      ("mqtt { host = 'a', base = 'a\\u{80}' }", "'base'"),
      ("mqtt { host = 'a', triggers = 3 }", "a table of names and rules"),
      ("mqtt { host = 'a', triggers = { bell = {} } }", "'topic' of triggers.bell: missing"),
      ("mqtt { host = 'a', triggers = { bell = { topic = 'a#' } } }", "# is the last level"),
      ("mqtt { host = 'a', triggers = { bell = { topic = 'a', filed = 'b' } } }", "did you mean 'field'"),
      ("mqtt { host = 'a', triggers = { bell = { topic = 'a', equals = {} } } }", "'equals'"),
      ("mqtt { host = 'a', triggers = { ['a bell'] = { topic = 'a' } } }", "a name of a trigger expected"),
    ])
  func mistakes(_ text: String, _ words: String) throws {
    let error = #expect(throws: LuaError.self) { try read(text) }
    let description = try #require(error).description
    #expect(description.contains(words), "\(description)")
    #expect(description.hasPrefix("config.lua:1:"), "\(description)")
  }
}
