import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("A driver and a board on a bad line", .tags(.headset, .link)) struct BadLineTests {
  @Test("a plug that is pulled in the middle of a request is reported once") func unplugged() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      let waiting = [harness.driver.begin(Ping()), harness.driver.begin(Ping())]
      harness.middle.cut()
      for answer in waiting { #expect(await harness.failure(answer)?.kind == .notConnected) }
      #expect(harness.losses.map(\.kind) == [.notConnected])
      #expect(!harness.driver.isConnected)
      try await harness.loop.sleep(for: .seconds(20))
      #expect(harness.losses.count == 1)
      _ = try await harness.driver.connect()
      _ = try await harness.driver.request(Ping())
    }
  }

  @Test("a line that falls silent is detected by the response timeout") func silent() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      harness.middle.rule = { _, _ in [] }
      let (start, waiting) = (harness.loop.now, harness.driver.begin(Ping()))
      let error = await harness.failure(GetBattery())
      #expect(
        await harness.failure(waiting)?.message == "ping: the headset at memory did not answer within 7 s")
      #expect(error?.kind == .notConnected)
      #expect(start.duration(to: harness.loop.now) == .seconds(7))
      #expect(harness.losses.map(\.kind) == [.timeout])
      #expect(await harness.connectFailure()?.kind == .timeout)
      #expect(harness.losses.count == 1)
    }
  }

  @Test("a board that has no power does not answer") func dead() throws {
    let harness = try DriverHarness()
    harness.board.close()
    try harness.run {
      #expect(await harness.connectFailure()?.kind == .connectionFailed)
    }
  }

  @Test("frames that are lost, damaged, doubled or cut cost time and nothing else", arguments: 0..<4)
  func faults(fault: Int) throws {
    let harness = try DriverHarness()
    try harness.run {
      var count = 0
      harness.middle.rule = { _, bytes in
        count += 1
        switch fault {
        case 0: return count % 3 == 0 ? [] : [bytes]
        case 1:
          var damaged = bytes
          damaged[damaged.count / 2] ^= 0x20
          return [count % 3 == 0 ? damaged : bytes]
        case 2: return [bytes, bytes]
        default: return [Array(bytes.prefix(3)), Array(bytes.dropFirst(3))]
        }
      }
      _ = try await harness.driver.connect()
      for value: Int8 in -12...12 {
        _ = try await harness.driver.request(SetEqualizerBand(preset: 3, band: 0, value: value))
        #expect(harness.board.report.equalizer[3][0] == Int(value))
        #expect(try await harness.driver.request(GetEqualizer(3)).values[0] == value)
      }
      #expect(harness.losses.isEmpty)
      // A request that came twice was done once: no event was reported twice.
      try await harness.settle()
      let reported = harness.driverEvents.count { if case .equalizer = $0 { true } else { false } }
      #expect(reported <= 25)
    }
  }

  @Test("each side reports its own bytes alone, and those that it read") func counted() throws {
    let harness = try DriverHarness()
    try harness.runConnected {
      harness.middle.inject([1, 2, 3, 0], .toHost)
      harness.middle.inject([UInt8](repeating: 9, count: 2_000) + [0], .toHost)
      try await harness.settle()
      #expect(harness.driver.faults[.endless] == 1 && harness.driver.faults.values.reduce(0, +) == 2)
      _ = try await harness.driver.request(Ping())
    }
  }

  @Test("writes go up to the window that was granted, in their order, and a gap is reported with its offset")
  func window() throws {
    var options = BoardOptions()
    options.readyAfter = .seconds(5)
    let harness = try DriverHarness(options)
    let image = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let version = try #require(FirmwareVersion("2.0.0"))
    let file = try FirmwareFile(image: image, model: "RT-1", version: version, key: .development)
    try harness.runConnected {
      _ = try await harness.driver.request(EnterBootloader())
      harness.driver.drop()
      try await harness.loop.sleep(for: .seconds(6))
      #expect(try await harness.driver.connect().image == .bootloader)
      let plan = try await harness.driver.request(BeginTransfer(manifest: file.manifest.bytes))
      #expect(plan.window > 1)
      let chunk = Int(plan.chunk)
      let writes = stride(from: 0, to: image.count, by: chunk).map { offset in
        WriteTransfer(
          transfer: plan.transfer, offset: UInt32(offset), data: Array(image[offset...].prefix(chunk)))
      }
      let answers = writes.map { harness.driver.begin($0) }
      let status = harness.driver.begin(GetTransferStatus())
      for (write, answer) in zip(writes, answers) {
        let next = try await answer.value().answer(to: WriteTransfer.operation)
        #expect(next.offset == write.offset + UInt32(write.data.count))
      }
      let written = try await status.value().answer(to: GetTransferStatus.operation)
      #expect(written.nextOffset == UInt32(image.count))
      var (open, widest) = (0, 0)
      for (way, bytes) in harness.middle.seen {
        guard Middle.packet(bytes)?.frame.operation == .writeTransfer else { continue }
        open += way == .toBoard ? 1 : -1
        widest = max(widest, open)
      }
      #expect(widest == Int(plan.window))
      let gap = WriteTransfer(transfer: plan.transfer, offset: UInt32(image.count + 64), data: [1])
      let refusal = LinkRefusal(resumeAt: UInt32(image.count))
      #expect(try await harness.driver.begin(gap).value() == .refused(refusal))
      #expect(await harness.failure(gap)?.facts.first == ErrorFact("next_offset", .int(image.count)))
    }
  }
}
