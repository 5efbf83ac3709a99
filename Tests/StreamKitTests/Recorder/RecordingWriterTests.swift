import AudioCore
import Codecs
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit
@testable import StreamCore

@Suite("The writer of a recording", .waiting, .tags(.stream, .recording))
struct RecordingWriterTests {
  @Test("a recording that is shorter than the burst ends once, and reports what is on disk")
  func shorterThanBurst() throws {
    let harness = try WriterHarness("a.mp3") { $0.duration = .seconds(2) }
    harness.come(5)
    harness.pass()
    harness.come(1)
    harness.pass()
    #expect(harness.reported == ["began a.mp3", "finished a.mp3"])
    let walk = try RecordedFrames.walk(harness.folder.file("a.mp3"))
    #expect(harness.progress.figures.bytes == walk.audioBytes)
    #expect(harness.progress.figures.seconds >= 2 && harness.progress.figures.seconds < 2.03)
  }

  @Test(
    "of the padding before it there is what the buffer had, and it ends when it should",
    arguments: [0.0, 0.5, 3])
  func padding(had: Double) throws {
    let harness = try WriterHarness("a.mp3") { ($0.duration, $0.padBefore) = (.seconds(2), .seconds(1)) }
    harness.queue.awaitBeginning(StreamTime(seconds: had))
    harness.come(5)
    harness.queue.admitBeginning()
    harness.pass()
    harness.pass()
    #expect(abs(harness.progress.figures.seconds - 2 - min(had, 1)) < 0.03)
  }

  @Test("a title that comes a moment after the first sound is the name of the file")
  func lateTitle() throws {
    let harness = try WriterHarness("{title}.mp3")
    harness.come(1)
    harness.pass()
    harness.queue.mark(StreamTitle("Late"))
    harness.come(1)
    harness.pass()
    harness.end()
    #expect(harness.files == ["Late.mp3"])
  }

  @Test(
    "a name without a title waits for none: the first sound is written at once, and a late title is in the tag"
  )
  func noTitleInName() throws {
    let harness = try WriterHarness("show.mp3")
    harness.come(1)
    harness.pass()
    #expect(harness.files == ["show.mp3.part"])
    let length = try readBytes(harness.folder.file("show.mp3.part")).count
    #expect(length > 8_000 && harness.reported == ["began show.mp3"])
    harness.queue.mark(StreamTitle("Late - Song"))
    harness.come(1)
    harness.pass()
    harness.queue.mark(StreamTitle("Next - Song"))
    harness.come(1)
    harness.pass()
    let titles = harness.writer.entries.flatMap(\.titles)
    #expect(titles.map(\.text) == ["Late - Song", "Next - Song"] && titles[0].at == 0 && titles[1].at > 1.9)
    harness.end()
    let bytes = try readBytes(harness.folder.file("show.mp3"))
    let tag = bytes.prefix(AudioFraming.tagLength(bytes))
    #expect(String(decoding: tag, as: UTF8.self).contains("Late"))
    #expect(!String(decoding: tag, as: UTF8.self).contains("Next"))
  }

  @Test("sound that can't be decoded leaves no part behind")
  func notDecoded() throws {
    let harness = try WriterHarness("a.wav") { $0.format = .wav }
    let frame = StreamFrame(offset: 0, length: 4, hash: 0, format: StreamFormat(codec: .ogg))
    [UInt8](repeating: 0, count: 4).withUnsafeBytes { harness.queue.append(frame, $0) }
    harness.pass()
    harness.pass()
    #expect(harness.reported == ["stopped record.write"] && harness.files.isEmpty)
  }

  @Test("the bytes of decoded sound are those of its file") func decodedBytes() throws {
    let harness = try WriterHarness("a.wav") { $0.format = .wav }
    harness.come(3)
    harness.pass()
    harness.end()
    let sound = try Sound(file: harness.folder.file("a.wav"))
    #expect(sound.frameCount > 100_000)
    #expect(harness.progress.figures.bytes == sound.frameCount * sound.format.channels * 2)
  }

  @Test("files are counted, those that are cut off are marked, and those that are too short removed")
  func tracks() throws {
    let harness = try WriterHarness("{track} {title}.mp3") {
      $0.split = .init()
      $0.split?.minimumLength = .seconds(2)
    }
    for (title, seconds) in [("One", 3.0), ("Two", 3), ("Jingle", 1.5), ("Three", 3)] {
      harness.queue.mark(StreamTitle(title))
      harness.come(seconds)
      harness.pass()
    }
    harness.end()
    let names = ["01 One (incomplete).mp3", "02 Two.mp3", "04 Three (incomplete).mp3"]
    #expect(harness.files == [names[0], "01 One.cue", names[1], names[2]])
    #expect(harness.reported.last == "finished " + names[2])
    #expect(harness.closed == ["03 Jingle.mp3 -", "04 Three.mp3 " + names[2]])
  }

  @Test("a part that is too short stays when nothing else was recorded") func shortTrack() throws {
    let harness = try WriterHarness("{title}.mp3") {
      $0.split = .init()
      $0.split?.minimumLength = .seconds(60)
    }
    harness.queue.mark(StreamTitle("One"))
    harness.come(2)
    harness.pass()
    harness.end()
    #expect(harness.files == ["One (incomplete).mp3", "One.cue"])
  }

  @Test("another address within one title is no other song") func addressOfTitle() throws {
    let harness = try WriterHarness("{title}.mp3") { $0.split = .init() }
    for (title, count) in [("One", 4), ("Two", 3)] {
      for number in 1...count {
        harness.queue.mark(StreamTitle(ICYMetadata(title: title, url: "http://radio/\(number)")))
        harness.come(2)
        harness.pass()
      }
    }
    harness.end()
    #expect(
      harness.files.filter { $0.hasSuffix(".mp3") } == ["One (incomplete).mp3", "Two (incomplete).mp3"])
    #expect(harness.reported.filter { $0.hasPrefix("track") } == ["track One", "track Two"])
  }

  @Test(
    "decoded sound of another format continues in a next file, whenever it ends", arguments: [true, false])
  func decodedFormats(endsAtOnce: Bool) throws {
    let harness = try WriterHarness("a.wav") { $0.format = .wav }
    let low = harness.folder.file("low.aac")
    try Command.succeed(
      "ffmpeg",
      [
        "-v", "error", "-i", Fixtures.path("music-44k.flac"), "-t", "2", "-ar", "24000", "-ac", "2", "-c:a",
        "aac", "-f", "adts", low,
      ])
    let stream = try readBytes(low) + readBytes(Fixtures.path("he-aac-v1-48k.aac"))
    unlink(low)
    for frame in StreamFramer.frames(of: stream) {
      stream[frame.offset..<frame.offset + frame.length].withUnsafeBytes { harness.queue.append(frame, $0) }
      if !endsAtOnce { harness.pass() }
    }
    harness.end()
    #expect(harness.reported == ["began a.wav", "track -", "finished a (2).wav"])
    #expect(harness.files == ["a (2).wav", "a.wav"])
    let (first, second) = (
      try Sound(file: harness.folder.file("a.wav")), try Sound(file: harness.folder.file("a (2).wav"))
    )
    #expect(first.sampleRate == 24_000 && second.sampleRate == 48_000)
    #expect(first.frameCount > 24_000 && second.frameCount > 96_000)
  }

  @Test(
    "a removed file is not written to any more, whatever it holds",
    arguments: RecordingOptions.Format.allCases)
  func removed(format: RecordingOptions.Format) throws {
    let harness = try WriterHarness("a") { $0.format = format }
    harness.queue.mark(StreamTitle("Title"))
    harness.come(1)
    harness.pass()
    #expect(harness.files == ["a.part"])
    unlink(harness.folder.file("a.part"))
    harness.come(1)
    harness.pass()
    #expect(harness.reported == ["began a", "stopped record.write"])
  }

  @Test("a title that is repeated with no sound between leaves no file, and reports none")
  func titlesAtOnce() throws {
    let harness = try WriterHarness("{title}.mp3") { $0.split = .init() }
    harness.queue.mark(StreamTitle("One"))
    harness.come(1)
    harness.pass()
    harness.queue.mark(StreamTitle("Two"))
    harness.queue.mark(StreamTitle("Three"))
    harness.come(1)
    harness.pass()
    harness.end()
    #expect(
      harness.files.filter { $0.hasSuffix(".mp3") } == ["One (incomplete).mp3", "Three (incomplete).mp3"])
    #expect(harness.reported.filter { $0.hasPrefix("track") } == ["track One", "track Three"])
  }

  @Test("sound missing before it began is no gap of its own, and does not make it shorter")
  func gapBefore() throws {
    let harness = try WriterHarness("a.mp3") { $0.duration = .seconds(5) }
    harness.queue.miss(3_600)
    harness.queue.mark(StreamTitle("Title"))
    harness.come(4)
    harness.pass()
    #expect(harness.reported == ["began a.mp3"])
    harness.come(3)
    harness.pass()
    #expect(harness.reported == ["began a.mp3", "finished a.mp3"])
    #expect(harness.progress.figures.gaps.isEmpty && abs(harness.progress.figures.seconds - 5) < 0.03)
  }

  @Test("a station that does not come back leaves a gap up to the end that was planned")
  func missingEnd() throws {
    let harness = try WriterHarness("a.mp3") { $0.duration = .seconds(10) }
    harness.queue.mark(StreamTitle("Title"))
    harness.come(4)
    for _ in 0..<20 { harness.pass() }
    #expect(harness.reported == ["began a.mp3"])
    for _ in 0..<8 { harness.pass() }
    #expect(harness.reported == ["began a.mp3", "finished a.mp3"])
    let gap = try #require(harness.progress.figures.gaps.first)
    #expect(abs(gap.at - 4) < 0.03 && abs(gap.seconds - 6) < 0.03 && harness.progress.figures.gaps.count == 1)
  }

  @Test("a station that sends a title with every frame makes one file a second")
  func titlesWithEveryFrame() throws {
    let harness = try WriterHarness("{n} {title}.mp3") { $0.split = .init() }
    for number in 0..<400 {
      harness.queue.mark(StreamTitle("\(number)"))
      harness.come(0.02)
      if number % 10 == 0 { harness.pass() }
    }
    harness.end()
    let seconds = harness.progress.figures.seconds
    let count = harness.files.filter { $0.hasSuffix(".mp3") }.count
    #expect(seconds > 8 && count >= 8 && Double(count) <= seconds + 2, "\(count) files, \(seconds) s")
    // The files have no gaps between them.
    let whole = try harness.files.filter { $0.hasSuffix(".mp3") }
      .map { try RecordedFrames.walk(harness.folder.file($0)).audioBytes }
    #expect(whole.reduce(0, +) == harness.progress.figures.bytes)
  }

  @Test("a split recording that fails leaves the cue sheet of what is there")
  func cueSheetOfFailure() throws {
    let harness = try WriterHarness("{title}.mp3") { $0.split = .init() }
    harness.queue.mark(StreamTitle("One"))
    harness.come(2)
    harness.pass()
    harness.queue.mark(StreamTitle("Two"))
    harness.come(2)
    harness.pass()
    unlink(harness.folder.file("Two.mp3.part"))
    harness.come(2)
    harness.pass()
    #expect(harness.reported.last == "stopped record.write")
    #expect(harness.files == ["One (incomplete).mp3", "One.cue"])
  }

  @Test("the part from before the disk was too slow is kept")
  func tooSlow() throws {
    let harness = try WriterHarness("a.mp3")
    harness.queue.mark(StreamTitle("Title"))
    harness.come(1)
    harness.pass()
    // The length alone counts.
    for _ in 0..<12 { harness.come(2); harness.pass() }
    harness.come(2)
    let huge = [UInt8](repeating: 0, count: RecordingQueue.byteLimit)
    let frame = StreamFrame(
      offset: 0, length: huge.count, hash: 0, format: harness.programme.frames[0].format)
    huge.withUnsafeBytes { harness.queue.append(frame, $0) }
    harness.pass()
    #expect(harness.reported.last == "stopped record.write")
    let walk = try RecordedFrames.walk(harness.folder.file("a.mp3"))
    #expect(
      walk.isWhole && Double(walk.samples) / Double(harness.programme.frames[0].format.sampleRate) >= 27)
  }

  @Test("a file that got longer in the moment in which it was looked at loses nothing")
  func appendRace() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.mp3")
    let programme = try FrameProgramme(.mp3, seconds: 10, seed: 9)
    let borders = [programme.frames[50].offset, programme.frames[90].offset]
    _ = try folder.write(Array(programme.bytes[..<borders[0]]), to: "a.mp3")
    var settings = RecorderSettings()
    // The log line about the missing catalogue comes between the check and the part: another process finishes
    // in that moment.
    settings.catalogue = "/proc/nowhere/catalogue.sqlite"
    let harness = try WriterHarness(
      "a.mp3", { $0.appends = true }, settings: settings, in: folder,
      log: { _ in _ = try? folder.write(Array(programme.bytes[..<borders[1]]), to: "a.mp3") })
    harness.queue.mark(StreamTitle("Title"))
    harness.come(2)
    harness.pass()
    harness.end()
    let bytes = try readBytes(path)
    let isKept = bytes.starts(with: programme.bytes[..<borders[1]])
    #expect(isKept)
    #expect(bytes.count == borders[1] + harness.progress.figures.bytes && harness.files == ["a.mp3"])
  }

  @Test(
    "a file that was changed while it was continued keeps all; one that got shorter is left alone",
    arguments: [true, false])
  func changedMeanwhile(isLonger: Bool) throws {
    let folder = try TemporaryFolder()
    let programme = try FrameProgramme(.mp3, seconds: 10, seed: 9)
    let before = Array(programme.bytes[..<programme.frames[50].offset])
    _ = try folder.write(before, to: "a.mp3")
    // Long ago: nothing that a station sends now is in it.
    try Command.succeed("touch", ["-d", "@0", folder.file("a.mp3")])
    let harness = try WriterHarness("a.mp3", { $0.appends = true }, in: folder)
    harness.queue.mark(StreamTitle("Title"))
    harness.come(2)
    harness.pass()
    let tag = try RecordingTag(title: "Cover", start: LocalTime(WallTime(seconds: 0))).make()
    let changed = isLonger ? tag + before : Array(before[..<programme.frames[20].offset])
    _ = try folder.write(changed, to: "a.mp3")
    harness.end()
    let bytes = try readBytes(folder.file("a.mp3"))
    if isLonger {
      #expect(bytes.starts(with: changed) && bytes.count == changed.count + harness.progress.figures.bytes)
      #expect(harness.reported.last == "finished a.mp3" && harness.files == ["a.mp3"])
    } else {
      #expect(bytes == changed)
      #expect(harness.reported.last == "stopped record.write" && harness.files == ["a.mp3", "a.mp3.part"])
    }
  }

  @Test("a station that sends titles without end fills no memory")
  func titlesWithoutEnd() throws {
    let harness = try WriterHarness("a.mp3")
    for number in 0..<30_000 {
      harness.queue.mark(StreamTitle("\(number)" + String(repeating: "x", count: 4_000)))
      if number % 1_000 == 0 {
        harness.come(0.02)
        harness.pass()
      }
    }
    let titles = harness.writer.entries.flatMap(\.titles)
    #expect(titles.count > 100 && titles.reduce(0) { $0 + $1.text.utf8.count } < 3 << 20)
    harness.end()
  }
}
