import EventLoop
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The next step of an update", .tags(.headset, .link, .firmware)) struct UpdateMachineTests {
  private let file: FirmwareFile
  private let lost = UpdateMachine.Event.lost(HeadsetError(.notConnected, "the link ended"))

  init() throws {
    file = try FirmwareFile(
      image: [1, 2, 3, 4], model: "RT-1", version: #require(FirmwareVersion("2")), key: .development)
  }

  private func machine() -> UpdateMachine { UpdateMachine(file, name: "board", isForced: false, at: .start) }

  private func board(
    _ image: ImageType, version: String = "1", boots: UInt32 = 1,
    _ capabilities: Capabilities = .firmwareUpdate
  ) -> UpdateMachine.Event {
    .connected(
      BoardInfo(
        image: image, capabilities: capabilities, longestPayload: 1_024, model: "RT-1",
        firmwareVersion: version, boots: boots))
  }

  private func at(_ seconds: Int) -> Instant { Instant.start.advanced(by: .seconds(seconds)) }

  private func transfer(resume: UInt32 = 0) -> TransferPlan {
    TransferPlan(transfer: 9, resumeOffset: resume, chunk: 2, eraseUnit: 4_096, window: 2)
  }

  /// A machine that has come to its bootloader.
  private func entered() -> UpdateMachine {
    var machine = machine()
    _ = machine.begin(isConnected: true)
    _ = machine.receive(board(.application), at: at(0))
    _ = machine.receive(.entering(Delay(milliseconds: 5_000)), at: at(0))
    _ = machine.receive(board(.bootloader, boots: 2), at: at(5))
    return machine
  }

  private func step(_ action: UpdateMachine.Action) -> String? {
    guard case .fail(let error) = action else { return nil }
    guard case .string(let step)? = error.facts.first(where: { $0.name == "step" })?.value else { return nil }
    return step
  }

  @Test("BEGIN waits until HELLO reports the bootloader and the named time has passed") func waits() {
    var machine = machine()
    #expect(machine.begin(isConnected: false) == .connect(after: .zero))
    #expect(machine.receive(board(.application), at: at(0)) == .enter)
    #expect(machine.receive(.entering(Delay(milliseconds: 5_000)), at: at(1)) == .connect(after: .seconds(5)))
    // It was connected earlier than it was to be.
    #expect(machine.receive(board(.bootloader, boots: 2), at: at(4)) == .begin(after: .seconds(2)))
    #expect(machine.receive(lost, at: at(5)) == .connect(after: .milliseconds(500)))
    #expect(machine.receive(board(.bootloader, boots: 2), at: at(7)) == .begin(after: .zero))
  }

  @Test("a restarted bootloader is asked for its timeouts again") func startedAnew() {
    var machine = entered()
    #expect(machine.receive(.began(transfer()), at: at(6)) == .write(transfer(), from: 0))
    _ = machine.receive(lost, at: at(7))
    #expect(machine.receive(board(.bootloader, boots: 3), at: at(8)) == .enter)
    #expect(machine.receive(.entering(Delay(milliseconds: 3_000)), at: at(8)) == .begin(after: .seconds(3)))
  }

  @Test("a bootloader without stated timeouts gets five seconds") func silent() {
    var machine = machine()
    _ = machine.begin(isConnected: false)
    #expect(machine.receive(board(.bootloader), at: at(0)) == .enter)
    #expect(machine.receive(.refused(LinkRefusal(.wrongMode)), at: at(0)) == .begin(after: .seconds(5)))
  }

  @Test("an equal prefix is resumed from, another is discarded") func prefix() {
    let sum = CRC32.of([1, 2])
    let same = TransferStatus(state: .writing, nextOffset: 2, prefixChecksum: sum)
    for (status, action) in [
      (same, UpdateMachine.Action.write(transfer(resume: 2), from: 2)),
      (TransferStatus(state: .writing, nextOffset: 2, prefixChecksum: sum ^ 1), .abort(9)),
      (TransferStatus(state: .writing, nextOffset: 5, prefixChecksum: sum), .abort(9)),
    ] {
      var machine = entered()
      #expect(machine.receive(.began(transfer(resume: 2)), at: at(6)) == .status)
      #expect(machine.receive(.status(status), at: at(6)) == action)
    }
    var machine = entered()
    let other = TransferStatus(state: .writing, nextOffset: 2, prefixChecksum: 0)
    for _ in 0..<2 {
      _ = machine.receive(.began(transfer(resume: 2)), at: at(6))
      #expect(machine.receive(.status(other), at: at(6)) == .abort(9))
      #expect(machine.receive(.done, at: at(6)) == .begin(after: .zero))
    }
    _ = machine.receive(.began(transfer(resume: 2)), at: at(6))
    #expect(step(machine.receive(.status(other), at: at(6))) == "begin")
  }

  @Test("a link that is lost after COMMIT is no reason to commit again") func lostCommit() {
    func committing() -> UpdateMachine {
      var machine = entered()
      _ = machine.receive(.began(transfer()), at: at(6))
      #expect(machine.receive(.done, at: at(7)) == .verify(9))
      #expect(machine.receive(.done, at: at(8)) == .commit(9))
      _ = machine.receive(lost, at: at(9))
      return machine
    }
    var machine = committing()
    #expect(machine.receive(board(.bootloader, boots: 2), at: at(10)) == .status)
    let committed = TransferStatus(state: .committed, nextOffset: 4, prefixChecksum: 0)
    #expect(machine.receive(.status(committed), at: at(10)) == .reboot)
    machine = committing()
    _ = machine.receive(board(.bootloader, boots: 2), at: at(10))
    let written = TransferStatus(state: .verified, nextOffset: 4, prefixChecksum: 0)
    #expect(machine.receive(.status(written), at: at(10)) == .begin(after: .zero))
    machine = committing()
    #expect(
      machine.receive(board(.application, version: "2", boots: 3), at: at(10)) == .confirm(after: .zero))
    #expect(machine.receive(.done, at: at(10)) == .succeed(.updated(version: "2")))
    machine = committing()
    #expect(machine.receive(board(.application, boots: 3), at: at(10)) == .enter)
  }

  @Test("waiting for a link grows longer, and ends when it was of no use for two minutes") func linkTimeout()
  {
    var machine = entered()
    _ = machine.receive(.began(transfer()), at: at(6))
    for delay in [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000] {
      #expect(machine.receive(lost, at: at(7)) == .connect(after: .milliseconds(delay)))
    }
    machine.acknowledged(4, at: at(8))
    #expect(machine.receive(lost, at: at(100)) == .connect(after: .milliseconds(500)))
    // What the board had already is no progress.
    machine.acknowledged(4, at: at(127))
    #expect(machine.receive(lost, at: at(127)) == .connect(after: .seconds(1)))
    #expect(step(machine.receive(lost, at: at(128))) == "write")
  }

  @Test("another headset at the same address is not written to") func otherBoard() {
    var machine = entered()
    _ = machine.receive(lost, at: at(6))
    let other = BoardInfo(
      image: .bootloader, capabilities: .firmwareUpdate, longestPayload: 1_024, model: "RT-2",
      firmwareVersion: "1", boots: 2)
    #expect(step(machine.receive(.connected(other), at: at(7))) == "check")
  }

  @Test("a flash that holds another image after all is written anew twice, then the update fails")
  func wrongHash() {
    var machine = entered()
    for _ in 0..<2 {
      _ = machine.receive(.began(transfer()), at: at(6))
      #expect(machine.receive(.done, at: at(6)) == .verify(9))
      guard case .begin = machine.receive(.refused(LinkRefusal(.wrongHash)), at: at(6)) else {
        Issue.record("\(machine.action)")
        return
      }
    }
    _ = machine.receive(.began(transfer()), at: at(6))
    _ = machine.receive(.done, at: at(6))
    #expect(step(machine.receive(.refused(LinkRefusal(.wrongHash)), at: at(6))) == "verify")
  }

  @Test("parts are as long as the board wants and accepts") func chunk() {
    var machine = entered()
    for (wanted, payload, chunk) in [(2, 1_024, 2), (1_016, 1_024, 1_016), (1_016, 100, 92), (500, 8, 1)] {
      machine.board?.longestPayload = UInt16(payload)
      var transfer = transfer()
      transfer.chunk = UInt16(wanted)
      #expect(machine.chunk(of: transfer) == chunk)
    }
  }
}
