import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// Updates of a board that loses its power: at each step of its store, one after the other.
@Suite("A headset whose board loses its power in an update", .tags(.headset, .link, .firmware, .board))
struct PowerLossTests {
  private static let length = 20_000
  private let folder: TemporaryFolder
  private let path: String
  private let file: FirmwareFile

  init() throws {
    folder = try TemporaryFolder()
    path = try folder.firmware(
      version: try #require(FirmwareVersion("1.1.0")), length: Self.length, seed: 1)
    file = try FirmwareFile(contentsOf: path)
  }

  /// A board that starts again a second after it lost its power, and a headset that is connected to it.
  private final class Harness {
    let loop = EventLoop(clock: .virtual(start: WallTime(nanoseconds: 0)))
    private let store = MemoryStore()
    private(set) var board: Board?
    private(set) var losses = 0
    /// The state of the board at each start after a loss of power.
    private(set) var starts: [BoardReport] = []

    /// - Parameter step: the step at which the board dies, after each start.
    init(dyingAt step: Int?) throws { try start(dyingAt: step) }

    private func start(dyingAt step: Int?) throws {
      var options = BoardOptions()
      options.faults.death.step = step
      let board = try Board(options, store: store, loop: loop)
      self.board = board
      board.onDeath { [unowned self] in
        losses += 1
        loop.after(.seconds(1)) { [unowned self] in
          self.board?.close()
          #expect(throws: Never.self) { try self.start(dyingAt: nil) }
          if let report = self.board?.report { starts.append(report) }
        }
      }
    }

    func headset() -> Headset {
      let driver = HBPDriver(name: "harness", key: .development, loop: loop) {
        [unowned self] () async throws(HeadsetError) in
        guard let board, !board.isDead else { throw HeadsetError(.notAvailable, "no power") }
        return board.connect()
      }
      return Headset(driver: driver, loop: loop)
    }

    func close() {
      board?.close()
      board = nil
    }
  }

  /// Steps of the store in an update that nothing happens to, and in the start before it.
  private func steps() throws -> (start: Int, all: Int) {
    let harness = try Harness(dyingAt: nil)
    let start = try #require(harness.board?.report.steps)
    let headset = harness.headset()
    try harness.loop.finish {
      try await headset.connect()
      _ = try await headset.updateFirmware(path)
    } last: {
      await headset.disconnect()
    }
    let all = try #require(harness.board?.report.steps)
    harness.close()
    return (start, all)
  }

  private func expectNew(_ board: Board?, _ step: Int) {
    let report = board?.report
    #expect(report?.version == "1.1.0", "step \(step)")
    #expect(report?.confirmed.version == "1.1.0", "step \(step)")
    #expect(report?.trial == nil, "step \(step)")
    #expect(report?.confirmed.isWhole == true, "step \(step)")
    #expect(report?.confirmed.hash == Self.digits(SHA256.hash(file.image)), "step \(step)")
  }

  private static func digits(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test("boots what it had or what it gets at every step, and the same update resumes to its end")
  func resumes() throws {
    let steps = try steps()
    try #require(steps.all - steps.start > 50)
    for step in steps.start + 1...steps.all {
      let harness = try Harness(dyingAt: step)
      let headset = harness.headset()
      var progress: [Double] = []
      try harness.loop.finish {
        try await headset.connect()
        _ = try await headset.updateFirmware(path) { progress.append($0) }
        expectNew(harness.board, step)
      } last: {
        await headset.disconnect()
      }
      #expect(harness.losses == 1, "step \(step)")
      for start in harness.starts {
        #expect(["1.0.0", "1.1.0"].contains(start.version), "step \(step)")
        #expect(start.isRunning && start.confirmed.isWhole, "step \(step)")
      }
      #expect(zip(progress, progress.dropFirst()).allSatisfy { $0 <= $1 }, "step \(step)")
      #expect(progress.last == 1, "step \(step)")
      harness.close()
    }
  }

  @Test("resumes where it was after host and board both lost their power, with another host")
  func anotherHost() throws {
    let steps = try steps()
    var kept = 0
    for step in steps.start + 1...steps.all {
      let harness = try Harness(dyingAt: step)
      var first: Headset? = harness.headset()
      let second = harness.headset()
      var begin: Double?
      try harness.loop.finish {
        let update = harness.loop.start {
          _ = try? await first?.connect()
          _ = try? await first?.updateFirmware(path)
        }
        while harness.losses == 0 { try await harness.loop.sleep(for: .milliseconds(10)) }
        update.cancel()
        await first?.disconnect()
        await update.value
        first = nil
        try await harness.loop.sleep(for: .seconds(5))
        try await second.connect()
        _ = try await second.updateFirmware(path) { begin = begin ?? $0 }
        expectNew(harness.board, step)
      } last: {
        await second.disconnect()
      }
      if let begin, begin > 0 { kept += 1 }
      harness.close()
    }
    #expect(kept > (steps.all - steps.start) / 4, "an update that begins anew each time resumes nothing")
  }
}
