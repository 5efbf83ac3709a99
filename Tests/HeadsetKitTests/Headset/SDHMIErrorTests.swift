import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The errors of the SDHMI framework", .tags(.headset, .link, .error)) struct SDHMIErrorTests {
  /// A way to an error: the board, as `roomtone board` is told to be it, and what the host does.
  private struct Way {
    var profile = "standard"
    var faults = ""
    /// `true` for a board that has another key than its host.
    var hasOtherKey = false
    /// `true` if the headset is connected before.
    var isConnected = true
    let ask: (Headset, Board) async throws -> Void
  }

  private func way(to name: SDHMIErrorName) -> Way {
    switch name {
    case .noRowData:
      Way(faults: "garble-answer") { headset, _ in _ = try await headset.battery() }
    case .challengeLength:
      Way(faults: "challenge=15", isConnected: false) { headset, _ in try await headset.connect() }
    case .connectionFailed:
      Way(hasOtherKey: true, isConnected: false) { headset, _ in try await headset.connect() }
    case .alreadyConnected: Way { headset, _ in try await headset.connect() }
    case .notAvailable:
      Way(isConnected: false) { headset, board in
        board.close()
        try await headset.connect()
      }
    case .notConnected:
      Way { headset, board in
        try board.perform("disconnect")
        try await headset.loop.sleep(for: .milliseconds(1))
        _ = try await headset.battery()
      }
    case .writingFailed:
      Way(faults: "max-payload=0") { headset, _ in try await headset.setNoiseCancelling(true) }
    case .noBands:
      Way(profile: "no-bands") { headset, _ in _ = try await headset.equalizer() }
    case .wrongBandCount:
      Way(faults: "wrong-bands") { headset, _ in _ = try await headset.equalizer() }
    case .tooManyBands:
      Way(profile: "eleven-bands") { headset, _ in _ = try await headset.equalizer() }
    case .updateFailed: Way(faults: "stay=3") { headset, _ in try await headset.enterBootloader() }
    }
  }

  @Test("the board can provoke each of them", arguments: SDHMIErrorName.allCases)
  func provoked(_ name: SDHMIErrorName) throws {
    let way = way(to: name)
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_767_225_600)))
    var options = BoardOptions()
    options.profile = try BoardProfile(named: way.profile)
    if !way.faults.isEmpty { try options.faults.add(way.faults) }
    if way.hasOtherKey { options.key = LinkKey(bytes: [UInt8](repeating: 7, count: 32)) }
    let board = try Board(options, loop: loop)
    var isOff = false
    let driver = HBPDriver(name: "board", key: .development, loop: loop) {
      () async throws(HeadsetError) in
      guard !isOff else { throw HeadsetError(.notAvailable, "no headset at board") }
      return board.connect()
    }
    let headset = Headset(driver: driver, loop: loop)
    try loop.finish {
      if way.isConnected { try await headset.connect() }
      isOff = name == .notAvailable
      var failure: HeadsetError?
      do { try await way.ask(headset, board) } catch { failure = error as? HeadsetError }
      let fact = ErrorFact("seed_name", .string(name.rawValue))
      #expect(failure?.facts.contains(fact) == true, "\(failure as Any)")
    } last: {
      await headset.disconnect()
      board.close()
    }
  }
}
