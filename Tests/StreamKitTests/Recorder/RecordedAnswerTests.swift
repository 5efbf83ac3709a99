import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import RecordingKit
@testable import StreamCore

/// Recordings of answers that may be files.
@Suite("An answer that is to be recorded", .waiting, .tags(.stream, .recording))
struct RecordedAnswerTests {
  private static let sound = Result { try FrameProgramme(.mp3, seconds: 60, seed: 4).bytes }

  /// Returns the error of `record`; nil when the recording begins.
  private func failure(_ answer: Answer) throws -> StreamError? {
    let station = try Station()
    station.answer("/live", with: answer)
    var failure: StreamError?
    try RecordingHarness.run(station) { harness in
      do { try await harness.record("a.mp3").stop() } catch let error as StreamError { failure = error }
    }
    return failure
  }

  /// Returns the answer of a station without headers that identify one.
  private func station() throws -> Answer {
    var live = Live(.init(repeating: try Self.sound.get(), bytesPerSecond: 16_000))
    (live.pace, live.stationHeaders) = (.realTime(1), [])
    return .live(live)
  }

  @Test(
    "a page with a length is reported as a page",
    arguments: [
      ("<!doctype html><html>", "<p>Welcome</p>", "an HTML page"), ("<html>Hello", "", "an HTML page"),
      ("{\"error\": \"", "no such station ", "JSON"), ("Hello, ", "Hello, ", "text"),
    ])
  func page(start: String, rest: String, found: String) throws {
    let text = start + String(repeating: rest, count: found == "JSON" ? 20 : 500)
    for isFile in [true, false] {
      let bytes = Array(text.utf8)
      let answer = isFile ? Answer.file(bytes, type: "audio/mpeg") : .page(bytes, type: "text/html")
      let error = try #require(try failure(answer))
      #expect(error.kind == .content && error.message.hasSuffix("found \(found)"), "\(error)")
    }
  }

  @Test(
    "a file that plays is recorded byte for byte by another connection, and content that can't be sound is none"
  )
  func file() throws {
    let bytes = Array(try Self.sound.get().prefix(300_000))
    let station = try Station()
    station.answer("/live", with: .file(bytes, type: "audio/mpeg"))
    try RecordingHarness.run(station) { harness in
      try await harness.stream.start()
      let recording = try await harness.record("a.mp3")
      try await harness.wait { harness.reported.contains("finished") }
      #expect(try readBytes(recording.path) == bytes)
      #expect(harness.stream.status != .stopped && recording.stream !== harness.stream)
    }
    let webm = [0x1A, 0x45, 0xDF, 0xA3] + [UInt8](repeating: 7, count: 3_000)
    let error = try #require(try failure(.file(webm, type: "audio/webm")))
    #expect(error.kind == .unsupported && error.message.contains("Matroska or WebM"), "\(error)")
    let noise = [UInt8](repeating: 0x80, count: 100_000)
    #expect(try failure(.file(noise, type: "application/zip"))?.kind == .content)
  }

  @Test("an entry of a list that turns out to be WebM leads to the next one") func listed() throws {
    let webm = Answer.live(
      Live(
        .init(
          repeating: [0x1A, 0x45, 0xDF, 0xA3] + [UInt8](repeating: 7, count: 9_000), bytesPerSecond: 16_000)),
      type: "video/webm")
    let station = try Station()
    station.answer("/live", with: .page("#EXTM3U\n/webm\n/mp3\n", type: "audio/x-mpegurl"))
    station.answer("/webm", with: webm)
    station.answer("/mp3", with: try self.station())
    for isPlayed in [false, true] {
      try RecordingHarness.run(station) { harness in
        harness.stream.onEvent { [unowned harness] in harness.report($0) }
        if isPlayed {
          try await harness.stream.start()
        } else {
          try await harness.record("a{n}.mp3").stop()
        }
        #expect(harness.reported.filter { $0.hasPrefix("failed") } == ["failed stream.unsupported"])
      }
    }
  }

  @Test("a station is one that could be had in parts, or claims a length that no file has")
  func odd() throws {
    #expect(try failure(station().with("Accept-Ranges", "bytes")) == nil)
    #expect(try failure(station().claiming(500_000_000)) == nil)
    #expect(try failure(station().claiming(1 << 40)) == nil)
  }

  @Test("a server's Retry-After is reported with the error, an hour at most")
  func retryAfter() throws {
    let cases = [
      ("120", 120), ("Fri, 31 Dec 2100 23:59:59 GMT", 3_600), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
    ]
    for (text, seconds) in cases {
      let error = try #require(try failure(.status("503 Service Unavailable", retryAfter: text)))
      #expect(error.status == 503 && error.retryAfter == .seconds(seconds), "\(error.facts)")
    }
    #expect(try failure(.status("503 Service Unavailable", retryAfter: "soon"))?.retryAfter == nil)
  }
}
