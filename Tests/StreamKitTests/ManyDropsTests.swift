import EventLoop
import StreamCore
import TestSupport
import TestTraits
import Testing

/// A listener on a bad line: connections are lost again and again, some before they have sent a new frame.
@Suite("Stitching on a bad line", .waiting, .tags(.stream, .reconnection, .stitching)) struct ManyDropsTests {
  private struct Line {
    let station: BurstModel
    var stitcher = Stitcher()
    var framer = StreamFramer()
    var received: [StreamFrame] = []

    init(_ station: BurstModel) { self.station = station }

    mutating func feed(_ range: Range<Int>, at time: Double) {
      station.programme.bytes[range].withUnsafeBytes { framer.feed($0) }
      while let item = framer.next() {
        guard case .frame(let frame) = item else { continue }
        let action = framer.withBytes(of: frame) {
          stitcher.receive(frame, $0, at: time, pending: framer.pendingBytes)
        }
        if action == .pass { received.append(frame) }
        release()
      }
    }

    mutating func lose(at time: Double) {
      _ = stitcher.lost(at: time, pending: framer.pendingBytes)
      release()
      framer = StreamFramer()
    }

    private mutating func release() {
      var released: [StreamFrame] = []
      stitcher.release { frame, bytes in
        if FrameHash.of(bytes) == frame.hash { released.append(frame) }
        return true
      }
      received += released
    }
  }

  @Test("ten drops in a row leave every frame there once", arguments: FrameProgramme.Kind.promised)
  func drops(kind: FrameProgramme.Kind) throws {
    let silence = stride(from: 5.0, to: 80, by: 7).map { $0..<($0 + 0.7) }
    let station = BurstModel(programme: try FrameProgramme(kind, seconds: 80, silence: silence, seed: 3))
    var failures: [UInt64] = []
    for seed in 0..<25 {
      var random = SeededRandom(seed: UInt64(seed))
      var line = Line(station)
      var time = Double.random(in: 14...16, using: &random)
      line.feed(station.start(at: time)..<station.edge(at: time), at: time)
      for drop in 0...10 {
        // Some connections are lost while they still send old frames.
        let isShort = (1...9).contains(drop) && drop % 3 != 0 && Bool.random(using: &random)
        let first = station.start(at: time)
        var sent = station.edge(at: time)
        if isShort { sent = first + Int.random(in: 0...min(50_000, sent - first), using: &random) }
        if drop > 0 { line.feed(first..<sent, at: time) }
        let end = isShort ? time : time + Double.random(in: 0.2...4, using: &random)
        while time < end {
          time += 0.2
          let edge = station.edge(at: time)
          line.feed(sent..<max(sent, edge - (time >= end ? 700 : 0)), at: time)
          sent = max(sent, edge)
        }
        if drop < 10 { line.lose(at: time) }
        time += Double.random(in: 0...1, using: &random)
      }
      let frames = station.programme.frames
      // Three frames, as some are too short to differ.
      let head = line.received.prefix(3).map(\.hash)
      guard let start = frames.indices.first(where: { frames[$0...].prefix(3).map(\.hash) == head }) else {
        failures.append(UInt64(seed))
        continue
      }
      let expected = frames[start...].prefix(line.received.count)
      let isExact = line.received.map(\.hash) == expected.map(\.hash) && line.received.count > 400
      if !isExact || line.stitcher.isJoining { failures.append(UInt64(seed)) }
    }
    #expect(failures.isEmpty)
  }

  @Test("a connection that sends no audio, or nothing, changes nothing") func noise() throws {
    let station = BurstModel(programme: try FrameProgramme(.mp3, seconds: 30))
    var line = Line(station)
    line.feed(0..<station.edge(at: 15), at: 15)
    line.lose(at: 15)
    var random = SeededRandom(seed: 8)
    random.bytes(60_000).withUnsafeBytes { line.framer.feed($0) }
    var found: [StreamFramer.Item] = []
    while let item = line.framer.next() { found.append(item) }
    #expect(found.count == 1)
    line.lose(at: 16)
    line.lose(at: 17)
    line.feed(station.start(at: 17.5)..<station.edge(at: 17.5), at: 17.5)
    let expected = station.programme.frames.prefix(line.received.count)
    #expect(line.received.map(\.hash) == expected.map(\.hash))
    // Everything that was sent is delivered, except frames that wait for a header behind them.
    #expect(line.received.count >= Int(17.5 / 0.0262) - 5)
  }
}
