import EventLoop
import LuaModules
import LuaRuntime
import Roomtone
import TestSupport
import TestTraits
import Testing

@Suite("radio under simulation", .waiting, .tags(.stream, .simulation))
struct SimulatedRadioTests {
  private static let url = "http://radio.example/morning.mp3"
  private static let prelude = "local stream = require 'stream' local url = '\(url)' "

  /// A harness whose station plays 20 s at 128 kbit/s over and over, with further `fields`.
  private func harness(_ fields: String) throws -> EngineHarness {
    var harness = try EngineHarness()
    harness.stations =
      "station('\(Self.url)', { file = '\(Fixtures.path("mp3-cbr128-44k.mp3"))', \(fields) })"
    return harness
  }

  private func printed(_ fields: String, _ code: String) throws -> [String] {
    try harness(fields).printed(Self.prelude + code)
  }

  @Test("a week of radio alarms plays each morning, and is simulated in a moment")
  func week() throws {
    let clock = ContinuousClock()
    let start = clock.now
    let lines = try EngineHarness().printed(
      """
      local stream = require "stream"
      speaker.open { add_all = true }
      schedule.at("06:45", { days = "daily" }, function()
        local radio = stream.new "http://radio.example/morning.mp3"
        speaker.play_stream(radio)
        local from = os.date "%a %H:%M:%S"
        task.sleep "1h"
        print(from, radio.status, speaker.state(), speaker.position(), radio.time_shift < 14.2, radio.title)
        radio:stop()
      end)
      """)
    #expect(lines.count == 7)
    for (day, line) in zip(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], lines) {
      #expect(line == "\(day) 06:45:00\tplaying\tplaying\t3600.0\ttrue\tmorning - a simulated programme")
    }
    // It is two seconds or so; a machine that is busy takes longer.
    #expect(start.duration(to: clock.now) < .seconds(600))
  }

  @Test("a station that is not there raises as a real one, and the alarm falls back on a file")
  func fallback() throws {
    let lines = try printed(
      "status = 404",
      """
      speaker.open { add_all = true }
      local radio = stream.new(url)
      for _, name in ipairs { "connecting", "missing_content", "http_error", "stopped" } do
        radio:on(name, function(event) print(name, event.status) end)
      end
      local err = failure(speaker.play_stream, radio)
      print(err.code, err.status, err.url == url)
      speaker.play "tone.wav"
      speaker.finish()
      """)
    #expect(
      lines.sorted() == [
        "connecting\tnil", "http_error\t404", "missing_content\t404", "stopped\tnil",
        "stream.not_found\t404\ttrue",
      ])
  }

  @Test(
    "while a station is away the status is connecting, also when all was heard, and each attempt is reported")
  func away() throws {
    let lines = try printed(
      "drops = { { at = '30s', outage = '3m', status = 503 } }",
      """
      speaker.open { add_all = true }
      local radio = stream.new(url)
      local attempts = 0
      radio:on("connecting", function() attempts = attempts + 1 end)
      radio:on("reconnected", function() print("reconnected", attempts > 60, attempts < 200) end)
      speaker.play_stream(radio)
      print(radio.status, attempts)
      for _ = 1, 4 do
        task.sleep "40s"
        print(radio.status, radio.is_playing)
      end
      task.sleep "70s"
      print(radio.status, radio.is_playing)
      """)
    #expect(
      lines == ["playing\t1"] + [String](repeating: "connecting\tfalse", count: 4) + [
        "reconnected\ttrue\ttrue", "playing\ttrue",
      ])
  }

  @Test("a refused connection is reported as url_not_found, whatever network this machine has")
  func refused() throws {
    let lines = try printed(
      "refuses = true",
      """
      local radio = stream.new(url)
      radio:on("url_not_found", function(event) print(event.code) end)
      print(code(radio.start, radio))
      task.sleep(1)
      """)
    #expect(lines.sorted() == ["stream.network", "stream.network"])
  }

  @Test(
    "session and stream follow each other; rewind and forward are exact to the tenth",
    arguments: [false, true])
  func follows(isRendered: Bool) throws {
    var harness = try harness("name = 'Morning', burst = '12s'")
    if isRendered { harness.configuration = "house { output = 'wav:\(harness.folder.file("out"))' }" }
    let lines = try harness.printed(
      Self.prelude + """
        local function show(text) print(text, speaker.state(), radio.status, math.floor(speaker.position() + 0.5), math.floor(radio.time_shift + 0.5)) end
        speaker.open { add_all = true }
        radio = stream.new(url)
        speaker.play_stream(radio)
        local other = speaker.session { devices = { "Kitchen" } }
        print(code(other.play_stream, other, radio))
        task.sleep(20) show "plays"
        speaker.pause() task.sleep(10) show "paused"
        radio:start() task.sleep(5) show "goes on"
        radio:pause() task.sleep(5) show "paused"
        speaker.resume() task.sleep(5) show "goes on"
        print(radio:rewind(10) > 9.9) task.sleep(1) show "rewound"
        radio:go_live() task.sleep(1) show "live"
        speaker.stop() task.sleep(1)
        print(speaker.state(), radio.is_playing)
        radio:stop()
        """)
    let shift = { (line: String) in Int(line.split(separator: "\t").last ?? "") ?? -1 }
    let heads = lines.map { $0.split(separator: "\t").prefix(4).joined(separator: " ") }
    #expect(
      heads == [
        "stream.in_use", "plays playing playing 20", "paused paused paused 20", "goes on playing playing 25",
        "paused paused paused 25", "goes on playing playing 30", "true", "rewound playing playing 31",
        "live playing playing 32", "stopped true",
      ])
    for (index, wanted) in [1: 12, 2: 22, 3: 22, 4: 27, 5: 27, 7: 37, 8: 1] where index < lines.count {
      #expect(abs(shift(lines[index]) - wanted) <= 1, "\(lines[index])")
    }
  }

  @Test(
    "without sound the position does not advance, and continues with the sound", arguments: [false, true])
  func dry(isRendered: Bool) throws {
    var harness = try harness("burst = '12s', drops = { { at = 20, outage = 60 } }")
    if isRendered { harness.configuration = "house { output = 'wav:\(harness.folder.file("out"))' }" }
    let lines = try harness.printed(
      Self.prelude + """
        speaker.open { add_all = true }
        local radio = stream.new(url)
        speaker.play_stream(radio)
        task.sleep(50)
        print(math.floor(speaker.position() + 0.5), speaker.state(), radio.is_playing)
        radio:wait("reconnected", 300)
        local before = speaker.position()
        task.sleep(10)
        print(math.abs(speaker.position() - before - 10) < 0.1, radio.status)
        radio:stop()
        """)
    #expect(lines == ["32\tplaying\tfalse", "true\tplaying"])
  }

  @Test("an interruption suspends the radio and resumes it where it was")
  func interruption() throws {
    let lines = try printed(
      "burst = '12s'",
      """
      speaker.open { add_all = true }
      local radio = stream.new(url)
      for _, name in ipairs { "suspending", "suspended", "resumed" } do radio:on(name, function() print(name) end) end
      speaker.play_stream(radio)
      task.sleep(20)
      speaker.interrupt { play = "tone.wav" }
      print(math.floor(speaker.position() + 0.5), radio.status, math.floor(radio.time_shift + 0.5) - 12)
      task.sleep(5)
      print(math.floor(speaker.position() + 0.5), speaker.state(), radio.status)
      radio:stop()
      """)
    #expect(lines.filter { !$0.contains("\t") } == ["suspending", "suspended", "resumed"])
    let positions = lines.filter { $0.contains("\t") }
    #expect(
      positions.first?.hasPrefix("20\tplaying\t") == true && positions.last == "25\tplaying\tplaying",
      "\(lines)")
    #expect(["2", "3", "4"].contains(positions.first?.split(separator: "\t").last))
  }

  @Test(
    "a file of this machine plays to its end, as the one that a URL leads to", arguments: ["local", "url"])
  func files(kind: String) throws {
    var harness = try EngineHarness()
    harness.stations = "station('\(Self.url)', { file = 'tone.wav', is_file = true })"
    let source = kind == "local" ? "stream.file 'tone.wav'" : "stream.new(url)"
    let lines = try harness.printed(
      Self.prelude + """
        speaker.open { add_all = true }
        local file = \(source)
        file:on("file_complete", function() print "file_complete" end)
        speaker.on("ended", function(event) print("ended", event.reason) end)
        local start = os.clock()
        speaker.play_stream(file)
        print(file.file_duration, speaker.finish(), math.floor((os.clock() - start) * 10 + 0.5) / 10)
        """)
    #expect(lines.contains("ended\tfinished") && lines.contains("file_complete"), "\(lines)")
    #expect(lines.contains("3.0\tfinished\t3.0"), "\(lines)")
  }

  @Test("is_file for what is simulated as a station is refused with what to do")
  func noFile() throws {
    let lines = try printed(
      "", "local file = stream.new(url, { is_file = true }) print(code(file.start, file), file.status)")
    #expect(lines == ["stream.unsupported\tstopped"])
  }

  @Test("the bit rate of a simulated file is that of the file, not that of its sound")
  func fileRate() throws {
    let lines = try printed(
      "is_file = true",
      "local file = stream.new(url, { is_file = true }) file:start() task.sleep(1) print(file.bit_rate)")
    #expect(lines == ["128"])
  }

  @Test("a station with a password admits the right credentials only")
  func auth() throws {
    let lines = try printed(
      "auth = { 'me', 'secret' }",
      """
      print(code(stream.new(url).start, stream.new(url)))
      local radio = stream.new(url, { auth = { "me", "secret" } })
      radio:start() print(radio.status) radio:stop()
      """)
    #expect(lines == ["stream.auth", "playing"])
  }

  @Test(
    "a mistake in a stations file is reported with file, line and the nearest known key",
    arguments: [
      ("station('http://a.example/', { fiel = 'tone.wav' })", "did you mean 'file'?"),
      ("station('http://a.example/', {})", "'file': it is missing"),
      ("station('http://a.example/', { drops = { { at = '1m', status = 404 } } })", "'file': it is missing"),
      ("station('http://a.example/', { file = 'nothing.mp3' })", "nothing.mp3"),
      ("station('http://a.example/', { file = 'tone.wav' })", "found"),
      ("station('morning', { file = 'x.mp3' })", "not a URL"),
      ("statoin('http://a.example/', {})", "did you mean 'station'?"),
      ("station('http://a.example/', { file = 'x.mp3', is_file = true, drops = {} })", "'drops'"),
      ("station('http://a.example/', { file = 'x.mp3', is_file = true, status = 200 })", "400 to 599"),
      (
        "station('http://a.example/', { file = 'x.mp3', is_file = true, status = 404, refuses = true })",
        "'refuses'"
      ),
      ("print 'hello'", "'print'"),
    ])
  func wrong(_ text: String, _ part: String) throws {
    let harness = try EngineHarness()
    let path = harness.folder.file("stations.lua")
    let error = #expect(throws: LuaError.self) {
      try StationsFile.read(Array(("\n" + text).utf8), path: path)
    }
    let description = try #require(error).description
    #expect(description.contains("stations.lua:2: ") && description.contains(part), "\(description)")
  }

  @Test("titles, drops and their order are checked at their own line")
  func wrongEntries() throws {
    let harness = try EngineHarness()
    for (fields, part) in [
      ("titles = { { title = 'A' } }", "titles[1]"),
      ("titles = { { at = 5, title = 'A' }, { at = 1, title = 'B' } }", "titles[2]"),
      ("titles = { { at = 5 } }", "titles[1]"),
      ("drops = { { at = '1m', outge = 3 } }", "did you mean 'outage'?"),
      ("drops = { { at = 10, outage = 60 }, { at = 30 } }", "before the outage"), ("titles = 'A'", "list"),
    ] {
      let text = "station('\(Self.url)', { file = '\(Fixtures.path("mp3-cbr128-44k.mp3"))', \(fields) })"
      let error = #expect(throws: LuaError.self) {
        try StationsFile.read(Array(text.utf8), path: harness.folder.file("stations.lua"))
      }
      #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }
  }

  @Test("the time line shows recordings: their path, their length, and the reason of a failed one")
  func timeline() throws {
    let harness = try harness("")
    let engine = try harness.engine()
    var lines: [String] = []
    let timeline = Timeline(engine)
    timeline.listen { lines.append(TimelineHarness.line($0, in: engine.options.zone)) }
    engine.onFailure = { lines.append($0.description) }
    let script = try engine.makeScript("test.lua", isFile: false)
    let main = try script.state.load(
      Array(
        """
        local stream, task = require "stream", require "task"
        local radio = stream.new "\(Self.url)"
        local recording = radio:record("show/{start:%H}.mp3", { duration = "10m" })
        recording:wait "recording_finished"
        pcall(radio.record, radio, "other.mp3", { min_free = "900TB" })
        """.utf8), chunkName: "=test.lua")
    #expect(engine.run(script, main).status == 0)
    timeline.finish()
    try #require(lines.count == 3, "\(lines)")
    #expect(lines[0] == "2026-01-05 00:00 Recorder: ● show/00.mp3 is being recorded")
    #expect(lines[1].hasSuffix(" Recorder: ■ show/00.mp3 is recorded, 10 min"), "\(lines[1])")
    #expect(
      lines[2].contains("Recorder: ! other.mp3 is not recorded: ") && lines[2].hasSuffix("(record.disk_full)")
    )
  }

  @Test("a recording that fails with its station is one line, a lost station of one that goes on another")
  func failedRecordings() throws {
    let sound = Fixtures.path("mp3-cbr128-44k.mp3")
    let lines = try TimelineHarness(
      """
      local gone, lost = stream.new "http://gone.example/", stream.new "http://lost.example/"
      local other = stream.new "http://gone.example/"
      for _ = 1, 2 do
        pcall(gone.record, gone, "gone.mp3")
        task.sleep "10s"
      end
      pcall(other.start, other)
      lost:record("lost.mp3", { duration = "2m" }):wait "recording_finished"
      """,
      stations: """
        station("http://gone.example/", { file = "\(sound)", status = 404 })
        station("http://lost.example/", {
          file = "\(sound)", drops = { { at = "20s", outage = "10m", status = 503 } } })
        """
    ).linesWithoutFailures()
    #expect(lines.count { $0.contains("gone.mp3 is not recorded: ") } == 2, "\(lines)")
    // That of `start`, which no recording reports.
    #expect(lines.count { $0.contains("HTTP 404") } == 3, "\(lines)")
    #expect(lines.contains { $0.contains(" : ! http://lost.example/ ended the connection") }, "\(lines)")
  }
}
