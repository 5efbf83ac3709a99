import EventLoop
import Home
import JSONText
import TestTraits
import Testing

@testable import Roomtone

@Suite("Documents for Home Assistant", .tags(.homeAssistant)) struct DiscoveryTests {
  private static func document(_ entities: [DiscoveryEntity], name: String = "Kitchen") -> DiscoveryDocument {
    var document = DiscoveryDocument(
      objectID: "roomtone-roomtone-room-1", name: name, model: "Room", availability: "roomtone/house/status")
    document.entities = entities
    return document
  }

  private static let number = DiscoveryEntity(
    "number", "volume", "Volume", [("cmd_t", "a/set"), ("min", 0), ("max", 50)])

  @Test("a document that Home Assistant accepts has no fault")
  func accepted() { #expect(DiscoverySchema.faults(of: Self.document([Self.number]).json()).isEmpty) }

  @Test(
    "a fault that makes Home Assistant refuse the device is named by its key",
    arguments: [
      (DiscoveryEntity("media_player", "p", "P", [("cmd_t", "a/set")]), "cmps.p.p: one of"),
      (DiscoveryEntity("number", "v", "V", []), "cmps.v.cmd_t: missing"),
      (
        DiscoveryEntity("number", "v", "V", [("cmd_t", "a"), ("min", 9), ("max", 1)]),
        "cmps.v.max: less than min"
      ),
      (DiscoveryEntity("number", "v", "V", [("cmd_t", "a/+")]), "cmps.v.cmd_t: another value"),
      (
        DiscoveryEntity("number", "v", "V", [("cmd_t", "a"), ("mode", "knob")]),
        "cmps.v.mode: another value"
      ),
      (DiscoveryEntity("number", "v", "V", [("cmd_t", "a"), ("volume", 1)]), "cmps.v.volume: unknown"),
      (
        DiscoveryEntity("select", "s", "S", [("cmd_t", "a"), ("ops", .array([]))]),
        "cmps.s.ops: another value"
      ),
      (DiscoveryEntity("event", "e", "E", [("stat_t", "a")]), "cmps.e.evt_typ: missing"),
      (DiscoveryEntity("sensor", "s", "S", [("stat_t", "a\u{0}")]), "cmps.s.stat_t: another value"),
      (
        DiscoveryEntity("sensor", "s", "S", [("stat_t", "a"), ("ops", .array(["x"]))]),
        "cmps.s.ops: not without enum"
      ),
      (DiscoveryEntity("switch", "s", "S", [("cmd_t", "a"), ("qos", 3)]), "cmps.s.qos: another value"),
      (DiscoveryEntity("button", "b", "B", [("cmd_t", "a"), ("ic", "stop")]), "cmps.b.ic: another value"),
    ])
  func refused(_ entity: DiscoveryEntity, _ fault: String) {
    let faults = DiscoverySchema.faults(of: Self.document([entity]).json())
    #expect(faults.count == 1 && faults.first?.hasPrefix(fault) == true, "\(faults)")
  }

  @Test("two entities with one id, and a document without a device, are faults")
  func wholes() {
    let twice = JSON.object([
      ("dev", .object([("ids", .array(["a"]))])), ("o", .object([("name", "Roomtone")])),
      (
        "cmps",
        .object(
          ["x", "y"].map {
            ($0, .object([("p", "button"), ("uniq_id", "same"), ("name", "N"), ("cmd_t", "t")]))
          })
      ),
    ])
    #expect(DiscoverySchema.faults(of: twice) == ["cmps.y.uniq_id: another entity has it"])
    #expect(
      DiscoverySchema.faults(of: .object([("cmps", .object([]))]))
        == ["dev: missing", "o: missing", "dev: an object expected", "o: an object expected"])
  }

  @Test("an entity that is gone is left in the document as its kind alone")
  func removing() throws {
    let json = Self.document([Self.number]).json(removing: ["volume": "number", "run-a": "button"])
    #expect(json["cmps"]?.keys == ["volume", "run-a"])
    #expect(json["cmps"]?["run-a"]?.line == #"{"p": "button"}"#)
    #expect(DiscoverySchema.faults(of: json).isEmpty)
    let kept = try #require(KeptDocument(Array(json.line.utf8), of: "roomtone-roomtone-room-1"))
    #expect(kept.components.keys.sorted() == ["volume"])
    #expect(kept.components["volume"].map(DiscoverySchema.accepts) == true)
    let whole = Self.document([]).json(keeping: kept.components, removing: ["volume": "number"])
    #expect(whole["cmps"]?["volume"]?.line == json["cmps"]?["volume"]?.line)
  }

  @Test("an entity stays for ten seconds after it is missing, and while scripts begin or end")
  func missing() {
    var missing = MissingEntities()
    let start = Instant.start
    #expect(missing.note(["a"], isSettling: false, at: start) == ["a"])
    #expect(missing.note(["a", "b"], isSettling: false, at: start.advanced(by: .seconds(9))) == ["a", "b"])
    #expect(missing.nextRemoval == start.advanced(by: .seconds(10)))
    #expect(missing.note(["a", "b"], isSettling: false, at: start.advanced(by: .seconds(10))) == ["b"])
    #expect(missing.note(["b"], isSettling: true, at: start.advanced(by: .seconds(60))) == ["b"])
    #expect(missing.nextRemoval == nil)
    #expect(missing.note(["b"], isSettling: false, at: start.advanced(by: .seconds(61))) == ["b"])
    #expect(missing.note(["b"], isSettling: false, at: start.advanced(by: .seconds(71))) == [])
  }

  @Test(
    "a name with quotes, emoji or letters from right to left comes whole",
    arguments: ["the \"big\" room", "🎷 & \\ {{ x }}", "חדר שינה", String(repeating: "ß", count: 120)])
  func names(_ name: String) throws {
    let json = try #require(JSON(parsing: Self.document([Self.number], name: name).json().line.utf8))
    #expect(json["dev"]?["name"]?.text == name)
    #expect(DiscoverySchema.faults(of: json).isEmpty)
  }

  @Test("ids are valid, and differ for every base and room")
  func ids() {
    let bases = ["roomtone", "room_tone", "room-tone", "home/roomtone", "home_2Froomtone", "Wohnung №1", ""]
    let rooms = ["001753A1B2C3", "00:17", "00_3A17", "a-b", "a_b", "küche", "house", "-"]
    var ids: Set<String> = []
    for base in bases {
      let topics = HouseTopics(base: base)
      for id in [topics.houseID] + rooms.map(topics.roomID) {
        #expect(DiscoverySchema.isObjectID(id) && id.hasPrefix(topics.idPrefix))
        #expect(ids.insert(id).inserted)
        for other in bases where other != base {
          #expect(!id.hasPrefix(HouseTopics(base: other).idPrefix))
        }
      }
    }
  }

  @Test("the topic of a command is read, and no other one is")
  func commands() {
    let topics = HouseTopics(base: "home/sound")
    #expect(topics.command("home/sound/room/1/volume/set") == .room(id: "1", "volume"))
    #expect(topics.command("home/sound/house/stop/set") == .house("stop"))
    for other in [
      "home/sound/room/1/volume", "home/sound/room/1/set", "home/sounds/room/1/volume/set",
      "home/sound/room/1/2/volume/set", "home/sound", "", "home/sound/house/set",
    ] {
      #expect(topics.command(other) == nil, "\(other)")
    }
  }

  @Test("an id with a meaning in topics is written out as a level")
  func levels() {
    #expect(HouseTopics.level("00:17:53") == "00:17:53")
    #expect(HouseTopics.level("a/b+#") == "a_2Fb_2B_23")
    #expect(HouseTopics.level("") == "")
  }

  @Test(
    "a message of another program, about another device, or of no form is not read",
    arguments: [
      "{}", "[]", "nonsense", #"{"o":{"name":"zigbee2mqtt"},"dev":{"ids":["a"]},"cmps":{}}"#,
      #"{"o":{"name":"Roomtone"},"dev":{"ids":["b"]},"cmps":{}}"#,
      #"{"o":{"name":"Roomtone"},"dev":{"ids":["a"]},"cmps":[]}"#,
    ])
  func foreign(_ payload: String) { #expect(KeptDocument(Array(payload.utf8), of: "a") == nil) }

  @Test("a state is one line, not longer than Home Assistant accepts, and never empty")
  func states() {
    #expect(HouseEntities.state("a\nb") == "a\\nb")
    #expect(HouseEntities.state("") == "None")
    #expect(HouseEntities.state(String(repeating: "é", count: 300)).unicodeScalars.count == 255)
  }
}
