import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import RecordingKit

/// Recordings of lists that are complete, which are files.
@Suite("A complete list of segments that is recorded", .waiting, .tags(.stream, .hls, .recording))
struct HLSRecordingTests {
  private static let whole = HLSStation.Window(count: 1_000, isEnded: true)

  /// Returns the numbers of the frames of a recording in its programme.
  private func numbers(_ path: String, _ programme: HLSProgramme) throws -> [Int] {
    programme.numbers(of: HLSProgramme.payloads(of: try readBytes(path)))
  }

  @Test(
    "while it plays it is recorded whole by a connection of its own, wherever the player goes",
    arguments: [HLSProgramme.Kind.transport, .encrypted, .packedMP3])
  func whilePlayed(kind: HLSProgramme.Kind) throws {
    let radio = try HLSStation(kind, window: Self.whole)
    try RecordingHarness.run(radio.station, at: "/live/index.m3u8") { harness in
      let stream = harness.stream
      try await stream.start()
      try stream.seek(to: 30)
      let recording = try await harness.record("a.{ext}")
      try stream.seek(to: 10)
      let second = try await harness.record("b.{ext}") { $0.duration = .seconds(5) }
      try await harness.wait { harness.reported.filter { $0 == "finished" }.count == 2 }
      #expect(stream.status != .stopped && stream.canSeek)
      let all = Array(0..<radio.programme.frames.count)
      #expect(try numbers(recording.path, radio.programme) == all)
      #expect(recording.gaps.isEmpty && abs(recording.seconds - 60) < 0.2)
      let start = try numbers(second.path, radio.programme)
      #expect(!start.isEmpty && start == Array(all.prefix(start.count)))
      #expect(abs(second.seconds - 5) < 0.03)
      let path = recording.path
      let verdict = try await harness.recorder.withLibrary { try $0.verify(path) }
      #expect(verdict.agrees == true, "\(verdict.differences)")
    }
  }

  @Test("its recording goes on when the player stops, and ends with its connection when it is stopped")
  func stopped() throws {
    let radio = try HLSStation(.transport, window: Self.whole)
    radio.answer(40, with: .file(radio.programme.segments[40].bytes, type: "video/mp2t").stalling(at: 500))
    try RecordingHarness.run(radio.station, at: "/live/index.m3u8") { harness in
      try await harness.stream.start()
      let recording = try await harness.record("a.{ext}")
      harness.stream.stop()
      try await harness.wait { recording.seconds > 38 }
      try await recording.stop()
      #expect(recording.state == .finished && (recording.stream as? Playback.Stream)?.receiver == nil)
      let found = try numbers(recording.path, radio.programme)
      #expect(found == Array(0..<found.count))
    }
  }

  @Test("each complete list of a playlist is recorded in turn, and a file among them byte for byte")
  func inTurn() throws {
    let radio = try HLSStation(.packedMP3, window: HLSStation.Window(count: 5, isEnded: true))
    let file = try readBytes(Fixtures.path("base-24bit.wav"))
    radio.station.answer("/live/file.wav", with: .file(file, type: "audio/wav"))
    radio.station.answer(
      "/list.m3u",
      with: .page("#EXTM3U\n/live/index.m3u8\n/live/file.wav\n/live/index.m3u8\n", type: "audio/x-mpegurl"))
    try RecordingHarness.run(radio.station, at: "/list.m3u") { harness in
      let recording = try await harness.record("{track}.{ext}") { $0.hasTags = false }
      try await harness.wait { harness.reported.contains("finished") || recording.state == .failed }
      let names = ["01.mp3", "02.wav", "03.mp3"]
      #expect(recording.paths == names.map { harness.path($0) }, "\(harness.reported)")
      #expect(try readBytes(harness.path("02.wav")) == file)
      let first = try numbers(harness.path("01.mp3"), radio.programme)
      #expect(
        try first == Array(0..<first.count) && first == numbers(harness.path("03.mp3"), radio.programme))
      #expect(try await harness.entries().count == 3)
    }
  }
}
