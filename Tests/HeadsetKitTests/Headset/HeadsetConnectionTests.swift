import EventLoop
import TestSupport
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The connection of a headset") struct HeadsetConnectionTests {
  /// A headset that can be switched off and on.
  private final class Bench {
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
      let driver = HBPDriver(name: "bench", key: .development, loop: loop) {
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

    func run(_ body: @escaping (Bench) async throws -> Void) throws {
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

  @Test("a lost headset is looked for still after somebody has tried to connect it in vain")
  func vain() throws {
    try Bench().run { bench in
      try await bench.headset.connect()
      bench.switchOff()
      try await bench.loop.sleep(for: .milliseconds(100))
      #expect(!bench.headset.isConnected)
      #expect(await bench.connectFailure() == .notAvailable)
      try bench.switchOn()
      try await bench.loop.sleep(for: .seconds(11))
      #expect(bench.headset.isConnected && bench.events.last == .connected)
    }
  }

  @Test("who connects while another does so gets that one's outcome") func together() throws {
    try Bench().run { bench in
      let first = bench.loop.start { #expect(await bench.connectFailure() == nil) }
      #expect(await bench.connectFailure() == .alreadyConnected)
      #expect(bench.headset.isConnected)
      await first.value
      await bench.headset.disconnect()
      bench.switchOff()
      let failing = bench.loop.start { #expect(await bench.connectFailure() == .notAvailable) }
      #expect(await bench.connectFailure() == .notAvailable)
      await failing.value
    }
  }

  @Test("giving up a headset that is lost is told") func released() throws {
    try Bench().run { bench in
      try await bench.headset.connect()
      bench.switchOff()
      try await bench.loop.sleep(for: .milliseconds(100))
      #expect(bench.headset.isInUse)
      await bench.headset.disconnect()
      #expect(!bench.headset.isInUse && bench.events.last == .released)
    }
  }

  @Test("a board is asked three times to enter its bootloader, whatever becomes of the answers")
  func enters() throws {
    var options = BoardOptions()
    options.faults.stays = 2
    try Bench(options).run { bench in
      try await bench.headset.connect()
      try await bench.headset.enterBootloader()
      #expect(try await bench.headset.imageType() == "bootloader")
      #expect(bench.headset.isConnected && !bench.headset.isBusy)
    }
    options.faults.stays = 3
    try Bench(options).run { bench in
      try await bench.headset.connect()
      let error = await #expect(throws: HeadsetError.self) { try await bench.headset.enterBootloader() }
      #expect(error?.kind == .updateFailed && error?.facts.first == ErrorFact("step", .string("enter")))
      #expect(try await bench.headset.imageType() == "application")
    }
    // The board never comes back: that is no reason for another error.
    options.faults.stays = 0
    try Bench(options).run { bench in
      try await bench.headset.connect()
      bench.loop.after(.milliseconds(1)) { bench.switchOff() }
      let error = await #expect(throws: HeadsetError.self) { try await bench.headset.enterBootloader() }
      #expect(error?.kind == .updateFailed && !bench.headset.isBusy)
    }
  }

  @Test("what the wearer does while nobody listens is not told to who comes later") func gestures() throws {
    try Bench().run { bench in
      for line in ["noise on", "noise off", "ambient left 3"] { try bench.board?.perform(line) }
      try await bench.headset.connect()
      #expect(try await bench.headset.ambient() == HeadsetAmbient(left: 3, right: 0))
      try await bench.loop.sleep(for: .seconds(1))
      #expect(bench.events == [.connected])
    }
  }
}

@Suite("The name of a headset") struct HeadsetNameTests {
  /// The name of a board that calls itself so.
  private func name(_ own: String?) throws -> String? {
    let loop = EventLoop(clock: .virtual(start: WallTime(nanoseconds: 0)))
    var name: String?
    try loop.finish {
      let board = try Board(.with { $0.name = own }, loop: loop)
      let driver = HBPDriver(name: "bench", key: .development, loop: loop) { () async throws(HeadsetError) in
        board.connect()
      }
      let headset = Headset(driver: driver, loop: loop)
      #expect(headset.name == nil && headset.address == "bench")
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
