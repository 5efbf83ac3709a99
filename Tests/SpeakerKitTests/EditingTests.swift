import AudioCore
import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Names, groups, roles and balance that change", .tags(.speaker, .groups))
struct EditingTests {
  static let three = ["A", "B", "C"].map { SpeakerSpec(name: $0, group: "Room", volume: 50) }

  @Test("a new name is there when the call returns, published once, and found")
  func renames() throws {
    try HouseHarness.run(output: .null) { harness in
      let device = harness.house.devices[0]
      let id = device.id
      harness.record()
      try await device.setName("Küche 2")
      #expect(device.name == "Küche 2" && device.id == id)
      #expect(try harness.house.find("küche") === device)
      try await device.setName("Küche 2")
      try await harness.wait(0.01)
      #expect(harness.reported == ["device Küche 2 renamed"])
    }
  }

  @Test("a blank name, a name in use, and one with a line end are refused")
  func badNames() throws {
    try HouseHarness.run(output: .null) { harness in
      let device = harness.house.devices[0]
      harness.record()
      for name in ["a\u{FFFD}", "", "  ", "B", "x\ny", "\u{7f}", String(repeating: "x", count: 101)] {
        #expect(await harness.failure { try await device.setName(name) }?.code == "speaker.range", "\(name)")
      }
      for name in ["", " ", "x\ty"] {
        #expect(await harness.failure { try await device.setGroup(name) }?.code == "speaker.range", "\(name)")
      }
      try await harness.wait(0.01)
      #expect(harness.reported.isEmpty && device.name == "A")
    }
  }

  @Test("of two speakers that are renamed alike at one time, one gets the name")
  func oneName() throws {
    try HouseHarness.run(output: .null) { harness in
      var codes: [String?] = []
      for device in harness.house.devices {
        harness.loop.start { codes.append(await harness.failure { try await device.setName("X") }?.code) }
      }
      try await harness.wait(0.1)
      #expect(codes.contains("speaker.range") && codes.contains(nil))
      #expect(harness.house.devices.filter { $0.name == "X" }.count == 1)
    }
  }

  @Test(
    "the founder founds another group: the old one gets its longest member's id, and all changes are published"
  )
  func founderLeaves() throws {
    try HouseHarness.run(speakers: Self.three, output: .null) { harness in
      let (a, b, c) = (harness.house.devices[0], harness.house.devices[1], harness.house.devices[2])
      // B leaves and rejoins: C has been in the group longer than B.
      try await b.leaveGroup()
      try await b.setGroup("Room")
      try await harness.wait(0.01)
      harness.record()
      #expect(try harness.house.group("Room").devices.map(\.name) == ["A", "C", "B"])
      try await a.setGroup("Own")
      #expect(try harness.house.group("Room").id == c.id)
      #expect(try harness.house.group("Own").id == a.id)
      #expect(harness.house.groups.map(\.name) == ["Own", "Room"])
      #expect(c.isMaster && a.isMaster && !b.isMaster)
      try await harness.wait(0.01)
      #expect(harness.reported == ["device A regrouped", "device B regrouped", "device C regrouped"])
    }
  }

  @Test("another member that moves is published alone; the same group again publishes nothing")
  func memberMoves() throws {
    try HouseHarness.run(speakers: Self.three, output: .null) { harness in
      let c = harness.house.devices[2]
      harness.record()
      try await c.setGroup("Room")
      try await c.setGroup("harman")
      try await c.leaveGroup()
      #expect(c.group == nil && c.groupID == c.id)
      #expect(harness.house.groups.map(\.name) == ["Room"])
      #expect(try harness.house.group("Room").devices.count == 2)
      try await harness.wait(0.01)
      #expect(harness.reported == ["device C regrouped"])
    }
  }

  @Test("a group without members does not exist")
  func emptied() throws {
    try HouseHarness.run(speakers: Self.three, output: .null) { harness in
      for device in harness.house.devices { try await device.leaveGroup() }
      #expect(harness.house.groups.isEmpty)
    }
  }

  @Test("renaming or regrouping a playing speaker stops its session with an error, no other")
  func whilePlaying() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      try await house.devices[1].leave()
      let other = try house.makeSession(devices: [house.devices[1]])
      try await other.play(path)
      for (index, edit) in ["renamed", "regrouped"].enumerated() {
        try await house.session.play(path)
        try await harness.wait(0.1)
        harness.record()
        if index == 0 {
          try await house.devices[0].setName("N")
        } else {
          try await house.devices[0].setGroup("N")
        }
        try await harness.wait(0.1)
        #expect(
          harness.reported == [
            "error speaker.renamed_while_playing", "state stopped", "ended a.wav failed",
            "device \(index == 0 ? "A" : "N") playing", "device N \(edit)",
          ])
        #expect(other.state == .playing)
      }
      // A paused session does not play.
      try await house.session.play(path)
      house.session.pause()
      try await house.devices[0].setName("O")
      #expect(house.session.state == .paused)
    }
  }

  @Test("role and balance are heard at once, over a ramp, and published once")
  func roleAndBalance() throws {
    var reported: [String] = []
    let harness = try HouseHarness.run { harness in
      let device = harness.house.devices[0]
      let path = try harness.source(
        "a.wav", Signal.constant(0.75, frames: 96_000), Signal.constant(-0.25, frames: 96_000))
      try await harness.house.session.play(path)
      try await harness.wait(0.5)
      harness.record()
      try device.setRole(.right)
      try device.setRole(.right)
      try await harness.wait(0.5)
      try device.setBalance(-3)
      #expect(await harness.failure { try device.setBalance(7) }?.code == "speaker.range")
      try await harness.wait(0.1)
      #expect(device.role == .right && device.balance == -3)
      reported = harness.reported.filter { !$0.hasPrefix("time") }
      _ = try await harness.house.session.finish()
    }
    #expect(reported == ["device A role", "device A balance"])
    let sound = try harness.played("A")
    #expect(sound.channels[0][23_000] == 0.75 && sound.channels[1][23_000] == -0.25)
    #expect(sound.channels[0][28_000] == -0.25 && sound.channels[1][28_000] == -0.25)
    #expect(sound.channels[0].last == -0.25 && sound.channels[1].last == -0.125)
    // From 0.75 to -0.25 within a block: no step is larger than a ramp's.
    #expect(sound.largestStep < 1.0 / 960 * 1.1)
    #expect(try harness.played("B").channels[0].allSatisfy { $0 == 0.75 })
  }
}
