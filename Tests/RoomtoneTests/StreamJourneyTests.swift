import TestSupport
import TestTraits
import Testing

@Suite("stations as they are", .waiting, .serialized, .tags(.stream))
struct StreamJourneyTests {
  private let harness: LiveStationHarness
  private var station: Station { harness.station }

  init() throws { harness = try LiveStationHarness() }

  /// Plays a stream at `url`; returns its state, name, format and bit rate.
  private func start(_ url: String = "url") throws -> [String] {
    try harness.printed(
      """
      local radio = stream.new(\(url), quick)
      radio:start()
      print(radio.status, radio.name, radio.format, radio.bit_rate)
      radio:stop()
      """)
  }

  @Test("lists that lead to lists, a redirect and a compressed answer lead to the station")
  func playlists() throws {
    station.answer("/live", with: .live(try LiveStationHarness.live()))
    station.answer("/moved", with: .redirect(to: station.url("/live")))
    station.answer("/list.m3u", with: .page("#EXTM3U\n#EXTINF:-1,Radio\nmoved\n", type: "audio/x-mpegurl"))
    station.answer(
      "/list.pls",
      with: .page("[playlist]\nFile1=\(station.url("/list.m3u"))\nNumberOfEntries=1\n", type: "audio/x-scpls")
        .gzipped())
    #expect(try start("root .. '/list.pls'") == ["playing\tTest station\tmp3\t128"])
    // Nobody had asked for it.
    #expect(station.visits.allSatisfy { $0["Accept-Encoding"] == "identity" })
  }

  @Test(
    "a bit rate without a header is measured: exactly, where it is constant", arguments: [128, 64, 8])
  func measured(_ rate: Int) throws {
    let folder = try TemporaryFolder()
    // 8 kbit/s is MPEG-2.5.
    let options =
      ["128": ["-ar", "44100"], "64": ["-ar", "22050"], "8": ["-ar", "8000", "-ac", "1"]]["\(rate)"] ?? []
    try Command.succeed(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", "sine=frequency=500:duration=20"] + options
        + [
          "-c:a", "libmp3lame", "-b:a", "\(rate)k", "-abr", "0", "-write_xing", "0", "-id3v2_version", "0",
          folder.file("tone.mp3"),
        ])
    var live = Live(.init(repeating: try readBytes(folder.file("tone.mp3")), bytesPerSecond: rate * 125))
    live.stationHeaders = []
    live.burst = rate * 125 * 8
    station.answer("/live", with: .live(live))
    let lines = try harness.printed(
      """
      local radio = stream.new(url, { buffer_wait = 4 })
      print(radio.bit_rate)
      radio:start()
      print(radio.bit_rate)
      radio:stop()
      """)
    #expect(lines == ["nil", "\(rate)"])
  }

  @Test("a certificate that the system does not trust: stream.network, with what to do")
  func certificate() throws {
    let folder = try TemporaryFolder()
    let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
    try Command.succeed(
      "openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
        "-subj", "/CN=localhost",
      ])
    let server = try ServerProcess(
      "openssl", ["s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www"],
      log: folder.file("log"))
    let port = try server.wait(for: "openssl to listen") { output in
      output.firstRange(of: "ACCEPT 127.0.0.1:").flatMap { found in
        Int(output[found.upperBound...].prefix { $0.isNumber })
      }
    }
    station.answer("/live", with: .redirect(to: "https://localhost:\(port)/"))
    for url in ["'https://localhost:\(port)/'", "url"] {
      let lines = try harness.printed(
        """
        local radio = stream.new(\(url))
        radio:on("url_not_found", function(event) print(event.code) end)
        local err = failure(radio.start, radio)
        task.sleep(0.05)
        print(err.code, err.hint)
        """)
      #expect(
        lines == [
          "stream.network",
          "stream.network\tto trust it, name its file: --ca-file FILE, "
            + "or ca_file of the station in the configuration",
        ])
    }
  }
}
