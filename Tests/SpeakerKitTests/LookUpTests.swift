import AudioCore
import EventLoop
import SpeakerKit
import TestTraits
import Testing

@Suite("Finding speakers and groups", .tags(.speaker, .discovery))
struct LookUpTests {
  @Test("the demonstration house has six speakers in four rooms, in stable order")
  func demonstration() throws {
    try HouseHarness.run(speakers: nil, output: .null) { harness in
      let house = harness.house
      #expect(
        house.devices.map(\.name) == [
          "Living Room Left", "Living Room Right", "Kitchen", "Bedroom Left", "Bedroom Right", "Bathroom",
        ])
      #expect(house.groups.map(\.name) == ["Living Room", "Kitchen", "Bedroom", "Bathroom"])
      #expect(house.devices.map(\.role) == [.left, .right, .mono, .left, .right, .mono])
      #expect(Set(house.devices.map(\.id)).count == 6)
      #expect(house.devices.allSatisfy { $0.macAddress.split(separator: ":").count == 6 })
      #expect(house.devices.allSatisfy { (-100...0).contains($0.wifiSignal ?? 1) })
      #expect(house.devices.allSatisfy { (0...50).contains($0.volume) })
      #expect(house.devices.allSatisfy { $0.ipAddress.hasPrefix("192.168.1.") && $0.isActive })
    }
  }

  @Test("a group has the id of its founder, which is its master")
  func founder() throws {
    try HouseHarness.run(speakers: nil, output: .null) { harness in
      let group = try harness.house.group("living room")
      #expect(group.id == group.devices.first?.id)
      #expect(group.devices.map(\.name) == ["Living Room Left", "Living Room Right"])
      #expect(group.devices.map(\.isMaster) == [true, false])
      #expect(group.devices.allSatisfy { $0.groupID == group.id })
      #expect(group.isActive)
      #expect(try harness.house.group(group.id).name == "Living Room")
    }
  }

  @Test("a speaker in no group is in no list of groups")
  func ungrouped() throws {
    try HouseHarness.run(output: .null) { harness in
      #expect(harness.house.groups.isEmpty)
      #expect(harness.house.devices.first?.group == nil)
      #expect(harness.house.devices.first?.groupName == "harman")
    }
  }

  @Test("id, name, and a part that only one has, find a speaker in any case")
  func find() throws {
    try HouseHarness.run(speakers: nil, output: .null) { harness in
      let house = harness.house
      let kitchen = try #require(try house.find("Kitchen"))
      #expect(try house.find(kitchen.id) === kitchen)
      #expect(try house.find("kitCHEN") === kitchen)
      #expect(try house.find("kit") === kitchen)
      #expect(try house.find("bathr")?.name == "Bathroom")
      #expect(try house.find("garage") == nil)
      #expect(try house.find("") == nil)
    }
  }

  @Test("a part that several have is an error that lists them")
  func ambiguous() async throws {
    try HouseHarness.run(speakers: nil, output: .null) { harness in
      let error = await harness.failure { _ = try harness.house.find("bedro") }
      #expect(error?.code == "speaker.unknown")
      #expect(error?.hint == "write more of the name: \"Bedroom Left\", \"Bedroom Right\"")
    }
  }

  @Test("the name of a group is not a speaker's, and the error has a hint for the group")
  func groupForSpeaker() async throws {
    try HouseHarness.run(speakers: nil, output: .null) { harness in
      for look in [
        { _ = try harness.house.find("living room") }, { _ = try harness.house.device("Living Room") },
      ] {
        let error = await harness.failure { try look() }
        #expect(error?.code == "speaker.unknown")
        #expect(error?.message == "\"Living Room\" is a group, not a speaker")
        #expect(error?.hint?.hasPrefix("speaker.group \"Living Room\" is the group") == true)
      }
    }
  }

  @Test("the name of a speaker is not a group's, and the error says how it gets into one")
  func speakerForGroup() async throws {
    let specs = [SpeakerSpec(name: "Kitchen"), SpeakerSpec(name: "Sink", group: "Downstairs")]
    try HouseHarness.run(speakers: specs, output: .null) { harness in
      let error = await harness.failure { _ = try harness.house.group("kitchen") }
      #expect(error?.code == "speaker.unknown")
      #expect(error?.message == "no group is called \"kitchen\": \"Kitchen\" is a speaker in no group")
      #expect(
        error?.hint == "speaker.device(\"Kitchen\"):set_group \"Kitchen\" puts it into a group of that name")
      let other = await harness.failure { _ = try harness.house.group("Sink") }
      #expect(other?.message == "no group is called \"Sink\": \"Sink\" is a speaker")
      #expect(other?.hint == "it is in the group \"Downstairs\"; speaker.device \"Sink\" is the speaker")
    }
  }

  @Test(
    "a name that is slightly wrong suggests the right one",
    arguments: [
      ("kitchn", "Kitchen"), ("bahtroom", "Bathroom"), ("living rom left", "Living Room Left"),
      ("Bedroom Rihgt", "Bedroom Right"),
    ])
  func suggestion(typed: String, meant: String) throws {
    try HouseHarness.run(speakers: nil, output: .null) { harness in
      let error = await harness.failure { _ = try harness.house.device(typed) }
      #expect(error?.code == "speaker.unknown")
      #expect(error?.hint == "did you mean \"\(meant)\"?")
    }
  }

  @Test(
    "a place is a room or a speaker: whole names first, a room before its own speakers",
    arguments: [
      ("Kitchen", ["Kitchen"]), ("kitchen", ["Kitchen"]), ("kit", ["Kitchen"]),
      ("Bedroom", ["Bedroom Left", "Bedroom Right"]), ("BED", ["Bedroom Left", "Bedroom Right"]),
      ("bedroom l", ["Bedroom Left"]), ("Living Room Right", ["Living Room Right"]), ("bath", ["Bathroom"]),
    ])
  func places(typed: String, speakers: [String]) throws {
    try HouseHarness.run(speakers: nil, output: .null) { harness in
      let found = try harness.house.speakers(in: typed).map(\.name)
      #expect(found == speakers)
    }
  }

  @Test("a place that could be several, or is none, is an error with the right names")
  func noMatch() throws {
    try HouseHarness.run(speakers: nil, output: .null) { harness in
      let hints = [
        ("room", "write more of the name: \"Living Room\", \"Bedroom\", \"Bathroom\""),
        ("left", "write more of the name: \"Living Room Left\", \"Bedroom Left\""),
        ("kichen", "did you mean \"Kitchen\"?"), ("Bedrom", "did you mean \"Bedroom\"?"),
      ]
      for (typed, hint) in hints {
        let error = await harness.failure { _ = try harness.house.speakers(in: typed) }
        #expect(
          error?.code == "speaker.unknown" && error?.hint == hint, "\(typed): \(String(describing: error))")
      }
      let error = await harness.failure { _ = try harness.house.speakers(in: "") }
      #expect(error?.message == "no room or speaker is called \"\"")
    }
  }

  @Test(
    "a place that is a speaker in no room, or a speaker's id, or a room of the same name as a speaker elsewhere"
  )
  func mixedKinds() throws {
    let specs = [
      SpeakerSpec(name: "Kitchen", group: "Upstairs"), SpeakerSpec(name: "Sink", group: "Kitchen"),
      SpeakerSpec(name: "Portable"),
    ]
    try HouseHarness.run(speakers: specs, output: .null) { harness in
      let house = harness.house
      for (typed, speaker) in [("kitchen", "Sink"), (house.devices[0].id, "Kitchen"), ("port", "Portable")] {
        let found = try house.speakers(in: typed).map(\.name)
        #expect(found == [speaker], "\(typed)")
      }
      let error = await harness.failure { _ = try house.speakers(in: "harman") }
      #expect(error?.code == "speaker.unknown")
    }
  }

  @Test("a name like no other lists what there is")
  func noSuggestion() throws {
    try HouseHarness.run(output: .null) { harness in
      let error = await harness.failure { _ = try harness.house.device("xyzzy plugh") }
      #expect(error?.hint == "there are \"A\", \"B\"")
    }
  }

  @Test("a speaker keeps its id when the configured list is put in another order")
  func stableIDs() throws {
    var ids: [[String: String]] = []
    for specs in [HouseHarness.pair, HouseHarness.pair.reversed()] {
      try HouseHarness.run(speakers: specs, output: .null) { harness in
        ids.append(Dictionary(uniqueKeysWithValues: harness.house.devices.map { ($0.name, $0.id) }))
      }
    }
    #expect(ids[0] == ids[1])
  }

  @Test("configured speakers with the same name, or values out of range, are refused")
  func badConfiguration() {
    for specs in [
      [SpeakerSpec(name: "A"), SpeakerSpec(name: "A")], [SpeakerSpec(name: "")],
      [SpeakerSpec(name: "A", volume: 51)], [SpeakerSpec(name: "A", balance: 7)],
    ] {
      #expect(throws: SpeakerError.self) { try HouseHarness.run(speakers: specs, output: .null) { _ in } }
    }
  }

  @Test("outputs are read from their names, and others refused")
  func outputs() throws {
    #expect(try Output(parsing: "null") == .null)
    #expect(try Output(parsing: "alsa") == .alsa(device: "default"))
    #expect(try Output(parsing: "alsa:hw:1,0") == .alsa(device: "hw:1,0"))
    #expect(try Output(parsing: "wav:/tmp/a:b") == .wav(folder: "/tmp/a:b"))
    for text in ["null", "alsa", "alsa:hw:1,0", "wav:/tmp/a:b"] {
      #expect(try Output(parsing: text).text == text)
    }
    for text in ["", "wav", "wav:", "null:", "alsa:", "pulse"] {
      #expect(throws: SpeakerError.self) { try Output(parsing: text) }
    }
  }
}
