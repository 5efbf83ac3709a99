import EventLoop
import TestTraits
import Testing

@testable import MQTT

@Suite("Topics and filters of MQTT", .tags(.mqtt))
struct MQTTTopicTests {
  private static func text(_ scalar: UInt32) -> String { Unicode.Scalar(scalar).map { "a\($0)" } ?? "" }

  @Test(
    "a topic has 1 to 65,535 bytes, no control characters and no wildcard",
    arguments: [
      "", "a\0b", "a\u{1}", "a\nb", "a\u{7F}", "\u{9F}", text(0xFDD0), text(0xFFFE), text(0x1FFFF),
      "a/+", "#", "a#b", String(repeating: "x", count: 65_536),
    ])
  func refusedTopic(_ text: String) {
    #expect { try MQTTTopic(text) } throws: { ($0 as? MQTTError)?.kind == .topic }
  }

  @Test(
    "a topic may have empty levels, blanks, any letters and any depth",
    arguments: [
      "/", "a//b", "a b", "Küche/🎛", "\u{A0}\u{FFFD}", "$SYS/x", String(repeating: "x", count: 65_535),
    ])
  func acceptedTopic(_ text: String) throws { #expect(try MQTTTopic(text).name == text) }

  @Test(
    "a wildcard is a whole level, and # the last one",
    arguments: ["", "a\0", "a\u{1F}/#", "a+", "+a/b", "a/#/b", "#a", "a/b#", "##", "++"])
  func refusedFilter(_ text: String) {
    #expect { try MQTTFilter(text) } throws: { ($0 as? MQTTError)?.kind == .filter }
  }

  @Test(
    "a filter selects the topics of the specification",
    arguments: [
      ("sport/tennis/player1/#", "sport/tennis/player1", true),
      ("sport/tennis/player1/#", "sport/tennis/player1/ranking", true),
      ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
      ("sport/tennis/+", "sport/tennis/player1", true),
      ("sport/tennis/+", "sport/tennis/player1/ranking", false),
      ("sport/+", "sport", false), ("sport/+", "sport/", true),
      ("+/+", "/finance", true), ("/+", "/finance", true), ("+", "/finance", false),
      ("#", "a/b/c", true), ("#", "$SYS/uptime", false), ("+/uptime", "$SYS/uptime", false),
      ("$SYS/#", "$SYS/uptime", true), ("a/b", "a/b", true), ("a/b", "a/B", false), ("a/b", "a/b/c", false),
      ("a/b/c", "a/b", false), ("a", "ab", false), ("+/b/#", "a/b", true), ("a//b", "a/b", false),
      ("connected/#", "connected", true),
    ])
  func matching(_ filter: String, _ topic: String, _ isSelected: Bool) throws {
    #expect(try MQTTFilter(filter).matches(topic) == isSelected)
  }
}
