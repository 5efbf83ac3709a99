import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import RecordingKit
@testable import StreamCore

@Suite("A recording of Ogg", .waiting, .tags(.stream, .ogg, .recording)) struct OggRecordingTests {
  /// Appends frames, as one batch.
  private func come(_ frames: some Sequence<(frame: StreamFrame, bytes: [UInt8])>, to harness: WriterHarness)
  {
    for (frame, bytes) in frames { bytes.withUnsafeBytes { harness.queue.append(frame, $0) } }
    harness.pass()
  }

  /// Returns the sound of a file, decoded by ffmpeg, which must not complain.
  private func decoded(_ path: String, like sound: Sound) throws -> Sound {
    let result = try Command.run("ffmpeg", ["-v", "error", "-i", path, "-f", "null", "-"])
    #expect(result.status == 0 && result.errors.isEmpty, "\(String(decoding: result.errors, as: UTF8.self))")
    return try Sound(ffmpeg: path, format: sound.format)
  }

  @Test("from the beginning it is the stream, page by page", arguments: OggProgramme.Kind.allCases)
  func whole(kind: OggProgramme.Kind) throws {
    let programme = try OggProgramme(kind, seconds: 6)
    let harness = try WriterHarness("a.{ext}")
    harness.queue.mark(StreamTitle("Artist - Title"))
    come(programme.frames, to: harness)
    harness.end()
    let end = kind == .vorbis ? "ogg" : kind == .opus ? "opus" : "oga"
    #expect(harness.files == ["a.\(end)"])
    let path = harness.folder.file("a.\(end)")
    let source = try harness.folder.write(programme.bytes, to: "source")
    let reference = try Sound(ffmpeg: source, format: .session)
    #expect(try decoded(path, like: reference) == reference)
    let walk = try RecordedFrames.walk(path)
    #expect(walk.isWhole && walk.samples == 6 * kind.sampleRate)
    #expect(walk.frames == programme.frames.count - 1)
    let titles = try Command.succeed(
      "ffprobe", ["-v", "error", "-show_entries", "format_tags:stream_tags", path])
    #expect(titles.text.contains("Title") && titles.text.contains("Recorded"))
  }

  @Test("from the midst it begins at 0, with all pages from there on", arguments: OggProgramme.Kind.allCases)
  func midst(kind: OggProgramme.Kind) throws {
    let programme = try OggProgramme(kind, seconds: 8)
    let frames = programme.frames
    let harness = try WriterHarness("a.ogg")
    harness.queue.mark(StreamTitle("T"))
    come([frames[0]] + frames[6...], to: harness)
    harness.end()
    let path = harness.folder.file("a.ogg")
    let source = try harness.folder.write(programme.bytes, to: "source")
    let reference = try Sound(ffmpeg: source, format: .init(sampleRate: kind.sampleRate, channels: 2))
    let sound = try decoded(path, like: reference)
    let left = reference.frameCount - sound.frameCount
    #expect(try RecordedFrames.walk(path).samples == sound.frameCount)
    // The first packet of Vorbis alone gives no sound; Opus needs 80 ms to be as it was.
    let expected = frames[1..<6].reduce(0) { $0 + $1.frame.samples }
    #expect((0...(kind == .vorbis ? 2_048 : 0)).contains(left - expected), "\(left) \(expected)")
    let start = kind == .opus ? 4_800 : 0
    let error = sound[start..<sound.frameCount].errorToSignal(
      against: reference[(left + start)..<reference.frameCount])
    #expect(error <= (kind == .opus ? -30 : -90), "\(error) dB")
  }

  @Test(
    "a gap in it costs the missing pages, and no decoder complains", arguments: OggProgramme.Kind.allCases)
  func gap(kind: OggProgramme.Kind) throws {
    let frames = try OggProgramme(kind, seconds: 8).frames
    let harness = try WriterHarness("a.ogg")
    harness.queue.mark(StreamTitle("T"))
    come(frames[..<5], to: harness)
    harness.queue.miss(1.5)
    come(frames[8...], to: harness)
    harness.end()
    let path = harness.folder.file("a.ogg")
    let walk = try RecordedFrames.walk(path)
    #expect(harness.files == ["a.ogg"] && walk.isWhole)
    let format = Sound(sampleRate: kind.sampleRate, channels: [[], []])
    #expect(try decoded(path, like: format).frameCount == walk.samples)
    #expect(harness.progress.figures.gaps.map(\.seconds) == [1.5])
  }

  @Test("pages that a station lost are a gap of the recording, and of the events") func lostPages() throws {
    let programme = try OggProgramme(.vorbis, seconds: 8)
    let frames = programme.frames
    var bytes = programme.bytes
    bytes.removeSubrange(frames[6].frame.offset..<frames[9].frame.offset)
    var live = Live(.init(repeating: bytes, bytesPerSecond: bytes.count / 8))
    live.stationHeaders = [("icy-name", "Lossy")]
    let station = try Station()
    station.answer("/live", with: .live(live, type: "application/ogg"))
    try RecordingHarness.run(station) { harness in
      harness.stream.onEvent { [unowned harness] in harness.report($0) }
      let recording = try await harness.record("a.{ext}")
      try await harness.wait { !recording.gaps.isEmpty }
      let gap = try #require(recording.gaps.first)
      let lost = frames[6..<9].reduce(0) { $0 + $1.frame.duration.seconds }
      #expect(abs(gap.seconds - lost) < 0.05 && gap.at > 2, "\(recording.gaps)")
      #expect(harness.reported.contains { $0.hasPrefix("reconnected") }, "\(harness.reported)")
      try await recording.stop()
    }
  }

  @Test(
    "each stream of a chain is a file; with split it has the name of its title", arguments: [true, false])
  func chain(splits: Bool) throws {
    let programme = try OggProgramme(.opus, seconds: 3, titles: ["A - One", "A - Two", "B - Three"])
    let harness = try WriterHarness(splits ? "{title}.{ext}" : "a.{ext}") {
      if splits { $0.split = .init() }
    }
    var number = 0
    for (frame, bytes) in programme.frames {
      if frame.isHeaders {
        harness.queue.mark(StreamTitle(["A - One", "A - Two", "B - Three"][number]))
        number += 1
      }
      come([(frame, bytes)], to: harness)
    }
    harness.end()
    let names =
      splits
      ? ["One (incomplete).opus", "Three (incomplete).opus", "Two.opus"]
      : ["a (2).opus", "a (3).opus", "a.opus"]
    #expect(harness.files.filter { $0.hasSuffix(".opus") } == names)
    for (index, stream) in programme.streams.enumerated() {
      let path = harness.folder.file(
        (splits ? [names[0], names[2], names[1]] : [names[2], names[0], names[1]])[index])
      #expect(try RecordedFrames.walk(path).samples == 144_000)
      let reference = try Sound(ffmpeg: harness.folder.write(stream, to: "source"), format: .session)
      #expect(try decoded(path, like: reference) == reference)
    }
  }

  @Test(
    "what was left behind is cut to its last whole page, and marked as ended",
    arguments: [100, 5_000, 20_000])
  func recovered(cut: Int) throws {
    let fixture = try LibraryFolder()
    let bytes = try OggProgramme(.vorbis, seconds: 8).bytes
    let part = Array(bytes.dropLast(cut))
    try fixture.left("show.ogg", row: 0..<0, part: part) {
      ($0.codec, $0.sampleRate, $0.channels) = ("vorbis", 44_100, 2)
    }
    #expect(try fixture.library.recover(now: fixture.now).map(\.outcome) == [.named])
    let path = fixture.path("show.ogg")
    #expect(try fixture.isGood("show.ogg"))
    let walk = try RecordedFrames.walk(path)
    #expect(walk.isWhole && walk.length > part.count - 20_000)
    #expect(
      try decoded(path, like: Sound(sampleRate: 44_100, channels: [[], []])).frameCount == walk.samples)
  }

  @Test("verify counts damage, and a file without a page is not good") func verify() throws {
    let folder = try TemporaryFolder()
    var bytes = try OggProgramme(.flac, seconds: 4).bytes
    let headers = OggProgramme.frames(of: bytes)[1].frame.offset
    #expect(try !RecordedFrames.walk(folder.write(Array(bytes[..<headers]), to: "headers")).isWhole)
    bytes[bytes.count / 2] ^= 1
    let walk = try RecordedFrames.walk(folder.write(bytes, to: "damaged"))
    #expect(walk.junkBytes > 0 && !walk.isWhole)
    #expect(try !RecordedSound.read(folder.file("headers"), codec: "ogg").isWhole)
  }

  @Test("sound of Ogg is recorded as WAV", arguments: OggProgramme.Kind.allCases)
  func wav(kind: OggProgramme.Kind) throws {
    let programme = try OggProgramme(kind, seconds: 4)
    let harness = try WriterHarness("a.wav") { $0.format = .wav }
    harness.queue.mark(StreamTitle("T"))
    come(programme.frames, to: harness)
    harness.end()
    let sound = try Sound(file: harness.folder.file("a.wav"))
    let reference = try Sound(
      ffmpeg: harness.folder.write(programme.bytes, to: "source"), format: sound.format)
    #expect(sound.frameCount == reference.frameCount)
    // 16 bits.
    #expect(sound.errorToSignal(against: reference) <= -60)
  }

  /// Returns the length of a file in PCM frames as another program decodes it.
  private func decodedLength(_ path: String, _ kind: OggProgramme.Kind) throws -> Int {
    try decoded(path, like: Sound(sampleRate: kind.sampleRate, channels: [[], []])).frameCount
  }

  /// Returns what the program of a codec prints of a file.
  private func words(_ kind: OggProgramme.Kind, _ path: String) throws -> String {
    let (program, arguments) =
      switch kind {
      case .vorbis: ("ogg123", ["-q", "-d", "null", path])
      case .opus: ("opusdec", ["--quiet", path, "/dev/null"])
      case .flac: ("flac", ["-s", "-t", path])
      }
    let result = try Command.run(program, arguments)
    return "\(result.status) " + String(decoding: result.output + result.errors, as: UTF8.self)
  }

  @Test(
    "ends within a page: to a sample in Vorbis and Opus, to a packet in FLAC, as its row and other programs say",
    arguments: OggProgramme.Kind.allCases, [0, 3])
  func length(kind: OggProgramme.Kind, first: Int) throws {
    let frames = try OggProgramme(kind, seconds: 6).frames
    // Within the first page, at its end, within a later one, and in the first and the last packet of one.
    for seconds in [0.2, 0.5, 2.3457, 2.5003, 3.0] {
      let harness = try WriterHarness("a.ogg") { $0.duration = Duration(inSeconds: seconds) }
      harness.queue.mark(StreamTitle("T"))
      come([frames[0]] + frames[(1 + first)...], to: harness)
      harness.pass()
      #expect(harness.reported.last == "finished a.ogg")
      let path = harness.folder.file("a.ogg")
      let walk = try RecordedFrames.walk(path)
      let wanted = StreamTime(seconds: seconds).samples(at: kind.sampleRate)
      #expect(kind == .flac ? (wanted..<wanted + 4_608).contains(walk.samples) : walk.samples == wanted)
      let decoded = try decodedLength(path, kind)
      #expect(decoded == walk.samples && walk.isWhole, "\(seconds) s")
      let probe = try Command.succeed(
        "ffprobe", ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path])
      let stated = try #require(Double(probe.text.trimmingEnds()))
      // It counts the padding at the beginning of Opus.
      let padding = kind == .opus && first == 0 ? 312.0 / 48_000 : 0
      #expect(abs(stated - padding - Double(walk.samples) / Double(kind.sampleRate)) < 1e-6, "\(stated)")
      #expect(try words(kind, path) == "0 ")
      #expect(abs(harness.progress.figures.seconds - Double(walk.samples) / Double(kind.sampleRate)) < 1e-9)
    }
  }

  @Test("in WAV it ends within a page, too", arguments: OggProgramme.Kind.allCases)
  func lengthOfWAV(kind: OggProgramme.Kind) throws {
    let frames = try OggProgramme(kind, seconds: 4).frames
    let harness = try WriterHarness("a.wav") {
      ($0.format, $0.duration) = (.wav, Duration(inSeconds: 2.3))
    }
    harness.queue.mark(StreamTitle("T"))
    come(frames, to: harness)
    harness.pass()
    let wanted = StreamTime(seconds: 2.3).samples(at: kind.sampleRate)
    #expect(try Sound(file: harness.folder.file("a.wav")).frameCount == wanted)
  }

  @Test("a page that begins behind its end, as sound is missing there, is left out") func gapAtEnd() throws {
    let frames = try OggProgramme(.opus, seconds: 6).frames
    let harness = try WriterHarness("a.opus") { $0.duration = .seconds(3) }
    harness.queue.mark(StreamTitle("T"))
    come(frames[..<3], to: harness)
    harness.queue.miss(2.5)
    come(frames[8...], to: harness)
    let path = harness.folder.file("a.opus")
    let before = frames[1..<3].reduce(0) { $0 + $1.frame.samples }
    #expect(try RecordedFrames.walk(path).samples == before)
    #expect(try words(.opus, path) == "0 ")
  }
}
