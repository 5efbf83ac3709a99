import EventLoop
import TestSupport
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("A driver and a board") struct HBPDriverTests {
  @Test("connecting tells who the board is; a second connection ends the first") func connect() throws {
    let bench = try DriverBench()
    try bench.run {
      #expect(!bench.driver.isConnected)
      let info = try await bench.driver.connect()
      #expect(info.image == .application && info.firmwareVersion == "1.0.0" && info.model == "RT-1")
      #expect(bench.driver.isConnected && bench.board.report.isConnected)
      let ping = bench.driver.begin(Ping())
      // The board has one host at a time, and waits a moment for this one to go.
      bench.driver.drop()
      #expect(await bench.failure(ping)?.kind == .notConnected)
      #expect(try await bench.driver.connect() == info)
      let other = HBPDriver(name: "another", key: .development, loop: bench.loop) { () in
        bench.board.connect()
      }
      await #expect {
        try await other.connect()
      } throws: { error in
        (error as? HeadsetError)?.kind == .connectionFailed
          && "\(error)".contains("before the key was proved: the other side closed it")
      }
      #expect(try await bench.driver.request(GetInfo()) == info)
      #expect(bench.losses.isEmpty)
    }
  }

  @Test("all requests of the application are made and answered") func requests() throws {
    let bench = try DriverBench()
    try bench.runConnected {
      let driver = bench.driver
      _ = try await driver.request(Ping())
      for isOn in [true, false] {
        _ = try await driver.request(SetNoiseCancelling(isOn: isOn))
        #expect(try await driver.request(GetNoiseCancelling()) == Flag(isOn: isOn))
        #expect(bench.board.report.noiseCancelling == isOn)
      }
      #expect(try await driver.request(GetAmbientLimits()) == AmbientLimits(left: 7, right: 7))
      let ambient = AmbientLevel(side: .right, level: 3)
      _ = try await driver.request(SetAmbient(ambient: ambient))
      #expect(try await driver.request(GetAmbient(side: .right)) == ambient)

      let shape = try await driver.request(GetEqualizerInfo())
      #expect(shape == EqualizerInfo(bands: 10, lowest: -12, highest: 12, presets: 4))
      #expect(try await driver.request(GetEqualizerBands()).millihertz.count == 10)
      _ = try await driver.request(SelectPreset(preset: 3))
      _ = try await driver.request(SetEqualizerBand(preset: 3, band: 9, value: -5))
      let selected = try await driver.request(GetEqualizer(preset: GetEqualizer.selected))
      #expect(selected == EqualizerValues(preset: 3, values: [0, 0, 0, 0, 0, 0, 0, 0, 0, -5]))
      let values = EqualizerValues(preset: 1, values: (0..<10).map { Int8($0) })
      _ = try await driver.request(SetEqualizer(equalizer: values))
      #expect(try await driver.request(GetEqualizer(preset: 1)) == values)
      _ = try await driver.request(ResetEqualizer(preset: 1))
      #expect(try await driver.request(GetEqualizer(preset: 1)) != values)

      #expect(try await driver.request(GetBattery()) == Battery(percent: 80, isCharging: false))
      #expect(try await driver.request(GetImageType()).image == .application)
      #expect(try await driver.request(GetTransferStatus()).state == .none)
      try await bench.settle()
      #expect(bench.news.contains(.noiseCancelling(true)) && bench.news.contains(.ambient(.right, 3)))
      #expect(bench.driver.dropped.isEmpty && bench.driver.faults.isEmpty)
    }
  }

  @Test("a board's no is the error of its code") func refusals() throws {
    let bench = try DriverBench()
    try bench.runConnected {
      let high = SetAmbient(ambient: AmbientLevel(side: .left, level: 8))
      #expect(await bench.failure(high)?.code == "headset.range")
      let few = SetEqualizer(equalizer: EqualizerValues(preset: 1, values: [1]))
      let error = await bench.failure(few)
      #expect(error?.code == "headset.wrong_band_count")
      #expect(error?.message == "set equalizer: the board has another number of equalizer bands")
      #expect(await bench.failure(BeginTransfer(manifest: [1]))?.kind == .wrongMode)
      #expect(bench.driver.isConnected)
      let long = await bench.failure(
        WriteTransfer(transfer: 1, offset: 0, data: [UInt8](repeating: 0, count: 1_017)))
      #expect(long?.code == "headset.write_failed")
    }
  }

  @Test("a request in an event's turn goes behind what is under way, in order") func reentry() throws {
    let bench = try DriverBench()
    try bench.runConnected {
      var answer: PendingAnswer<Flag>?
      bench.driver.onEvent = { [unowned bench] _ in answer = bench.driver.begin(GetNoiseCancelling()) }
      let changes = [true, false].map { bench.driver.begin(SetNoiseCancelling(isOn: $0)) }
      for change in changes { _ = try await change.value() }
      try await bench.settle()
      #expect(try await answer?.value() == Flag(isOn: false))
      #expect(bench.board.report.repeated == 0)
    }
  }

  @Test("good-bye is said, and heard") func disconnect() throws {
    let bench = try DriverBench()
    try bench.runConnected {
      let waiting = bench.driver.begin(Ping())
      var isOther = false
      bench.loop.start {
        await bench.driver.disconnect()
        isOther = true
      }
      await bench.driver.disconnect()
      try await bench.loop.wait { isOther }
      #expect(await bench.failure(waiting)?.kind == .notConnected)
      #expect(bench.middle.operations(.toBoard).last == .bye)
      #expect(!bench.driver.isConnected && !bench.board.report.isConnected)
      #expect(await bench.failure(Ping())?.kind == .notConnected)
      #expect(bench.losses.isEmpty)
      await bench.driver.disconnect()
    }
  }

  @Test("a board that does not hear the good-bye has a second for it") func deaf() throws {
    let bench = try DriverBench()
    try bench.runConnected {
      bench.middle.rule = { way, bytes in way == .toBoard ? [] : [bytes] }
      let start = bench.loop.now
      await bench.driver.disconnect()
      #expect(start.duration(to: bench.loop.now) == .seconds(1))
      #expect(bench.losses.isEmpty)
    }
  }

  @Test("a connection that is given up while it comes about fails as such") func givenUp() throws {
    let bench = try DriverBench()
    try bench.run {
      bench.middle.rule = { _, _ in [] }
      bench.loop.after(.seconds(2)) { bench.driver.drop() }
      #expect(
        await bench.connectFailure()
          == HeadsetError(.connectionFailed, "the connection to memory was given up"))
      bench.loop.after(.seconds(2)) { bench.loop.start { await bench.driver.disconnect() } }
      #expect(await bench.connectFailure()?.kind == .connectionFailed)
      #expect(bench.losses.isEmpty)
    }
  }

  @Test("a driver that is let go fails what waits") func letGo() throws {
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
