import EventLoop
import Home
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The headsets that scripts share", .waiting, .tags(.headset, .connection)) struct HeadsetServiceTests {
  /// Two scripts, 1 and 2, and the headset of the configuration, which can be switched off and on.
  private final class Harness {
    let loop = EventLoop(clock: .virtual(start: WallTime(nanoseconds: 0)))
    private var board: Board?
    private(set) lazy var headsets = makeHeadsets()
    private(set) lazy var service = HeadsetService(loop: loop, headsets: headsets)

    init(isOn: Bool = true) throws { if isOn { try switchOn() } }

    private func makeHeadsets() -> Headsets {
      var settings = HeadsetSettings()
      settings.address = .unix(path: "headset")
      return Headsets(loop: loop, settings: settings) { [unowned self] address, key in
        HBPDriver(name: "\(address)", key: key, loop: loop) { [unowned self] () async throws(HeadsetError) in
          guard let board else { throw HeadsetError(.notAvailable, "it is off") }
          return board.connect()
        }
      }
    }

    func switchOn() throws { board = try Board(BoardOptions(), loop: loop) }

    func switchOff() {
      board?.close()
      board = nil
    }

    func run(_ body: @escaping (Harness) async throws -> Void) throws {
      try loop.finish {
        try await body(self)
      } last: { [self] in
        await service.close()
        switchOff()
      }
    }
  }

  @Test("a script that only listed the headset of another leaves it when it ends")
  func looksOn() throws {
    try Harness(isOn: false).run { harness in
      #expect(try harness.service.seek(for: 2, failed: { _ in }) == nil)
      for headset in harness.headsets.list { harness.service.assign(headset, to: 1) }
      await harness.service.releaseAll(of: 1)
      #expect(harness.service.isSeeking(2))
      try harness.switchOn()
      try await harness.loop.sleep(for: .seconds(11))
      #expect(harness.headsets.list.first?.isConnected == true)
    }
  }

  @Test(
    "ending the search leaves the headset to a script that connected it, though it is lost just now")
  func leaves() throws {
    try Harness().run { harness in
      let headset = try await harness.headsets.connect()
      harness.service.assign(headset, to: 1)
      #expect(try harness.service.seek(for: 2, failed: { _ in }) == nil)
      try await harness.loop.sleep(for: .seconds(1))
      harness.switchOff()
      try await harness.loop.sleep(for: .milliseconds(100))
      #expect(!headset.isConnected)
      harness.service.stopSeeking(for: 2)
      await harness.service.releaseAll(of: 2)
      try harness.switchOn()
      try await harness.loop.sleep(for: .seconds(11))
      #expect(headset.isConnected)
    }
  }

  @Test("ending the search disconnects a headset that no other script has") func ends() throws {
    try Harness(isOn: false).run { harness in
      #expect(try harness.service.seek(for: 2, failed: { _ in }) == nil)
      harness.service.stopSeeking(for: 2)
      try await harness.loop.sleep(for: .seconds(1))
      try harness.switchOn()
      try await harness.loop.sleep(for: .seconds(30))
      #expect(harness.headsets.list.isEmpty)
    }
  }
}
