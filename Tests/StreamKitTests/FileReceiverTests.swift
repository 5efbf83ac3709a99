import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HTTP
@testable import Playback
@testable import Reception
@testable import StreamCore

@Suite("A file that is received", .waiting, .tags(.stream, .files))
struct FileReceiverTests {
  private static let files = [
    "mp3-cbr128-44k.mp3", "mp3-vbr-v4-44k.mp3", "mp3-without-tag.mp3", "mp3-mpeg2-64-22k.mp3",
    "aac-lc-44k.m4a",
    "aac-lc-noise-moov-at-end.m4a", "he-aac-v1-48k.m4a", "aac-lc-44k.aac", "base-24bit.wav",
    "music-44k.flac",
  ]

  private func answer(_ name: String) throws -> Answer {
    .file(try readBytes(Fixtures.path(name)), type: "application/octet-stream")
  }

  @Test("all kinds sound as from the disk, to the first and last sample", arguments: files)
  func whole(name: String) throws {
    let station = try Station()
    station.answer("/file", with: try answer(name))
    let (sound, reference) = (try FileHarness.sound(station), try Sound(file: Fixtures.path(name)))
    #expect(sound.format == reference.format)
    #expect(abs(sound.frameCount - reference.frameCount) <= 2, "\(sound.frameCount), \(reference.frameCount)")
    #expect(sound.errorToSignal(against: reference) < -80, "\(sound.errorToSignal(against: reference))")
  }

  @Test(
    "over drops not a sample is missing or doubled, with parts and without", arguments: files, [true, false])
  func drops(name: String, hasRanges: Bool) throws {
    let station = try Station()
    let whole = try answer(name)
    let file = hasRanges ? whole : whole.withoutRanges()
    // The first connections, which must give sound, are spent on finding `moov`.
    let isLate = name.contains("moov-at-end") || name.hasPrefix("he-aac")
    let first = isLate ? hasRanges ? [file, file] : [file] : []
    // Nor has FLAC with space for tags sound before that.
    let second = name.hasSuffix("flac") ? 50_999 : 10_999
    station.answer(
      "/file", with: first + [file.dropping(at: second - 1_998, by: .reset), file.dropping(at: second), file])
    let (sound, reference) = (try FileHarness.sound(station), try Sound(file: Fixtures.path(name)))
    #expect(abs(sound.frameCount - reference.frameCount) <= 2, "\(sound.frameCount), \(reference.frameCount)")
    #expect(sound.errorToSignal(against: reference) < -80)
    #expect(station.visits.count >= 2)
    let ranges = station.visits.compactMap { $0["Range"] }
    if hasRanges, name.hasSuffix("mp3") { #expect(ranges.first == "bytes=9001-") }
  }

  @Test("a small buffer loses nothing that is not heard")
  func smallBuffer() throws {
    let station = try Station()
    station.answer("/file", with: try answer("mp3-cbr128-44k.mp3"))
    let sound = try FileHarness.sound(station, blocks: 3)
    let reference = try Sound(file: Fixtures.path("mp3-cbr128-44k.mp3"))
    #expect(abs(sound.frameCount - reference.frameCount) <= 2)
    #expect(sound.errorToSignal(against: reference) < -80)
  }

  @Test(
    "after a seek it sounds as the file there, and file_time is the position",
    arguments: files.filter { $0 != "aac-lc-noise-moov-at-end.m4a" }, [0.2, 0.7, 0.0])
  func seeks(name: String, share: Double) throws {
    let station = try Station()
    station.answer("/file", with: try answer(name))
    let reference = try Sound(file: Fixtures.path(name))
    let start = Int(share * Double(reference.frameCount))
    let target = Double(start) / Double(reference.sampleRate)
    var sound: Sound?
    try FileHarness.run(station, wait: .milliseconds(100)) { harness in
      let stream = harness.stream
      try await stream.start()
      stream.pause()
      #expect(stream.canSeek)
      let duration = try #require(stream.fileDuration)
      // The average of ADTS so far is a guess.
      let slack = name.hasSuffix(".aac") ? 1.5 : 0.1
      #expect(abs(duration - Double(reference.frameCount) / Double(reference.sampleRate)) < slack)
      // Far away first, so that what follows is not in the buffer.
      try stream.seek(to: duration * 0.95)
      try stream.seek(to: target)
      #expect(abs((stream.fileTime ?? -1) - target) < 0.0001 && stream.status == .paused)
      sound = try await harness.rest(of: harness.attach())
    }
    let found = try #require(sound)
    let expected = reference.frameCount - start
    #expect(abs(found.frameCount - expected) <= 2, "\(found.frameCount) of \(expected)")
    let rest = reference[start..<reference.frameCount]
    // Band replication has a long memory.
    let limit = name.hasPrefix("he-aac") ? -25.0 : -50.0
    #expect(found.errorToSignal(against: rest) < limit, "\(found.errorToSignal(against: rest))")
  }

  @Test("it is held back: paused, not much more than the wait is sent; then it resumes")
  func throttles() throws {
    let station = try Station()
    station.answer("/file", with: .file(FileHarness.wave(seconds: 300), type: "audio/wav"))
    try FileHarness.run(station, wait: .seconds(2)) { harness in
      try await harness.stream.start()
      harness.stream.pause()
      try await harness.loop.sleep(for: .milliseconds(300))
      let buffered = harness.stream.figures.buffered
      #expect(buffered < 4.7)
      #expect(abs((harness.stream.fileDuration ?? 0) - 300) < 0.001)
      harness.stream.resumeIfPaused()
      try await harness.wait { harness.stream.position.seconds > buffered + 0.5 }
      #expect(!harness.reported.contains("queueExhausted"))
      #expect(harness.stream.figures.buffered < 4.7)
      #expect(station.visits.count == 1)
    }
  }

  @Test("played to its end it emits file_complete, then stopped, and plays again from its start")
  func completes() throws {
    let station = try Station()
    station.answer("/file", with: try answer("mp3-mpeg25-32-11k-mono.mp3"))
    try FileHarness.run(station) { harness in
      try await harness.stream.start()
      #expect(abs((harness.stream.fileDuration ?? 0) - 3) < 0.2)
      try harness.stream.seek(to: 2.5)
      try await harness.wait { harness.stream.status == .stopped }
      #expect(
        harness.reported.suffix(2) == ["fileComplete", "stopped"]
          && !harness.reported.contains("queueExhausted"))
      try await harness.stream.start()
      #expect(try #require(harness.stream.fileTime) < 2.4)
      #expect(station.visits.count >= 2)
    }
  }

  @Test("a file that has changed meanwhile fails with an error that names this", arguments: [true, false])
  func changed(hasTag: Bool) throws {
    let station = try Station()
    let (old, new) = (try answer("mp3-cbr128-44k.mp3"), try answer("mp3-vbr-v4-44k.mp3"))
    station.answer(
      "/file", with: (hasTag ? old.with("ETag", "\"1\"") : old).dropping(at: 20_000),
      hasTag ? old.with("ETag", "\"2\"") : new)
    try FileHarness.run(station, wait: .seconds(5)) { harness in
      try? await harness.stream.start()
      try await harness.wait { harness.stream.status == .stopped }
      #expect(harness.failure?.kind == .content && harness.failure?.message.contains("has changed") == true)
    }
    if hasTag { #expect(station.visits.last?["If-Range"] == "\"1\"") }
  }

  @Test("a length that is too large is a loss; the file ends where it ends")
  func wrongLength() throws {
    let station = try Station()
    let bytes = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
    station.answer("/file", with: try answer("mp3-without-tag.mp3").claiming(bytes.count + 5000))
    let (sound, reference) = (
      try FileHarness.sound(station), try Sound(file: Fixtures.path("mp3-without-tag.mp3"))
    )
    #expect(abs(sound.frameCount - reference.frameCount) <= 2)
    #expect(station.visits.last?["Range"] == "bytes=\(bytes.count)-")
  }

  @Test("a server without ranges can't seek, and the error names this; buffered positions can be reached")
  func withoutRanges() throws {
    let station = try Station()
    station.answer("/file", with: try answer("mp3-cbr128-44k.mp3").withoutRanges())
    try FileHarness.run(station, wait: .seconds(1)) { harness in
      try await harness.stream.start()
      harness.stream.pause()
      #expect(!harness.stream.canSeek && !harness.stream.canMove(by: 15) && harness.stream.canMove(by: 0.2))
      #expect(throws: StreamError.self) { try harness.stream.seek(to: 15) }
      try harness.stream.seek(to: 0.5)
      #expect(harness.stream.fileTime == 0.5 && station.visits.count == 1)
      let error = #expect(throws: StreamError.self) { try harness.stream.seek(to: 21) }
      #expect(error?.kind == .noSeek && error?.message.contains("20.") == true)
    }
  }

  @Test("a big tag in front does not falsify its length")
  func bigTag() throws {
    let station = try Station()
    let size = 200_000
    let tag = Array("ID3".utf8) + [4, 0, 0] + (0..<4).map { UInt8(size >> (7 * (3 - $0)) & 0x7F) }
    let bytes =
      try tag + [UInt8](repeating: 0x55, count: size) + readBytes(Fixtures.path("mp3-without-tag.mp3"))
    station.answer("/file", with: .file(bytes, type: "audio/mpeg"))
    try FileHarness.run(station) { harness in
      try await harness.stream.start()
      #expect(abs((harness.stream.fileDuration ?? 0) - 3.03) < 0.05)
      #expect(harness.stream.figures.byteOffset ?? 0 >= size)
    }
  }

  @Test(
    "a list leads to a file; a format without a parser is refused, a file set to be live plays as it comes")
  func kinds() throws {
    let station = try Station()
    station.answer("/file", with: .page("/song\n", type: "audio/x-mpegurl"))
    station.answer("/song", with: try answer("mp3-cbr128-44k.mp3"))
    station.answer(
      "/musepack", with: .file(Array("MPCKSH123456".utf8) + [UInt8](repeating: 7, count: 900), type: ""))
    try FileHarness.run(station) { harness in
      try await harness.stream.start()
      #expect(harness.stream.canSeek && harness.stream.fileTime != nil)
    }
    try FileHarness.run(station, path: "/musepack") { harness in
      try? await harness.stream.start()
      #expect(harness.failure?.kind == .unsupported && harness.failure?.hint != nil)
    }
    try FileHarness.run(station, path: "/song", isFile: false) { harness in
      try await harness.stream.start()
      #expect(harness.stream.fileTime == nil && harness.stream.fileDuration == nil && !harness.stream.canSeek)
    }
  }

  @Test("moved to its end it is complete, and no event follows stopped", arguments: [true, false])
  func seeksToEnd(isPaused: Bool) throws {
    let station = try Station()
    station.answer("/file", with: .file(FileHarness.wave(seconds: 60), type: "audio/wav"))
    try FileHarness.run(station) { harness in
      try await harness.stream.start()
      if isPaused { harness.stream.pause() }
      try harness.stream.seek(to: try #require(harness.stream.fileDuration))
      if isPaused { try await harness.stream.start() }
      try await harness.wait { harness.reported.contains("stopped") }
      #expect(harness.reported.suffix(2) == ["fileComplete", "stopped"])
    }
  }

  @Test("a file without a sample is refused: it has no sound")
  func empty() throws {
    let station = try Station()
    station.answer("/file", with: .file(FileHarness.wave(seconds: 0), type: "audio/wav"))
    try FileHarness.run(station) { harness in
      let stream = harness.stream
      let error = await #expect(throws: StreamError.self) { try await stream.start() }
      #expect(error?.code == "stream.content" && error?.message.contains("without any sound") == true)
    }
  }

  @Test(
    "a long pause closes its connection and keeps its place: not a sample is missing then",
    arguments: [true, false])
  func longPause(hasRanges: Bool) throws {
    let station = try Station()
    let file = Answer.file(FileHarness.wave(seconds: 120), type: "audio/wav")
    station.answer("/file", with: hasRanges ? file : file.withoutRanges())
    let reference = try FileHarness.sound(station)
    try FileHarness.run(station, pauseTimeout: .milliseconds(200)) { harness in
      try await harness.stream.start()
      let playback = try harness.attach()
      harness.stream.pause()
      try await harness.wait { station.openConnections == 0 }
      #expect(harness.stream.status == .paused)
      harness.stream.resumeIfPaused()
      #expect(harness.stream.status == .playing)
      let sound = try await harness.rest(of: playback)
      #expect(sound.channels == reference.channels, "\(sound.frameCount), \(reference.frameCount)")
      #expect(!harness.reported.contains("failed"))
    }
    #expect(station.visits.count == 3)
    #expect(station.visits.last?["Range"] != nil)
  }

  @Test("gone elsewhere while it is paused it fills before it plays on, and start waits for that")
  func resumesAfterSeek() throws {
    let station = try Station()
    let file = Answer.file(FileHarness.wave(seconds: 300), type: "audio/wav")
    station.answer("/file", with: file, file.withSlowHead(.milliseconds(3)))
    try FileHarness.run(station) { harness in
      try await harness.stream.start()
      harness.stream.pause()
      try harness.stream.seek(to: 200)
      try await harness.stream.start()
      #expect(harness.stream.status == .playing)
      #expect(harness.reported.suffix(3) == ["paused", "buffering", "started"])
    }
  }

  @Test("a server that sends the same part again and again is asked ever more seldom")
  func sameAgain() throws {
    let station = try Station()
    let file = Answer.file(FileHarness.wave(seconds: 10), type: "audio/wav").withoutRanges()
    station.answer("/file", with: file.dropping(at: 100_000))
    try FileHarness.run(station) { harness in
      try await harness.stream.start()
      try await harness.wait { station.visits.count > 2 }
      let before = station.visits.count
      try await harness.loop.sleep(for: .seconds(2))
      // At most every quarter of a second.
      #expect(station.visits.count - before <= 12)
    }
  }

  @Test("a file that can't be left for a network that is not there stops")
  func goesNowhere() throws {
    let loop = EventLoop()
    let path = Fixtures.path("base-24bit.wav")
    let stream = Playback.Stream(file: path, loop: loop)
    try loop.finish {
      try await stream.start()
      stream.setNext("http://127.0.0.1/live", options: .init())
      await #expect(throws: StreamError.self) { try await stream.start() }
      #expect(stream.status == .stopped)
    }
  }

  @Test("positions beyond the range of an integer are refused")
  func hugePositions() throws {
    #expect(ContentRange("bytes 9223372036854775806-9223372036854775807/*") == nil)
    #expect(ContentRange("bytes 0-9/9223372036854775807")?.size == nil)
    var headers = HTTPHeaders()
    headers.fields = [.init(name: "Content-Length", value: "9223372036854775807")]
    #expect(FileIdentity(HTTPResponse(status: 200, url: "", headers: headers)).size == nil)
  }

  @Test("a buffer smaller than what may come ahead has room when the oldest frame was heard, and loses none")
  func fullBuffer() throws {
    let buffer = StreamBuffer(blocks: 2, wait: .zero)
    let rooms = Lock(0)
    buffer.holdBack(above: StreamTime(seconds: 60), wanted: .zero) { rooms.withLock { $0 += 1 } }
    buffer.begin(at: .zero, preroll: 0, generation: 0)
    // As it is when a stream resumes after a pause.
    buffer.keepUnheard(false)
    let format = StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2)
    let frame = StreamFrame(offset: 0, length: 5000, hash: 0, format: format, samples: 1152)
    func append() -> StreamBuffer.Arrival {
      [UInt8](repeating: 1, count: 5000).withUnsafeBytes { buffer.append(frame, $0, nil, generation: 0) }
    }
    #expect(append().isAccepted && append().isAccepted)
    let arrival = append()
    #expect(!arrival.isAccepted && arrival.isHeldBack)
    buffer.pass(to: .zero)
    #expect(rooms.withLock { $0 } == 0)
    buffer.pass(to: StreamTime(samples: 1200, sampleRate: 44_100))
    #expect(rooms.withLock { $0 } == 1)
    #expect(append().isAccepted && buffer.range.start == frame.duration)
  }

  /// A WAV file of a rising saw, 16 bit, two channels.}
}
