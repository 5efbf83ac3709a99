import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("A driver and a board on a serial line", .tags(.headset, .link)) struct SerialLineTests {
  @Test("bytes left on the line are skipped by each new host") func stale() throws {
    let loop = EventLoop()
    let (master, path) = try Descriptors.terminal()
    try loop.finish {
      let board = try Board(BoardOptions(), loop: loop)
      defer { board.close() }
      let line = try FDChannel(owning: master, loop: loop)
      // A half frame, and a whole one of somebody else.
      let old = try LinkReply.done(true).frame(to: GetNoiseCancelling().frame(sequence: 1))
      line.send([7, 7, 7] + old.unsealed + [0] + old.unsealed + [5, 5])
      let address = LinkAddress.serial(path: path, baud: 115_200)
      // A host that has sent a half frame and gone.
      let gone = try await address.connect(loop)
      gone.send([1, 2, 3, 4])
      board.attach(line) {}
      for _ in 0..<2 {
        let driver = HBPDriver(address: address, key: .development, loop: loop)
        #expect(try await driver.connect().model == "RT-1")
        _ = try await driver.request(SetNoiseCancelling(true))
        #expect(try await driver.request(GetNoiseCancelling()) == true)
        // The board is not notified that this host goes.
        driver.drop()
      }
      gone.close()
    }
  }

}
