import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

/// The reception of HLS by itself: requests in memory, virtual time.
@Suite("The reception of HLS without a station", .tags(.stream, .hls)) struct HLSReceptionTests {
  @Test("a live list is received from three target durations before its end, and followed as it grows")
  func live() throws {
    try HLSReceptionHarness.run { harness in
      harness.list(0..<6)
      harness.open()
      try await harness.wait("segment 5") { harness.hasRequested(5) }
      harness.list(2..<8)
      try await harness.wait("segment 7") { harness.hasRequested(7) }
      try await harness.loop.sleep(for: .milliseconds(500))
      #expect(harness.events.prefix(2) == ["answered Memory 0", "format mp3 44100 2"])
      #expect(!harness.hasRequested(2) && !harness.events.contains { $0.hasPrefix("reconnected") })
      let (numbers, discontinuity) = harness.read()
      // The next frame proves the last one.
      #expect(numbers == Array(harness.frames(of: 3..<8).dropLast()) && discontinuity == nil)
      #expect(harness.hasSounded && harness.silenceLimit > .zero)
      #expect((harness.sound.seconds - Double(numbers.count) * 1152 / 44_100).magnitude < 0.001)
    }
  }

  @Test("a lost connection is reported once, and the next one continues inside of the segment, without a gap")
  func rejoin() throws {
    try HLSReceptionHarness.run { harness in
      guard case .bytes(let whole, _)? = harness.answers["/4.mp3"] else { return }
      harness.answers["/4.mp3"] = .cut(Array(whole.prefix(whole.count / 2)))
      harness.list(0..<6)
      harness.open()
      try await harness.wait("loss") { !harness.losses.isEmpty }
      try await harness.loop.sleep(for: .seconds(2))
      #expect(harness.losses == ["stream.network"] && !harness.hasRequested(5))
      let before = harness.read().numbers
      #expect(before.last.map { harness.frames(of: 4..<5).dropLast().contains($0) } == true, "\(before)")
      harness.answers["/4.mp3"] = .bytes(whole)
      harness.open()
      try await harness.wait("segment 5") { harness.hasRequested(5) }
      try await harness.loop.sleep(for: .milliseconds(500))
      #expect(before + harness.read().numbers == Array(harness.frames(of: 3..<6).dropLast()))
      #expect(harness.events.filter { $0.hasPrefix("reconnected") } == ["reconnected stitched"])
    }
  }

  @Test("sound after a stream of another kind begins behind the gap that the receiver has measured")
  func gap() throws {
    try HLSReceptionHarness.run { harness in
      harness.list(0..<6)
      harness.open(gap: 2.5)
      try await harness.wait("segment 5") { harness.hasRequested(5) }
      #expect(harness.read().discontinuity == .gap(seconds: 2.5))
      #expect(harness.events.filter { $0.hasPrefix("reconnected") } == ["reconnected gap true"])
    }
  }

  @Test("a full buffer ends the reception, which continues with the refused frame")
  func full() throws {
    try HLSReceptionHarness.run(blocks: 7) { harness in
      harness.list(0..<10)
      harness.open()
      // Three seconds are more than it holds.
      try await harness.wait("full buffer") { harness.fullTimes > 0 }
      let count = harness.requests.count
      try await harness.loop.sleep(for: .seconds(3))
      #expect(harness.requests.count == count && harness.fullTimes == 1)
      #expect(harness.events.count { $0 == "full" } == 1)
      var numbers: [Int] = []
      for _ in 0..<100 where numbers.count < harness.frames(of: 7..<10).count - 1 {
        numbers += harness.read().numbers
        if harness.isStopped { harness.open() }
        try await harness.loop.sleep(for: .milliseconds(100))
      }
      #expect(numbers == Array(harness.frames(of: 7..<10).dropLast()))
      #expect(!harness.events.contains { $0.hasPrefix("reconnected gap") })
    }
  }

  @Test("a complete list is held back ahead of its player, and received to its last frame as that reads")
  func file() throws {
    try HLSReceptionHarness.run { harness in
      harness.candidates = [ListedAddress(address: "http://radio.example/next.mp3", depth: 1)]
      harness.list(0..<12, isEnded: true)
      harness.open()
      try await harness.wait("pause") { harness.events.contains("held back") || harness.reception.isAtRest }
      let count = harness.requests.count
      try await harness.loop.sleep(for: .seconds(10))
      #expect(harness.requests.count == count && !harness.hasRequested(8))
      #expect(harness.reception.deadline == nil && harness.losses.isEmpty)
      #expect(harness.events.contains("file with parts") && harness.events.contains("programme of 2"))
      #expect(harness.buffer.isFollowed)
      var numbers: [Int] = []
      for _ in 0..<200 where !harness.buffer.isComplete {
        numbers += harness.read().numbers
        try await harness.loop.sleep(for: .milliseconds(100))
      }
      numbers += harness.read().numbers
      #expect(numbers == Array(harness.frames(of: 0..<12)))
    }
  }

  @Test("a list that is requested again carries the validators of the answer before")
  func validators() throws {
    try HLSReceptionHarness.run { harness in
      harness.list(0..<6, headers: [("ETag", "\"one\"")])
      harness.open()
      let path = HLSReceptionHarness.address.path
      try await harness.wait("list") { harness.requests.contains { $0.path == path } }
      #expect(harness.requests.last { $0.path == path }?.headers == ["If-None-Match": "\"one\""])
      #expect(harness.requests.first { $0.path != path }?.headers == [:])
      harness.list(0..<7, headers: [("ETag", "\"two\"")])
      try await harness.wait("another list") {
        harness.requests.last { $0.path == path }?.headers == ["If-None-Match": "\"two\""]
      }
    }
  }
}
