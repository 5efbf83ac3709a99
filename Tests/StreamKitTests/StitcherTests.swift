import Codecs
import EventLoop
import StreamCore
import TestSupport
import TestTraits
import Testing

/// The programmes that all tests share, a minute each, with half a second of silence now and then; all frames
/// with sound differ.
private enum Shared {
  static let silence = stride(from: 8.0, to: 60, by: 8).map { $0..<($0 + 0.5) }
  static let programmes = Result {
    try Dictionary(
      uniqueKeysWithValues: FrameProgramme.Kind.allCases.map {
        ($0, try FrameProgramme($0, seconds: 60, silence: silence))
      })
  }

  static func station(_ kind: FrameProgramme.Kind) throws -> BurstModel {
    guard let programme = try programmes.get()[kind] else { throw TestFailure("no programme \(kind)") }
    return BurstModel(programme: programme)
  }
}

@Suite("Stitching", .waiting, .tags(.stream, .stitching)) struct StitcherTests {
  /// Returns the seconds of audio that the first connection receives: as much as the burst reaches back.
  private func reach(_ kind: FrameProgramme.Kind) -> Double { kind == .heAAC ? 13 : 7 }

  @Test(
    "after an outage shorter than the burst every frame is there once, in 100 of 100 seeds",
    arguments: FrameProgramme.Kind.promised, [0, 0.5, 2, 3])
  func exact(kind: FrameProgramme.Kind, outage: Double) throws {
    let station = try Shared.station(kind)
    var failures: [String] = []
    for seed in 0..<100 {
      var random = SeededRandom(seed: UInt64(seed))
      let loss = Double.random(in: 20...40, using: &random)
      var listener = BurstListener(station)
      try listener.listen(
        from: loss - reach(kind), loss: loss, cut: Int.random(in: 0..<1400, using: &random), outage: outage,
        pieces: Int.random(in: 500...9000, using: &random))
      if !listener.isExact || listener.waited > 0 { failures.append("\(seed):: \(listener.outcome)") }
    }
    #expect(failures.isEmpty)
  }

  @Test(
    "a loss or a burst that begins in silence shorter than the overlap changes nothing",
    arguments: FrameProgramme.Kind.promised)
  func silence(kind: FrameProgramme.Kind) throws {
    let station = try Shared.station(kind)
    let burst = Double(station.burst) / Double(station.programme.bytes.count) * station.programme.seconds
    var failures: [String] = []
    for seed in 0..<100 {
      var random = SeededRandom(seed: UInt64(seed))
      let inSilence =
        Double([24, 32].randomElement(using: &random) ?? 24)
        + Double.random(in: 0.1...0.5, using: &random)
      let outage = Double.random(in: 0...2.5, using: &random)
      let loss = seed % 2 == 0 ? inSilence : inSilence + burst - outage
      var listener = BurstListener(station)
      try listener.listen(
        from: loss - reach(kind), loss: loss, cut: Int.random(in: 0..<1400, using: &random), outage: outage)
      if !listener.isExact { failures.append("\(seed):: \(listener.outcome)") }
    }
    #expect(failures.isEmpty)
  }

  @Test(
    "a pre-roll of up to two seconds in front of the burst is left out",
    arguments: FrameProgramme.Kind.promised)
  func preRoll(kind: FrameProgramme.Kind) throws {
    var station = try Shared.station(kind)
    let advertisements = try [FrameProgramme.Kind.mp3, .aac].map {
      try FrameProgramme($0, seconds: 2, seed: 99)
    }
    var failures: [String] = []
    for seed in 0..<100 {
      var random = SeededRandom(seed: UInt64(seed))
      let loss = Double.random(in: 20...40, using: &random)
      let advertisement = advertisements[seed % 2]
      station.preRoll = Array(
        advertisement.bytes.prefix(Int.random(in: 1...advertisement.bytes.count, using: &random)))
      station.startsWithin = Int.random(in: 0..<1400, using: &random)
      var listener = BurstListener(station)
      try listener.listen(
        from: loss - reach(kind), loss: loss, outage: Double.random(in: 0...2.5, using: &random))
      if !listener.isExact { failures.append("\(seed):: \(listener.outcome)") }
    }
    #expect(failures.isEmpty)
  }

  @Test(
    "after an outage longer than the burst it joins at a frame and reports the gap to a tenth of a second",
    arguments: FrameProgramme.Kind.promised)
  func gap(kind: FrameProgramme.Kind) throws {
    let station = try Shared.station(kind)
    let burst = Double(station.burst) / Double(station.programme.bytes.count) * station.programme.seconds
    var known = 0
    for seed in 0..<20 {
      var random = SeededRandom(seed: UInt64(seed))
      let loss = Double.random(in: 17...20, using: &random)
      var listener = BurstListener(station)
      try listener.listen(
        from: loss - 7, loss: loss, outage: burst + Double.random(in: 0.3...12, using: &random))
      guard case .gap(let seconds) = listener.outcome else {
        Issue.record("seed \(seed): \(listener.outcome)")
        continue
      }
      guard let missing = listener.missing else { continue }
      known += 1
      #expect((seconds - missing).magnitude <= 0.1, "seed \(seed): told \(seconds), missing \(missing)")
      // The search ends after four seconds, or when the memory for held frames is full.
      let waited = listener.waited
      #expect(waited >= 1.5 && waited <= 4.3)
    }
    #expect(known >= 10)
  }

  @Test("an outage as long as the burst loses nothing that the server still had, and counts no overlap twice")
  func edge() throws {
    let station = try Shared.station(.mp3)
    let burst = Double(station.burst) / 16_000
    var outcomes: Set<String> = []
    for seed in 0..<60 {
      var random = SeededRandom(seed: UInt64(seed))
      // The loss is away from silence, of which the overlap can't be measured.
      let loss = Double.random(in: 17.5...23.5, using: &random)
      var listener = BurstListener(station)
      try listener.listen(
        from: loss - 3, loss: loss, outage: burst + Double.random(in: -0.3...0.1, using: &random))
      switch listener.outcome {
      case .stitched:
        outcomes.insert("stitched")
        let isExact = listener.isExact
        #expect(isExact, "seed \(seed): \(listener.outcome)")
      case .gap:
        outcomes.insert("gap")
        let missing = listener.missing ?? -1
        #expect(missing >= -0.001, "seed \(seed)")
      case .undecided: Issue.record("seed \(seed) has no outcome")
      }
    }
    #expect(outcomes == ["stitched", "gap"])
  }

  @Test("a variable bit rate is stitched as a constant one") func variableBitRate() throws {
    let station = try Shared.station(.mp3VBR)
    for outage in [0, 1, 2.5] {
      var listener = BurstListener(station)
      try listener.listen(from: 20, loss: 30, outage: outage)
      let isExact = listener.isExact
      #expect(isExact)
    }
  }

  @Test("of many overlaps that silence allows, the one that is nearest to the time is chosen")
  func nearest() {
    let format = StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2)
    let bytes = [UInt8](repeating: 0, count: 417)
    /// Returns a frame of 1/38.3 s.
    func frame(_ hash: UInt64) -> StreamFrame {
      StreamFrame(offset: 0, length: bytes.count, hash: hash, format: format, samples: 1152)
    }
    let silence = frame(1)
    for (outage, overlap) in [(0.75, 51), (1.0, 42), (1.5, 23)] {
      var stitcher = Stitcher()
      bytes.withUnsafeBytes { bytes in
        for hash in 100..<200 { _ = stitcher.receive(frame(UInt64(hash)), bytes) }
        for _ in 0..<100 { _ = stitcher.receive(silence, bytes) }
        _ = stitcher.lost(at: 0)
        // 80 frames at once, 2.09 s: the expected overlap is that less the outage.
        for _ in 0..<60 { #expect(stitcher.receive(silence, bytes, at: outage) == .hold) }
        for hash in 300..<320 { #expect(stitcher.receive(frame(UInt64(hash)), bytes, at: outage) == .hold) }
      }
      #expect(stitcher.decide(at: outage + 4.1) == .joined(overlap: overlap, preRoll: 0))
      var released = 0
      stitcher.release { _, _ in
        released += 1
        return true
      }
      #expect(released == 80 - overlap)
    }
  }

  @Test("held frames are delivered with their bytes") func bytesStay() throws {
    let programme = try Shared.station(.mp3).programme
    var stitcher = Stitcher()
    var delivered: [UInt8] = []
    programme.bytes.withUnsafeBytes { all in
      func bytes(_ frame: StreamFrame) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: all[frame.offset..<(frame.offset + frame.length)])
      }
      for frame in programme.frames[0..<100] { _ = stitcher.receive(frame, bytes(frame)) }
      _ = stitcher.lost(at: 0)
      for frame in programme.frames[300..<400] { _ = stitcher.receive(frame, bytes(frame), at: 1) }
      #expect(stitcher.isJoining)
      stitcher.searchSeconds = Stitcher.urgentSeconds
      #expect(stitcher.decide(at: 1.9) == nil && stitcher.decide(at: 2) != nil)
      stitcher.release { frame, bytes in
        delivered += bytes
        return true
      }
    }
    let range = programme.frames[300].offset..<programme.frames[400].offset
    #expect(delivered == Array(programme.bytes[range]))
    #expect(!stitcher.isJoining)
  }
}
