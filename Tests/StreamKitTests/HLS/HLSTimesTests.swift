import Codecs
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("times of the sound in segments of HLS", .tags(.stream, .hls)) struct HLSTimesTests {
  private static let format = StreamFormat(codec: .aac, sampleRate: 44_100, channels: 2)

  /// A frame of 23.2 ms that begins with a byte of the sound, whose frames have 100 bytes.
  private func frame(_ number: Int) -> StreamFrame {
    StreamFrame(offset: number * 100, length: 100, hash: 0, format: Self.format, samples: 1024)
  }

  /// The seconds that are missing in front of each frame; a segment of ten frames has a time.
  /// - Parameters:
  ///   - times: seconds that are added to the time of a segment, one a segment.
  ///   - lost: the segments in front of which a packet was lost.
  private func missing(_ times: [Double], lost: Set<Int> = []) -> [Int: Double] {
    var clock = HLSTimes()
    var found: [Int: Double] = [:]
    for (segment, shift) in times.enumerated() {
      if lost.contains(segment) { clock.damage(at: segment * 1000) }
      let time = Double(segment * 10 * 1024) / 44_100 + shift
      clock.anchor(at: segment * 1000, ticks: Int((time * 90_000).rounded()) & (1 << 33 - 1))
      for number in (segment * 10)..<(segment * 10 + 10) {
        let missing = clock.advance(to: frame(number))
        if missing > 0 { found[number] = (missing * 1000).rounded() / 1000 }
      }
    }
    return found
  }

  @Test("a time that is later than the sound in front is sound that is missing, once") func loss() {
    #expect(missing([0, 0, 2, 2, 2.5]) == [20: 2, 40: 0.5])
    // The clock begins again after 26 hours.
    let start = Double(1 << 33) / 90_000 - 0.3
    #expect(missing([start, start, start + 1]) == [20: 1])
  }

  @Test("rounded times, earlier ones and those of another clock are no loss") func noLoss() {
    #expect(missing([0, 0.02, -0.02, 0.2, 0]) == [:])
    #expect(missing([0, -5, -5, 70, 7000, 0]) == [:])
  }

  @Test("behind a lost packet a frame is enough") func damaged() {
    #expect(missing([0, 0.023, 0.023, 0.046], lost: [1, 2]) == [10: 0.023])
  }

  @Test(
    "packets of MPEG-TS that are lost are missing sound, of the length of theirs", arguments: [10, 30, 60])
  func packets(count: Int) throws {
    let programme = try HLSProgramme.of(.transport)
    var (sound, missing, frames) = (HLSSound(), [Double](), 0)
    func receive(_ item: HLSSound.Item) -> Bool {
      if case .missing(let seconds) = item { missing.append(seconds) }
      if case .frame = item { frames += 1 }
      return true
    }
    for (index, segment) in programme.segments.prefix(6).enumerated() {
      var bytes = segment.bytes
      if index == 2 { bytes.removeSubrange((188 * 12)..<(188 * (12 + count))) }
      try sound.begin(title: nil, initialization: nil, isContinuous: true) { receive($0) }
      try bytes.withUnsafeBytes { try sound.consume($0) { receive($0) } }
      try sound.endSegment { receive($0) }
    }
    let borders = try programme.borders()
    let lost = Double(borders[6] - 1 - frames) * 1024 / 44_100
    #expect(lost > 0.05 && abs(missing.reduce(0, +) - lost) < 0.03, "\(missing) \(lost)")
  }

  @Test("whole segments state no loss", arguments: HLSProgramme.Kind.allCases.filter { $0 != .encrypted })
  func whole(kind: HLSProgramme.Kind) throws {
    let programme = try HLSProgramme.of(kind)
    var (sound, missing) = (HLSSound(), 0)
    for segment in programme.segments {
      func receive(_ item: HLSSound.Item) -> Bool {
        if case .missing = item { missing += 1 }
        return true
      }
      try sound.begin(title: nil, initialization: programme.files["init.mp4"], isContinuous: true) {
        receive($0)
      }
      try segment.bytes.withUnsafeBytes { try sound.consume($0) { receive($0) } }
      try sound.endSegment { receive($0) }
    }
    #expect(missing == 0)
  }

  @Test("the tables of MPEG-TS may be an initialization section") func tables() throws {
    let programme = try HLSProgramme.of(.transport)
    func isTable(_ packet: ArraySlice<UInt8>) -> Bool {
      let id = Int(packet[packet.startIndex + 1] & 0x1F) << 8 | Int(packet[packet.startIndex + 2])
      return id == 0 || id == 0x1000
    }
    func packets(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
      stride(from: 0, to: bytes.count, by: 188).map { bytes[$0..<($0 + 188)] }
    }
    let section = Array(packets(programme.segments[0].bytes).filter(isTable).joined())
    #expect(section.count == 2 * 188)
    func frames(_ section: [UInt8]?, isContinuous: Bool, strip: Bool) throws -> [UInt64] {
      var (sound, hashes) = (HLSSound(), [UInt64]())
      func receive(_ item: HLSSound.Item) -> Bool {
        if case .frame(let frame, _, _) = item { hashes.append(frame.hash) }
        return true
      }
      for segment in programme.segments.prefix(4) {
        let bytes = strip ? Array(packets(segment.bytes).filter { !isTable($0) }.joined()) : segment.bytes
        try sound.begin(title: nil, initialization: section, isContinuous: isContinuous) { receive($0) }
        try bytes.withUnsafeBytes { try sound.consume($0) { receive($0) } }
        try sound.endSegment { receive($0) }
      }
      return hashes
    }
    for isContinuous in [true, false] {
      let whole = try frames(nil, isContinuous: isContinuous, strip: false)
      #expect(try frames(section, isContinuous: isContinuous, strip: true) == whole && whole.count > 100)
    }
    #expect(throws: HLSSound.Obstacle.self) { try frames(nil, isContinuous: true, strip: true) }
  }
}
