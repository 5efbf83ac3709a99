import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import RecordingKit
@testable import StreamCore

/// The behaviour of a stream while it is recorded.
@Suite("A stream that is recorded", .waiting, .tags(.stream, .recording))
struct RecordedStreamTests {
  private func station(
    _ programme: FrameProgramme, pace: Double = 1, name: String? = "Test station"
  ) throws -> Station {
    let station = try Station()
    var live = Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000))
    live.pace = .realTime(pace)
    live.stationHeaders = [("icy-br", "128")] + (name.map { [("icy-name", $0)] } ?? [])
    station.answer("/live", with: .live(live))
    station.answer("/other", with: .live(live))
    return station
  }

  @Test("paused until its buffer was full it is received again, for the recording")
  func fullBuffer() throws {
    let station = try station(try FrameProgramme(.mp3, seconds: 120, seed: 21), pace: 4)
    try RecordingHarness.run(station) { harness in
      harness.stream.options.bufferBlocks = 20
      try await harness.stream.start()
      harness.stream.pause()
      try await harness.wait { harness.stream.machine.reception == .full }
      var recording: Recording?
      harness.loop.start { recording = try? await harness.record("a.mp3") }
      try await harness.wait { recording.map { $0.bytes > 50_000 } ?? false }
      #expect(harness.stream.status == .paused)
      try await recording?.stop()
    }
  }

  @Test("the part that a full buffer left out is a gap in a recording that begins back in it")
  func backInFullBuffer() throws {
    let station = try station(try FrameProgramme(.mp3, seconds: 120, seed: 22), pace: 4)
    try RecordingHarness.run(station) { harness in
      harness.stream.options.bufferBlocks = 20
      let first = try await harness.record("a.mp3")
      try await harness.stream.start()
      harness.stream.pause()
      try await harness.wait { first.bytes > 300_000 }
      let second = try await harness.record("b.mp3") { $0.back = .seconds(2) }
      try await harness.wait { second.seconds > 4 }
      let gaps = second.gaps
      #expect(
        gaps.count == 1 && (gaps.first?.seconds ?? 0) > 3 && abs((gaps.first?.at ?? 0) - 2) < 0.1, "\(gaps)")
      try await second.stop()
    }
  }

  @Test("over to another station it goes though only recorded, and the recording ends")
  func anotherURL() throws {
    let station = try station(try FrameProgramme(.mp3, seconds: 120, seed: 23))
    try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("a.mp3")
      try harness.stream.setNext(StreamAddress(station.url("/other")), options: harness.stream.options)
      #expect(harness.stream.url == station.url("/live"))
      harness.loop.start { try? await harness.stream.start() }
      try await harness.wait { recording.state == .finished && harness.stream.status == .playing }
      #expect(harness.stream.url == station.url("/other"))
      #expect(station.visits.map(\.target) == ["/live", "/other"])
    }
  }

  @Test(
    "a recording of a stopped stream is of the station that was set for the next start, and its row names it")
  func nextURL() throws {
    let station = try station(try FrameProgramme(.mp3, seconds: 120, seed: 24))
    try RecordingHarness.run(station) { harness in
      try await harness.stream.start()
      try harness.stream.setNext(StreamAddress(station.url("/other")), options: harness.stream.options)
      // The current stream continues, and is the one recorded.
      let first = try await harness.record("a.mp3")
      try await first.stop()
      harness.stream.stop()
      let second = try await harness.record("b.mp3")
      try await second.stop()
      #expect(station.visits.map(\.target) == ["/live", "/other"])
      let urls = Dictionary(uniqueKeysWithValues: try await harness.entries().map { ($0.path, $0.url) })
      #expect(
        urls == [harness.path("a.mp3"): station.url("/live"), harness.path("b.mp3"): station.url("/other")])
    }
  }

  @Test("the station's name is known though the loop has other work")
  func nameWithoutLoop() throws {
    let station = try station(try FrameProgramme(.mp3, seconds: 120, seed: 25))
    try RecordingHarness.run(station) { harness in
      var recording: Recording?
      harness.loop.start { recording = try? await harness.record("{station}.mp3") }
      try await harness.wait { harness.stream.receiver != nil }
      usleep(2_500_000)
      try await harness.wait { recording != nil }
      try await recording?.stop()
      #expect(fileNames(in: harness.folder.path).contains("Test station.mp3"))
    }
  }

  @Test("the name of another station of the configuration is that of the one that is gone over to")
  func otherName() throws {
    let station = try station(try FrameProgramme(.mp3, seconds: 120, seed: 26), name: nil)
    try RecordingHarness.run(station) { harness in
      harness.stream.nickname = "first"
      try await harness.record("{station}.mp3").stop()
      try harness.stream.setNext(
        StreamAddress(station.url("/other")), nickname: "other", options: harness.stream.options)
      try await harness.record("{station}.mp3").stop()
      try harness.stream.setNext(StreamAddress(station.url("/live")), options: harness.stream.options)
      try await harness.record("{station}.mp3").stop()
      let names = fileNames(in: harness.folder.path).filter { $0.hasSuffix(".mp3") }.sorted()
      #expect(names == ["first.mp3", "other.mp3", "unknown.mp3"])
    }
  }
}
