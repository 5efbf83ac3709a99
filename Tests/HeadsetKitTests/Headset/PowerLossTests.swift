import EventLoop
import TestSupport
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// Updates of a board that loses its power: at each step of its store, one after the other.
@Suite("A headset whose board loses its power in an update") struct PowerLossTests {
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
  private final class Bench {
    let loop = EventLoop(clock: .virtual(start: WallTime(nanoseconds: 0)))
    private let store = MemoryStore()
    private(set) var board: Board?
    private(set) var losses = 0
    /// What the board was each time that it started again.
    private(set) var starts: [BoardReport] = []

    /// - Parameter step: where it dies, again after each start, so many times.
    init(dyingAt step: Int?) throws { try start(dyingAt: step) }

    private func start(dyingAt step: Int?) throws {
      var options = BoardOptions()
      options.faults.death.step = step
      let board = try Board(options, store: store, loop: loop)
      self.board = board
      board.onDeath = { [unowned self] in
        losses += 1
        loop.after(.seconds(1)) { [unowned self] in
          self.board?.close()
          #expect(throws: Never.self) { try self.start(dyingAt: nil) }
          if let report = self.board?.report { starts.append(report) }
        }
      }
    }

    func headset() -> Headset {
      let driver = HBPDriver(name: "bench", key: .development, loop: loop) {
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
    let bench = try Bench(dyingAt: nil)
    let start = try #require(bench.board?.report.steps)
    let headset = bench.headset()
    try bench.loop.finish {
      try await headset.connect()
      _ = try await headset.updateFirmware(path)
    } last: {
      await headset.disconnect()
    }
    let all = try #require(bench.board?.report.steps)
    bench.close()
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

  @Test("boots what it had or what it gets at every step, and the same update goes on to its end")
  func goesOn() throws {
    let steps = try steps()
    try #require(steps.all - steps.start > 50)
    for step in steps.start + 1...steps.all {
      let bench = try Bench(dyingAt: step)
      let headset = bench.headset()
      var progress: [Double] = []
      try bench.loop.finish {
        try await headset.connect()
        _ = try await headset.updateFirmware(path) { progress.append($0) }
        expectNew(bench.board, step)
      } last: {
        await headset.disconnect()
      }
      #expect(bench.losses == 1, "step \(step)")
      for start in bench.starts {
        #expect(["1.0.0", "1.1.0"].contains(start.version), "step \(step)")
        #expect(start.isRunning && start.confirmed.isWhole, "step \(step)")
      }
      #expect(zip(progress, progress.dropFirst()).allSatisfy { $0 <= $1 }, "step \(step)")
      #expect(progress.last == 1, "step \(step)")
      bench.close()
    }
  }

  @Test("goes on where it was when host and board both lost their power, with another host")
  func anotherHost() throws {
    let steps = try steps()
    var kept = 0
    for step in steps.start + 1...steps.all {
      let bench = try Bench(dyingAt: step)
      var first: Headset? = bench.headset()
      let second = bench.headset()
      var begin: Double?
      try bench.loop.finish {
        let update = bench.loop.start {
          _ = try? await first?.connect()
          _ = try? await first?.updateFirmware(path)
        }
        while bench.losses == 0 { try await bench.loop.sleep(for: .milliseconds(10)) }
        update.cancel()
        await first?.disconnect()
        await update.value
        first = nil
        try await bench.loop.sleep(for: .seconds(5))
        try await second.connect()
        _ = try await second.updateFirmware(path) { begin = begin ?? $0 }
        expectNew(bench.board, step)
      } last: {
        await second.disconnect()
      }
      if let begin, begin > 0 { kept += 1 }
      bench.close()
    }
    #expect(kept > (steps.all - steps.start) / 4, "an update that begins anew each time resumes nothing")
  }
}
