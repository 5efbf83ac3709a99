import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The update of a board that leads it nowhere", .tags(.headset, .link, .firmware, .hostile))
struct HostileBoardTests {
  private let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
  private let board: PaperBoard
  private let file: FirmwareFile

  init() throws {
    board = PaperBoard(loop)
    var random = SeededRandom(seed: 5)
    file = try FirmwareFile(
      image: random.bytes(100_000), model: "RT-1", version: #require(FirmwareVersion("2.0")),
      key: .development)
  }

  /// Runs an update that is to fail.
  private func failure() throws -> HeadsetError {
    var failure: HeadsetError?
    let (loop, board, file) = (loop, board, file)
    try loop.finish {
      _ = try await board.connect()
      do { _ = try await FirmwareUpdate(file, over: board, trusting: .development, loop: loop).run() } catch {
        failure = error as? HeadsetError
      }
    }
    return try #require(failure, "it was updated")
  }

  /// Seconds since the board's bootloader was ready.
  private var seconds: Double { Double(loop.now.nanoseconds) / 1e9 - 5 }

  /// Offsets that a board acknowledges, from those that it was given.
  enum Offsets: CaseIterable { case back, stay, creep, ahead }

  @Test(
    "offsets that go back, stay, creep or run ahead end it within 45 s, with step and reason",
    arguments: Offsets.allCases)
  func offsets(_ offsets: Offsets) throws {
    var answers: UInt32 = 0
    board.mishap = { operation, _ in
      guard operation == .writeTransfer else { return nil }
      answers += 1
      switch offsets {
      case .back: return .answered(NextOffset(offset: 9_000 - min(answers * 256, 9_000)))
      case .stay: return .answered(NextOffset(offset: 0))
      case .creep: return .answered(NextOffset(offset: answers / 100))
      case .ahead: return .answered(NextOffset(offset: 50_000))
      }
    }
    let error = try failure()
    #expect(error.code == "headset.update_failed" && error.text("reason") != nil)
    #expect(["begin", "write"].contains(error.text("step")), "\(error)")
    #expect(error.message.contains("no headway for 30 s"), "\(error)")
    #expect(seconds >= 29 && seconds < 45, "\(seconds)")
  }

  @Test("a board that wants all again whenever it is asked to verify ends it") func verify() throws {
    (board.window, board.chunk) = (1, 1_016)
    board.mishap = { operation, _ in
      operation == .verifyTransfer ? .refused(LinkRefusal(resumeAt: 0)) : nil
    }
    let error = try failure()
    #expect(error.text("step") == "write" && seconds < 75, "\(error) after \(seconds)")
  }

  @Test("a board that is busy for ever ends it after 30 s") func busy() throws {
    board.mishap = { operation, _ in operation == .beginTransfer ? .refused(LinkRefusal(.busy)) : nil }
    let error = try failure()
    #expect(error.text("step") == "begin" && seconds < 45)
    #expect(error.message.contains("the board is busy; no headway for 30 s"), "\(error)")
  }

  @Test("a plan by which no image would arrive ends it at once") func plans() throws {
    for (chunk, unit, window) in [
      (0, 4_096, 4), (256, 0, 4), (256, 4_096, 0), (256, 4_096, 255), (5_000, 4_096, 4),
    ]
      as [(UInt16, UInt32, UInt8)]
    {
      var writer = PayloadWriter()
      writer.u32(7)
      writer.u32(0)
      writer.u16(chunk)
      writer.u32(unit)
      writer.u8(window)
      let test = try HostileBoardTests()
      do throws(PayloadError) {
        _ = try TransferPlan(payload: writer.bytes)
        Issue.record("chunk \(chunk), unit \(unit), window \(window)")
      } catch {
        test.board.mishap = { operation, _ in
          operation == .beginTransfer ? .failed(HeadsetError(error, in: .beginTransfer)) : nil
        }
      }
      let error = try test.failure()
      #expect(error.text("step") == "begin" && error.message.contains("can't be read"), "\(error)")
      #expect(test.board.connects < 4 && test.seconds < 3, "\(test.seconds)")
    }
  }
}
