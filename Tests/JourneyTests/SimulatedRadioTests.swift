import AudioCore
import Codecs
import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("Radio, simulated", .waiting, .tags(.simulation, .stream))
struct SimulatedRadioTests {
  private static let script =
    """
    local speaker, stream, task = require "speaker", require "stream", require "task"
    speaker.open { add_all = false }
    local kitchen = speaker.device "Kitchen"
    kitchen:set_volume(50)
    kitchen:join()
    local radio = stream.new "http://radio.example/morning"
    speaker.play_stream(radio)
    task.sleep(25)
    radio:stop()
    """

  private func home() throws -> Home {
    let home = try Home()
    try home.script(Self.script)
    try home.write(try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")), to: "show.mp3")
    try home.script(
      """
      station("http://radio.example/morning", {
        file = "show.mp3", name = "Morning FM", burst = "11s",
        titles = { { at = 0, title = "A - One" }, { at = 1, title = "B - Two" } },
        drops = { { at = 3, outage = 2 } },
      })
      """, as: "stations.lua")
    return home
  }

  @Test("the time line shows the station, its titles, and a drop without loss; twice the same")
  func timeLine() throws {
    let home = try home()
    let outcomes = try (0..<2).map { _ in
      try home.run("simulate", "routine.lua", "--stations", "stations.lua", "--from", "2026-01-05T06:45")
    }
    #expect(outcomes[0].status == 0 && outcomes[0].errors == "" && outcomes[0].output == outcomes[1].output)
    let lines = outcomes[0].output.split(separator: "\n").map { line in
      line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
    for wanted in [
      "06:45:00 Kitchen ▶ Morning FM at volume 50", "06:45:12 Kitchen ♪ B - Two",
      "06:45:25 Kitchen ■ Morning FM is stopped",
    ] { #expect(lines.contains(wanted), "\(lines)") }
    #expect(lines.contains { $0.hasPrefix("06:45:03 Kitchen ! ") && $0.hasSuffix("(stream.network)") })
    #expect(lines.contains { $0.hasSuffix("Kitchen connected again, nothing is missing") })
  }

  /// A station that drops: the drop is heard at 14 s, after the burst.
  @Test("the rendered sound is the file over and over, over a drop too")
  func sound() throws {
    let home = try home()
    let outcome = try home.run("simulate", "routine.lua", "--stations", "stations.lua", "--render", "out")
    #expect(outcome.status == 0 && outcome.errors == "")
    let heard = try Sound(file: home.path("out/Kitchen.wav"))
    #expect(abs(Double(heard.frameCount) / 48_000 - 25) < 0.2)
    let source = try Sound(
      decoding: ConformedDecoder(AudioFile.open(home.path("show.mp3"))), frames: 48_000)
    let mono = zip(source.channels[0], source.channels[1]).map { ($0 + $1) / 2 }
    let file = Sound(sampleRate: 48_000, channels: [mono, mono])
    // The decoder of a stream begins with the encoder's delay, which that of a file omits.
    let match = heard[48_000..<96_000].alignment(to: file[0..<144_000])
    #expect(match.correlation > 0.5)
    // The rest is the part of a frame by which both resamplers differ.
    #expect(heard[0..<(19 * 48_000)].errorToSignal(against: file, delay: match.frames + 48_000) < -20)
  }

  @Test("a stations file that is not there is wrong usage, one with a mistake fails with its line")
  func mistakes() throws {
    let home = try home()
    let missing = try home.run("simulate", "routine.lua", "--stations", "nothing.lua")
    #expect(missing.status == 2 && missing.errors.contains("the stations file nothing.lua"))
    try home.script("\nstation('http://radio.example/', { fiel = 'show.mp3' })", as: "wrong.lua")
    let wrong = try home.run("simulate", "routine.lua", "--stations", "wrong.lua")
    #expect(wrong.status == 1 && wrong.errors.contains("wrong.lua:2: ") && wrong.errors.contains("'file'"))
  }

  @Test(
    "recordings exist until the end, in a folder of their own with its catalogue; twice the same"
  )
  func recordings() throws {
    let home = try home()
    try home.script(
      """
      local stream, recordings = require "stream", require "recordings"
      for _, path in ipairs { "~/Radio/{title}.{ext}", "\(home.path("here")).mp3", "{station}.mp3" } do
        local radio = stream.new "http://radio.example/morning"
        local recording = radio:record(path, { duration = "4s" })
        recording:wait "recording_finished"
        print(recording.path, math.floor(recording.seconds), recordings.verify(recording.path).good)
      end
      print(#recordings.list {})
      """, as: "record.lua")
    try home.write(Array("recordings { folder = '\(home.path("Radio"))' }".utf8), to: "config.lua")
    let outcomes = try (0..<2).map { _ in
      try home.run("simulate", "--config", "config.lua", "--stations", "stations.lua", "record.lua")
    }
    #expect(
      outcomes[0] == outcomes[1] && outcomes[0].status == 0 && outcomes[0].errors == "", "\(outcomes[0])")
    let scratch = home.path("state/roomtone/simulation/1")
    for name in ["Radio/One.mp3", "here.mp3", "Radio/Morning FM.mp3"] {
      #expect(outcomes[0].output.contains("\(scratch + home.path(name))\t4\ttrue"), "\(outcomes[0])")
      #expect(access(home.path(name), F_OK) != 0, "\(name)")
    }
    #expect(fileNames(in: home.path("state/roomtone/simulation")) == ["1.lock"])
    #expect(outcomes[0].lines.last?.hasSuffix("  3") == true, "\(outcomes[0])")
    // The burst is recorded at once, and reported in its order all the same.
    let reported = outcomes[0].lines.filter { $0.contains("One.mp3") && !$0.contains("\t") }
    #expect(
      reported.count == 2 && reported.first?.hasSuffix("● One.mp3 is being recorded") == true
        && reported.last?.hasSuffix("■ One.mp3 is recorded, 4 s") == true, "\(reported)")
    #expect(try home.run("recordings").lines == ["no recordings"])
  }

  @Test("a station of a master list with encrypted segments sends its sound") func segments() throws {
    let home = try Home()
    guard mkdir(home.path("aac"), 0o700) == 0 else { throw TestFailure("can't make a folder") }
    try home.write((1...16).map { $0 }, to: "aac/key.bin")
    try home.write(Array("key.bin\n\(home.path("aac/key.bin"))\n".utf8), to: "key.info")
    try Command.succeed(
      "ffmpeg",
      [
        "-v", "error", "-i", Fixtures.path("music-44k.flac"), "-c:a", "aac", "-f", "hls", "-hls_time", "1",
        "-hls_playlist_type", "vod", "-hls_key_info_file", home.path("key.info"), home.path("aac/index.m3u8"),
      ])
    try home.script(
      "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=128000,CODECS=\"mp4a.40.2\"\naac/index.m3u8\n", as: "master.m3u8")
    try home.script(
      """
      station("http://radio.example/morning", { file = "master.m3u8", name = "Morning HLS" })
      """, as: "stations.lua")
    try home.script(Self.script)
    let outcome = try home.run(
      "simulate", "routine.lua", "--stations", "stations.lua", "--render", "out", "--from",
      "2026-01-05T06:45")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    #expect(outcome.output.contains("▶ Morning HLS at volume 50"), "\(outcome)")
    let heard = try Sound(file: home.path("out/Kitchen.wav"))
    #expect(heard.frameCount > 20 * heard.sampleRate && heard.peak > 0.1)

    for (field, words) in [
      ("is_file = true", "which is simulated as a station only"),
      ("burst = '5m'", "it is longer than the list of the station"),
    ] {
      try home.script(
        "station('http://radio.example/morning', { file = 'aac/index.m3u8', \(field) })", as: "refused.lua")
      let refused = try home.run("simulate", "routine.lua", "--stations", "refused.lua")
      #expect(refused.status == 1 && refused.errors.contains(words), "\(refused)")
    }

    try home.write([UInt8](repeating: 9, count: 16), to: "aac/key.bin")
    let failed = try home.run("simulate", "routine.lua", "--stations", "stations.lua")
    #expect(failed.status == 1 && failed.errors.contains("is not deciphered by its key"), "\(failed)")
  }
}
