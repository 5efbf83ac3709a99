import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// Whatever goes wrong on the way, both sides know the same in the end.
@Suite("A headset whose board and link fail at random", .tags(.headset, .link, .board))
struct FaultRunTests {
  @Test(
    "does each operation, or raises its documented error within its time, and both sides agree",
    arguments: UInt64(0)..<10)
  func operations(batch: UInt64) throws {
    let folder = try TemporaryFolder()
    var (done, failed, updated) = (0, 0, 0)
    for seed in batch * 50..<(batch + 1) * 50 {
      let run = try FaultRun(seed: seed, folder: folder)
      try run.loop.finish {
        try await run.go()
      } last: {
        await run.close()
      }
      (done, failed, updated) = (done + run.done, failed + run.failed, updated + run.updated)
    }
    // Both must happen, or this shows nothing.
    #expect(done > 300 && failed > 30 && updated > 3, "\(done) done, \(failed) failed, \(updated) updated")
  }
}

/// The current board: another one after a loss of power.
private final class Door { var board: Board? }

/// One board with its faults, and a headset that is asked for this and that.
final class FaultRun {
  let loop = EventLoop(clock: .virtual(start: WallTime(nanoseconds: 0)))
  /// Operations that succeeded, those that did not, and updates that did.
  private(set) var (done, failed, updated) = (0, 0, 0)
  private let seed: UInt64
  private var random: SeededRandom
  private let options: BoardOptions
  private let store = MemoryStore()
  private var board: Board
  private let headset: Headset
  private let door: Door
  private var known: Belief
  private let folder: TemporaryFolder
  /// The versions that the board may run.
  private var versions = ["1.0.0"]
  private var updates = 0

  /// The possible settings of the board: several where an answer was lost.
  private struct Belief {
    var isCancelling: Set<Bool>
    var ambient: [Side: Set<Int>]
    var preset: Set<Int>
    var values: [Set<[Int]>]

    init(_ report: BoardReport) {
      isCancelling = [report.noiseCancelling]
      ambient = [.left: [report.ambientLeft], .right: [report.ambientRight]]
      preset = [report.preset]
      values = report.equalizer.map { [$0] }
    }
  }

  init(seed: UInt64, folder: TemporaryFolder) throws {
    (self.seed, self.folder) = (seed, folder)
    random = SeededRandom(seed: seed)
    var options = BoardOptions()
    options.faults = Self.faults(seed, &random)
    options.battery = 80
    self.options = options
    board = try Board(options, store: store, loop: loop)
    let door = Door()
    door.board = board
    self.door = door
    let driver = HBPDriver(name: "board \(seed)", key: .development, loop: loop) {
      () async throws(HeadsetError) in
      guard let board = door.board else { throw HeadsetError(.notAvailable, "no power") }
      return board.connect()
    }
    headset = Headset(driver: driver, loop: loop)
    known = Belief(board.report)
  }

  private static func faults(_ seed: UInt64, _ random: inout SeededRandom) -> BoardFaults {
    func probability(_ most: Double) -> Double {
      Bool.random(using: &random) ? Double.random(in: 0...most, using: &random) : 0
    }
    var faults = BoardFaults()
    faults.seed = seed
    faults.drop = probability(0.2)
    faults.duplicate = probability(0.4)
    faults.corrupt = probability(0.2)
    faults.delay = probability(0.4)
    faults.delayTime = .milliseconds(Int64.random(in: 1...3_000, using: &random))
    faults.split = probability(0.8)
    faults.merge = probability(0.8)
    faults.disconnect = probability(0.05)
    if Bool.random(using: &random) { faults.disconnectAt = Int.random(in: 1...4_000, using: &random) }
    faults.stays = Int.random(in: 0...3, using: &random)
    if Int.random(in: 0..<20, using: &random) == 0 {
      faults.challengeLength = Bool.random(using: &random) ? 15 : 17
    }
    faults.hidesBand = Int.random(in: 0..<20, using: &random) == 0
    if Bool.random(using: &random) { faults.death.step = Int.random(in: 1...400, using: &random) }
    if Bool.random(using: &random) { faults.death.journalEntry = Int.random(in: 1...40, using: &random) }
    return faults
  }

  func close() async {
    await headset.disconnect()
    board.close()
  }

  func go() async throws {
    for _ in 0..<20 {
      if board.isDead { try powerOn() }
      if !headset.isConnected { await connect() }
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<3: try await setNoiseCancelling()
      case 3..<6: try await readNoiseCancelling()
      case 6..<9: try await setAmbient()
      case 9..<11: try await readAmbient()
      case 11..<14: try await setEqualizer()
      case 14..<16: try await readEqualizer()
      case 16: try await selectPreset()
      case 17: try await reboot()
      case 18 where Bool.random(using: &random): try await enterBootloader()
      case 18: try await update()
      default: try await loop.sleep(for: .milliseconds(Int64.random(in: 1...20_000, using: &random)))
      }
    }
    if board.isDead { try powerOn() }
    checkAgreement()
  }

  /// The board starts from what the loss of power left, and loses it no more.
  private func powerOn() throws {
    board.close()
    var options = options
    options.faults.death = SteppedStore.Death()
    options.battery = nil
    board = try Board(options, store: store, loop: loop)
    door.board = board
  }

  // MARK: Operations

  private static let requestTime = Duration.seconds(7)
  /// With a board that claims fewer bands than it has.
  private var equalizerErrors: Set<HeadsetError.Kind> { options.faults.hidesBand ? [.wrongBandCount] : [] }
  private static let linkErrors: Set<HeadsetError.Kind> = [.timeout, .notConnected]

  /// Does one operation and looks how it ended.
  /// - Parameter requests: the most requests of the operation.
  /// - Returns: `true` if it succeeded.
  private func attempt<Outcome>(
    _ name: String, requests: Int = 1, more: Duration = .zero, allowing errors: Set<HeadsetError.Kind> = [],
    _ operation: () async throws -> Outcome
  ) async throws -> Outcome? {
    let begin = loop.now
    var outcome: Outcome?
    // A restart or an update that failed may have left the board in its bootloader.
    var allowed = Self.linkErrors.union(errors)
    if board.report.mode == "bootloader" { allowed.insert(.wrongMode) }
    do { outcome = try await operation() } catch let error as HeadsetError {
      failed += 1
      #expect(
        allowed.contains(error.kind), "seed \(seed), \(name): \(error.description)")
    }
    if outcome != nil { done += 1 }
    let (time, most) = (
      // An event may have had the headset ask something by itself a moment before.
      begin.duration(to: loop.now), Self.requestTime * (requests + 1) + more
    )
    #expect(time <= most, "seed \(seed), \(name) took \(time)")
    return outcome
  }

  private var connectErrors: Set<HeadsetError.Kind> {
    let always: Set<HeadsetError.Kind> = [.connectionFailed, .alreadyConnected, .notAvailable]
    return options.faults.challengeLength == 16 ? always : always.union([.challengeLength])
  }

  private func connect() async {
    // It may have been lost a moment ago and be about to be connected again.
    _ = try? await attempt(
      "connect", requests: 6, allowing: connectErrors,
      headset.connect)
  }

  private func setNoiseCancelling() async throws {
    let isOn = Bool.random(using: &random)
    known.isCancelling.insert(isOn)
    guard try await attempt("set noise cancelling", { try await headset.setNoiseCancelling(isOn) }) != nil
    else { return }
    known.isCancelling = [isOn]
    #expect(board.report.noiseCancelling == isOn, "seed \(seed)")
  }

  private func readNoiseCancelling() async throws {
    guard let isOn = try await attempt("noise cancelling", headset.noiseCancelling) else { return }
    #expect(known.isCancelling.contains(isOn), "seed \(seed)")
    known.isCancelling = [isOn]
  }

  private func setAmbient() async throws {
    let level = Int.random(in: 0...3, using: &random)
    let side: Side = Bool.random(using: &random) ? .left : .right
    known.ambient[side]?.insert(level)
    let isDone: Void? = try await attempt("set ambient", requests: 2) {
      try await headset.setAmbient(left: side == .left ? level : nil, right: side == .right ? level : nil)
    }
    guard isDone != nil else { return }
    known.ambient[side] = [level]
    let report = board.report
    #expect((side == .left ? report.ambientLeft : report.ambientRight) == level, "seed \(seed)")
  }

  private func readAmbient() async throws {
    guard let levels = try await attempt("ambient", requests: 2, headset.ambient) else { return }
    for (side, level) in [(Side.left, levels.left), (.right, levels.right)] {
      #expect(known.ambient[side]?.contains(level) == true, "seed \(seed)")
      known.ambient[side] = [level]
    }
  }

  private func setEqualizer() async throws {
    let preset = Int.random(in: 0...3, using: &random)
    let values = (0..<10).map { _ in Int.random(in: -12...12, using: &random) }
    known.values[preset].insert(values)
    let isDone: Void? = try await attempt("set equalizer", requests: 3, allowing: equalizerErrors) {
      try await headset.setEqualizer(preset: preset, values: values)
    }
    guard isDone != nil else { return }
    known.values[preset] = [values]
    #expect(board.report.equalizer[preset] == values, "seed \(seed)")
  }

  private func readEqualizer() async throws {
    guard
      let read = try await attempt(
        "equalizer", requests: 3, allowing: equalizerErrors, { try await headset.equalizer() })
    else {
      return
    }
    #expect(known.preset.contains(read.preset), "seed \(seed)")
    known.preset = [read.preset]
    #expect(known.values[read.preset].contains(read.values), "seed \(seed)")
    known.values[read.preset] = [read.values]
  }

  private func selectPreset() async throws {
    let preset = Int.random(in: 0...3, using: &random)
    known.preset.insert(preset)
    guard
      try await attempt(
        "select", requests: 3, allowing: equalizerErrors, { try await headset.select(preset: preset) }) != nil
    else { return }
    known.preset = [preset]
    #expect(board.report.preset == preset, "seed \(seed)")
  }

  // MARK: Firmware

  private func reboot() async throws {
    let boots = board.report.boots
    let isDone: Void? = try await attempt("reboot", requests: 2, more: .seconds(60), headset.reboot)
    if isDone != nil { #expect(board.report.boots > boots, "seed \(seed)") }
  }

  private func enterBootloader() async throws {
    let isDone: Void? = try await attempt(
      "enter bootloader", requests: 4, more: .seconds(3 * 90), allowing: [.updateFailed],
      headset.enterBootloader)
    if isDone != nil { #expect(board.report.mode == "bootloader", "seed \(seed)") }
  }

  private func update() async throws {
    updates += 1
    let version = try #require(FirmwareVersion("1.0.\(updates)"))
    let path = try folder.firmware(version: version, length: 20_000, seed: seed)
    var progress = [0.0]
    let outcome = try await attempt("update", more: .seconds(600), allowing: [.updateFailed]) {
      try await headset.updateFirmware(path) { progress.append($0) }
    }
    #expect(zip(progress, progress.dropFirst()).allSatisfy { $0 <= $1 }, "seed \(seed): \(progress)")
    let report = board.report
    if outcome != nil {
      updated += 1
      versions = ["\(version)"]
      #expect(progress.last == 1, "seed \(seed)")
      #expect(report.confirmed.version == "\(version)" && report.confirmed.isWhole, "seed \(seed)")
      #expect(headset.firmwareVersion == "\(version)", "seed \(seed)")
    } else {
      versions.append("\(version)")
    }
    #expect(versions.contains(report.version), "seed \(seed)")
  }

  // MARK: The end

  private func checkAgreement() {
    let report = board.report
    #expect(known.isCancelling.contains(report.noiseCancelling), "seed \(seed)")
    #expect(known.ambient[.left]?.contains(report.ambientLeft) == true, "seed \(seed)")
    #expect(known.ambient[.right]?.contains(report.ambientRight) == true, "seed \(seed)")
    #expect(known.preset.contains(report.preset), "seed \(seed)")
    for (known, values) in zip(known.values, report.equalizer) {
      #expect(known.contains(values), "seed \(seed)")
    }
    #expect(report.confirmed.isWhole, "seed \(seed)")
    #expect(versions.contains(report.version), "seed \(seed)")
  }
}
