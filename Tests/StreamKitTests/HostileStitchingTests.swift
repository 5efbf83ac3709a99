import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import StreamCore

/// Programmes and servers that make stitching hard.
@Suite("Stitching against the odds", .waiting, .tags(.stream, .stitching, .hostile))
struct HostileStitchingTests {
  private func listen(
    _ station: BurstModel, from first: Double = 12, loss: Double = 20, outage: Double, seconds: Double = 0.8
  ) throws -> BurstListener {
    var listener = BurstListener(station)
    try listener.listen(from: first, loss: loss, outage: outage, seconds: seconds)
    return listener
  }

  @Test("a loop shorter than what is remembered is joined by the time", arguments: [0, 1.3, 2.9])
  func shortLoop(outage: Double) throws {
    // A period of a second and a half, so that the right position is nearer than the next.
    let station = BurstModel(programme: try FrameProgramme(.mp3, seconds: 40, period: 60))
    let listener = try listen(station, outage: outage)
    let isExact = listener.isExact
    #expect(isExact)
  }

  @Test("endless silence is joined to a tenth of a second", arguments: FrameProgramme.Kind.promised)
  func endlessSilence(kind: FrameProgramme.Kind) throws {
    var station = BurstModel(programme: try FrameProgramme(kind, seconds: 60, silence: [0..<100]))
    for (outage, burst) in [(0, 8000), (0.4, 8000), (0.4, 65_535)] {
      station.burst = burst
      let listener = try listen(station, outage: outage)
      guard case .stitched = listener.outcome else {
        Issue.record("\(listener.outcome)")
        continue
      }
      let duration = listener.received[0].duration.seconds
      let sound = Double(listener.received.count) * duration
      let passed = 20 - 12 + outage + max(0.8, listener.waited)
      // The blocks of the model are up to two seconds of silence.
      let block = 1400 / Double(listener.received[0].length) * duration
      #expect((sound - passed).magnitude < 0.15 + 2 * block)
    }
  }

  @Test("silence before and behind a long outage is no overlap") func silenceOnBothSides() throws {
    let programme = try FrameProgramme(.mp3, seconds: 60, silence: [19..<20.5, 30..<31.5])
    let station = BurstModel(programme: programme)
    // The burst begins in the second silence.
    let listener = try listen(station, outage: 14.3)
    guard case .gap(let seconds) = listener.outcome else {
      Issue.record("\(listener.outcome)")
      return
    }
    #expect((seconds - 10.3).magnitude < 0.2)
  }

  @Test("another format behind a reconnect is a gap, with its frames whole") func otherFormat() throws {
    let (mp3, aac) = (try FrameProgramme(.mp3, seconds: 30), try FrameProgramme(.aac, seconds: 30))
    var stitcher = Stitcher()
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    for frame in mp3.frames { #expect(stitcher.receive(frame, nothing) == .pass) }
    #expect(stitcher.lost(at: 100) == nil)
    var actions: [Stitcher.Action] = []
    var delivered: [StreamFrame] = []
    var time = 101.0
    for frame in aac.frames {
      aac.bytes[frame.offset..<(frame.offset + frame.length)].withUnsafeBytes {
        actions.append(stitcher.receive(frame, $0, at: time))
      }
      stitcher.release { frame, _ in
        delivered.append(frame)
        return true
      }
      if actions.last == .pass { delivered.append(frame) }
      time += frame.duration.seconds
    }
    let gaps = actions.compactMap { if case .gap(let seconds) = $0 { seconds } else { nil } }
    #expect(gaps.count == 1 && ((gaps.first ?? 0) - 1).magnitude < 0.1)
    #expect(delivered == aac.frames)
  }

  /// Returns ADTS frames of these lengths, with random bytes.
  private func adts(_ lengths: [Int], seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return lengths.flatMap { length -> [UInt8] in
      let header: [UInt8] = [
        0xFF, 0xF1, 0x50, 0x80 | UInt8(length >> 11), UInt8(length >> 3 & 0xFF),
        UInt8(length & 7) << 5 | 0x1F,
        0xFC,
      ]
      return header + random.bytes(length - 7).map { $0 & 0x7F }
    }
  }

  @Test("tiny and huge frames are stitched as others", arguments: [9, 12, 40, 8191]) func lengths(length: Int)
    throws
  {
    // Frames of nine bytes differ in two of them: most are not unique, and yet in the right order.
    let count = min(6000, max(250, 400_000 / length))
    let bytes = adts([Int](repeating: length, count: count), seed: UInt64(length))
    let programme = FrameProgramme(bytes: bytes)
    #expect(programme.frames.count == count)
    let station = BurstModel(programme: programme, burst: length < 100 ? 6000 : 65_535)
    let overlap = Double(station.burst) / Double(length) * 1024 / 44_100
    let loss = programme.seconds / 2
    let outage = min(0.5, overlap / 2)
    // A block of the model is up to four seconds of tiny frames.
    let listener = try listen(
      station, from: loss / 2, loss: loss, outage: outage, seconds: length < 100 ? 5 : 0.8)
    let isExact = listener.isExact
    #expect(isExact)
    guard case .stitched = listener.outcome else { return #expect(Bool(false)) }
  }

  @Test("a burst that reaches back further than what is remembered") func longBurst() throws {
    let station = BurstModel(programme: try FrameProgramme(.mp3, seconds: 60), burst: 450_000)
    let listener = try listen(station, from: 20, loss: 50, outage: 1)
    let isExact = listener.isExact
    #expect(isExact)
  }

  @Test("a server that sends slowly what it still has is waited for") func slowServer() throws {
    let programme = try FrameProgramme(.mp3, seconds: 40)
    var stitcher = Stitcher()
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    for frame in programme.frames[0..<700] { _ = stitcher.receive(frame, nothing) }
    _ = stitcher.lost(at: 20)
    var time = 20.5
    var joined: Stitcher.Action?
    for frame in programme.frames[300...] where joined == nil {
      let action = programme.bytes[frame.offset..<(frame.offset + frame.length)].withUnsafeBytes {
        stitcher.receive(frame, $0, at: time)
      }
      if action != .hold { joined = action }
      // The frames come at the pace of playback: ten seconds pass before the old ones end.
      time += 0.026
    }
    #expect(joined == .joined(overlap: 400, preRoll: 0))
  }

  @Test(
    "a connection that goes again before the join is found is as if it had not been", arguments: [1, 40, 130])
  func flapping(count: Int) throws {
    let programme = try FrameProgramme(.mp3, seconds: 30)
    var stitcher = Stitcher()
    var received: [StreamFrame] = []
    func receive(_ range: Range<Int>, at time: Double) {
      received += programme.frames(range, passedBy: &stitcher, at: time)
    }
    receive(0..<500, at: 0)
    #expect(stitcher.lost(at: 10) == nil)
    receive(360..<(360 + count), at: 10.3)
    #expect(stitcher.lost(at: 10.4) == nil)
    receive(370..<540, at: 10.9)
    #expect(received == Array(programme.frames[0..<540]))
    #expect(!stitcher.isJoining)
  }

  @Test("frames of a connection that was new for certain are kept when it goes again")
  func flappingBehindGap() throws {
    let programme = try FrameProgramme(.mp3, seconds: 60)
    var stitcher = Stitcher()
    var received: [StreamFrame] = []
    func receive(_ range: Range<Int>, at time: Double) {
      received += programme.frames(range, passedBy: &stitcher, at: time)
    }
    receive(0..<300, at: 0)
    _ = stitcher.lost(at: 10)
    receive(700..<800, at: 24)
    let action = stitcher.lost(at: 24)
    guard case .gap(let seconds) = action else {
      Issue.record("\(String(describing: action))")
      return
    }
    #expect((seconds - (14 - 100 * 1152 / 44_100.0)).magnitude < 0.01)
    stitcher.release { frame, _ in
      received.append(frame)
      return true
    }
    receive(720..<900, at: 25)
    #expect(received == Array(programme.frames[0..<300]) + Array(programme.frames[700..<900]))
  }

  @Test("a loss that is reported before the frames are released waits for them") func lostBeforeRelease()
    throws
  {
    let programme = try FrameProgramme(.mp3, seconds: 20)
    var stitcher = Stitcher()
    func receive(_ range: Range<Int>, at time: Double) -> Stitcher.Action? {
      var last: Stitcher.Action?
      for frame in programme.frames[range] where last != .joined(overlap: 100, preRoll: 0) {
        last = programme.bytes[frame.offset..<(frame.offset + frame.length)].withUnsafeBytes {
          stitcher.receive(frame, $0, at: time)
        }
      }
      return last
    }
    #expect(receive(0..<300, at: 8) == .pass)
    #expect(stitcher.lost(at: 8) == nil)
    #expect(receive(200..<320, at: 9) == .joined(overlap: 100, preRoll: 0))
    #expect(stitcher.lost(at: 9) == nil)
    #expect(!stitcher.isJoining)
    stitcher.release { _, _ in true }
    #expect(stitcher.isJoining)
    #expect(receive(200..<320, at: 10) == .joined(overlap: 100, preRoll: 0))
  }

  @Test("streams without frames pass, and a reconnect of theirs is a gap") func withoutFrames() throws {
    let programme = try FrameProgramme(.mp3, seconds: 5)
    var stitcher = Stitcher()
    let piece = StreamFrame(offset: 0, length: 3, hash: 0, format: StreamFormat(codec: .ogg))
    [1 as UInt8, 2, 3].withUnsafeBytes { bytes in
      func released() -> [[UInt8]] {
        var delivered: [[UInt8]] = []
        stitcher.release { _, bytes in
          delivered.append(Array(bytes))
          return true
        }
        return delivered
      }
      #expect(stitcher.receive(piece, bytes) == .pass)
      #expect(stitcher.lost(at: 1) == nil)
      #expect(stitcher.receive(piece, bytes, at: 3) == .gap(seconds: 2))
      #expect(released() == [[1, 2, 3]])
      #expect(stitcher.receive(piece, bytes, at: 4) == .pass)
      for frame in programme.frames { #expect(stitcher.receive(frame, bytes) == .pass) }
      #expect(stitcher.lost(at: 10) == nil)
      #expect(stitcher.receive(piece, bytes, at: 13) == .gap(seconds: 3))
      #expect(released() == [[1, 2, 3]])
    }
  }

  @Test("while it joins it holds no more than its budget, whatever comes", arguments: [9, 200, 8191])
  func memory(length: Int) {
    let old = FrameProgramme(bytes: adts([Int](repeating: length, count: 400_000 / length), seed: 1))
    let new = FrameProgramme(bytes: adts([Int](repeating: length, count: 600_000 / length), seed: 2))
    var stitcher = Stitcher()
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    for frame in old.frames { _ = stitcher.receive(frame, nothing) }
    #expect(stitcher.historySize <= 16 * 1024)
    _ = stitcher.lost(at: 0)
    var most = 0
    var decided: Int?
    for (index, frame) in new.frames.enumerated() where decided == nil {
      // All frames come at once, so the time allows for a pre-roll.
      let action = new.bytes[frame.offset..<(frame.offset + frame.length)].withUnsafeBytes {
        stitcher.receive(frame, $0, at: 0.1)
      }
      most = max(most, stitcher.heldSize)
      if action != .hold { decided = index }
    }
    #expect(most > 80 * 1024 && most <= 104 * 1024)
    #expect(decided.map { $0 * length <= 256 * 1024 } == true)
  }
}

extension FrameProgramme {
  /// Passes frames to a stitcher at one time.
  /// - Returns: those that it accepts, and those that it then releases.
  fileprivate func frames(_ range: Range<Int>, passedBy stitcher: inout Stitcher, at time: Double)
    -> [StreamFrame]
  {
    var received: [StreamFrame] = []
    for frame in frames[range] {
      let action = bytes[frame.offset..<(frame.offset + frame.length)].withUnsafeBytes {
        stitcher.receive(frame, $0, at: time)
      }
      if action == .pass { received.append(frame) }
      stitcher.release { frame, _ in
        received.append(frame)
        return true
      }
    }
    return received
  }
}
