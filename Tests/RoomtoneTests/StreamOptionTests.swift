import TestSupport
import TestTraits
import Testing

@Suite("options of streams", .waiting, .serialized, .tags(.stream))
struct StreamOptionTests {
  private let harness: LiveStationHarness

  init() throws { harness = try LiveStationHarness() }

  @Test("can be set at the start, changed by methods and read as fields, durations in seconds")
  func fields() throws {
    let lines = try harness.printed(
      """
      local names = { "type", "buffer_blocks", "user_agent", "data_timeout", "pause_timeout",
        "metadata_encoding", "buffer_wait", "max_bit_rate", "catch_up" }
      local function show(radio)
        local values = {}
        for i, name in ipairs(names) do values[i] = radio[name] end
        print(table.unpack(values, 1, #names))
      end
      show(stream.new(url))
      local radio = stream.new(url, { type = "raw", buffer_blocks = 20, user_agent = "A", data_timeout = "1m",
        pause_timeout = 0, metadata_encoding = "KOI8-R", buffer_wait = "250ms",
        max_bit_rate = 96, catch_up = "keep" })
      show(radio)
      radio:set_type "pls"
      radio:set_buffer_blocks(30)
      radio:set_user_agent "B"
      radio:set_data_timeout "20s"
      radio:set_pause_timeout(1.5)
      radio:set_metadata_encoding "latin1"
      radio:set_buffer_wait "2s"
      radio:set_max_bit_rate(64)
      radio:set_catch_up "skip"
      show(radio)
      print(radio.buffer_size)
      print(message(function() radio.data_timeout = 3 end))
      """)
    #expect(
      lines == [
        "auto\t1200\tRoomtone\t20.0\t300.0\tlatin1\tnil\t320\tskip",
        "raw\t20\tA\t60.0\t0.0\tKOI8-R\t0.25\t96\tkeep",
        "pls\t30\tB\t20.0\t1.5\tlatin1\t2.0\t64\tskip",
        "30",
        "the field 'data_timeout' of a stream is for reading; call :set_data_timeout(…) to change it",
      ])
  }

  @Test(
    "are checked alike, in new, in set_url and by their methods, which name what is wrong",
    arguments: [
      ("type", "'mp4'", #"no type is called 'mp4'; known: auto, m3u, pls, raw"#),
      ("buffer_blocks", "9", "10 to 100000 expected, got 9"),
      ("max_bit_rate", "7", "8 to 10000 expected, got 7"),
      ("catch_up", "'wait'", #""skip" or "keep" expected, got "wait""#),
      ("user_agent", "5", "string expected, got number"),
      ("user_agent", "'a\\nb'", "contains a control character"),
      ("data_timeout", "0.5", "at least 1 s expected"),
      ("pause_timeout", "-1", "0 or more seconds expected, got -1.0"),
      ("metadata_encoding", "'lattin1'", "no encoding is called 'lattin1'; did you mean 'latin1'?"),
      ("buffer_wait", "true", "seconds or text like \"5m\" expected, got boolean"),
      ("buffer_wait_file", "3.2e9", "at most a hundred years expected, got 3200000000.0 seconds"),
    ])
  func checks(_ name: String, _ value: String, _ problem: String) throws {
    let lines = try harness.printed(
      """
      local radio = stream.new(url)
      print(message(stream.new, url, { \(name) = \(value) }))
      print(message(radio.set_url, radio, url, { \(name) = \(value), start = false }))
      print(message(function() radio:set_\(name)(\(value)) end))
      """)
    #expect(
      lines == [
        "bad argument #2 to 'new' (option '\(name)': \(problem))",
        "bad argument #3 to 'set_url' (option '\(name)': \(problem))",
        "bad argument #1 to 'set_\(name)' (\(problem))",
      ])
  }

  @Test(
    "a missing argument of a method or an effect is reported as no value",
    arguments: [
      ("radio:set_type()", "string"), ("radio:set_buffer_blocks()", "number"),
      ("radio:set_buffer_wait()", "seconds or text like \"5m\""), ("radio:set_url()", "string"),
      ("radio:tap()", "function or effect"), ("radio:meter()", "boolean"),
      ("radio:seek()", "seconds or text like \"5m\""),
      ("stream.effect.equalizer()", "name of a preset, or table of bands"),
    ])
  func missing(_ call: String, _ expected: String) throws {
    let lines = try harness.printed("local radio = stream.new(url) print(message(function() \(call) end))")
    #expect(lines.count == 1 && lines[0].hasSuffix("(\(expected) expected, got no value)"), "\(lines)")
  }

  @Test("user and password open a station, can be changed and removed, and can't be read")
  func auth() throws {
    harness.station.answer(
      "/live", with: .live(try LiveStationHarness.live()).requiring(user: "listener", password: "open sesame")
    )
    let lines = try harness.printed(
      """
      local radio = stream.new(url, quick)
      local err = failure(radio.start, radio)
      print(err.code, err.hint)
      radio:set_auth("listener", "open sesame")
      radio:start()
      print(radio.status)
      radio:stop()
      radio:set_auth(nil)
      print(code(radio.start, radio))
      print(message(function() return radio.auth end))
      print(message(function() radio.auth = {} end))
      print(message(function() radio:set_auth("a:b", "c") end))
      print(message(function() radio:set_auth("a") end))
      local other = stream.new(url:gsub("//", "//listener:open%%20sesame@"), quick)
      other:start()
      print(other.url == url, tostring(other):match "sesame")
      other:stop()
      """)
    #expect(
      lines == [
        "stream.auth\tset them with auth = {user, password}", "playing", "stream.auth",
        "the field 'auth' of a stream can't be read: a password is sent to its server alone",
        "the field 'auth' of a stream is secret; call :set_auth(…) to change it",
        "bad argument #1 to 'set_auth' (a user's name can't have a colon)",
        "bad argument #2 to 'set_auth' (string expected, got no value)",
        "true\tnil",
      ])
  }

  @Test("a data timeout that is changed reaches the connection that is silent")
  func dataTimeout() throws {
    harness.station.answer(
      "/live", with: .live(try LiveStationHarness.live()).stalling(at: 40_000), .status("404 Not Found"))
    let lines = try harness.printed(
      """
      local radio = stream.new(url, { buffer_wait = 0.5, data_timeout = "10m" })
      radio:start()
      print(radio:wait("timeout", 1))
      task.spawn(function() task.sleep(0.1) radio:set_data_timeout(1) end)
      local event = radio:wait("timeout", 60)
      print(event.code, event.url == url, radio.is_playing)
      radio:stop()
      """)
    #expect(lines == ["nil\ttimeout", "stream.timeout\ttrue\ttrue"])
  }

  @Test("a pause timeout that is changed counts anew while it is paused, and 0 waits for ever")
  func pauseTimeout() throws {
    harness.station.answer("/live", with: .live(try LiveStationHarness.live()))
    let lines = try harness.printed(
      """
      local radio = stream.new(url, { buffer_wait = 0.5, pause_timeout = 1 })
      radio:start()
      radio:pause()
      radio:set_pause_timeout(0)
      print(radio:wait("stopped", 1.5))
      print(radio.status)
      task.spawn(function() radio:set_pause_timeout "100ms" end)
      print(type(radio:wait("stopped", 60)), radio.status)
      """)
    #expect(lines == ["nil\ttimeout", "paused", "table\tstopped"])
  }

  @Test("user agent, encoding, wait and blocks: each takes effect when documented")
  func moments() throws {
    let station = harness.station
    // "Süß" in Latin-1; in KOI8-R the same bytes are Cyrillic.
    let title = Array("StreamTitle='S".utf8) + [0xFC, 0xDF] + Array("';".utf8)
    let block = [UInt8((title.count + 15) / 16)] + title
    let padded = block + [UInt8](repeating: 0, count: 1 + Int(block[0]) * 16 - block.count)
    let sound = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3"))
    let head = "HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-metaint: 20000\r\n\r\n"
    let body = sound.prefix(20_000) + padded + sound[20_000...].prefix(20_000)
    let answer = Answer.raw(Array(head.utf8) + body + [0])
    station.answer("/live", with: answer.stalling(at: head.utf8.count + body.count + 1))
    let lines = try harness.printed(
      """
      local radio = stream.new(url, { buffer_wait = 5, user_agent = "First/1", metadata_encoding = "koi8-r" })
      radio:on("metadata_realtime", function(event) print(event.title) end)
      task.spawn(function()
        while radio.buffered_seconds < 2 do task.sleep(0.05) end
        radio:set_user_agent "Second/2"
        radio:set_metadata_encoding "latin1"
        radio:set_buffer_blocks(20)
        print(radio.status, radio.buffer_blocks, radio.buffer_size)
        radio:set_buffer_wait "2s"
      end)
      radio:start()
      radio:stop()
      radio:start()
      print(radio.buffer_size)
      radio:stop()
      """)
    #expect(
      lines == ["SЭъ", "buffering\t20\t1200", "Süß", "20"]
        || lines == ["SЭъ", "buffering\t20\t1200", "20", "Süß"], "\(lines)")
    #expect(station.visits.map { $0["User-Agent"] } == ["First/1", "Second/2"])
    #expect(station.visits.map { $0["Icy-MetaData"] } == ["1", "1"])
  }
}
