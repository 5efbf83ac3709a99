import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import RecordingKit
@testable import StreamCore

/// Streams of HLS whose position is moved: back into the window of a live list, and to any time of one that is complete.
@Suite("HLS streams that are moved", .waiting, .tags(.stream, .hls, .timeShift)) struct HLSTimeShiftTests {
  /// The numbers of the frames that the player has not read.
  private func frames(_ harness: RecordingHarness, _ station: HLSStation) -> [Int] {
    var frames: [[UInt8]] = []
    while case .frame(_, let bytes)? = harness.stream.buffer?.read() { frames.append(bytes) }
    return station.programme.numbers(of: frames)
  }

  private func run(
    _ station: HLSStation, _ body: @escaping (RecordingHarness) async throws -> Void
  ) throws {
    try RecordingHarness.run(station.station, at: "/live/index.m3u8") { harness in
      harness.stream.onEvent { [unowned harness] event in harness.report(event) }
      try await body(harness)
    }
  }

  /// The numbers of the first frames of segments.
  private func borders(of kind: HLSProgramme.Kind) throws -> [Int] {
    try HLSProgramme.of(kind == .encrypted ? .transport : kind).borders()
  }

  /// Seconds of a frame of a programme.
  private func seconds(_ station: HLSStation) -> Double {
    (station.programme.kind.isMP3 ? 1152 : 1024) / 44_100
  }

  @Test(
    "a player reaches back to the first listed segment, frame for frame",
    arguments: HLSProgramme.Kind.allCases)
  func back(kind: HLSProgramme.Kind) throws {
    let station = try HLSStation(kind, window: .init(count: 12))
    let (borders, frame) = (try borders(of: kind), seconds(station))
    try run(station) { harness in
      let stream = harness.stream
      try await stream.start()
      try await harness.wait { station.visits(to: 11).count == 1 }
      stream.pause()
      let joined = try #require(borders.indices.first { $0 < 12 && !station.visits(to: $0).isEmpty })
      let first = borders[joined]
      #expect(stream.canMove(by: -8) && !stream.canMove(by: -20))
      let before = stream.position
      #expect(try stream.move(by: -5) == -5)
      #expect(stream.status == .paused && stream.position == before - StreamTime(seconds: 5))
      try await harness.wait { stream.buffer?.awaited == nil }
      // At a frame.
      let late = (before.seconds - 5) - stream.position.seconds
      #expect(late >= 0 && late < frame && stream.status == .paused, "\(late)")
      let numbers = frames(harness, station)
      // The frame that begins at the position: the first that was received was at 0.
      let wanted = first + Int((stream.position.seconds / frame).rounded())
      #expect(numbers.first == wanted, "\(numbers.prefix(3)) \(wanted) \(first)")
      #expect(numbers == Array(wanted..<(wanted + numbers.count)))
      // Beyond the window.
      let moved = try stream.move(by: -60)
      #expect(moved > -9.5 && moved < -1, "\(moved)")
      try await harness.wait { stream.buffer?.awaited == nil }
      let all = frames(harness, station)
      #expect(
        all.first ?? -1 <= 1 && all == Array((all.first ?? 0)..<((all.first ?? 0) + all.count)),
        "\(all.prefix(3))")
      #expect(!stream.canMove(by: -1))
      #expect(stream.figures.timeShift > 11)
      // Forward to live, and on.
      try stream.goLive()
      // Three target durations.
      #expect((2.9...4).contains(stream.figures.timeShift), "\(stream.figures.timeShift)")
      try await stream.start()
      station.change { $0.first += 1 }
      try await harness.wait { stream.status == .playing && station.visits(to: 12).count == 1 }
      #expect(
        !harness.reported.contains { $0.hasPrefix("failed") || $0.hasPrefix("reconnected") },
        "\(harness.reported)")
    }
  }

  @Test("a player that is playing waits for the sound, and a recording meanwhile has each frame once")
  func recorded() throws {
    let station = try HLSStation(.transport, window: .init(count: 12))
    try run(station) { harness in
      let stream = harness.stream
      // Recorded first: the player begins within a segment.
      let recording = try await harness.record("a.aac")
      try await harness.wait { station.visits(to: 11).count == 1 }
      harness.loop.start { try? await stream.start() }
      try await harness.wait { stream.status != .stopped }
      station.change { $0.first += 2 }
      try await harness.wait { stream.status == .playing }
      let moved = try stream.move(by: -7)
      #expect(moved < -5 && stream.status == .buffering, "\(moved)")
      let position = stream.position
      try await harness.wait { stream.status == .playing }
      // At a frame.
      let passed = (stream.position - position).seconds
      #expect(passed > -seconds(station) && passed < 1, "\(passed)")
      #expect(harness.reported.suffix(2) == ["buffering", "started"], "\(harness.reported)")
      station.change { $0.first += 2 }
      try await harness.wait { station.visits(to: 15).count == 1 }
      try await harness.loop.sleep(for: .milliseconds(200))
      let numbers = frames(harness, station)
      #expect(numbers == Array((numbers.first ?? 0)..<((numbers.first ?? 0) + numbers.count)), "\(numbers)")
      try await recording.stop()
      var bytes = try readBytes(harness.path("a.aac"))
      bytes.removeFirst(TimedTag.length(bytes) ?? 0)
      let file = station.programme.numbers(
        of: StreamFramer.frames(of: bytes).map { Array(bytes[$0.offset..<($0.offset + $0.length)]) })
      #expect(file == Array((file.first ?? 0)..<((file.first ?? 0) + file.count)), "\(file)")
      #expect(file.first ?? 0 >= (numbers.first ?? 0) + 100)
    }
  }

  @Test("segments that the server no longer has end the way back, which is told")
  func missing() throws {
    let station = try HLSStation(.transport, window: .init(count: 12))
    station.answer(5, with: .status("404 Not Found"))
    let borders = try station.programme.borders()
    try run(station) { harness in
      let stream = harness.stream
      try await stream.start()
      try await harness.wait { station.visits(to: 11).count == 1 }
      stream.pause()
      _ = try stream.move(by: -60)
      try await harness.wait { stream.buffer?.awaited == nil }
      #expect(harness.reported.contains("failed stream.not_found"), "\(harness.reported)")
      let numbers = frames(harness, station)
      #expect(numbers.first == borders[6], "\(numbers.prefix(2)) \(borders)")
      #expect(numbers == Array(borders[6]..<(borders[6] + numbers.count)))
      #expect(abs(stream.figures.timeShift - Double(numbers.count) * seconds(station)) < 0.001)
    }
  }

  @Test("a player that goes live while it waits continues there")
  func revoked() throws {
    let station = try HLSStation(.transport, window: .init(count: 12))
    station.answer(5, with: .file(station.programme.segments[5].bytes, type: "video/mp2t").stalling(at: 0))
    try run(station) { harness in
      let stream = harness.stream
      try await stream.start()
      // The list is known before its first segment is through.
      #expect(stream.canMove(by: -8))
      try await harness.wait { station.visits(to: 11).count == 1 }
      _ = try stream.move(by: -60)
      #expect(stream.status == .buffering)
      try stream.goLive()
      // The newest segment may still be coming.
      try await harness.wait { stream.status == .playing }
      #expect(stream.figures.timeShift < 5)
    }
  }

  @Test("a player that goes live waits for no earlier sound where little is buffered")
  func revokedEarly() throws {
    let station = try HLSStation(.transport, window: .init(count: 12))
    let segments = station.programme.segments
    station.answer(5, with: .file(segments[5].bytes, type: "video/mp2t").stalling(at: 0))
    station.answer(11, with: .file(segments[11].bytes, type: "video/mp2t").stalling(at: 0))
    try run(station) { harness in
      let stream = harness.stream
      try await stream.start()
      try await harness.wait { station.visits(to: 11).count == 1 }
      _ = try stream.move(by: -60)
      #expect(stream.buffer?.awaited != nil)
      try stream.goLive()
      #expect(stream.buffer?.awaited == nil)
      #expect(stream.position >= stream.buffer?.range.start ?? .zero)
    }
  }

  @Test("a list that is complete plays from any time", arguments: HLSProgramme.Kind.allCases)
  func seek(kind: HLSProgramme.Kind) throws {
    let station = try HLSStation(kind, window: .init(count: 100, isEnded: true))
    let frame = seconds(station)
    try run(station) { harness in
      let stream = harness.stream
      try await stream.start()
      #expect(
        stream.canSeek && abs((stream.fileDuration ?? 0) - 60) < 0.2,
        "\(String(describing: stream.fileDuration))")
      stream.pause()
      for target in [41.3, 7.25, 0, 59.9, 30] {
        try stream.seek(to: target)
        #expect(stream.fileTime == target && stream.status == .paused)
        try await harness.wait { stream.buffer?.isFilling == false }
        #expect(stream.fileTime == target)
        // The frame with the time, behind those that decoders need.
        let range = try #require(
          stream.buffer?.state.withLock { ($0.packets.time(at: $0.packets.start), $0.file.heard?.start) })
        let numbers = frames(harness, station)
        let first = Int((range.0.seconds / frame).rounded())
        #expect(
          numbers.first == first && range.1 == StreamTime(seconds: target),
          "\(target) \(numbers.prefix(2)) \(first)")
        #expect(
          Double(first) * frame <= target && (Double(first + 12) * frame <= target + 0.001 || first == 0))
        #expect(numbers == Array(first..<(first + numbers.count)))
      }
      #expect(throws: StreamError.self) { try stream.seek(to: 61) }
      let end = try #require(stream.fileDuration)
      try stream.seek(to: end)
      try await stream.start()
      try await harness.wait { stream.status == .stopped }
      #expect(harness.reported.contains("file complete"), "\(harness.reported)")
    }
  }

  @Test("a file of small segments is requested as it is heard, not all at once") func heldBack() throws {
    // Each comes in one piece: a transfer that pauses behind it holds nothing back.
    let station = try Station()
    let frames = try HLSProgramme.of(.packedMP3).frames
    let (size, seconds) = (8, 8 * 1152.0 / 44_100)
    var lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:1"]
    for (number, start) in stride(from: 0, to: frames.count, by: size).enumerated() {
      let bytes = frames[start..<min(frames.count, start + size)].flatMap { $0 }
      station.answer("/\(number).mp3", with: .file(bytes, type: "audio/mpeg"))
      lines += ["#EXTINF:\(seconds),", "\(number).mp3"]
    }
    station.answer(
      "/live",
      with: .page((lines + ["#EXT-X-ENDLIST"]).joined(separator: "\n"), type: "application/x-mpegurl"))
    var options = ReceiverOptions()
    options.fileLead = StreamTime(seconds: 6)
    let receiver = try Receiver(url: station.url("/live"), options: options, blocks: 400)
    #expect(receiver.wait(for: "buffered"), "\(receiver.events)")
    var requested: Double { Double(station.visits.count) * seconds }
    for _ in 0..<6_000 where requested <= 6 { usleep(10_000) }
    usleep(500_000)
    #expect(requested > 6 && requested < 8, "\(requested) s")
    var numbers: [Int] = []
    let programme = try HLSProgramme.of(.packedMP3)
    for _ in 0..<3_000 where numbers.count < 4 * 230 {
      numbers += programme.numbers(of: receiver.frames())
      usleep(10_000)
    }
    _ = receiver.end()
    #expect(numbers.count >= 4 * 230 && numbers == Array(0..<numbers.count))
    #expect(requested < seconds * Double(numbers.count) / 8 + 8, "\(requested) s")
  }
}
