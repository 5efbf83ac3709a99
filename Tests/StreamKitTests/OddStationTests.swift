import AudioCore
import Codecs
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

/// Stations that break the rules.
@Suite("Odd stations", .waiting, .tags(.stream, .hostile)) struct OddStationTests {
  // MARK: Formats that change without a sign

  /// Returns the encoded sound of one format.
  private func coded(_ codec: String, rate: Int, channels: Int) throws -> [UInt8] {
    let folder = try TemporaryFolder()
    let (source, coded) = (folder.file("source.wav"), folder.file("coded"))
    try Sound.sweep(sampleRate: rate, channels: channels, frames: 4 * rate).write(to: source)
    if codec == "mp3" {
      try Command.succeed("lame", ["--quiet", "-t", "-b", "128", "--cbr", source, coded])
    } else {
      try Command.succeed("ffmpeg", ["-v", "error", "-i", source, "-c:a", "aac", "-f", "adts", coded])
    }
    return try readBytes(coded)
  }

  @Test("a format that changes in mid-frame is reported, and heard without what is no sound")
  func formats() throws {
    let parts = [
      try coded("mp3", rate: 44_100, channels: 2), try coded("aac", rate: 44_100, channels: 2),
      try coded("mp3", rate: 48_000, channels: 2), try coded("mp3", rate: 48_000, channels: 1),
      try coded("aac", rate: 48_000, channels: 2), try coded("mp3", rate: 44_100, channels: 2),
    ]
    var random = SeededRandom(seed: 4)
    // Each part begins and ends within a frame.
    let bytes = parts.flatMap { part in
      part[
        Int.random(in: 200...700, using: &random)..<(part.count - Int.random(in: 100...300, using: &random))]
    }
    var live = Live(.init(repeating: bytes))
    let count = bytes.count
    live.burst = count
    live.metaint = 8_192
    live.pace = .controlled { count }
    let station = try Station()
    station.answer("/live", with: .live(live))
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "format", count: 6), "\(receiver.events)")
    let end = StreamFramer.frames(of: parts[5]).count - 10
    let enough = ContinuousClock.now + .seconds(30)
    while receiver.buffer.range.end.seconds < 5 * 3.7 + Double(end) * 0.0261, ContinuousClock.now < enough {
      usleep(10_000)
    }
    #expect(
      receiver.events.filter { $0.hasPrefix("format") } == [
        "format mp3 44100 2", "format aac 44100 2", "format mp3 48000 2", "format mp3 48000 1",
        "format aac 48000 2", "format mp3 44100 2",
      ])
    let heard = try heard(receiver.buffer)
    let kinds = heard.map(\.format).reduce(into: [AudioFormat]()) { if $0.last != $1 { $0.append($1) } }
    #expect(
      kinds
        == [(44_100, 2), (48_000, 2), (48_000, 1), (48_000, 2), (44_100, 2)].map {
          AudioFormat(sampleRate: $0.0, channels: $0.1)
        })
    let peak = heard.map(\.peak).max() ?? 0
    let peaks = try parts.map { part -> Float in
      let frames = StreamFramer.frames(of: part)
      let sound = try ListedFrames.decode(frames.map { Array(part[$0.range]) }, frames[0].codec)
      return sound.peak
    }
    let programme = peaks.max() ?? 0
    #expect(peak > 0.2 && peak <= programme * 1.02, "\(peak) of \(programme)")
    let seconds = heard.reduce(0.0) { $0 + Double($1.frames) / Double($1.format.sampleRate) }
    #expect(seconds > 6 * 4 - 6 * 10 * 0.027, "\(seconds)")
    _ = receiver.end()
  }

  /// Returns the blocks that a player reads.
  private func heard(_ buffer: StreamBuffer) throws -> [(format: AudioFormat, frames: Int, peak: Float)] {
    let decoder = StreamDecoder(buffer, map: PlayMap())
    var samples = [Float](repeating: 0, count: 4_096)
    var blocks: [(format: AudioFormat, frames: Int, peak: Float)] = []
    while true {
      let count = try samples.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
      if count == 0 { return blocks }
      let peak = samples[..<(count * decoder.format.channels)].reduce(Float(0)) { max($0, $1.magnitude) }
      blocks.append((decoder.format, count, peak))
    }
  }

  // MARK: Servers

  @Test("a server that sends the same burst again and again is asked ever more rarely, and heard once")
  func sameBurst() throws {
    let programme = try FrameProgramme(.mp3, seconds: 20, seed: 3)
    var live = Live(.init(repeating: programme.bytes))
    live.pace = .controlled { 200_000 }
    let station = try Station()
    let start = live.start(edge: 200_000)
    station.answer("/live", with: .live(live).dropping(at: 200_000 - start, by: .finish))
    var options = ReceiverOptions()
    options.dataTimeout = .seconds(1_200)
    let receiver = try Receiver(url: station.url("/live"), options: options, clock: .faster(40))
    #expect(receiver.wait(for: "connecting", count: 20), "\(receiver.events)")
    // The clock runs forty times as fast: two seconds stand for eighty.
    usleep(2_000_000)
    let bytes = receiver.end()
    // The limit is 20 in the first 5 s, then one every 2 s, scattered by a quarter.
    #expect(station.visits.count <= 20 + 50)
    let range = programme.frames(before: start)...programme.frames(before: 200_000)
    let sent = programme.frames[range].filter { $0.offset >= start && $0.offset + $0.length + 7 <= 200_000 }
    #expect(bytes == sent.flatMap { Array(programme.bytes[$0.range]) })
  }

  @Test("a station with a Content-Length is received beyond it", arguments: [90_000, 1 << 40])
  func length(claimed: Int) throws {
    let programme = try FrameProgramme(.mp3, seconds: 60, seed: 3)
    var live = Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000))
    live.pace = .asRead
    let station = try Station()
    let claiming = Answer.live(live).claiming(claimed)
    station.answer(
      "/live", with: claiming.dropping(at: 100_000), claiming.dropping(at: 100_000), .live(live))
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "full"), "\(receiver.events)")
    let bytes = receiver.end()
    #expect(receiver.events.filter { $0 == "reconnected stitched" }.count == 2, "\(receiver.events)")
    let start = try #require(station.visits.first).start
    let first = try #require(programme.frames.first { $0.offset >= start })
    #expect(
      bytes.count > 110_000 && bytes.elementsEqual(programme.bytes[first.offset...].prefix(bytes.count)))
  }

  // MARK: Programmes

  @Test(
    "a station that comes back with another programme is joined at a frame, and all held frames of it are delivered"
  )
  func restart() throws {
    let audience = try Audience()
    // The programmes have frames of the same length, so that both have the same edge.
    let (old, new) = (
      try FrameProgramme(.mp3, seconds: 90, seed: 5), try FrameProgramme(.mp3, seconds: 90, seed: 77)
    )
    for index in 0..<5 {
      var seat = Audience.Seat(start: 20 + Double(index) * 0.37)
      seat.metaints = [nil]
      let bytes = new.bytes
      let edge = audience.edge(of: old, from: seat.start)
      seat.changes = [
        { $0 },
        { _ in
          var live = Live(.init(repeating: bytes))
          live.pace = .controlled(edge)
          live.stationHeaders = []
          return .live(live)
        },
      ]
      try audience.add(old, seat)
    }
    try audience.pass(1.5)
    try audience.cut(outage: 1)
    try audience.pass(8)
    let visits = audience.station.visits
    for member in audience.members {
      #expect(member.joins == ["reconnected gap true"])
      let frames = member.receiver.frames()
      let own = visits.filter { $0.target == member.path }
      let oldFrames = old.frames[
        (old.frames.firstIndex { $0.offset >= own[0].start } ?? 0)..<old.frames(before: own[0].end)]
      #expect(frames.prefix(oldFrames.count).elementsEqual(oldFrames.map { Array(old.bytes[$0.range]) }))
      let rest = frames.dropFirst(oldFrames.count)
      let newFrames = new.frames[
        (new.frames.firstIndex { $0.offset >= own[1].start } ?? 0)..<new.frames(before: member.edge)]
      #expect(rest.elementsEqual(newFrames.suffix(rest.count).map { Array(new.bytes[$0.range]) }))
      // The search may drop a part of the burst, and of the sound of four seconds.
      let missing = newFrames.prefix(newFrames.count - rest.count).reduce(0) { $0 + $1.duration.seconds }
      #expect(
        missing < 2.5 && (member.receiver.gaps.first ?? 0) >= missing - 0.1,
        "\(missing), \(member.receiver.gaps)")
    }
  }

  @Test(
    "silence for longer than the overlap is joined to the frame, or nearly",
    arguments: [FrameProgramme.Kind.mp3, .aac])
  func silence(kind: FrameProgramme.Kind) throws {
    let audience = try Audience()
    let programme = try FrameProgramme(kind, seconds: 90, silence: [10..<80], seed: 5)
    for index in 0..<10 {
      var seat = Audience.Seat(start: 40 + Double(index) * 0.37)
      seat.bursts = [kind == .mp3 ? 65_535 : 6_000]
      try audience.add(programme, seat)
    }
    try audience.pass(1.5)
    try audience.cut(outage: 0.5)
    try audience.pass(6)
    let visits = audience.station.visits
    for member in audience.members {
      #expect(member.joins.count == 1)
      let frames = member.receiver.frames().count
      let first = try #require(visits.first { $0.target == member.path }).start
      let sent =
        programme.frames(before: member.edge) - (programme.frames.firstIndex { $0.offset >= first } ?? 0)
      let seconds = Double(frames - sent) * programme.frames[0].duration.seconds
      // A block of the station has this length.
      let block = 1_400 / Double(programme.frames[1_000].length) * programme.frames[0].duration.seconds
      #expect(seconds.magnitude <= 0.15 + 2 * block, "\(frames) frames of \(sent), \(member.receiver.events)")
    }
  }
}
