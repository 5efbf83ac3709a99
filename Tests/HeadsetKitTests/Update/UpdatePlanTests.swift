import EventLoop
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The next step of an update") struct UpdatePlanTests {
  private let file: FirmwareFile
  private let lost = UpdatePlan.Event.lost(HeadsetError(.notConnected, "the link ended"))

  init() throws {
    file = try FirmwareFile(
      image: [1, 2, 3, 4], model: "RT-1", version: #require(FirmwareVersion("2")), key: .development)
  }

  private func plan() -> UpdatePlan { UpdatePlan(file, name: "board", isForced: false, at: .start) }

  private func board(
    _ image: ImageType, version: String = "1", boots: UInt32 = 1,
    _ capabilities: Capabilities = .firmwareUpdate
  ) -> UpdatePlan.Event {
    .connected(
      BoardInfo(
        image: image, capabilities: capabilities, longestPayload: 1_024, model: "RT-1",
        firmwareVersion: version, boots: boots))
  }

  private func at(_ seconds: Int) -> Instant { Instant.start.advanced(by: .seconds(seconds)) }

  private func transfer(resume: UInt32 = 0) -> TransferPlan {
    TransferPlan(transfer: 9, resumeOffset: resume, chunk: 2, eraseUnit: 4_096, window: 2)
  }

  /// A plan that has come to its bootloader.
  private func entered() -> UpdatePlan {
    var plan = plan()
    _ = plan.begin(isConnected: true)
    _ = plan.receive(board(.application), at: at(0))
    _ = plan.receive(.entering(Delay(milliseconds: 5_000)), at: at(0))
    _ = plan.receive(board(.bootloader, boots: 2), at: at(5))
    return plan
  }

  private func step(_ action: UpdatePlan.Action) -> String? {
    guard case .fail(let error) = action else { return nil }
    guard case .string(let step)? = error.facts.first(where: { $0.name == "step" })?.value else { return nil }
    return step
  }

  @Test("BEGIN waits until HELLO reports the bootloader and the named time has passed") func waits() {
    var plan = plan()
    #expect(plan.begin(isConnected: false) == .connect(after: .zero))
    #expect(plan.receive(board(.application), at: at(0)) == .enter)
    #expect(plan.receive(.entering(Delay(milliseconds: 5_000)), at: at(1)) == .connect(after: .seconds(5)))
    // It was connected earlier than it was to be.
    #expect(plan.receive(board(.bootloader, boots: 2), at: at(4)) == .begin(after: .seconds(2)))
    #expect(plan.receive(lost, at: at(5)) == .connect(after: .milliseconds(500)))
    #expect(plan.receive(board(.bootloader, boots: 2), at: at(7)) == .begin(after: .zero))
  }

  @Test("a restarted bootloader is asked for its timeouts again") func startedAnew() {
    var plan = entered()
    #expect(plan.receive(.began(transfer()), at: at(6)) == .write(transfer(), from: 0))
    _ = plan.receive(lost, at: at(7))
    #expect(plan.receive(board(.bootloader, boots: 3), at: at(8)) == .enter)
    #expect(plan.receive(.entering(Delay(milliseconds: 3_000)), at: at(8)) == .begin(after: .seconds(3)))
  }

  @Test("a bootloader without stated timeouts gets five seconds") func silent() {
    var plan = plan()
    _ = plan.begin(isConnected: false)
    #expect(plan.receive(board(.bootloader), at: at(0)) == .enter)
    #expect(plan.receive(.refused(LinkRefusal(.wrongMode)), at: at(0)) == .begin(after: .seconds(5)))
  }

  @Test("an equal prefix is resumed from, another is discarded") func prefix() {
    let sum = CRC32.of([1, 2])
    let same = TransferStatus(state: .writing, nextOffset: 2, prefixChecksum: sum)
    for (status, action) in [
      (same, UpdatePlan.Action.write(transfer(resume: 2), from: 2)),
      (TransferStatus(state: .writing, nextOffset: 2, prefixChecksum: sum ^ 1), .abort(9)),
      (TransferStatus(state: .writing, nextOffset: 5, prefixChecksum: sum), .abort(9)),
    ] {
      var plan = entered()
      #expect(plan.receive(.began(transfer(resume: 2)), at: at(6)) == .status)
      #expect(plan.receive(.status(status), at: at(6)) == action)
    }
    var plan = entered()
    let other = TransferStatus(state: .writing, nextOffset: 2, prefixChecksum: 0)
    for _ in 0..<2 {
      _ = plan.receive(.began(transfer(resume: 2)), at: at(6))
      #expect(plan.receive(.status(other), at: at(6)) == .abort(9))
      #expect(plan.receive(.done, at: at(6)) == .begin(after: .zero))
    }
    _ = plan.receive(.began(transfer(resume: 2)), at: at(6))
    #expect(step(plan.receive(.status(other), at: at(6))) == "begin")
  }

  @Test("a link that is lost after COMMIT is no reason to commit again") func lostCommit() {
    func committing() -> UpdatePlan {
      var plan = entered()
      _ = plan.receive(.began(transfer()), at: at(6))
      #expect(plan.receive(.done, at: at(7)) == .verify(9))
      #expect(plan.receive(.done, at: at(8)) == .commit(9))
      _ = plan.receive(lost, at: at(9))
      return plan
    }
    var plan = committing()
    #expect(plan.receive(board(.bootloader, boots: 2), at: at(10)) == .status)
    let committed = TransferStatus(state: .committed, nextOffset: 4, prefixChecksum: 0)
    #expect(plan.receive(.status(committed), at: at(10)) == .reboot)
    plan = committing()
    _ = plan.receive(board(.bootloader, boots: 2), at: at(10))
    let written = TransferStatus(state: .verified, nextOffset: 4, prefixChecksum: 0)
    #expect(plan.receive(.status(written), at: at(10)) == .begin(after: .zero))
    plan = committing()
    #expect(plan.receive(board(.application, version: "2", boots: 3), at: at(10)) == .confirm(after: .zero))
    #expect(plan.receive(.done, at: at(10)) == .succeed(.updated(version: "2")))
    plan = committing()
    #expect(plan.receive(board(.application, boots: 3), at: at(10)) == .enter)
  }

  @Test("waiting for a link grows longer, and ends when it was of no use for two minutes") func linkTimeout()
  {
    var plan = entered()
    _ = plan.receive(.began(transfer()), at: at(6))
    for delay in [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000] {
      #expect(plan.receive(lost, at: at(7)) == .connect(after: .milliseconds(delay)))
    }
    plan.acknowledged(4, at: at(8))
    #expect(plan.receive(lost, at: at(100)) == .connect(after: .milliseconds(500)))
    // What the board had already is no progress.
    plan.acknowledged(4, at: at(127))
    #expect(plan.receive(lost, at: at(127)) == .connect(after: .seconds(1)))
    #expect(step(plan.receive(lost, at: at(128))) == "write")
  }

  @Test("another headset at the same address is not written to") func otherBoard() {
    var plan = entered()
    _ = plan.receive(lost, at: at(6))
    let other = BoardInfo(
      image: .bootloader, capabilities: .firmwareUpdate, longestPayload: 1_024, model: "RT-2",
      firmwareVersion: "1", boots: 2)
    #expect(step(plan.receive(.connected(other), at: at(7))) == "check")
  }

  @Test("a flash that holds another image after all is written anew twice, then the update fails")
  func wrongHash() {
    var plan = entered()
    for _ in 0..<2 {
      _ = plan.receive(.began(transfer()), at: at(6))
      #expect(plan.receive(.done, at: at(6)) == .verify(9))
      guard case .begin = plan.receive(.refused(LinkRefusal(.wrongHash)), at: at(6)) else {
        Issue.record("\(plan.action)")
        return
      }
    }
    _ = plan.receive(.began(transfer()), at: at(6))
    _ = plan.receive(.done, at: at(6))
    #expect(step(plan.receive(.refused(LinkRefusal(.wrongHash)), at: at(6))) == "verify")
  }

  @Test("parts are as long as the board wants and accepts") func chunk() {
    var plan = entered()
    for (wanted, payload, chunk) in [(2, 1_024, 2), (1_016, 1_024, 1_016), (1_016, 100, 92), (500, 8, 1)] {
      plan.board?.longestPayload = UInt16(payload)
      var transfer = transfer()
      transfer.chunk = UInt16(wanted)
      #expect(plan.chunk(of: transfer) == chunk)
    }
  }
}
