import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

@Suite(
  "A simulated station of HLS, and one that changes its format", .waiting, .tags(.stream, .simulation, .hls))
struct SimulatedListTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Writes a list of 20 segments of a second.
  private func list(_ kind: HLSProgramme.Kind = .transport) throws -> String {
    let programme = try HLSProgramme.of(kind)
    var lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:1"] + programme.tags
    for segment in programme.segments.prefix(20) {
      _ = try folder.write(segment.bytes, to: segment.name)
      lines += ["#EXTINF:\(segment.duration),", segment.name]
    }
    return try folder.write(Array(lines.joined(separator: "\n").utf8), to: "\(kind).m3u8")
  }

  private func reported(
    _ sound: StationSound, _ drops: [SimulatedStation.Drop], dataTimeout: Double = 20
  ) throws -> [String] {
    var station = SimulatedStation(.programme(sound))
    station.drops = drops
    var options = StreamOptions()
    options.dataTimeout = .seconds(dataTimeout)
    let stations = SimulatedStations([SimulationHarness.url: station])
    return try SimulationHarness.run(stations, options: options) { harness in
      try await harness.stream.start()
      try await harness.sleep(150)
    }
  }

  private func gaps(in reported: [String]) -> [String] {
    reported.filter { $0.contains(" reconnected ") }.map { $0.drop { $0 != " " }.dropFirst(13).description }
  }

  @Test("nothing of an outage is missing that the list still has", arguments: [0.5, 2, 8, 17])
  func outage(seconds: Double) throws {
    let reported = try reported(
      try StationSound(file: try list()), [.init(at: .seconds(60), outage: .seconds(seconds))])
    #expect(gaps(in: reported) == ["0.0 true false"], "\(reported)")
  }

  @Test("of a longer outage what the list has lost is a gap, and the player continues behind it")
  func longOutage() throws {
    let reported = try reported(
      try StationSound(file: try list()), [.init(at: .seconds(60), outage: .seconds(45))])
    let words = try #require(gaps(in: reported).first).split(separator: " ")
    // The next attempt follows within 2.5 s, and steps are a second long.
    let gap = try #require(Double(words[0]))
    #expect((24.9...29).contains(gap) && words[1] == "false", "\(reported)")
    #expect(gaps(in: reported).count == 1 && reported.last == "150.0 stopped")
  }

  @Test(
    "a silence within the time limit loses what the list loses meanwhile, and no connection",
    arguments: [(12.0, nil), (19.5, nil), (30, 10.0)])
  func silence(seconds: Double, missing: Double?) throws {
    let reported = try reported(
      try StationSound(file: try list()),
      [.init(at: .seconds(60), outage: .seconds(seconds), answer: .silence)], dataTimeout: 40)
    #expect(!reported.contains { $0.contains("failed") }, "\(reported)")
    let words = gaps(in: reported)
    guard let missing else { return #expect(words.isEmpty, "\(reported)") }
    let gap = try #require(words.first.flatMap { Double($0.prefix { $0 != " " }) })
    #expect((missing - 0.2...missing + 1.2).contains(gap) && words.count == 1, "\(reported)")
  }

  @Test("a listener begins three target durations before the end of the list")
  func lead() throws {
    var lead = 0.0
    var station = SimulatedStation(.programme(try StationSound(file: try list())))
    station.name = "HLS"
    _ = try SimulationHarness.run(SimulatedStations([SimulationHarness.url: station])) { harness in
      try await harness.stream.start()
      try await harness.sleep(30)
      lead = harness.stream.figures.timeShift
    }
    #expect((1.9...4.1).contains(lead), "\(lead)")
  }

  /// A chain of two rates, and a list of two codecs with a discontinuity.
  private func changing(_ isList: Bool) throws -> String {
    if isList {
      var lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:1"]
      for kind in [HLSProgramme.Kind.transport, .transportMP3] {
        lines.append("#EXT-X-DISCONTINUITY")
        for segment in try HLSProgramme.of(kind).segments.prefix(10) {
          _ = try folder.write(segment.bytes, to: "\(kind)\(segment.name)")
          lines += ["#EXTINF:\(segment.duration),", "\(kind)\(segment.name)"]
        }
      }
      return try folder.write(Array(lines.joined(separator: "\n").utf8), to: "changing.m3u8")
    }
    let first = try OggProgramme(.vorbis, seconds: 10, titles: ["A - One"]).bytes
    let second = try OggProgramme(.vorbis, seconds: 10, titles: ["B - Two"], rate: 48_000).bytes
    return try folder.write(first + second, to: "changing.ogg")
  }

  @Test("a file whose format changes is sent as it is, round after round", arguments: [false, true])
  func formats(isList: Bool) throws {
    let path = try changing(isList)
    let sound = try StationSound(file: path)
    for isPatient in [true, false] {
      var station = SimulatedStation(.programme(sound))
      station.burst = .seconds(3)
      var formats: [StreamFormat] = []
      let reported = try SimulationHarness.run(SimulatedStations([SimulationHarness.url: station])) {
        harness in
        try await harness.stream.start()
        for second in 0..<45 {
          if !isPatient { _ = harness.stream.figures }
          if second % 10 == 4, let format = harness.stream.format { formats.append(format) }
          try await harness.sleep(1)
        }
        #expect(harness.stream.status == .playing && abs(harness.stream.position.seconds - 45) < 0.01)
      }
      let (one, two) = (formats[0], formats[1])
      #expect(one != two && formats == [one, two, one, two, one], "\(formats)")
      if isList {
        #expect(one.codec == .aac && two.codec == .mp3)
      } else {
        #expect(one.sampleRate == 44_100 && two.sampleRate == 48_000)
      }
      #expect(!reported.contains { $0.contains("exhausted") || $0.contains("failed") }, "\(reported)")
    }
  }
}
