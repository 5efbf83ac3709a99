import Codecs
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

@Suite("The sound of a simulated station", .waiting, .tags(.stream, .simulation))
struct StationSoundTests {
  @Test("is the frames of the file, over and over")
  func sound() throws {
    let sound = try StationSound(file: Fixtures.path("mp3-cbr128-44k.mp3"))
    #expect(sound.bitRate == 128 && sound.format(of: 0).codec == .mp3)
    let round = sound.count(by: StreamTime(seconds: 20.5))
    let first = sound.withFrame(3) { frame, bytes in (frame, [UInt8](bytes)) }
    var again = first
    for number in (round - 100)...(round + 100) {
      let (frame, bytes) = sound.withFrame(number) { frame, bytes in (frame, [UInt8](bytes)) }
      #expect(bytes.count == frame.length && bytes[0] == 0xFF)
      let next = sound.withFrame(number + 1) { frame, _ in frame }
      #expect(next.offset == frame.offset + frame.length)
      #expect(sound.start(of: number + 1) == sound.start(of: number) + frame.duration)
      #expect(sound.count(by: sound.start(of: number)) == number)
      if frame.hash == first.0.hash { again = (frame, bytes) }
    }
    #expect(again.1 == first.1 && again.0.offset > first.0.offset)
  }

  @Test("titles in the comments of Ogg and in the tags of segments are heard with their sound")
  func titlesInSound() throws {
    let folder = try TemporaryFolder()
    let chain = try folder.write(
      OggProgramme(.vorbis, seconds: 20, titles: ["A - One", "B - Two"]).bytes, to: "a.ogg")
    // A tag with its time in front of each segment of packed sound, and titles in the list where it has none.
    let frames = try HLSProgramme.of(.packedMP3).frames
    var lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:20"]
    for (number, title) in ["A - One", "B - Two"].enumerated() {
      let bytes = frames[(number * 766)..<((number + 1) * 766)].flatMap { $0 }
      let artist = Array(title.prefix(1).utf8)
      let name = Array(title.dropFirst(4).utf8)
      let tag = id3(["TPE1": artist, "TIT2": name])
      _ = try folder.write(tag + bytes, to: "s\(number).mp3")
      lines += ["#EXTINF:20.01,", "s\(number).mp3"]
    }
    let list = try folder.write(
      Array((lines + ["#EXT-X-ENDLIST"]).joined(separator: "\n").utf8), to: "list.m3u8")
    for path in [chain, list] {
      let sound = try StationSound(file: path)
      var station = SimulatedStation(.programme(sound))
      station.burst = .seconds(5)
      let reported = try SimulationHarness.run(SimulatedStations([SimulationHarness.url: station])) {
        harness in
        try await harness.stream.start()
        try await harness.sleep(70)
      }
      let times = reported.compactMap { line -> String? in
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[1].hasPrefix("heard "), let time = Double(words[0]) else { return nil }
        return "\(Int(time.rounded())) \(words[1].dropFirst(6))"
      }
      #expect(times == ["0 A - One", "20 B - Two", "40 A - One", "60 B - Two"], "\(reported)")
      let came = reported.filter { $0.contains(" came ") }
      #expect(came.count == 4 && ["15", "16"].contains { came[1].hasPrefix($0) }, "\(reported)")
    }
  }

  /// Writes a programme of HLS as files: two versions of a master list, of which the better one is `kind`.
  private func files(_ kind: HLSProgramme.Kind, in folder: TemporaryFolder) throws -> String {
    let programme = try HLSProgramme.of(kind)
    for name in ["high", "low"] {
      guard mkdir(folder.file(name), 0o700) == 0 else { throw TestFailure("can't make a folder") }
    }
    var lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:1"] + programme.tags
    for segment in programme.segments.prefix(20) {
      _ = try folder.write(segment.bytes, to: "high/\(segment.name)")
      lines += ["#EXTINF:\(segment.duration),", segment.name]
    }
    for (name, bytes) in programme.files { _ = try folder.write(bytes, to: "high/\(name)") }
    _ = try folder.write(
      Array((lines + ["#EXT-X-ENDLIST"]).joined(separator: "\n").utf8), to: "high/index.m3u8")
    let master = """
      #EXTM3U
      #EXT-X-STREAM-INF:BANDWIDTH=48000,CODECS="mp4a.40.2"
      low/index.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=128000,CODECS="mp4a.40.2"
      high/index.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=640000,CODECS="mp4a.40.2"
      higher/index.m3u8
      """
    return try folder.write(Array(master.utf8), to: "master.m3u8")
  }

  @Test(
    "a master list is sent in its best version, and encrypted segments are deciphered",
    arguments: [HLSProgramme.Kind.encrypted, .fragments])
  func master(kind: HLSProgramme.Kind) throws {
    let folder = try TemporaryFolder()
    let sound = try StationSound(file: try files(kind, in: folder))
    let frames = (0..<sound.frameCount).map { number in sound.withFrame(number) { [UInt8]($1) } }
    let numbers = try HLSProgramme.of(kind).numbers(of: frames)
    #expect(numbers.count > 800 && numbers == Array(0..<numbers.count))
    guard kind == .encrypted else { return }
    for (key, word) in [([UInt8](repeating: 1, count: 16), "deciphered"), ([1, 2, 3], "3 bytes")] {
      _ = try folder.write(key, to: "high/key.bin")
      let error = #expect(throws: StreamError.self) { try StationSound(file: folder.file("master.m3u8")) }
      #expect(error?.message.contains(word) == true && error?.message.contains("key.bin") == true)
    }
  }

  /// Returns a tag of ID3v2.4 with texts in UTF-8.
  private func id3(_ texts: [String: [UInt8]]) -> [UInt8] {
    var body: [UInt8] = []
    for (name, text) in texts.sorted(by: { $0.key < $1.key }) {
      body += Array(name.utf8) + [0, 0, 0, UInt8(text.count + 1), 0, 0, 3] + text
    }
    return Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(body.count)] + body
  }

  @Test("a station's file that is no sound is refused with its name")
  func otherFiles() throws {
    for name in ["base.aiff", "aac-lc-44k.m4a", "nothing.mp3"] {
      let error = #expect(throws: StreamError.self) { try StationSound(file: Fixtures.path(name)) }
      #expect(error?.message.contains(name) == true)
    }
  }
}
