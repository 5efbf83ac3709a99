import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("A loss of power", .tags(.headset, .board, .firmware)) struct BoardPowerTests {
  /// Options in which the power is lost before this step.
  private func dying(_ step: Int?) -> BoardOptions { .with { $0.faults.death.step = step } }

  /// Does as much of the update as the power lets it.
  /// - Returns: `true` if the power was lost.
  private func tryUpdate(_ file: FirmwareFile, _ options: BoardOptions, _ store: (any BoardStore)?) throws
    -> Bool
  {
    var isDead = false
    try withBoard(options, store: store) { board async throws in
      do {
        if !board.isDead { try await BoardHost.inBootloader(board).update(file) }
        if !board.isDead {
          let host = BoardHost(board)
          try await host.connect()
          try await host.request(ConfirmImage())
        }
      } catch is BoardHost.Silence {}
      isDead = board.isDead
    }
    return isDead
  }

  @Test(
    "at any step of an update leaves the old image or the new one, and the update ends with the same hash",
    arguments: [false, true])
  func sweep(keepsUnflushed: Bool) throws {
    let file = try firmware(size: 9_000)
    var (step, seen) = (0, Set<String>())
    while true {
      step += 1
      let store = MemoryStore()
      store.keepsUnflushed = keepsUnflushed
      // The factory's steps don't count.
      guard try tryUpdate(file, dying(step), store) else { break }
      try withBoard(store: store) { board async throws in
        let report = board.report
        seen.insert(report.version)
        #expect(["1.0.0", "2.0.0"].contains(report.version), "died at step \(step)")
        #expect(report.mode == "application" && report.isRunning, "died at step \(step)")
        #expect(report.confirmed.isWhole, "died at step \(step)")
      }
      #expect(try !tryUpdate(file, dying(nil), store))
      try withBoard(store: store) { board async throws in
        #expect(board.report.version == "2.0.0", "died at step \(step)")
        #expect(board.report.confirmed.isWhole && board.report.trial == nil, "died at step \(step)")
      }
      #expect(store.read(.b, 0..<9_000) == file.image || store.read(.a, 0..<9_000) == file.image)
    }
    // Start, journal, three units in nine writes, two restarts, COMMIT and CONFIRM: none was passed over.
    #expect(step > 45)
    #expect(seen == ["1.0.0", "2.0.0"])
  }

  @Test("leaves a folder on disk as it leaves memory", arguments: 0..<8) func folder(part: Int) throws {
    let file = try firmware(size: 9_000)
    for step in stride(from: part + 1, to: 50, by: 8) {
      let folder = try TemporaryFolder()
      var options = dying(step)
      options.stateFolder = folder.file("board")
      let isDead = try tryUpdate(file, options, nil)
      options.faults.death.step = nil
      try withBoard(options) { board async throws in
        #expect(isDead || board.report.version == "2.0.0")
        #expect(board.report.confirmed.isWhole && board.report.mode == "application", "died at step \(step)")
      }
      #expect(try !tryUpdate(file, options, nil))
      try withBoard(options) { board async throws in
        #expect(board.report.version == "2.0.0" && board.report.trial == nil, "died at step \(step)")
      }
      let names = [BoardSlot.a, .b].map { folder.file("board/slot-\($0).img") }
      #expect(try names.contains { try readBytes($0).prefix(9_000) == file.image[...] })
    }
  }

  @Test("twice is not worse than once", arguments: 0..<16) func twice(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let file = try firmware(size: 9_000)
    let store = MemoryStore()
    store.keepsUnflushed = seed % 2 == 0
    for _ in 0..<3 {
      _ = try tryUpdate(file, dying(Int.random(in: 1...60, using: &random)), store)
      try withBoard(store: store) { board async throws in
        #expect(board.report.confirmed.isWhole && board.report.mode == "application")
      }
    }
    #expect(try !tryUpdate(file, dying(nil), store))
    try withBoard(store: store) { board async throws in #expect(board.report.version == "2.0.0") }
  }

  @Test("between the flash and its entry in the journal has the unit written again", arguments: [2, 3])
  func journal(entry: Int) throws {
    let file = try firmware(size: 9_000)
    let store = MemoryStore()
    store.keepsUnflushed = true
    // The first entry is the one that BEGIN makes.
    #expect(try tryUpdate(file, .with { $0.faults.death.journalEntry = entry }, store))
    let units = (entry - 1) * SteppedStore.eraseUnit
    #expect(store.read(.b, 0..<units) == Array(file.image[..<units]))
    try withBoard(store: store) { board async throws in
      let host = try await BoardHost.inBootloader(board)
      let plan = try await host.request(BeginTransfer(manifest: file.manifest.bytes))
      #expect(plan.resumeOffset == UInt32(units - SteppedStore.eraseUnit))
      try await host.update(file)
      #expect(board.report.trial?.isWhole == true)
    }
  }

  @Test("ends all links, and nothing is answered") func links() throws {
    var deaths = 0
    try withBoard(dying(4)) { board async throws in
      board.onDeath { deaths += 1 }
      let host = BoardHost(board)
      try await host.connect()
      await #expect(throws: BoardHost.Silence.self) {
        try await host.request(SetNoiseCancelling(true))
      }
      #expect(host.isEnded && board.isDead && !board.report.isRunning)
      let other = BoardHost(board)
      try await board.loop.sleep(for: .milliseconds(50))
      #expect(other.isEnded)
    }
    #expect(deaths == 1)
  }
}
