import EventLoop
import Glibc
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import RecordingKit
@testable import StreamCore

/// The network thread of a stream, on a machine where the loop falls behind it: each second request for it, which
/// comes from the metadata feed of a stream that has begun to receive, waits for a whole burst.
final class LateLoop {
  private let network: NetworkThread
  var isLate = false
  private var requests = 0

  init(_ network: NetworkThread) { self.network = network }

  func thread() -> NetworkThread {
    requests += 1
    if isLate, requests % 2 == 0 { usleep(300_000) }
    return network
  }
}

/// A test harness: a stream and its recorder, on a loop of their own, in real time. Used on the thread that
/// calls `run`.
final class RecordingHarness {
  let loop = EventLoop()
  let folder: TemporaryFolder
  let stream: Playback.Stream
  let recorder: Recorder
  let network: LateLoop
  private(set) var reported: [String] = []
  private final class Lines { var list: [String] = [] }
  private let lines = Lines()
  var log: [String] { lines.list }

  private init(_ url: String, _ network: NetworkThread, _ settings: RecorderSettings) throws {
    folder = try TemporaryFolder()
    var settings = settings
    settings.catalogue = folder.file("catalogue.sqlite")
    recorder = Recorder(loop: loop, settings: settings, log: { [lines] in lines.list.append($0) })
    var options = StreamOptions()
    options.bufferWait = .milliseconds(300)
    // The clock runs sixty times as fast: half a second stands for half a minute.
    options.clock = .faster(60)
    // On a busy machine no sound may come for longer than a third of a second.
    options.dataTimeout = .seconds(1_800)
    let late = LateLoop(network)
    self.network = late
    stream = Playback.Stream(
      at: try StreamAddress(url), options: options, loop: loop, network: { late.thread() })
  }

  /// Runs `body`; returns when all recordings are on disk.
  @discardableResult
  static func run(
    _ station: Station, at path: String = "/live", settings: RecorderSettings = .init(),
    _ body: @escaping (RecordingHarness) async throws -> Void
  ) throws -> RecordingHarness {
    let network = try NetworkThread()
    defer { network.close() }
    let harness = try RecordingHarness(station.url(path), network, settings)
    try harness.loop.finish(
      { try await body(harness) },
      last: {
        harness.stream.stop()
        harness.stream.endRecordings { $0.finish() }
        harness.recorder.close()
      })
    return harness
  }

  func path(_ name: String) -> String { folder.file(name) }

  /// Adds an event of the stream to those reported.
  func report(_ event: StreamEvent) {
    switch event {
    case .failed(let error): reported.append("failed \(error.code)")
    case .buffering: reported.append("buffering")
    case .started: reported.append("started")
    case .fileComplete: reported.append("file complete")
    case .reconnected(_, let stitched, _): reported.append("reconnected \(stitched)")
    case .metadata(let title, isRealtime: false): reported.append("heard \(title.text)")
    default: break
    }
  }

  func record(
    _ template: String, _ change: (inout RecordingOptions) -> Void = { _ in }
  ) async throws -> Recording {
    var options = RecordingOptions(template: folder.file(template))
    change(&options)
    return try await stream.record(options, by: recorder) { recording in
      recording.onEvent { [unowned self] event in
        switch event {
        case .track(let path, let title):
          reported.append("track \(path.split(separator: "/").last ?? "") \(title ?? "-")")
        case .continued: reported.append("continued")
        case .stopped(let error): reported.append("stopped \(error.code)")
        case .finished: reported.append("finished")
        }
      }
    }
  }

  /// Waits until a condition holds, a minute at most.
  func wait(until condition: () throws -> Bool) async throws {
    for _ in 0..<6_000 {
      if try condition() { return }
      try await loop.sleep(for: .milliseconds(10))
    }
    throw TestFailure("it did not come: \(reported), \(stream.status)")
  }

  func entries() async throws -> [RecordingEntry] { try await recorder.withLibrary { try $0.list(.init()) } }
}

@Suite("A recording", .waiting, .tags(.stream, .recording))
struct RecordingTests {
  private static func live(
    _ programme: FrameProgramme, titles: [Programme.Title] = [], pace: Live.Pace = .realTime(1)
  ) -> Live {
    var live = Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000, titles: titles))
    live.pace = pace
    if !titles.isEmpty { live.metaint = 4_000 }
    return live
  }

  /// Returns the frames of a file behind its tag.
  private static func sound(_ path: String) throws -> [UInt8] {
    let walk = try RecordedFrames.walk(path)
    #expect(walk.isWhole, "\(walk)")
    return Array(try readBytes(path)[walk.tagLength...])
  }

  @Test(
    "through three drops it is one file that is a slice of the programme",
    arguments: [FrameProgramme.Kind.mp3, .aac])
  func drops(kind: FrameProgramme.Kind) throws {
    let programme = try FrameProgramme(kind, seconds: 120, seed: 4)
    let station = try Station()
    let live = Self.live(programme)
    station.answer(
      "/live",
      with: [
        .live(live).dropping(at: 80_000, by: .reset, refusing: .milliseconds(30)),
        .live(live).dropping(at: 75_000, by: .finish), .live(live).dropping(at: 78_000, by: .reset),
        .live(live),
      ])
    let harness = try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("show.{ext}")
      #expect(harness.stream.status == .stopped && !harness.stream.isPlaying && harness.stream.isRecorded)
      try await harness.wait { station.visits.count >= 4 }
      try await harness.loop.sleep(for: .seconds(2))
      try await recording.stop()
      #expect(recording.state == .finished && recording.gaps.isEmpty && !harness.stream.isRecorded)
      let entries = try await harness.entries()
      #expect(entries.map(\.state) == [.finished] && entries.first?.bytes == recording.bytes)
    }
    let sound = try Self.sound(harness.path(kind == .aac ? "show.aac" : "show.mp3"))
    #expect(sound.count > 100_000 && Bytes.isSlice(sound, of: programme.bytes))
    #expect(harness.reported == ["finished"] && harness.log.isEmpty)
  }

  @Test("playing, pausing or stopping the stream does not affect it")
  func playing() throws {
    let programme = try FrameProgramme(.mp3, seconds: 120, seed: 5)
    let station = try Station()
    station.answer("/live", with: .live(Self.live(programme)))
    let harness = try RecordingHarness.run(station) { harness in
      harness.stream.options.bufferBlocks = 20
      let recording = try await harness.record("a.mp3")
      try await harness.stream.start()
      harness.stream.pause()
      // More bytes than the buffer holds.
      try await harness.wait { recording.bytes > 200_000 }
      #expect(harness.stream.status == .paused)
      harness.stream.stop()
      let bytes = recording.bytes
      try await harness.wait { recording.bytes > bytes + 20_000 }
      try await recording.stop()
      #expect(station.visits.count == 1)
    }
    #expect(Bytes.isSlice(try Self.sound(harness.path("a.mp3")), of: programme.bytes))
  }

  @Test(
    "it begins with the first frame of its connection, also when the loop is later than the sound",
    arguments: [false, true])
  func beginning(resets: Bool) throws {
    let programme = try FrameProgramme(.mp3, seconds: 120, seed: 8)
    let live = Self.live(programme)
    let station = try TestSupport.Station()
    station.answer("/live", with: .live(live))
    station.answer("/titles", with: .status("404 Not Found"))
    let harness = try RecordingHarness.run(station) { harness in
      harness.stream.feed = try Feed(
        StreamAddress(station.url("/titles")), reader: .live365, loop: harness.loop
      ) { _ in
      }
      harness.network.isLate = true
      if resets { try await harness.stream.start() }
      let recording = try await harness.record("d.mp3") { $0.resets = resets }
      try await recording.stop()
    }
    let sound = try Self.sound(harness.path("d.mp3"))
    let start = try #require(station.visits.last { $0.target == "/live" }).start
    #expect(sound.count > 60_000)
    #expect((start..<(start + 1_000)).contains { live.programme.bytes($0..<($0 + sound.count)) == sound })
  }

  @Test("it can begin back in the buffer")
  func back() throws {
    let programme = try FrameProgramme(.mp3, seconds: 120, seed: 6)
    let station = try Station()
    station.answer("/live", with: .live(Self.live(programme)))
    try RecordingHarness.run(station) { harness in
      try await harness.stream.start()
      try await harness.wait { (harness.stream.buffer?.range.end.seconds ?? 0) > 5 }
      let end = try #require(harness.stream.buffer?.range.end.seconds)
      let recording = try await harness.record("b.mp3") { $0.back = .seconds(4) }
      // What comes first is on the disk at once, and the rest of the four seconds follows.
      try await harness.wait { recording.seconds >= 4 }
      try await recording.stop()
      let sound = try Self.sound(harness.path("b.mp3"))
      #expect(Bytes.isSlice(sound, of: programme.bytes))
      let first = try #require(programme.bytes.firstRange(of: sound.prefix(2_000)))
      let visit = try #require(station.visits.last)
      let bytesPerSecond = Double(programme.bytes.count) / 120
      #expect(Double(first.lowerBound - visit.start) / bytesPerSecond <= end - 3.9)
    }
  }

  @Test("it ends by itself after its duration, on a frame border")
  func duration() throws {
    let programme = try FrameProgramme(.mp3, seconds: 120, seed: 7)
    let station = try Station()
    station.answer("/live", with: .live(Self.live(programme)))
    let harness = try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("c.mp3") {
        $0.duration = .seconds(5)
        $0.padAfter = .milliseconds(500)
      }
      try await harness.wait { recording.state == .finished }
      #expect(recording.seconds >= 5.5 && recording.seconds < 5.53)
    }
    #expect(Bytes.isSlice(try Self.sound(harness.path("c.mp3")), of: programme.bytes))
    #expect(harness.reported == ["finished"])
  }

  @Test("it fails with what the first connection fails with, and leaves no file")
  func fails() throws {
    let station = try Station()
    station.answer("/live", with: .status("404 Not Found"))
    let harness = try RecordingHarness.run(station) { harness in
      await #expect(throws: StreamError.self) { _ = try await harness.record("d.mp3") }
      #expect(!harness.stream.isRecorded && harness.stream.receiver == nil)
      let entries = try await harness.entries()
      #expect(entries.isEmpty)
    }
    #expect(!fileNames(in: harness.folder.path).contains { $0.hasPrefix("d") })
  }
}

@Suite("A recording that is split by titles", .waiting, .tags(.stream, .recording, .titles))
struct SplitTests {
  /// Returns a station with twenty seconds of a programme and a title every five: 80,000 bytes.
  private func station(_ programme: FrameProgramme) throws -> Station {
    let station = try Station()
    var live = Live(
      .init(
        repeating: programme.bytes, bytesPerSecond: 16_000,
        titles: [
          .init("The Artist - One", at: 0), .init("The Artist - Two", at: 240_000),
          .init("Three", at: 320_000),
        ]))
    live.pace = .realTime(4)
    live.metaint = 1_000
    station.answer("/live", with: .live(live))
    return station
  }

  private func record(_ split: RecordingOptions.Split) throws -> (FrameProgramme, [[UInt8]], RecordingHarness)
  {
    let programme = try FrameProgramme(.mp3, seconds: 120, seed: 11)
    let harness = try RecordingHarness.run(try station(programme)) { harness in
      let recording = try await harness.record("{n} {artist} - {title}.{ext}") { $0.split = split }
      try await harness.wait { recording.title?.text == "Three" }
      let bytes = recording.bytes
      try await harness.wait { recording.bytes > bytes + 60_000 }
      try await recording.stop()
    }
    let names = fileNames(in: harness.folder.path).filter { $0.hasSuffix(".mp3") }.sorted()
    #expect(
      names == ["1 The Artist - One (incomplete).mp3", "1 The Artist - Two.mp3", "1 Three (incomplete).mp3"])
    let sounds = try names.map { name -> [UInt8] in
      let walk = try RecordedFrames.walk(harness.path(name))
      #expect(walk.isWhole, "\(name): \(walk)")
      return Array(try readBytes(harness.path(name))[walk.tagLength...])
    }
    return (programme, sounds, harness)
  }

  @Test("the files are the programme, cut on frame borders")
  func cuts() throws {
    let (programme, sounds, harness) = try record(.init())
    let whole = sounds.flatMap(\.self)
    #expect(Bytes.isSlice(whole, of: programme.bytes))
    #expect(
      harness.reported.filter { $0.hasPrefix("track") }.count == 3 && harness.reported.last == "finished")
    #expect(fileNames(in: harness.folder.path).contains { $0.hasSuffix(".cue") })
  }

  @Test(
    "with an overlap each file has some of its neighbours, with an offset the cuts are moved",
    arguments: [-1.0, 0, 1.0])
  func overlaps(offset: Double) throws {
    let (_, plain, _) = try record(.init())
    var split = RecordingOptions.Split()
    split.overlap = .seconds(1)
    split.offset = .seconds(offset)
    let (programme, sounds, _) = try record(split)
    for sound in sounds { #expect(Bytes.isSlice(sound, of: programme.bytes)) }
    // An overlap of two seconds on both sides of each cut: 16,000 bytes a second.
    let twice = sounds.dropLast().enumerated().map { index, sound in Bytes.overlap(sound, sounds[index + 1]) }
    #expect(
      twice.allSatisfy { abs($0 - 32_000) < 1_300 }, "\(twice) \(sounds.map(\.count)) \(plain.map(\.count))")
    // The two recordings begin at different positions of the programme: a cut is some frames earlier in one
    // of them.
    let moved = sounds[1].count - plain[1].count - 32_000
    #expect(abs(moved) < 4_000, "\(moved)")
  }
}

/// Comparisons of byte sequences.
enum Bytes {
  static func isSlice(_ part: [UInt8], of whole: [UInt8]) -> Bool { offset(of: part, in: whole) != nil }

  static func offset(of part: [UInt8], in whole: [UInt8]) -> Int? {
    guard part.count <= whole.count, !part.isEmpty else { return nil }
    return part.withUnsafeBytes { part in
      whole.withUnsafeBytes { whole -> Int? in
        guard let base = whole.baseAddress, let wanted = part.baseAddress else { return nil }
        return (0...(whole.count - part.count)).first { memcmp(base + $0, wanted, part.count) == 0 }
      }
    }
  }

  /// Returns the length of the longest suffix of `first` that is a prefix of `second`.
  static func overlap(_ first: [UInt8], _ second: [UInt8]) -> Int {
    let head = Array(second.prefix(2_000))
    guard let offset = offset(of: head, in: first) else { return 0 }
    return Array(first[offset...]) == Array(second.prefix(first.count - offset)) ? first.count - offset : 0
  }
}
