import EventLoop
import JSONText
import MQTT
import TestTraits
import Testing

@testable import Home

@Suite("Triggers from topics, without a broker", .tags(.mqtt, .trigger))
struct MQTTTriggerTests {
  private let topic = "zigbee2mqtt/door"

  private func rule(_ field: String? = nil, equals: JSON? = nil, repeats: Bool = false) throws -> MQTTTrigger
  {
    MQTTTrigger("doorbell", filter: try MQTTFilter(topic), field: field, equals: equals, repeats: repeats)
  }

  private func message(_ payload: String, retained: Bool = false) -> MQTTMessage {
    MQTTMessage(topic, Array(payload.utf8), isRetained: retained)
  }

  private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

  /// Messages of devices as zigbee2mqtt 1.40 sends them.
  private static let recorded = [
    (#"{"action":"single","battery":87,"linkquality":120,"voltage":2985}"#, #""single""#),
    (
      #"{"action":"brightness_move_up","battery":74,"linkquality":65,"update":{"state":"idle"}}"#,
      #""brightness_move_up""#
    ),
    (#"{"action":"","battery":87,"linkquality":120}"#, nil),
    (#"{"action":null,"battery":87}"#, nil), (#"{"battery":87,"linkquality":120}"#, nil),
    (#"{"action":1}"#, "1"), ("online", nil), ("[1]", nil), ("", nil), ("{", nil),
  ]

  @Test("a field of a payload in JSON is the value; empty and absent ones fire nothing", arguments: recorded)
  func fields(_ payload: String, _ value: String?) throws {
    var rule = try rule("action")
    #expect(rule.receive(message(payload), at: .start) == (value.map { .fires($0) } ?? .passes))
  }

  @Test(
    "without a field the whole payload is the value, as JSON if it is",
    arguments: [
      ("ON", #""ON""#), ("21.5", "21.5"), ("true", "true"), (#"{"a":1}"#, #"{"a": 1}"#), ("null", nil),
    ])
  func whole(_ payload: String, _ value: String?) throws {
    var rule = try rule()
    #expect(rule.receive(message(payload), at: .start) == (value.map { .fires($0) } ?? .passes))
  }

  @Test("one value alone fires where a rule names it, numbers by their value")
  func equals() throws {
    var single = try rule("action", equals: "single")
    #expect(single.receive(message(#"{"action":"double"}"#), at: .start) == .passes)
    #expect(single.receive(message(#"{"action":"single"}"#), at: .start) == .fires(#""single""#))
    var number = try rule("state", equals: .exact(1))
    #expect(number.receive(message(#"{"state":1}"#), at: .start) == .fires("1"))
    #expect(number.receive(message(#"{"state":"1"}"#), at: .start) == .passes)
    var text = try rule(equals: "1")
    #expect(text.receive(message("1"), at: .start) == .fires("1"))
    var isTrue = try rule("contact", equals: .bool(false))
    #expect(isTrue.receive(message(#"{"contact":true}"#), at: .start) == .passes)
    #expect(isTrue.receive(message(#"{"contact":false}"#), at: .start) == .fires("false"))
  }

  @Test("a retained message does not fire, also not with repeats")
  func retained() throws {
    var rule = try rule("action", repeats: true)
    #expect(rule.receive(message(#"{"action":"single"}"#, retained: true), at: .start) == .passes)
  }

  @Test("the same value again fires after 300 ms, another one at once, and any with repeats")
  func again() throws {
    var rule = try rule("action")
    let single = message(#"{"action":"single"}"#)
    #expect(rule.receive(single, at: at(0)) == .fires(#""single""#))
    #expect(rule.receive(single, at: at(299)) == .passes)
    #expect(rule.receive(single, at: at(300)) == .fires(#""single""#))
    #expect(rule.receive(message(#"{"action":"double"}"#), at: at(301)) == .fires(#""double""#))
    var repeating = try self.rule("action", repeats: true)
    #expect(repeating.receive(single, at: at(0)) == .fires(#""single""#))
    #expect(repeating.receive(single, at: at(1)) == .fires(#""single""#))
  }

  @Test("a rule fires 20 times a second at most")
  func rate() throws {
    var rule = try rule()
    func fired(_ times: [Int64]) -> Int {
      times.count { if case .fires = rule.receive(message("\($0)"), at: at($0)) { true } else { false } }
    }
    #expect(fired(Array(0..<50)) == 20)
    #expect(rule.receive(message("x"), at: at(999)) == .exceeds)
    #expect(fired(Array(1000..<1050)) == 20)
  }

  @Test("messages that come too soon for a rule are said at once, and then once a minute with their number")
  func excess() {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    var lines: [String] = []
    let complaints = MQTTComplaints(loop: loop) { lines.append($1) }
    for _ in 0..<1000 { complaints.addExcess(of: "bell") }
    complaints.addExcess(of: "door")
    #expect(lines.count == 2 && lines[0].hasPrefix("MQTT: 1 message did not fire the trigger \"bell\""))
  }

  @Test("payloads beyond 64 KiB, and bytes that are no text, are faults")
  func faults() throws {
    var rule = try rule()
    let large = MQTTMessage(topic, [UInt8](repeating: 65, count: Trigger.largestValue + 1))
    guard case .faulty = rule.receive(large, at: .start) else {
      Issue.record("accepted")
      return
    }
    guard case .faulty = rule.receive(MQTTMessage(topic, [0xFF]), at: .start) else {
      Issue.record("accepted")
      return
    }
  }

  @Test("two houses notice each other once, and answer each other at most once a minute")
  func houses() {
    var (one, other) = (HouseIdentity(), HouseIdentity())
    #expect(one.receive(one.id, at: at(0)) == .own)
    #expect(one.receive(other.id, at: at(0)) == .other)
    #expect(other.receive(one.id, at: at(0)) == .other)
    #expect(one.receive(other.id, at: at(1)) == .known(false))
    #expect(one.receive(other.id, at: at(60_000)) == .known(true))
  }
}
