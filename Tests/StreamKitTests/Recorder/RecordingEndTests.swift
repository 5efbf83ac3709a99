import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import RecordingKit
@testable import StreamCore

/// The reports of a recording at its end, and its files.
@Suite("The end of a recording", .waiting, .tags(.stream, .recording))
struct RecordingEndTests {
  @Test(
    "an outage that lasts until it is stopped is a gap, as long as the outage", arguments: [nil, 3_600])
  func outageAtTheEnd(planned: Int?) throws {
    let harness = try WriterHarness("a.mp3") { $0.duration = planned.map { .seconds($0) } }
    harness.queue.mark(StreamTitle("Title"))
    // A burst, then sound at the pace of playback.
    harness.come(4)
    for _ in 0..<8 {
      harness.pass()
      harness.come(0.5)
    }
    for _ in 0..<10 { harness.pass() }
    harness.end()
    #expect(harness.reported == ["began a.mp3", "finished a.mp3"])
    let gap = try #require(harness.progress.figures.gaps.first)
    // The gap is four and a half seconds, of which half a second may have been on its way.
    #expect((3.6...4.6).contains(gap.seconds) && harness.progress.figures.gaps.count == 1, "\(gap)")
  }

  @Test(
    "sound of another kind just before the end begins no file, and is missing; earlier it begins one",
    arguments: [(9.9, 0.1, 1), (9.5, 0.5, 1), (8.5, 0, 2)])
  func changeAtTheEnd(seconds: Double, missing: Double, files: Int) throws {
    let harness = try WriterHarness("a.{ext}") { $0.duration = .seconds(10) }
    harness.queue.mark(StreamTitle("Title"))
    harness.come(seconds)
    let other = try FrameProgramme(.aac, seconds: 3, seed: 5)
    for frame in other.frames {
      other.bytes[frame.offset..<(frame.offset + frame.length)].withUnsafeBytes {
        harness.queue.append(frame, $0)
      }
    }
    harness.pass()
    #expect(harness.writer.hasEnded && harness.files.count == files, "\(harness.files)")
    let gaps = harness.progress.figures.gaps.map(\.seconds)
    #expect(gaps.count == (missing > 0 ? 1 : 0) && abs((gaps.first ?? 0) - missing) < 0.03, "\(gaps)")
    #expect(abs(harness.progress.figures.seconds + (gaps.first ?? 0) - 10) < 0.03)
  }

  @Test("a stream in large pieces has no gap at its end, nor has one that was complete")
  func largePieces() throws {
    let harness = try WriterHarness("a.mp3")
    harness.queue.mark(StreamTitle("Title"))
    for _ in 0..<5 {
      harness.come(5)
      for _ in 0..<10 { harness.pass() }
    }
    harness.end()
    #expect(harness.reported.last == "finished a.mp3" && harness.progress.figures.gaps.isEmpty)
    let short = try WriterHarness("a.mp3") { $0.duration = .seconds(5) }
    short.queue.mark(StreamTitle("Title"))
    short.come(4)
    for _ in 0..<10 { short.pass() }
    short.end()
    #expect(short.progress.figures.gaps.isEmpty)
  }

  @Test("sound without a length has a gap at its end when nothing came for long", arguments: [4, 20])
  func withoutFrames(silence: Int) throws {
    let harness = try WriterHarness("a.ogg")
    let piece = StreamFrame(offset: 0, length: 4, hash: 0, format: StreamFormat(codec: .ogg))
    for _ in 0..<10 {
      [UInt8](repeating: 0, count: 4).withUnsafeBytes { harness.queue.append(piece, $0) }
      harness.pass()
    }
    for _ in 0..<(2 * silence) { harness.pass() }
    harness.end()
    #expect(harness.progress.figures.gaps.map(\.seconds) == (silence > 6 ? [Double(silence)] : []))
  }

  @Test("a reserve that was used up a while ago counts again")
  func reserve() {
    var reserve = SoundReserve()
    func at(_ second: Double) -> Instant { .start.advanced(by: .milliseconds(Int(second * 1_000))) }
    reserve.came(at: at(0), before: .zero)
    // A gap of ten seconds, and then all sound at once.
    reserve.came(at: at(10), before: StreamTime(seconds: 1))
    for second in 11...200 {
      reserve.came(at: at(Double(second)), before: StreamTime(seconds: Double(second)))
    }
    let sound = StreamTime(seconds: 201)
    #expect(reserve.missing(at: at(207), behind: sound, of: nil) == StreamTime(seconds: 6))
    #expect(
      reserve.missing(at: at(207), behind: sound, of: StreamTime(seconds: 204)) == StreamTime(seconds: 3))
    #expect(reserve.missing(at: at(202), behind: sound, of: nil) == nil)
  }

  @Test("a stream that is lost ends it as failed, and the written part is kept")
  func streamFails() throws {
    let station = try Station()
    var live = Live(.init(repeating: try FrameProgramme(.mp3, seconds: 60, seed: 4).bytes))
    live.pace = .realTime(1)
    station.answer("/live", with: .live(live))
    let harness = try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("a.mp3")
      harness.stream.endRecordings { $0.fail(StreamError.ended(harness.stream.url)) }
      try await harness.wait { recording.state == .failed }
      await #expect(throws: StreamError.self) { try await recording.stop() }
      #expect(harness.reported == ["stopped stream.network"])
    }
    #expect(try RecordedFrames.walk(harness.path("a.mp3")).isWhole)
  }

  // MARK: Formats that change

  private func come(_ count: Int, rate: Int, to harness: WriterHarness) {
    let format = StreamFormat(codec: .mp3, sampleRate: rate, channels: 2)
    for frame in harness.programme.frames.prefix(count) {
      let changed = StreamFrame(
        offset: frame.offset, length: frame.length, hash: frame.hash, format: format, samples: 1_152)
      let bytes = Array(harness.programme.bytes[frame.range])
      bytes.withUnsafeBytes { harness.queue.append(changed, $0) }
    }
  }

  @Test("a station that changes its format all the time ends it, one that does so now and then does not")
  func formatUnstable() throws {
    let harness = try WriterHarness("a.mp3")
    for number in 0..<400 {
      come(3, rate: number % 2 == 0 ? 44_100 : 22_050, to: harness)
      if number % 40 == 39 { harness.pass() }
    }
    #expect(harness.reported.last == "stopped record.write")
    // The budget is twenty files, and one a second.
    #expect((20...60).contains(harness.files.count), "\(harness.files.count)")
    let calm = try WriterHarness("a.mp3")
    for number in 0..<60 {
      come(1, rate: number % 2 == 0 ? 44_100 : 22_050, to: calm)
      for _ in 0..<2 { calm.pass() }
    }
    calm.end()
    #expect(calm.reported.last?.hasPrefix("finished") == true && calm.files.count == 60)
  }

  @Test("of several files each is reported once, the first too")
  func several() throws {
    let station = try Station()
    let parts = try ["mp3-cbr128-44k.mp3", "mp3-mpeg2-64-22k.mp3"].map {
      try readBytes(Fixtures.path($0))
    }
    var live = Live(.init(repeating: parts.flatMap { $0.prefix(40_000) }, bytesPerSecond: 16_000))
    live.pace = .realTime(2)
    station.answer("/live", with: .live(live))
    try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("a.mp3")
      try await harness.wait { recording.paths.count >= 3 }
      try await recording.stop()
      let tracks = harness.reported.filter { $0.hasPrefix("track") }
      #expect(tracks == recording.paths.dropFirst().map { "track \($0.split(separator: "/").last ?? "") -" })
      #expect(
        recording.paths.first == harness.path("a.mp3") && Set(recording.paths).count == recording.paths.count)
      #expect(recording.path == recording.paths.last && harness.reported.last == "finished")
    }
  }
}
