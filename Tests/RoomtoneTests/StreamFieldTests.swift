import TestSupport
import TestTraits
import Testing

@Suite("fields of streams, and connection options", .waiting, .serialized, .tags(.stream, .connection))
struct StreamFieldTests {
  private let harness: LiveStationHarness
  private var station: Station { harness.station }

  init() throws { harness = try LiveStationHarness() }

  @Test(
    "a station has its genre and the address of a title; the buffer has its length and the position heard"
  )
  func fields() throws {
    var live = try LiveStationHarness.live(titles: [.init("One';StreamUrl='http://page.example/one", at: 0)])
    live.stationHeaders += [("icy-genre", "Jazz")]
    station.answer("/live", with: .live(live))
    let lines = try harness.printed(
      """
      local radio = stream.new(url, quick)
      print(radio.genre, radio.stream_url, radio.buffer_playing, radio.buffer_max_seconds)
      radio:on("metadata", function(event) print(event.title, event.url == radio.stream_url, radio.stream_url) end)
      radio:start()
      task.sleep(0.1)
      print(radio.genre, radio.buffer_playing < radio.buffer_used)
      -- 1,200 blocks of 5 KiB at 128 kbit/s, less what is left at the ends of blocks.
      print(radio.buffer_max_seconds > 300 and radio.buffer_max_seconds < 384)
      local playing = radio.buffer_playing
      print(radio:forward(2) > 1.5, radio.buffer_playing > playing)
      radio:stop()
      """)
    #expect(
      lines == [
        "nil\tnil\tnil\t0.0", "One\ttrue\thttp://page.example/one", "Jazz\ttrue", "true", "true\ttrue",
      ])
  }

  @Test("the version of the library is that of the program")
  func version() throws {
    let parts = try #require(harness.printed("print(stream.version)").first).split(separator: ".")
    #expect(parts.count == 3 && parts.allSatisfy { Int($0) != nil })
  }

  @Test(
    "a list of an unstated type is recognized by its bytes, and its station plays", arguments: ["pls", "m3u"])
  func type(name: String) throws {
    let list = name == "pls" ? "[playlist]\nFile1=/live\n" : "/live\n"
    station.answer("/list", with: .page(list, type: "application/octet-stream"))
    station.answer("/live", with: .live(try LiveStationHarness.live()))
    let lines = try harness.printed(
      """
      local radio = stream.new(root .. "/list", { type = "\(name)", buffer_wait = 0.5, data_timeout = "5s" })
      radio:start()
      print(radio.status, radio.type, radio.format)
      radio:stop()
      local raw = stream.new(root .. "/list", { type = "raw", data_timeout = "5s" })
      print(code(raw.start, raw))
      """)
    #expect(lines == ["playing\t\(name)\tmp3", "stream.content"])
  }

  @Test("a recording with reset begins a new connection, unless another one runs")
  func reset() throws {
    station.answer("/live", with: .live(try LiveStationHarness.live()))
    let folder = try TemporaryFolder()
    let lines = try harness.printed(
      """
      local radio = stream.new(url, quick)
      radio:start()
      local first = radio:record("\(folder.file("first.mp3"))", { reset = true })
      print(radio.status, first.state)
      print(code(radio.record, radio, "\(folder.file("second.mp3"))", { reset = true }))
      local second = radio:record "\(folder.file("third.mp3"))"
      first:stop()
      second:stop()
      radio:stop()
      """)
    #expect(lines.count == 2 && lines[0].hasSuffix("recording") && lines[1] == "stream.in_use", "\(lines)")
    #expect(station.visits.count == 2)
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
}
