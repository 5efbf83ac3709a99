import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The connection of a headset", .tags(.headset, .link, .connection)) struct HeadsetConnectionTests {
  /// A headset that can be switched off and on.
  private final class Harness {
    let loop = EventLoop(clock: .virtual(start: WallTime(nanoseconds: 0)))
    let options: BoardOptions
    private(set) var board: Board?
    private(set) var events: [HeadsetEvent] = []
    private(set) lazy var headset = makeHeadset()

    init(_ options: BoardOptions = BoardOptions()) throws {
      self.options = options
      board = try Board(options, loop: loop)
    }

    private func makeHeadset() -> Headset {
      let driver = HBPDriver(name: "harness", key: .development, loop: loop) {
        [unowned self] () async throws(HeadsetError) in
        guard let board else { throw HeadsetError(.notAvailable, "it is off") }
        return board.connect()
      }
      let headset = Headset(driver: driver, loop: loop)
      _ = headset.listen { [unowned self] in events.append($0) }
      return headset
    }

    func switchOff() {
      board?.close()
      board = nil
    }

    func switchOn() throws { board = try Board(options, loop: loop) }

    func run(_ body: @escaping (Harness) async throws -> Void) throws {
      try loop.finish {
        try await body(self)
      } last: { [self] in
        await headset.disconnect()
        switchOff()
      }
    }

    func connectFailure() async -> HeadsetError.Kind? {
      do throws(HeadsetError) { try await headset.connect() } catch { return error.kind }
      return nil
    }
  }

  @Test("a lost headset is still looked for after a caller failed to connect it")
  func vain() throws {
    try Harness().run { harness in
      try await harness.headset.connect()
      harness.switchOff()
      try await harness.loop.sleep(for: .milliseconds(100))
      #expect(!harness.headset.isConnected)
      #expect(await harness.connectFailure() == .notAvailable)
      try harness.switchOn()
      try await harness.loop.sleep(for: .seconds(11))
      #expect(harness.headset.isConnected && harness.events.last == .connected)
    }
  }

  @Test("a second caller of connect gets the outcome of the first") func together() throws {
    try Harness().run { harness in
      let first = harness.loop.start { #expect(await harness.connectFailure() == nil) }
      #expect(await harness.connectFailure() == .alreadyConnected)
      #expect(harness.headset.isConnected)
      await first.value
      await harness.headset.disconnect()
      harness.switchOff()
      let failing = harness.loop.start { #expect(await harness.connectFailure() == .notAvailable) }
      #expect(await harness.connectFailure() == .notAvailable)
      await failing.value
    }
  }

  @Test("giving up a headset that is lost is reported") func released() throws {
    try Harness().run { harness in
      try await harness.headset.connect()
      harness.switchOff()
      try await harness.loop.sleep(for: .milliseconds(100))
      #expect(harness.headset.isInUse)
      await harness.headset.disconnect()
      #expect(!harness.headset.isInUse && harness.events.last == .released)
    }
  }

  @Test("a board is asked three times to enter its bootloader, whatever becomes of the answers")
  func enters() throws {
    var options = BoardOptions()
    options.faults.stays = 2
    try Harness(options).run { harness in
      try await harness.headset.connect()
      try await harness.headset.enterBootloader()
      #expect(try await harness.headset.imageType() == "bootloader")
      #expect(harness.headset.isConnected && !harness.headset.isBusy)
    }
    options.faults.stays = 3
    try Harness(options).run { harness in
      try await harness.headset.connect()
      let error = await #expect(throws: HeadsetError.self) { try await harness.headset.enterBootloader() }
      #expect(error?.kind == .updateFailed && error?.facts.first == ErrorFact("step", .string("enter")))
      #expect(try await harness.headset.imageType() == "application")
    }
    // The board never comes back: that is no reason for another error.
    options.faults.stays = 0
    try Harness(options).run { harness in
      try await harness.headset.connect()
      harness.loop.after(.milliseconds(1)) { harness.switchOff() }
      let error = await #expect(throws: HeadsetError.self) { try await harness.headset.enterBootloader() }
      #expect(error?.kind == .updateFailed && !harness.headset.isBusy)
    }
  }

  @Test("gestures without a listener are not reported to a later one") func gestures() throws {
    try Harness().run { harness in
      for line in ["noise on", "noise off", "ambient left 3"] { try harness.board?.perform(line) }
      try await harness.headset.connect()
      #expect(try await harness.headset.ambient() == HeadsetAmbient(left: 3, right: 0))
      try await harness.loop.sleep(for: .seconds(1))
      #expect(harness.events == [.connected])
    }
  }
}

@Suite("The name of a headset", .tags(.headset, .link)) struct HeadsetNameTests {
  /// The name of a board that calls itself so.
  private func name(_ own: String?) throws -> String? {
    let loop = EventLoop(clock: .virtual(start: WallTime(nanoseconds: 0)))
    var name: String?
    try loop.finish {
      let board = try Board(.with { $0.name = own }, loop: loop)
      let driver = HBPDriver(name: "harness", key: .development, loop: loop) {
        () async throws(HeadsetError) in
        board.connect()
      }
      let headset = Headset(driver: driver, loop: loop)
      #expect(headset.name == nil && headset.address == "harness")
      try await headset.connect()
      name = headset.name
      await headset.disconnect()
      board.close()
    }
    return name
  }

  @Test("is the accessory's own, and its model if it has none") func names() throws {
    #expect(try name(nil) == "Roomtone RT-1")
    #expect(try name("Hall") == "Hall")
    #expect(try name("") == "RT-1")
    #expect(try name("\u{1B}[2JHall\n") == "Hall")
  }
}
