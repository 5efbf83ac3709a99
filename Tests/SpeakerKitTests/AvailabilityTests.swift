import AudioCore
import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Speakers that come and go, and how well they are received", .tags(.speaker, .discovery))
struct AvailabilityTests {
  @Test("an unplugged speaker leaves the mix, stays a member, and is back in step")
  func unplugs() throws {
    var reported: [String] = []
    let harness = try HouseHarness.run { harness in
      let (house, controls) = (harness.house, try harness.house.controls())
      let device = house.devices[1]
      let noise = Signal.noise(seed: 1, amplitude: 0.9, frames: 96_000)
      try await house.session.play(try harness.source("a.wav", noise))
      try await harness.wait(0.5)
      harness.record()
      try controls.unplug(device)
      try controls.unplug(device)
      #expect(!device.isAvailable && device.session === house.session && !device.isPlaying)
      #expect(house.session.state == .playing)
      #expect(await harness.failure { try device.setVolume(3) }?.code == "speaker.unavailable")
      #expect(await harness.failure { try await device.setName("X") }?.code == "speaker.unavailable")
      try house.setVolume(49)
      try house.setVolume(50)
      try await harness.wait(0.5)
      try controls.plug(device)
      #expect(device.isAvailable)
      try await harness.wait(0.1)
      reported = harness.reported.filter { $0.hasPrefix("device") || $0.hasPrefix("volume") }
      _ = try await house.session.finish()
    }
    #expect(
      reported == [
        "device B unavailable", "device B playing", "volume A 49, average 49", "volume A 50, average 50",
        "device B available", "device B playing",
      ])
    let (first, second) = (try harness.played("A").channels[0], try harness.played("B").channels[0])
    #expect(second[26_000..<47_000].allSatisfy { $0 == 0 })
    #expect(second[50_000...] == first[50_000...])
    #expect(second[..<23_000] == first[..<23_000])
  }

  @Test(
    "when the last one is gone, playback continues silently for 30 s, then stops", arguments: [false, true])
  func lastOne(returns: Bool) throws {
    try HouseHarness.run(output: .null) { harness in
      let (house, controls) = (harness.house, try harness.house.controls())
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 48_000))
      try await house.session.play(path, loops: true)
      try await harness.wait(0.01)
      for device in house.devices { try controls.unplug(device) }
      try await harness.wait(29.9)
      #expect(house.session.state == .playing)
      if returns { try controls.plug(house.devices[0]) }
      harness.record()
      try await harness.wait(0.2)
      #expect(harness.reportedBySession.contains("ended a.wav no_devices") == !returns)
      #expect((house.session.state == .playing) == returns)
      #expect(house.session.devices.count == 2)
      if returns {
        try await harness.wait(60)
        #expect(house.session.state == .playing)
      } else {
        #expect(
          await harness.failure { try await house.session.play(path) }?.code == "speaker.no_active_device")
      }
    }
  }

  @Test("a paused session waits for its speakers without a timeout")
  func paused() throws {
    try HouseHarness.run(output: .null) { harness in
      let (house, controls) = (harness.house, try harness.house.controls())
      try await house.session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      house.session.pause()
      for device in house.devices { try controls.unplug(device) }
      try await harness.wait(100)
      #expect(house.session.state == .paused)
      try house.session.resume()
      try await harness.wait(5)
      #expect(house.session.state == .playing)
    }
  }

  @Test("the house learns a signal when it asks, and publishes a change once")
  func wifi() throws {
    try HouseHarness.run(output: .null) { harness in
      let (house, controls) = (harness.house, try harness.house.controls())
      let device = house.devices[0]
      harness.record()
      try controls.setWifi(device, dBm: -83)
      try await harness.wait(5)
      #expect(device.wifiSignal == -45 && device.wifiStrength == .excellent)
      try await device.refreshWifi()
      #expect(device.wifiSignal == -83 && device.wifiStrength == .weak)
      try await house.refresh()
      try controls.setWifi(house.devices[1], dBm: -65)
      try await device.refreshWifi()
      try await harness.wait(0.01)
      #expect(harness.reported == ["device A wifi"])
      try controls.unplug(device)
      #expect(device.wifiStrength == WifiStrength.none)
      #expect(await harness.failure { try await device.refreshWifi() }?.code == "speaker.unavailable")
      #expect(await harness.failure { try controls.setWifi(device, dBm: 1) }?.code == "speaker.range")
    }
  }

  @Test("watching asks every two seconds, until it is turned off")
  func watches() throws {
    try HouseHarness.run(output: .null) { harness in
      let (house, controls) = (harness.house, try harness.house.controls())
      try house.watch(true)
      try house.watch(true)
      for (round, dBm) in [-61, -62, -63].enumerated() {
        harness.record()
        try controls.setWifi(house.devices[0], dBm: dBm)
        try await harness.wait(2.01)
        #expect(harness.reported == ["device A wifi"], "\(round)")
      }
      try house.watch(false)
      harness.record()
      try controls.setWifi(house.devices[0], dBm: -50)
      try await harness.wait(10)
      #expect(harness.reported.isEmpty && !house.isWatched)
    }
  }

  @Test(
    "classes of strength",
    arguments: [
      (0, "excellent"), (-50, "excellent"), (-51, "good"), (-60, "good"), (-61, "fair"), (-70, "fair"),
      (-71, "weak"), (-89, "weak"), (-90, "none"), (-100, "none"),
    ])
  func classes(dBm: Int, word: String) {
    #expect(WifiStrength(dBm: dBm).rawValue == word)
  }

  @Test("a speaker that is put up later joins in step; its file has the length of the others")
  func adds() throws {
    let harness = try HouseHarness.run { harness in
      let (house, controls) = (harness.house, try harness.house.controls())
      harness.record()
      try await house.session.play(
        try harness.source("a.wav", Signal.noise(seed: 1, amplitude: 0.9, frames: 96_000)))
      try await harness.wait(0.5)
      let new = try controls.add(SpeakerSpec(name: "C", group: "Attic", volume: 50))
      #expect(house.devices.map(\.name) == ["A", "B", "C"] && !new.isActive)
      #expect(try house.group("Attic").id == new.id)
      #expect(await harness.failure { try controls.add(SpeakerSpec(name: "C")) }?.code == "speaker.range")
      try await harness.wait(0.5)
      try await new.join()
      _ = try await house.session.finish()
      #expect(
        harness.reported.filter { $0.hasPrefix("device C") } == [
          "device C added", "device C joined", "device C playing", "device C playing",
        ])
    }
    let (first, new) = (try harness.played("A").channels[0], try harness.played("C").channels[0])
    #expect(new.count == first.count)
    #expect(new[..<47_000].allSatisfy { $0 == 0 } && new[50_000...] == first[50_000...])
  }

  @Test(
    "a removed speaker leaves its session and its group; the last one ends what plays; its object is dead")
  func removes() throws {
    try HouseHarness.run(speakers: EditingTests.three, output: .null) { harness in
      let (house, controls) = (harness.house, try harness.house.controls())
      let all = house.devices
      try await house.session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      try await harness.wait(0.01)
      harness.record()
      try controls.remove(all[0])
      #expect(house.devices.map(\.name) == ["B", "C"] && house.session.state == .playing)
      #expect(await harness.failure { try await all[0].join() }?.code == "speaker.unavailable")
      try controls.remove(all[1])
      try controls.remove(all[2])
      #expect(house.session.state == .stopped && house.groups.isEmpty)
      try await harness.wait(0.01)
      #expect(
        harness.reported == [
          "device A left", "device A playing", "device A removed", "device B regrouped", "device C regrouped",
          "device B left", "device B playing", "device B removed", "device C regrouped", "device C left",
          "state stopped", "ended a.wav no_devices", "device C playing", "device C removed",
        ])
      let back = try controls.add(SpeakerSpec(name: "A"))
      #expect(back.id == all[0].id && back !== all[0] && back.isAvailable)
      try back.setVolume(7)
      try await harness.wait(0.01)
      #expect(back.volume == 7)
    }
  }

  @Test("there is room for eight speakers more than the house began with")
  func room() throws {
    try HouseHarness.run(output: .null) { harness in
      let controls = try harness.house.controls()
      for index in 0..<8 { try controls.add(SpeakerSpec(name: "N\(index)")) }
      #expect(await harness.failure { try controls.add(SpeakerSpec(name: "N8")) }?.code == "speaker.range")
    }
  }
}
