import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The update of firmware, against a board on paper", .tags(.headset, .link, .firmware))
struct FirmwareUpdateTests {
  private let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
  private let board: PaperBoard
  private let file: FirmwareFile
  private let log = ProgressLog()

  /// The progress that was reported.
  private final class ProgressLog { var progress: [Double] = [] }

  init() throws {
    board = PaperBoard(loop)
    file = try Self.firmware()
  }

  private static func firmware(
    _ version: String = "2.0", lowest: String? = nil, size: Int = 12_000, seed: UInt64 = 5
  ) throws -> FirmwareFile {
    var random = SeededRandom(seed: seed)
    return try FirmwareFile(
      image: random.bytes(size), model: "RT-1", version: #require(FirmwareVersion(version)),
      lowestVersion: lowest.map { try #require(FirmwareVersion($0)) }, key: .development)
  }

  /// The course of an update.
  private struct Journey {
    var outcome: UpdateOutcome?
    var error: HeadsetError?
    var isCancelled = false

    /// The fact `step` of the error.
    var step: String? { fact("step") }
    func fact(_ name: String) -> String? {
      guard case .string(let text)? = error?.facts.first(where: { $0.name == name })?.value else {
        return nil
      }
      return text
    }
  }

  /// Runs an update to its end, in virtual time.
  private func update(
    _ file: FirmwareFile? = nil, isForced: Bool = false, isConnected: Bool = true,
    cancelAt: Int? = nil
  ) throws -> Journey {
    var journey = Journey()
    let (loop, board) = (loop, board)
    try loop.finish {
      if isConnected { _ = try await board.connect() }
      let update = FirmwareUpdate(
        file ?? self.file, over: board, trusting: .development, isForced: isForced, loop: loop,
        progress: { [log] in log.progress.append($0) })
      let over = PendingAnswer<Void>()
      let task = loop.start {
        do { journey.outcome = try await update.run() } catch let error as HeadsetError {
          journey.error = error
        } catch { journey.isCancelled = error is CancellationError }
        over.resolve(.success(()))
      }
      if let cancelAt {
        board.mishap = { _, number in
          if number == cancelAt { task.cancel() }
          return nil
        }
      }
      try await over.value()
    }
    // It holds the task, which holds the board.
    if cancelAt != nil { board.mishap = { _, _ in nil } }
    #expect(board.breaches == [])
    #expect(zip(log.progress, log.progress.dropFirst()).allSatisfy { $0 < $1 })
    #expect(log.progress.allSatisfy { (0...1).contains($0) })
    return journey
  }

  private func expectUpdated(_ journey: Journey) {
    #expect(journey.outcome == .updated(version: "2.0"), "\(journey.error?.message ?? "")")
    #expect(log.progress.last == 1)
    #expect(SHA256.hash(board.flash) == file.manifest.imageHash)
    #expect(board.info.firmwareVersion == "2.0" && board.info.image == .application && board.isConfirmed)
  }

  @Test("an update goes from the application through the bootloader to the new version, confirmed")
  func whole() throws {
    let journey = try update()
    expectUpdated(journey)
    var steps: [LinkOperation] = []
    for operation in board.asked where steps.last != operation { steps.append(operation) }
    #expect(
      steps == [
        .info, .battery, .enterBootloader, .beginTransfer, .writeTransfer, .verifyTransfer, .commitTransfer,
        .reboot, .confirmImage,
      ])
    #expect(loop.now >= Instant.start.advanced(by: .seconds(5)))
  }

  @Test("progress is what is acknowledged, and 1 after the image is verified") func progress() throws {
    var (before, after): (Double?, Double?)
    board.mishap = { [log] operation, _ in
      if operation == .verifyTransfer { before = log.progress.last }
      if operation == .commitTransfer { after = log.progress.last }
      return nil
    }
    expectUpdated(try update())
    #expect(before == 0.99 && after == 1)
    #expect(log.progress.count > 40)
    #expect(log.progress.first == 256.0 / 12_000)
  }

  @Test("a board that stays in its application is asked three times, then the error names the step")
  func stays()
    throws
  {
    board.stays = 99
    let journey = try update()
    #expect(board.asked.filter { $0 == .enterBootloader }.count == 3)
    #expect(journey.error?.code == "headset.update_failed" && journey.step == "enter")
    #expect(journey.error?.message.contains("3 times") == true)
    #expect(!board.asked.contains(.beginTransfer))
    #expect(
      journey.error?.facts.contains(ErrorFact("seed_name", .string("ERROR_FOUND_UPDATING_THE_FIRMWARE")))
        == true)
  }

  @Test("a board that enters when it is asked the third time is updated") func staysTwice() throws {
    board.stays = 2
    expectUpdated(try update())
  }

  @Test("a file that is not for the board is refused before any request", arguments: 0..<6)
  func refused(number: Int) throws {
    let other = try #require(SigningKey(seed: [UInt8](repeating: 1, count: 32)))
    let cases: [(FirmwareFile, String, String)] = [
      (try Self.firmware("0.9"), "1.0", "the headset has 1.0, and 0.9 is older"),
      (try Self.firmware(lowest: "1.5"), "1.0", "the headset has 1.0, and the update needs 1.5 or newer"),
      (try Self.firmware(), "new", "the headset reports \"new\" as its version: not a version"),
      (
        try FirmwareFile(
          image: [1], model: "RT-2", version: #require(FirmwareVersion("2")), key: .development), "1.0",
        "the firmware is for RT-2, and this is RT-1"
      ),
      (
        try FirmwareFile(image: [1], model: "RT-1", version: #require(FirmwareVersion("2")), key: other),
        "1.0",
        "the signature is not by the key that is trusted"
      ),
      (
        try FirmwareFile(parsing: Array(file.bytes.dropLast()) + [0]), "1.0",
        "the image is not the one that the manifest was made for (its SHA-256 differs)"
      ),
    ]
    let (file, version, reason) = cases[number]
    board.info.firmwareVersion = version
    let journey = try update(file)
    #expect(journey.error?.code == "headset.update_failed")
    #expect(journey.step == "check" && journey.fact("reason") == reason, "\(journey.error?.message ?? "")")
    #expect(board.asked.allSatisfy { $0 == .info } && board.info.image == .application)
  }

  @Test("a low battery refuses to begin, unless it is being charged", arguments: [29, 30, 0]) func battery(
    percent: UInt8
  ) throws {
    board.battery = Battery(percent: percent, isCharging: false)
    let journey = try update()
    if percent >= 30 { return expectUpdated(journey) }
    #expect(journey.step == "battery" && journey.error?.message.contains("\(percent) %") == true)
    #expect(!board.asked.contains(.enterBootloader))
  }

  @Test("a battery that is being charged may be low, and a board may have none") func charging() throws {
    board.battery = Battery(percent: 3, isCharging: true)
    expectUpdated(try update())
  }

  @Test("the installed version is reported at once and kept, and written again when forced") func there()
    throws
  {
    board.info.firmwareVersion = "2.0.0"
    let journey = try update()
    #expect(journey.outcome == .alreadyThere(version: "2.0"))
    #expect(board.asked == [.info, .confirmImage])
  }

  @Test("the version that is there is written again when that is wanted") func forced() throws {
    board.info.firmwareVersion = "2.0"
    expectUpdated(try update(isForced: true))
  }

  @Test("a bootloader that is found is asked when it is ready") func inBootloader() throws {
    board.start(.bootloader)
    expectUpdated(try update(isConnected: false))
    #expect(loop.now >= Instant.start.advanced(by: .seconds(5)))
  }

  @Test("an interrupted update resumes where the board is") func resume() throws {
    board.manifest = file.manifest
    board.flash = Array(file.image.prefix(8_192))
    board.startReadyBootloader()
    expectUpdated(try update())
    #expect(board.asked.filter { $0 == .writeTransfer }.count == (12_000 - 8_192 + 255) / 256)
    #expect(log.progress.first == 8_192.0 / 12_000)
  }

  @Test("another image under the same manifest is given up, and all is written") func otherPrefix() throws {
    board.manifest = file.manifest
    board.flash = [UInt8](repeating: 0xEE, count: 8_192)
    board.startReadyBootloader()
    expectUpdated(try update())
    #expect(board.asked.contains(.abortTransfer))
    #expect(board.asked.filter { $0 == .beginTransfer }.count == 2)
  }

  @Test("the link may be lost at any request, with it or with its answer, or the power may") func losses()
    throws
  {
    expectUpdated(try update())
    let all = board.asked.count
    for number in 0..<all {
      for mishap in [PaperBoard.Mishap.lost, .lostAnswer, .powerLoss] {
        let test = try FirmwareUpdateTests()
        test.board.mishap = { $1 == number ? mishap : nil }
        test.expectUpdated(try test.update())
      }
    }
  }

  @Test("a link that is lost again and again is made anew as long as the update gets further") func flaky()
    throws
  {
    var random = SeededRandom(seed: 11)
    for _ in 0..<30 {
      let test = try FirmwareUpdateTests()
      let seed = random.next()
      var random = SeededRandom(seed: seed)
      test.board.mishap = { _, _ in
        switch Int.random(in: 0..<40, using: &random) {
        case 0: .lost
        case 1: .lostAnswer
        case 2: .powerLoss
        case 3: .refused(LinkRefusal(.busy))
        case 4: .refused(LinkRefusal(resumeAt: 0))
        default: nil
        }
      }
      test.board.connectFailure = {
        $0 % 3 == 1 ? HeadsetError(.notAvailable, "no headset at paper:board") : nil
      }
      let journey = try test.update()
      if journey.outcome != nil {
        #expect(test.board.info.firmwareVersion == "2.0" && test.board.isConfirmed, "seed \(seed)")
      } else {
        #expect(journey.error?.code == "headset.update_failed" && journey.step != nil, "seed \(seed)")
      }
    }
  }

  @Test("a link that is never there again ends the update with step and reason") func gone() throws {
    var isGone = false
    board.mishap = { operation, number in
      isGone = operation == .writeTransfer && number > 20
      return isGone ? .lost : nil
    }
    board.connectFailure = { _ in isGone ? HeadsetError(.notAvailable, "no headset at paper:board") : nil }
    let journey = try update()
    #expect(journey.step == "write")
    #expect(journey.fact("cause") == "headset.not_available")
    #expect(journey.error?.hint?.contains("resumes at the offset it has reached") == true)
    #expect(loop.now < Instant.start.advanced(by: .seconds(300)))
    #expect(board.connects < 40)
  }

  @Test("a wrong key is not tried for ever") func wrongKey() throws {
    board.connectFailure = { _ in HeadsetError(.auth, "the board does not have the key") }
    let journey = try update(isConnected: false)
    #expect(journey.error?.code == "headset.update_failed" && journey.fact("cause") == "headset.auth")
    #expect(board.connects == 3)
  }

  @Test(
    "a refusal of the board ends the update at that step",
    arguments: [
      (LinkOperation.beginTransfer, LinkStatus.badSignature, "begin"), (.beginTransfer, .downgrade, "begin"),
      (.beginTransfer, .batteryLow, "battery"), (.writeTransfer, .flash, "write"),
      (.verifyTransfer, .wrongHash, "verify"), (.verifyTransfer, .badSignature, "verify"),
      (.commitTransfer, .flash, "commit"), (.confirmImage, .flash, "confirm"),
      (.beginTransfer, .busy, "begin"), (.writeTransfer, .noTransfer, "write"), (.reboot, .busy, "reboot"),
      (.enterBootloader, .unsupported, "enter"), (.enterBootloader, .busy, "enter"),
    ])
  func refusals(operation: LinkOperation, status: LinkStatus, step: String) throws {
    board.mishap = { asked, _ in asked == operation ? .refused(LinkRefusal(status)) : nil }
    let journey = try update()
    #expect(journey.step == step, "\(journey.error?.message ?? "")")
    #expect(journey.outcome == nil)
    // It can be worn again, unless it can't even be restarted.
    if operation != .reboot { #expect(board.info.image == .application) }
  }

  @Test("a board that wants the same part again and again ends the update") func stuck() throws {
    board.mishap = { operation, _ in
      operation == .writeTransfer ? .refused(LinkRefusal(resumeAt: 0)) : nil
    }
    let journey = try update()
    #expect(journey.error?.code == "headset.update_failed")
    #expect(loop.now < Instant.start.advanced(by: .seconds(300)))
  }

  @Test("a board that names an endless time is not waited for") func endless() throws {
    board.readyAfter = .seconds(4_000_000)
    let journey = try update()
    #expect(journey.step == "enter")
    #expect(loop.now < Instant.start.advanced(by: .seconds(60)))
  }

  @Test("a board that comes back with its old firmware was not updated") func rolledBack() throws {
    board.mishap = { [unowned board] operation, _ in
      if operation == .reboot { board.manifest = try? Self.firmware("1.0").manifest }
      return nil
    }
    let journey = try update()
    #expect(
      journey.step == "reboot" && journey.error?.message.contains("has started 1.0 in place of 2.0") == true)
  }

  @Test("a cancelled update ends between two parts, and the next one resumes from there") func cancel() throws
  {
    let journey = try update(cancelAt: 20)
    #expect(journey.isCancelled && journey.outcome == nil)
    #expect(board.flash.count > 4_000 && board.flash.count < 6_000)
    #expect(board.asked.last == .writeTransfer)
    let next = try FirmwareUpdateTests()
    (next.board.flash, next.board.manifest) = (board.flash, board.manifest)
    next.board.startReadyBootloader()
    next.expectUpdated(try next.update())
    #expect(next.log.progress.first.map { $0 > 0.3 } == true)
  }
}
