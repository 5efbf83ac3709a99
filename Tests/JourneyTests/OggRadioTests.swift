import Glibc
import TestSupport
import TestTraits
import Testing

/// Ogg of a real Icecast, whose sources are ffmpeg's.
@Suite("radio in Ogg", .waiting, .tags(.ogg, .stream, .recording)) struct OggRadioTests {
  /// A station of each codec, in real time.
  private struct Stations {
    static let mounts = ["/vorbis.ogg", "/opus.ogg", "/flac.ogg"]

    let icecast: Icecast
    private let folder: TemporaryFolder
    private let encoder: ServerProcess

    init() throws {
      let icecast = try Icecast()
      (self.icecast, folder) = (icecast, try TemporaryFolder())
      let noise = "anoisesrc=r=48000:a=0.3:seed=7:c=pink:d=60"
      var words = ["-nostdin", "-v", "error", "-re", "-f", "lavfi", "-i", noise]
      let codecs = [
        ["libvorbis", "-b:a", "128k"], ["libopus", "-b:a", "96k"], ["flac", "-sample_fmt", "s16"],
      ]
      for (mount, codec) in zip(Self.mounts, codecs) {
        words += ["-ac", "2", "-c:a"] + codec
        words += [
          "-metadata", "artist=Some Artist", "-metadata", "title=Some Song", "-page_duration", "250000",
        ]
        words += ["-content_type", "application/ogg", "-f", "ogg", icecast.sourceURL(mount)]
      }
      encoder = try ServerProcess("ffmpeg", words, log: folder.file("log"))
      try encoder.wait(for: "sources") { _ in Self.mounts.allSatisfy { icecast.hasSource($0) } ? true : nil }
    }
  }

  /// Returns what a program says of a file, which is nothing of a whole one.
  private func words(_ program: String, _ arguments: [String]) throws -> String {
    let result = try Command.run(program, arguments)
    let text = String(decoding: result.output + result.errors, as: UTF8.self)
    return result.status == 0 ? text : "status \(result.status): \(text)"
  }

  @Test("Vorbis, Opus and FLAC are recorded in files that their own programs decode, and play")
  func recordedAndPlayed() throws {
    let (stations, home) = (try Stations(), try Home())
    // A house for each.
    let players = try Stations.mounts.map { try PlayingHome(stations.icecast.url($0)) }
    let recorders = try Stations.mounts.map { mount in
      try home.start(
        ["record", stations.icecast.url(mount), "-o", "{artist} - {title}.{ext}", "--for", "3s"])
    }
    for (name, recorder) in zip(["ogg", "opus", "oga"].map { "Some Artist - Some Song.\($0)" }, recorders) {
      let outcome = try recorder.finish()
      #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
      #expect(
        outcome.lines.count == 1 && outcome.lines[0].hasPrefix("recorded \(home.path(name)), 0:03, "),
        "\(outcome)")
      let path = home.path(name)
      #expect(try words("ffmpeg", ["-v", "error", "-i", path, "-f", "null", "-"]) == "")
      switch name.suffix(4) {
      case "opus": #expect(try words("opusdec", ["--quiet", path, home.path("opus.wav")]) == "")
      case ".ogg": #expect(try words("ogg123", ["-q", "-d", "null", path]) == "")
      default: #expect(try words("flac", ["-s", "-t", path]) == "")
      }
    }
    let list = try home.run("recordings", "verify")
    #expect(list.lines.count == 3 && list.lines.allSatisfy { $0.hasPrefix("good  0:03  ") }, "\(list)")

    let urls = Stations.mounts.enumerated().map { "s\($0) = \"\(stations.icecast.url($1))\"" }
    try home.script("stations { \(urls.joined(separator: ", ")) }", as: "config.lua")
    let doctor = try home.run("doctor", "--config", "config.lua")
    for (number, codec) in ["Vorbis", "Opus", "FLAC"].enumerated() {
      let line = doctor.lines.first { $0.contains("station s\(number)") } ?? ""
      #expect(line.contains("\(codec), 48 kHz, stereo, "), "\(doctor)")
      #expect(line.contains(" kbit/s, with titles"), "\(doctor)")
    }

    for (mount, player) in zip(Stations.mounts, players) {
      try player.expect("Some Artist - Some Song")
      let sound = try player.end()
      #expect(sound.frameCount >= 48_000 && sound.peak > 0.05, "\(mount): \(sound.frameCount) \(sound.peak)")
    }
  }
}
