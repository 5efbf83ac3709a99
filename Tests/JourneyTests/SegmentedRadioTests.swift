import Glibc
import TestSupport
import TestTraits
import Testing

/// Stations that ffmpeg's muxers make while the test runs, behind a plain HTTP server.
@Suite("radio in segments", .waiting, .tags(.hls)) struct SegmentedRadioTests {
  /// A packager, in real time: MPEG-TS, MP4 and encrypted segments of AAC, and packed MP3.
  private struct Packager {
    static let kinds = ["ts", "mp4", "encrypted", "packed"]

    let folder: TemporaryFolder
    let station: Station
    private let encoder: ServerProcess

    init() throws {
      let folder = try TemporaryFolder()
      for kind in Self.kinds { mkdir(folder.file(kind), 0o755) }
      let key = try folder.write(Array("0123456789abcdef".utf8), to: "encrypted/key.bin")
      let info = try folder.write(Array("key.bin\n\(key)\n".utf8), to: "info")
      let noise = "anoisesrc=r=44100:a=0.3:seed=7:c=pink:d=60"
      var words = ["-nostdin", "-v", "error", "-re", "-f", "lavfi", "-i", noise]
      func add(_ kind: String, _ options: [String], end: String) {
        words += ["-ac", "2", "-b:a", "96k"] + options
        words.append(folder.file("\(kind)/\(end)"))
      }
      func hls(_ kind: String, _ options: [String], end: String) {
        let name = folder.file("\(kind)/s%03d.\(end)")
        let list = ["-f", "hls", "-hls_time", "1", "-hls_list_size", "6", "-hls_segment_filename", name]
        add(kind, ["-c:a", "aac"] + list + options, end: "index.m3u8")
      }
      hls("ts", [], end: "ts")
      hls("mp4", ["-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4"], end: "m4s")
      hls("encrypted", ["-hls_key_info_file", info], end: "ts")
      add(
        "packed",
        [
          "-c:a", "libmp3lame", "-f", "segment", "-segment_time", "1", "-segment_list",
          folder.file("packed/index.m3u8"), "-segment_list_type", "hls", "-segment_list_size", "6",
          "-segment_list_flags", "+live", "-segment_format", "mp3",
          "-segment_format_options", "write_xing=0:id3v2_version=0",
        ], end: "s%03d.mp3")
      encoder = try ServerProcess("ffmpeg", words, log: folder.file("log"))
      station = try Station()
      station.answer(withFilesIn: folder.path)
      self.folder = folder
      try encoder.wait(for: "four segments of each kind") { _ in
        Self.kinds.allSatisfy { kind in
          guard let list = try? readBytes(folder.file("\(kind)/index.m3u8")) else { return false }
          return String(decoding: list, as: UTF8.self).ranges(of: "#EXTINF").count >= 4
        } ? true : nil
      }
    }

    func url(_ kind: String) -> String { station.url("/\(kind)/index.m3u8") }

    /// The sound of all segments so far, as frames of ADTS.
    func sound(of kind: String) throws -> [UInt8] {
      let names = fileNames(in: folder.file(kind)).filter { $0.hasSuffix(".ts") }.sorted()
      let whole = try folder.write(names.flatMap { try readBytes(folder.file("\(kind)/\($0)")) }, to: "whole")
      return try Command.succeed("ffmpeg", ["-v", "error", "-i", whole, "-c", "copy", "-f", "adts", "-"])
        .output
    }
  }

  @Test("stations that ffmpeg makes are recorded frame by frame, in files that decode, and play")
  func recordedAndPlayed() throws {
    let (packager, home) = (try Packager(), try Home())
    let player = try PlayingHome(packager.url("mp4"))
    let recorders = try Packager.kinds.map { kind in
      try home.start(["record", packager.url(kind), "-o", "\(kind).{ext}", "--for", "3s"])
    }
    for (kind, recorder) in zip(Packager.kinds, recorders) {
      let outcome = try recorder.finish()
      let name = kind == "packed" ? "packed.mp3" : "\(kind).aac"
      #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
      #expect(
        outcome.lines.count == 1 && outcome.lines[0].hasPrefix("recorded \(home.path(name)), 0:03, "),
        "\(outcome)")
      let path = home.path(name)
      let decoded = try Command.run("ffmpeg", ["-v", "error", "-i", path, "-f", "null", "-"])
      #expect(
        decoded.status == 0 && decoded.errors == [], "\(String(decoding: decoded.errors, as: UTF8.self))")
    }
    let list = try home.run("recordings", "verify")
    #expect(list.lines.count == 4 && list.lines.allSatisfy { $0.hasPrefix("good  0:03  ") }, "\(list)")
    // The frames are those of the segments, none twice and none left out.
    for kind in ["ts"] {
      let file = try readBytes(home.path("\(kind).aac"))
      let (sound, frames) = (try packager.sound(of: kind), Array(file[endOfTag(file)...]))
      let start = (0...max(0, sound.count - frames.count)).first { sound[$0...].starts(with: frames) }
      #expect(start != nil && frames.count > 30_000, "\(frames.count) bytes")
    }

    let sound = try player.end()
    #expect(sound.frameCount >= 48_000 && sound.peak > 0.05, "\(sound.frameCount) \(sound.peak)")
  }
}

/// A home in which `roomtone play` plays a station, into a file.
struct PlayingHome {
  private let home: Home
  private let player: RunningCommand

  init(_ url: String) throws {
    home = try Home()
    try home.script("house { speakers = { { name = 'Kitchen', volume = 50 } } }", as: "config.lua")
    player = try home.start(
      ["play", url, "--config", "config.lua", "--output", "wav:out"], input: .terminal)
  }

  /// Waits for a text on the terminal.
  func expect(_ text: String) throws { try player.expect(text) }

  /// Waits for two seconds of sound, and ends the player.
  /// - Returns: the sound that it played, up to then.
  func end() throws -> Sound {
    let path = home.path("out/Kitchen.wav")
    var status = stat()
    for _ in 0..<3_000 where stat(path, &status) != 0 || status.st_size < 2 * 48_000 * 4 { usleep(10_000) }
    player.send(SIGINT)
    let outcome = try player.finish()
    guard outcome.status == 130 else { throw TestFailure("roomtone play: \(outcome)") }
    return try Sound(file: path)
  }
}

/// Lists of segments that do not change, and scripts that move in them.
@Suite("radio in segments, moved by scripts", .waiting, .tags(.hls, .timeShift))
struct SegmentedRadioScriptTests {
  @Test("a complete list is a file to Lua, and a live one is rewound into its window") func moved() throws {
    let (home, folder, station) = (try Home(), try TemporaryFolder(), try Station())
    let noise = [
      "-f", "lavfi", "-i", "anoisesrc=r=44100:a=0.3:seed=9:c=pink:d=30", "-ac", "2", "-b:a", "96k",
    ]
    let list = folder.file("show.m3u8")
    try Command.succeed(
      "ffmpeg",
      ["-v", "error"] + noise + ["-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod", list])
    // The same as a live list, which begins three segments before its end.
    let lines = String(decoding: try readBytes(list), as: UTF8.self).split(separator: "\n")
    let live = lines.filter { $0 != "#EXT-X-ENDLIST" && $0 != "#EXT-X-PLAYLIST-TYPE:VOD" }
    _ = try folder.write(Array(live.joined(separator: "\n").utf8), to: "live.m3u8")
    _ = try folder.write(Array("#EXTM3U\nshow.m3u8\nshow.m3u8?2\n".utf8), to: "both.m3u")
    station.answer(withFilesIn: folder.path)
    try home.script(
      """
      local stream, task = require "stream", require "task"
      local function near(value, wanted) return math.abs(value - wanted) < 0.5 or value end
      local function code(...) return select(2, pcall(...)).code end
      local show = stream.new("\(station.url("/show.m3u8"))")
      show:start()
      print(show.can_seek, near(show.file_duration, 30), code(show.seek, show, 31))
      show:seek(20.5)
      print(show.file_time, show.status)
      task.sleep "1s"
      print(show.status, near(show.file_time, 21.5))
      print(near(show:rewind(100), 21.5), show.file_time, near(show:forward("29s"), 29))
      show:on("file_complete", function() print("complete") end)
      task.sleep "2s"
      print(show.status)

      local both = stream.new("\(station.url("/both.m3u"))", { buffer_wait_file = 1 })
      both:on("file_complete", function() print("complete") end)
      both:start()
      both:seek(29.5)
      task.sleep "2s"
      print(both.status, both.file_time < 2, near(both.file_duration, 30))
      both:seek(29)
      task.sleep "2s"
      print(both.status)

      local radio = stream.new("\(station.url("/live.m3u8"))", { buffer_wait = 1 })
      radio:start()
      print(radio.can_seek, radio:can_rewind(20), radio:can_rewind(40))
      print(near(radio:rewind(15), 15), radio.status)
      task.sleep "1s"
      print(radio.status, radio.time_shift > 13)
      print(radio:rewind(60) < 16, radio:can_rewind(2), radio.time_shift > 27)
      radio:go_live()
      print(radio.time_shift < 4)
      radio:stop()
      """, as: "moves.lua")
    let outcome = try home.run("run", "moves.lua")
    #expect(outcome.errors == "", "\(outcome)")
    #expect(
      outcome.lines == [
        "true\ttrue\tstream.no_seek", "20.5\tbuffering", "playing\ttrue", "true\t0.0\ttrue", "complete",
        "stopped", "complete", "playing\ttrue\ttrue", "complete", "stopped", "false\ttrue\tfalse",
        "true\tbuffering", "playing\ttrue", "true\tfalse\ttrue", "true",
      ], "\(outcome)")
  }
}
