import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("A driver and a board", .tags(.headset, .link)) struct HBPDriverTests {
  @Test("connecting reports the board's identity; a second connection ends the first") func connect() throws {
    let harness = try DriverHarness()
    try harness.run {
      #expect(!harness.driver.isConnected)
      let info = try await harness.driver.connect()
      #expect(info.image == .application && info.firmwareVersion == "1.0.0" && info.model == "RT-1")
      #expect(harness.driver.isConnected && harness.board.report.isConnected)
      let ping = harness.driver.begin(Ping())
      // The board has one host at a time, and waits a moment for this one to go.
      harness.driver.drop()
      #expect(await harness.failure(ping)?.kind == .notConnected)
      #expect(try await harness.driver.connect() == info)
      let other = HBPDriver(name: "another", key: .development, loop: harness.loop) { () in
        harness.board.connect()
      }
      await #expect {
        try await other.connect()
      } throws: { error in
        (error as? HeadsetError)?.kind == .connectionFailed
          && "\(error)".contains("before the key was proved: the other side closed it")
      }
      #expect(try await harness.driver.request(GetInfo()) == info)
      #expect(harness.losses.isEmpty)
    }
  }

  @Test("all requests of the application are made and answered") func requests() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      let driver = harness.driver
      _ = try await driver.request(Ping())
      for isOn in [true, false] {
        _ = try await driver.request(SetNoiseCancelling(isOn))
        #expect(try await driver.request(GetNoiseCancelling()) == isOn)
        #expect(harness.board.report.noiseCancelling == isOn)
      }
      #expect(try await driver.request(GetAmbientLimits()) == AmbientLimits(left: 7, right: 7))
      let ambient = AmbientLevel(side: .right, level: 3)
      _ = try await driver.request(SetAmbient(ambient))
      #expect(try await driver.request(GetAmbient(.right)) == ambient)

      let shape = try await driver.request(GetEqualizerInfo())
      #expect(shape == EqualizerInfo(bands: 10, lowest: -12, highest: 12, presets: 4))
      #expect(try await driver.request(GetEqualizerBands()).millihertz.count == 10)
      _ = try await driver.request(SelectPreset(3))
      _ = try await driver.request(SetEqualizerBand(preset: 3, band: 9, value: -5))
      let selected = try await driver.request(GetEqualizer(EqualizerValues.selected))
      #expect(selected == EqualizerValues(preset: 3, values: [0, 0, 0, 0, 0, 0, 0, 0, 0, -5]))
      let values = EqualizerValues(preset: 1, values: (0..<10).map { Int8($0) })
      _ = try await driver.request(SetEqualizer(values))
      #expect(try await driver.request(GetEqualizer(1)) == values)
      _ = try await driver.request(ResetEqualizer(1))
      #expect(try await driver.request(GetEqualizer(1)) != values)

      #expect(try await driver.request(GetBattery()) == Battery(percent: 80, isCharging: false))
      #expect(try await driver.request(GetImageType()) == .application)
      #expect(try await driver.request(GetTransferStatus()).state == .none)
      try await harness.settle()
      #expect(
        harness.driverEvents.contains(.noiseCancelling(true))
          && harness.driverEvents.contains(.ambient(.right, 3)))
      #expect(harness.driver.dropped.isEmpty && harness.driver.faults.isEmpty)
    }
  }

  @Test("a board's no is the error of its code") func refusals() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      let high = SetAmbient(AmbientLevel(side: .left, level: 8))
      #expect(await harness.failure(high)?.code == "headset.range")
      let few = SetEqualizer(EqualizerValues(preset: 1, values: [1]))
      let error = await harness.failure(few)
      #expect(error?.code == "headset.wrong_band_count")
      #expect(error?.message == "set equalizer: the board has another number of equalizer bands")
      #expect(await harness.failure(BeginTransfer(manifest: [1]))?.kind == .wrongMode)
      #expect(harness.driver.isConnected)
      let long = await harness.failure(
        WriteTransfer(transfer: 1, offset: 0, data: [UInt8](repeating: 0, count: 1_017)))
      #expect(long?.code == "headset.write_failed")
    }
  }

  @Test("a request in an event's turn goes behind what is under way, in order") func reentry() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      var answer: PendingAnswer<LinkReply<Bool>>?
      harness.driver.onEvent { [unowned harness] _ in answer = harness.driver.begin(GetNoiseCancelling()) }
      let changes = [true, false].map { harness.driver.begin(SetNoiseCancelling($0)) }
      for change in changes { _ = try await change.value() }
      try await harness.settle()
      #expect(try await answer?.value() == .done(false))
      #expect(harness.board.report.repeated == 0)
    }
  }

  @Test("GOODBYE is sent and received") func disconnect() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      let waiting = harness.driver.begin(Ping())
      var isOther = false
      harness.loop.start {
        await harness.driver.disconnect()
        isOther = true
      }
      await harness.driver.disconnect()
      try await harness.loop.wait { isOther }
      #expect(await harness.failure(waiting)?.kind == .notConnected)
      #expect(harness.middle.operations(.toBoard).last == .bye)
      #expect(!harness.driver.isConnected && !harness.board.report.isConnected)
      #expect(await harness.failure(Ping())?.kind == .notConnected)
      #expect(harness.losses.isEmpty)
      await harness.driver.disconnect()
    }
  }

  @Test("a board that does not hear the good-bye has a second for it") func deaf() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      harness.middle.rule = { way, bytes in way == .toBoard ? [] : [bytes] }
      let start = harness.loop.now
      await harness.driver.disconnect()
      #expect(start.duration(to: harness.loop.now) == .seconds(1))
      #expect(harness.losses.isEmpty)
    }
  }

  @Test("a connection that is cancelled while it is made fails as such") func cancelled() throws {
    let harness = try DriverHarness()
    try harness.run {
      harness.middle.rule = { _, _ in [] }
      harness.loop.after(.seconds(2)) { harness.driver.drop() }
      #expect(
        await harness.connectFailure()
          == HeadsetError(.connectionFailed, "the connection to memory was given up"))
      harness.loop.after(.seconds(2)) { harness.loop.start { await harness.driver.disconnect() } }
      #expect(await harness.connectFailure()?.kind == .connectionFailed)
      #expect(harness.losses.isEmpty)
    }
  }

  @Test("a driver that is deallocated fails pending requests") func letGo() throws {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    let board = try Board(BoardOptions(), loop: loop)
    try loop.finish {
      var driver: HBPDriver? = HBPDriver(name: "memory", key: .development, loop: loop) {
        () async throws(HeadsetError) in board.connect()
      }
      _ = try await driver?.connect()
      let answer = driver?.begin(Ping())
      driver = nil
      do throws(HeadsetError) { _ = try await answer?.value() } catch { #expect(error.kind == .notConnected) }
      try await loop.sleep(for: .milliseconds(1))
      #expect(!board.report.isConnected)
      board.close()
    }
  }
}
