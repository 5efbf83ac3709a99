import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit
@testable import StreamCore

/// Recordings that go on in the file of an earlier process: a station with a burst of four seconds, and processes that
/// are killed with what they have not written.
@Suite("A recording that continues a file", .waiting, .tags(.stream, .recording, .recovery))
struct ContinuedRecordingTests {
  private static let burst = 4.0

  /// The lives of processes that record one station into one file.
  private final class Lives {
    let folder: TemporaryFolder
    let programme: FrameProgramme
    let settings: RecorderSettings
    let change: (inout RecordingOptions) -> Void
    let log = Lock<[String]>([])
    private(set) var reported: [String] = []
    /// The time of the station, in seconds of its programme.
    private(set) var now = 10.0

    init(
      _ kind: FrameProgramme.Kind = .mp3, silence: [Range<Double>] = [],
      _ change: @escaping (inout RecordingOptions) -> Void = { ($0.appends, $0.continues) = (true, true) }
    ) throws {
      folder = try TemporaryFolder()
      programme = try FrameProgramme(kind, seconds: 120, silence: silence, seed: 11)
      var settings = RecorderSettings()
      settings.catalogue = folder.file("catalogue.db")
      (self.settings, self.change) = (settings, change)
    }

    var path: String { folder.file("show.mp3") }

    /// The number of the first frame that ends behind `time`.
    private func frame(at time: Double) -> Int { programme.ends.firstIndex { $0 > time } ?? 0 }

    /// Records for so many half seconds behind the burst, then is killed, or stops.
    /// - Parameter outage: the seconds before it.
    func live(_ count: Int, after outage: Double = 0, stops: Bool = false) throws {
      now += outage
      let harness = try WriterHarness(
        "show.mp3", change, settings: settings, in: folder, of: programme, from: 1_000_000 + now
      ) { [log] line in log.withLock { $0.append(line) } }
      harness.frame = frame(at: now - ContinuedRecordingTests.burst)
      func come() { while harness.frame < frame(at: now) { harness.come(0.001) } }
      come()
      harness.writer.tick(at: .start, WallTime(inSeconds: 1_000_000 + now))
      for _ in 0..<count {
        now += 0.5
        come()
        harness.pass()
        harness.keepRows()
      }
      if stops {
        harness.end()
      } else {
        // It has come, and is not written.
        now += 0.3
        come()
      }
      reported += harness.reported
    }

    /// The numbers in the programme of the frames in the file.
    func numbers() throws -> [Int] {
      let bytes = try readBytes(path)
      let numbers = Dictionary(
        programme.frames.enumerated().map { ($1.hash, $0) }, uniquingKeysWith: { first, _ in first })
      let start = bytes.starts(with: "ID3".utf8) ? 10 + bytes[6..<10].reduce(0) { $0 << 7 | Int($1) } : 0
      var last: Int?
      return try StreamFramer.frames(of: Array(bytes[start...])).map { frame in
        let next = last.map { $0 + 1 } ?? 0
        // Some frames are there several times.
        let isNext =
          last != nil && next < programme.frames.count && programme.frames[next].hash == frame.hash
        let number =
          isNext ? next : try #require(numbers[frame.hash], "a frame that the station has not sent")
        last = number
        return number
      }
    }

    func entry() throws -> RecordingEntry {
      try #require(try Catalogue(path: settings.catalogue ?? "").entry(path: path))
    }
  }

  @Test(
    "after seven kills has each frame once, none twice and none missing",
    arguments: FrameProgramme.Kind.promised)
  func kills(kind: FrameProgramme.Kind) throws {
    let lives = try Lives(kind)
    var random = SeededRandom(seed: 2)
    for round in 0...7 {
      try lives.live(
        Int.random(in: 1...8, using: &random), after: Double.random(in: 0.1...2.5, using: &random),
        stops: round == 7)
    }
    let numbers = try lives.numbers()
    #expect(numbers == Array(numbers[0]..<(numbers[0] + numbers.count)))
    #expect(lives.programme.ends[numbers.last ?? 0] > lives.now - 0.1)
    let entry = try lives.entry()
    #expect(entry.gaps.isEmpty && entry.state == .finished)
    #expect(lives.reported.count { $0.hasPrefix("continued exactly") } == 7, "\(lives.reported)")
    #expect(lives.log.withLock { !$0.contains { $0.contains("gap") } })
  }

  @Test(
    "of an outage that is longer than the burst the gap is told, in the catalogue, as an event and in the log"
  )
  func gap() throws {
    let lives = try Lives()
    try lives.live(6)
    try lives.live(12, after: 9.5)
    try lives.live(6, after: 1, stops: true)
    let numbers = try lives.numbers()
    let seams = zip(numbers, numbers.dropFirst()).filter { $0 + 1 != $1 }
    let (last, first) = try #require(seams.first)
    #expect(seams.count == 1 && last < first, "\(seams)")
    let missing = lives.programme.ends[first - 1] - lives.programme.ends[last]
    let entry = try lives.entry()
    let told = try #require(entry.gaps.first)
    // Sound of half a second is not on the disk when the process is killed.
    #expect((told.seconds - missing).magnitude < 0.1, "told \(told.seconds) of \(missing)")
    #expect(entry.gaps.count == 1)
    #expect((told.at - Double(numbers.firstIndex(of: first) ?? 0) * 1152 / 44_100).magnitude < 0.01)
    #expect(lives.reported.contains("continued behind \(Int((told.seconds * 10).rounded())) tenths"))
    #expect(lives.log.withLock { $0.contains { $0.contains("show.mp3 is continued after a gap of ") } })
  }

  @Test("an outage of an hour is a gap at once, measured to the end of the file")
  func longOutage() throws {
    let lives = try Lives()
    try lives.live(6)
    // No sound of before can be in what a server sends: nothing is searched for.
    let harness = try WriterHarness(
      "show.mp3", lives.change, settings: lives.settings, in: lives.folder, of: lives.programme,
      from: 1_003_600 + lives.now)
    harness.frame = 3_000
    harness.come(Self.burst)
    // It may wait half a second for a title.
    for _ in 0..<3 { harness.pass() }
    #expect(harness.reported.first == "began show.mp3")
    harness.end()
    let gaps = try lives.entry().gaps.map(\.seconds)
    #expect(gaps.count == 1 && ((gaps.first ?? 0) - (3_600 + 0.3 - Self.burst)).magnitude < 1.7, "\(gaps)")
  }

  @Test("silence at the end of the file is joined by the time", arguments: [0.2, 1.5, 3])
  func silence(outage: Double) throws {
    let lives = try Lives(silence: [0..<120])
    try lives.live(6)
    try lives.live(12, after: outage, stops: true)
    let seconds = try lives.entry().seconds
    #expect((seconds - (lives.now - 10 + Self.burst)).magnitude < 0.3, "\(seconds) at \(lives.now)")
  }

  @Test("what is appended to a recording that was stopped has no frame twice, and no gap")
  func append() throws {
    let lives = try Lives { $0.appends = true }
    try lives.live(6, stops: true)
    try lives.live(4, after: 1, stops: true)
    try lives.live(12, after: 30, stops: true)
    let numbers = try lives.numbers()
    let seams = zip(numbers, numbers.dropFirst()).filter { $0 + 1 != $1 }
    #expect(seams.count == 1 && seams.allSatisfy { $0 < $1 }, "\(seams)")
    #expect(try lives.entry().gaps.isEmpty)
  }

  @Test("a process that ends before anything new has come leaves the file as it is, and has not failed")
  func nothingNew() throws {
    let lives = try Lives()
    try lives.live(6, stops: true)
    let before = try readBytes(lives.path)
    let harness = try WriterHarness(
      "show.mp3", lives.change, settings: lives.settings, in: lives.folder, of: lives.programme,
      from: 1_000_000 + lives.now)
    harness.frame = try #require(try lives.numbers().first) + 20
    harness.come(2)
    harness.pass()
    harness.end()
    #expect(harness.reported.first == "began show.mp3" && harness.reported.last == "finished -")
    #expect(
      try readBytes(lives.path) == before
        && fileNames(in: lives.folder.path).count { $0.hasPrefix("show") } == 1)
  }

  @Test("a title that the station says again to the new listener is in the catalogue once")
  func titles() throws {
    let lives = try Lives()
    for (count, titles) in [(1, ["One"]), (2, ["One", "Two"])] {
      let harness = try WriterHarness(
        "show.mp3", lives.change, settings: lives.settings, in: lives.folder, of: lives.programme,
        from: 1_000_000 + Double(count))
      harness.frame = 100 * count
      for title in titles {
        harness.queue.mark(StreamTitle(title))
        harness.come(4)
        harness.pass()
      }
      harness.end()
    }
    #expect(try lives.entry().titles.map(\.text) == ["One", "Two"])
  }

  @Test(
    "pages of Ogg, which are numbered anew in files, are joined too",
    // Pages of FLAC have 25 kB here: 256 KiB are compared.
    arguments: zip(["vorbis", "opus", "flac"], [15, 15, 8]))
  func ogg(codec: String, overlap: Int) throws {
    let folder = try TemporaryFolder()
    let source = folder.file("source.ogg")
    try Command.succeed(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "anoisesrc=color=pink:seed=7:r=48000", "-t", "20", "-c:a",
        codec == "vorbis" ? "libvorbis" : codec == "opus" ? "libopus" : "flac", "-page_duration", "100000",
        "-f", "ogg",
        source,
      ])
    var framer = StreamFramer()
    var frames: [(frame: StreamFrame, bytes: [UInt8])] = []
    try readBytes(source).withUnsafeBytes { framer.feed($0) }
    framer.end()
    while let item = framer.next() {
      guard case .frame(let frame) = item else { continue }
      frames.append((frame, framer.withBytes(of: frame) { [UInt8]($0) } ?? []))
    }
    try #require(frames[0].frame.isHeaders && frames.count > 60)
    var settings = RecorderSettings()
    settings.catalogue = folder.file("catalogue.db")
    // The second listener gets the headers, and pages of before.
    for (start, range) in [(1_000_000.0, 1..<40), (1_000_004, (40 - overlap)..<60)] {
      let harness = try WriterHarness(
        "show.{ext}", { ($0.appends, $0.continues) = (true, true) }, settings: settings, in: folder,
        from: start)
      for (frame, bytes) in [frames[0]] + frames[range] {
        bytes.withUnsafeBytes { harness.queue.append(frame, $0) }
      }
      harness.pass()
      harness.end()
      if start > 1_000_000 {
        #expect(harness.reported.contains("continued exactly, \(overlap) again"), "\(harness.reported)")
      }
    }
    let name = try #require(fileNames(in: folder.path).first { $0.hasPrefix("show") })
    let walk = try RecordedFrames.walk(folder.file(name))
    // A decoder gives less of the first packet of a stream.
    let sent = frames[1..<60].reduce(0.0) { $0 + $1.frame.duration.seconds }
    #expect((walk.seconds - sent).magnitude < 0.06, "\(walk.seconds) of \(sent)")
  }
}
