import AudioCore
@testable import Codecs
@testable import Playback
@testable import RecordingKit
@testable import StreamCore
import EventLoop
import TestSupport
import TestTraits
import Testing

/// Recordings of a file on a server: its bytes, whatever happens to the connection.
@Suite("A file that is recorded", .waiting, .tags(.stream, .recording, .files))
struct RecordedFileTests {
  private static let sound = Result { try FrameProgramme(.mp3, seconds: 60, seed: 4).bytes }

  /// Returns a file with tags around its frames, which a recording of frames would leave out.
  private func tagged() throws -> [UInt8] {
    let title: [UInt8] = Array("ID3".utf8) + [3, 0, 0, 0, 0, 0x10, 0] + [UInt8](repeating: 0, count: 2048)
    return try title + Self.sound.get() + Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125)
  }

  private enum Server: CaseIterable {
    case ranges, noRanges, noLength
  }

  private func answer(_ bytes: [UInt8], _ server: Server, tag: String = "\"one\"") -> Answer {
    let file = Answer.file(bytes, type: "audio/mpeg").with("ETag", tag)
    return switch server {
    case .ranges: file
    case .noRanges: file.withoutRanges()
    case .noLength: Answer.page(bytes, type: "audio/mpeg").with("ETag", tag).chunked(5_000)
    }
  }

  @Test(
    "is the file byte for byte after two lost connections, and finished in the catalogue",
    arguments: Server.allCases)
  private func drops(server: Server) throws {
    let bytes = try tagged()
    let station = try Station()
    let whole = answer(bytes, server)
    station.answer(
      "/live", with: whole.dropping(at: 150_001, by: .reset), whole.dropping(at: 400_003, by: .reset), whole)
    try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("{station}.{ext}")
      try await harness.wait { harness.reported.contains("finished") }
      #expect(recording.state == .finished && recording.path.hasSuffix(".mp3"))
      #expect(try readBytes(recording.path) == bytes)
      #expect(recording.bytes == bytes.count && abs(recording.seconds - 60) < 0.1)
      let entry = try #require(try await harness.entries().first)
      #expect(entry.state == .finished && entry.path == recording.path && entry.gaps.isEmpty)
      let path = recording.path
      let verdict = try await harness.recorder.withLibrary { try $0.verify(path) }
      #expect(verdict.agrees == true, "\(verdict.differences)")
      #expect(harness.stream.receiver == nil)
    }
    let visits = station.visits
    #expect(visits.count == 3)
    #expect(visits[0]["Range"] == nil && visits.dropFirst().allSatisfy { $0["If-Range"] == "\"one\"" })
    #expect(server != .ranges || visits[1]["Range"] == "bytes=150001-")
  }

  @Test("each file of a list is recorded in turn, in a file of its own with a row", arguments: [false, true])
  func list(isPlayed: Bool) throws {
    let (one, two) = (try Self.sound.get(), try tagged())
    let three = try readBytes(Fixtures.path("base-24bit.wav"))
    let station = try Station()
    station.answer("/live", with: .page("#EXTM3U\n/one\n/two\n/three\n", type: "audio/x-mpegurl"))
    station.answer("/one", with: .file(one, type: "audio/mpeg"))
    station.answer(
      "/two", with: .file(two, type: "audio/mpeg").dropping(at: 150_001, by: .reset),
      .file(two, type: "audio/mpeg"))
    station.answer("/three", with: .file(three, type: "audio/wav"))
    try RecordingHarness.run(station) { harness in
      if isPlayed { try await harness.stream.start() }
      let recording = try await harness.record("{track} show.{ext}")
      try await harness.wait { harness.reported.contains("finished") }
      #expect(harness.reported == ["track 02 show.mp3 -", "track 03 show.wav -", "finished"])
      #expect(recording.state == .finished)
      let files = ["01 show.mp3", "02 show.mp3", "03 show.wav"]
      #expect(recording.paths == files.map { harness.path($0) })
      for (name, bytes) in zip(files, [one, two, three]) {
        #expect(try readBytes(harness.path(name)) == bytes)
      }
      let entries = try await harness.entries().sorted { $0.path < $1.path }
      #expect(entries.map(\.state) == [.finished, .finished, .finished])
      #expect(abs(recording.seconds - entries.reduce(0) { $0 + $1.seconds }) < 0.001)
      for entry in entries {
        let verdict = try await harness.recorder.withLibrary { try $0.verify(entry.path) }
        #expect(verdict.agrees == true, "\(verdict.differences)")
      }
      #expect(harness.stream.isRecorded == false && isPlayed == (harness.stream.status != .stopped))
    }
  }

  @Test("a file of a list that is not there is left out, and is the failure of the recording at its end")
  func missing() throws {
    let (one, three) = (try Self.sound.get(), try tagged())
    let station = try Station()
    station.answer("/live", with: .page("#EXTM3U\n/one\n/gone\n/three\n", type: "audio/x-mpegurl"))
    station.answer("/one", with: .file(one, type: "audio/mpeg"))
    station.answer("/three", with: .file(three, type: "audio/mpeg"))
    try RecordingHarness.run(station) { harness in
      harness.stream.onEvent { [unowned harness] in harness.report($0) }
      let recording = try await harness.record("show.{ext}")
      try await harness.wait { recording.state == .failed }
      #expect(
        harness.reported == ["failed stream.not_found", "track show (2).mp3 -", "stopped stream.not_found"])
      #expect(try readBytes(harness.path("show.mp3")) == one)
      #expect(try readBytes(harness.path("show (2).mp3")) == three)
      #expect(harness.stream.receiver == nil && harness.stream.machine.files == nil)
    }
  }

  @Test("the length of a recording bounds the whole list") func boundedList() throws {
    let one = try Self.sound.get()
    let station = try Station()
    station.answer("/live", with: .page("#EXTM3U\n/one\n/two\n", type: "audio/x-mpegurl"))
    for path in ["/one", "/two"] { station.answer(path, with: .file(one, type: "audio/mpeg")) }
    try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("show.{ext}") { $0.duration = .seconds(50) }
      try await harness.wait { harness.reported.contains("finished") }
      // No frame is begun behind the end, and the tag is one of ours.
      let bytes = try readBytes(recording.path)
      let start = AudioFraming.tagLength(Array(bytes.prefix(10)))
      #expect(recording.paths == [harness.path("show.mp3")] && one.starts(with: bytes[start...]))
      #expect((50...50.03).contains(recording.seconds), "\(recording.seconds)")
      #expect(try await harness.entries().count == 1)
    }
  }

  @Test(
    "up to a length it is cut at a frame, in Ogg of Vorbis and Opus at a sample",
    arguments: ["mp3", "aac", "vorbis", "opus", "flac"])
  func length(kind: String) throws {
    let bytes: [UInt8] =
      switch kind {
      case "mp3": try tagged()
      case "aac": try readBytes(Fixtures.path("aac-lc-44k.aac"))
      default: try OggProgramme(OggProgramme.Kind(rawValue: kind) ?? .flac, seconds: 6).bytes
      }
    let station = try Station()
    station.answer(
      "/live", with: .file(bytes, type: kind == "mp3" ? "audio/mpeg" : "application/octet-stream"))
    try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("show.{ext}") { $0.duration = .milliseconds(2_500) }
      try await harness.wait { harness.reported.contains("finished") }
      let path = recording.path
      let verdict = try await harness.recorder.withLibrary { try $0.verify(path) }
      #expect(verdict.isGood && recording.gaps.isEmpty, "\(verdict)")
      let longest = kind == "flac" ? 2.61 : kind == "mp3" || kind == "aac" ? 2.53 : 2.5001
      #expect((2.4999...longest).contains(recording.seconds), "\(recording.seconds)")
      #expect(abs(verdict.seconds - recording.seconds) < 0.001)
    }
  }

  @Test("a file without frames is not recorded up to a length") func wholeOnly() throws {
    for name in ["music-44k.flac", "aac-lc-44k.m4a", "base-24bit.wav"] {
      let station = try Station()
      station.answer(
        "/live", with: .file(try readBytes(Fixtures.path(name)), type: "application/octet-stream"))
      try RecordingHarness.run(station) { harness in
        let error = await #expect(throws: StreamError.self) {
          _ = try await harness.record("show.{ext}") { $0.duration = .seconds(2) }
        }
        #expect(error?.kind == .unsupported && error?.message.contains("is recorded whole") == true)
        #expect(fileNames(in: harness.path("")).filter { $0.hasPrefix("show") }.isEmpty)
      }
    }
  }

  @Test("headers of Ogg without an end are no sound: nothing is left of them") func endlessHeaders() throws {
    let whole = try OggProgramme(.vorbis, seconds: 1).bytes
    let first = try #require(whole.withUnsafeBytes { OggPage($0) })
    var bytes = Array(whole.prefix(first.length))
    var comment: [UInt8] = Array("\u{3}vorbis".utf8) + [4, 0, 0, 0] + Array("test".utf8) + [1, 0, 0, 0]
    comment += [0, 0, 0, 6] + Array("TITLE=".utf8)
    // Of 280 full pages the last ends no packet.
    comment += [UInt8](repeating: 0x78, count: 280 * 255 * 255 - comment.count)
    let pages = OggPage.pages(of: [[(comment, 0)]], serial: first.serial, from: 1)
    bytes += pages.prefix(280).flatMap { $0 }
    for isCut in [false, true] {
      let station = try Station()
      station.answer("/live", with: .file(isCut ? Array(bytes.prefix(1 << 20)) : bytes, type: "audio/ogg"))
      try RecordingHarness.run(station) { harness in
        let recording = try await harness.record("show.{ext}")
        try await harness.wait { recording.state == .failed }
        #expect(harness.reported == ["stopped stream.content"], "\(harness.reported)")
        #expect(fileNames(in: harness.path("")).filter { $0.hasPrefix("show") }.isEmpty)
        #expect(try await harness.entries().isEmpty)
      }
    }
  }

  @Test("a list of more files than formats may change is recorded to its end") func manyFiles() throws {
    let one = Array(try Self.sound.get().prefix(20_000))
    let station = try Station()
    let names = (0..<40).map { "/f\($0)" }
    station.answer("/live", with: .page("#EXTM3U\n" + names.joined(separator: "\n"), type: "audio/x-mpegurl"))
    for name in names { station.answer(name, with: .file(one, type: "audio/mpeg")) }
    try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("show.{ext}")
      try await harness.wait { harness.reported.contains("finished") }
      #expect(recording.paths.count == 40)
    }
  }

  @Test(
    "is the file whatever it holds, with the end of its name",
    arguments: [
      ("base.aiff", "aiff"), ("base.caf", "caf"), ("music-44k.flac", "flac"), ("aac-lc-44k.m4a", "m4a"),
      ("aac-lc-44k.aac", "aac"), ("base-24bit.wav", "wav"),
    ])
  func kinds(name: String, end: String) throws {
    let bytes = try readBytes(Fixtures.path(name))
    let station = try Station()
    station.answer("/live", with: .page("#EXTM3U\n/\(name)\n", type: "audio/x-mpegurl"))
    station.answer("/\(name)", with: .file(bytes, type: "application/octet-stream"))
    try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("show.{ext}")
      try await harness.wait { harness.reported.contains("finished") }
      #expect(recording.path.hasSuffix("show.\(end)"))
      #expect(try readBytes(recording.path) == bytes)
      let path = recording.path
      let verdict = try await harness.recorder.withLibrary { try $0.verify(path) }
      #expect(verdict.agrees == true && verdict.isWhole, "\(verdict)")
      let decoder = try AudioFile.open(path)
      let seconds = Double(try #require(decoder.frameCount)) / Double(decoder.format.sampleRate)
      // ADTS counts the silence of the encoder.
      let entry = try #require(try await harness.entries().first)
      for found in [recording.seconds, entry.seconds, verdict.seconds] {
        #expect(abs(found - seconds) < (end == "aac" ? 0.1 : 0.001), "\(found) is not \(seconds)")
      }
    }
  }

  @Test("has the seconds of all streams of a chain, each at its own rate") func chain() throws {
    let bytes =
      try OggProgramme(.vorbis, seconds: 4, rate: 44_100).bytes
      + OggProgramme(.vorbis, seconds: 6, rate: 22_050).bytes
    let station = try Station()
    station.answer("/live", with: .page("#EXTM3U\n/chain.ogg\n", type: "audio/x-mpegurl"))
    station.answer("/chain.ogg", with: .file(bytes, type: "audio/ogg"))
    try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("show.{ext}")
      try await harness.wait { harness.reported.contains("finished") }
      #expect(try readBytes(recording.path) == bytes)
      let path = recording.path
      let verdict = try await harness.recorder.withLibrary { try $0.verify(path) }
      let entry = try #require(try await harness.entries().first)
      #expect(verdict.isGood && abs(verdict.seconds - 10) < 0.1, "\(verdict)")
      #expect(abs(recording.seconds - 10) < 0.1 && abs(entry.seconds - 10) < 0.1, "\(entry.seconds)")
    }
  }

  @Test("that changes meanwhile is reported, and the received part is kept") func changed() throws {
    let bytes = try tagged()
    let station = try Station()
    station.answer(
      "/live", with: answer(bytes, .ranges).dropping(at: 150_001, by: .reset),
      answer(bytes, .ranges, tag: "\"two\""))
    try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("a.mp3")
      try await harness.wait { recording.state == .failed }
      #expect(harness.reported == ["stopped stream.content"])
      #expect(try readBytes(recording.path) == Array(bytes.prefix(150_001)))
    }
  }

  @Test("as what it is not, or twice at once, is refused with what to do") func refused() throws {
    let station = try Station()
    station.answer("/live", with: answer(try tagged(), .ranges).stalling(at: 200_000))
    let changes: [(inout RecordingOptions) -> Void] = [
      { $0.split = .init() }, { $0.format = .wav }, { $0.appends = true },
    ]
    for change in changes {
      try RecordingHarness.run(station) { harness in
        let error = await #expect(throws: StreamError.self) { _ = try await harness.record("a.mp3", change) }
        #expect(error?.kind == .unsupported && error?.message.contains("recorded as it is") == true)
      }
    }
    try RecordingHarness.run(station) { harness in
      _ = try await harness.record("a.mp3")
      var error = await #expect(throws: StreamError.self) { _ = try await harness.record("b.mp3") }
      #expect(error?.message.contains("recorded as it is") == true)
      error = await #expect(throws: StreamError.self) { try await harness.stream.start() }
      #expect(error?.message.contains("being recorded") == true, "\(String(describing: error))")
    }
  }
}
