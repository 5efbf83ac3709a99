import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("A board and several hosts", .tags(.headset, .board)) struct BoardHostsTests {
  @Test("a silent host keeps no other one out, and is dropped after 10 s") func silent() throws {
    try withBoard { board async throws in
      let silent = BoardHost(board)
      let host = BoardHost(board)
      let begin = board.loop.now
      try await host.connect()
      #expect(board.loop.now < begin.advanced(by: .seconds(1)))
      try await board.loop.sleep(for: .seconds(9))
      #expect(!silent.isEnded)
      try await board.loop.sleep(for: .seconds(2))
      #expect(silent.isEnded && !host.isEnded)
      try await host.request(Ping())
    }
  }

  @Test("however many hosts are silent, the next one is served") func crowd() throws {
    try withBoard { board async throws in
      let silent = (0..<50).map { _ in BoardHost(board) }
      try await BoardHost(board).connect()
      #expect(silent.filter(\.isEnded).count >= 42)
    }
  }

  @Test("a host that proves the key replaces one that does not answer any more") func dead() throws {
    try withHost { dead, board async throws in
      let host = BoardHost(board)
      let begin = board.loop.now
      try await host.connect()
      #expect(begin.duration(to: board.loop.now) >= Board.probeTime)
      #expect(begin.duration(to: board.loop.now) < .seconds(3))
      #expect(dead.isEnded && board.report.isConnected)
      try await host.request(SetNoiseCancelling(true))
      #expect(board.report.noiseCancelling)
    }
  }

  @Test("a host that answers stays connected, and the other one is refused") func alive() throws {
    try withBoard { board async throws in
      let driver = HBPDriver(name: "board", key: .development, loop: board.loop) {
        () async throws(HeadsetError) in board.connect()
      }
      _ = try await driver.connect()
      let other = BoardHost(board)
      await #expect(throws: BoardHost.Silence.self) { try await other.connect() }
      #expect(other.isEnded)
      _ = try await driver.request(GetBattery())
      await driver.disconnect()
      try await BoardHost(board).connect()
    }
  }

  @Test("a host without the key neither replaces another one nor has it asked") func stranger() throws {
    try withHost { host, board async throws in
      let stranger = BoardHost(board)
      stranger.key = [UInt8](repeating: 1, count: 32)
      for _ in 1...3 { await #expect(throws: (any Error).self) { try await stranger.connect() } }
      try await board.loop.sleep(for: .seconds(3))
      #expect(host.events.isEmpty && !host.isEnded && stranger.isEnded)
    }
  }

  @Test("a host that goes while another one waits makes way at once") func goes() throws {
    try withHost { host, board async throws in
      let other = BoardHost(board)
      board.loop.after(.milliseconds(100)) { host.channel.close() }
      let begin = board.loop.now
      try await other.connect()
      #expect(begin.duration(to: board.loop.now) < .seconds(1))
      try await other.request(Ping())
    }
  }
}
