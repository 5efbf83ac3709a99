import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("recording from the command line", .waiting, .tags(.recording, .command))
struct RecordTests {
  /// Returns a station's behaviour: eight seconds of sound at once, then `pace` times real time.
  static func live(
    pace: Double = 1, titles: [Programme.Title] = [.init("Some Artist - Some Song", at: 0)]
  )
    throws -> Live
  {
    var live = Live(
      Programme(
        repeating: try readBytes(Fixtures.path("mp3-without-tag.mp3")), bytesPerSecond: 8_000, titles: titles)
    )
    live.pace = .realTime(pace)
    live.metaint = 4096
    live.stationHeaders = [("icy-name", "Morning FM"), ("icy-br", "128")]
    return live
  }

  static func station(_ answers: Answer...) throws -> Station {
    let station = try Station()
    station.answer("/live", with: answers.isEmpty ? [.live(try live())] : answers)
    return station
  }

  /// Returns the tags of a file, as read by `ffprobe`.
  private static func tags(_ path: String) throws -> [String] {
    try Command.succeed(
      "ffprobe",
      ["-v", "error", "-show_entries", "format_tags=title,artist,album", "-of", "default=nw=1", path]
    ).text.split(separator: "\n").map(String.init).sorted()
  }

  @Test(
    "a station of the configuration goes into its folder, by its template, with tags, and into the catalogue")
  func configured() throws {
    let (station, home) = (try Self.station(), try Home())
    try home.write(
      Array(
        """
        stations { morning = "\(station.url("/live"))" }
        recordings { folder = "~/Radio", template = "{station}/{artist} - {title}.{ext}" }
        """.utf8), to: "config.lua")
    let outcome = try home.run("record", "morning", "--for", "3s", "--config", "config.lua")
    let path = home.path("Radio/Morning FM/Some Artist - Some Song.mp3")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    #expect(outcome.lines == ["recorded \(path), 0:03, 24 kB"])
    #expect(
      try Self.tags(path) == ["TAG:album=Morning FM", "TAG:artist=Some Artist", "TAG:title=Some Song"])

    let list = try home.run("recordings")
    #expect(list.lines.count == 2 && list.lines[0].hasPrefix("START "), "\(list)")
    #expect(list.lines[1].hasSuffix("  finished  Morning FM  \(path)"), "\(list)")
    #expect(try home.run("recordings", "list", "--station", "evening").lines == ["no recordings"])
    #expect(try home.run("recordings", "verify").lines == ["good  0:03  24 kB  \(path)"])
  }

  @Test("a station without a name of its own has its name in the configuration")
  func nickname() throws {
    var live = try Self.live()
    live.stationHeaders = []
    let (station, home) = (try Self.station(.live(live)), try Home())
    try home.write(Array("stations { morning = '\(station.url("/live"))' }".utf8), to: "config.lua")
    let line = "-o {station}.mp3 --for 1s -q --config config.lua"
    #expect(try home.runInShell("\"$ROOMTONE\" record morning \(line)").status == 0)
    try home.script(
      "local r = require 'stream'.new 'morning' r:record('script {station}.mp3', { duration = 1 }):wait 'recording_finished'"
    )
    let script = try home.run("run", "--output", "null", "--config", "config.lua", "routine.lua")
    #expect(script.status == 0, "\(script)")
    #expect(
      fileNames(in: home.path("")).filter { $0.contains(".mp3") } == ["morning.mp3", "script morning.mp3"])
    let list = try home.run("recordings", "verify")
    #expect(list.status == 0 && list.lines.allSatisfy { $0.contains("  \(home.path(""))") }, "\(list)")
  }

  @Test("the part of the disk that the configuration keeps free is not filled, by the command and by scripts")
  func room() throws {
    let (station, home) = (try Self.station(), try Home())
    try home.write(Array("recordings { min_free = '100000TB' }".utf8), to: "config.lua")
    let failed = try home.run(
      "record", station.url("/live"), "-o", "a.mp3", "--for", "2s", "--config", "config.lua")
    #expect(failed.status == 1 && failed.errors.contains("(record.disk_full)"), "\(failed)")
    let line = "require 'stream'.new('\(station.url("/live"))'):record 'b.mp3'"
    let script = try home.run("run", "--output", "null", "--config", "config.lua", "-e", line)
    #expect(script.status == 1 && script.errors.contains("(record.disk_full)"), "\(script)")
    #expect(fileNames(in: home.path("")).allSatisfy { !$0.contains(".mp3") })
    #expect(try home.run("recordings").lines == ["no recordings"])
  }

  @Test("a folder of a file system without room of its own is no full disk")
  func systemFolder() throws {
    let (station, home) = (try Self.station(), try Home())
    try home.write(Array("recordings { min_free = '1MB' }".utf8), to: "config.lua")
    let failed = try home.run(
      "record", station.url("/live"), "-o", "/proc/radio/a.mp3", "--for", "2s", "--config", "config.lua")
    #expect(failed.status == 1 && failed.errors.contains("/proc/radio"), "\(failed)")
    #expect(!failed.errors.contains("MB are free"), "\(failed)")
  }

  @Test("through two drops it is one file, and after its tag a slice of the programme, byte for byte")
  func drops() throws {
    // Music that does not repeat within a burst, so that the point of continuation is unique.
    let file = try readBytes(Fixtures.repository("scripts/wake_up.mp3"))
    var live = Live(Programme(repeating: Array(file[139..<(file.count - 128)]), bytesPerSecond: 12_000))
    live.pace = .realTime(1.5)
    let station = try Self.station(
      .live(live).dropping(at: 80_000, by: .reset), .live(live).dropping(at: 90_000, by: .finish),
      .live(live))
    let home = try Home()
    let outcome = try home.run("record", station.url("/live"), "-o", "show.{ext}", "--for", "15s")
    #expect(outcome.lines == ["recorded \(home.path("show.mp3")), 0:15, 180 kB"], "\(outcome)")
    #expect(station.visits.count == 3)
    let recorded = try readBytes(home.path("show.mp3"))
    let size = (6..<10).reduce(0) { $0 << 7 | Int(recorded[$1]) }
    let audio = Array(recorded[(10 + size)...])
    let begin = try #require(station.visits.first).start
    let matches = (begin..<(begin + 2000)).map { start in
      zip(live.programme.bytes(start..<(start + audio.count)), audio).prefix { $0 == $1 }.count
    }
    #expect(matches.max() == audio.count, "from \(begin)")
    #expect(try home.run("recordings", "verify", "show.mp3").status == 0)
  }

  @Test(
    "a recording that is refused is reported in one line, with the exit status of wrong usage for mistakes in the command line",
    arguments: [
      ("record nowhere", 2, "no station \"nowhere\" is configured, and it is not a URL"),
      ("record mms://a/", 2, "mms:// addresses"),
      ("record URL -o '{titel}.mp3'", 2, "did you mean {title}?"), ("record URL --for 0s", 2, "more than 0s"),
      ("record URL --until 2020-01-01T00:00", 2, "has passed"), ("record URL --until soon", 2, "\"soon\""),
      ("record URL --split --append", 2, "do not go together"),
      ("record URL -o /dev/null/a.mp3", 1, "(record.write)"),
      ("record URL -o config", 1, "/config is a folder (record.exists); write a name after it"),
    ])
  func refused(_ line: String, _ status: Int32, _ reason: String) throws {
    let (station, home) = (try Self.station(), try Home())
    let words = line.replacing("URL", with: station.url("/live"))
    let outcome = try home.runInShell("\"$ROOMTONE\" \(words)")
    #expect(outcome.status == status && outcome.output == "" && outcome.errorLines.count == 1, "\(outcome)")
    #expect(outcome.errors.contains(reason), "\(outcome)")
    #expect(fileNames(in: home.path("")).allSatisfy { !$0.contains(".mp3") })
  }

  @Test("the same job can't run twice at a time; a signal closes the file, and the job can run again")
  func lock() throws {
    let (station, home) = (try Self.station(), try Home())
    let first = try home.start(["record", station.url("/live"), "-o", "{n}.mp3", "--job", "a show"])
    while !fileNames(in: home.path("")).contains("1.mp3.part") { usleep(20_000) }
    let second = try home.run("record", station.url("/live"), "-o", "other.mp3", "--job", "a show")
    #expect(
      second.status == 1 && second.failures.first?.contains("'a show' is being recorded") == true, "\(second)"
    )
    #expect(try home.run("record", station.url("/live"), "-o", "{n}.mp3", "--for", "1s").status == 0)

    let open = try home.run("recordings", "verify", "1.mp3")
    #expect(open.status == 0 && open.lines.first?.hasPrefix("open  ") == true, "\(open)")
    #expect(try home.run("recordings", "forget", "1.mp3").status == 1)
    first.send(SIGINT)
    let ended = try first.finish()
    #expect(ended.status == 130 && ended.lines.first?.hasPrefix("recorded ") == true, "\(ended)")
    #expect(fileNames(in: home.path("")).filter { $0.contains(".mp3") } == ["1.mp3", "2.mp3"])
    let again = try home.run(
      "record", station.url("/live"), "-o", "{n}.mp3", "--job", "a show", "--for", "1s")
    #expect(again.status == 0, "\(again)")
    #expect(
      try home.run("recordings", "list", "--job", "a show", "--json").output.components(of: "\"path\"") == 2)
    #expect(try home.run("recordings", "verify").status == 0)
  }

  @Test(
    "a signal that comes twice within half a second is one: the file is closed", arguments: [SIGTERM, SIGHUP])
  func repeatedSignal(signal: Int32) throws {
    let (station, home) = (try Self.station(), try Home())
    let command = try home.start(["record", station.url("/live"), "-o", "a.mp3"])
    while !fileNames(in: home.path("")).contains("a.mp3.part") { usleep(20_000) }
    for _ in 1...3 {
      command.send(signal)
      usleep(2_000)
    }
    let outcome = try command.finish()
    #expect(
      outcome.status == 128 + signal && outcome.lines.first?.hasPrefix("recorded ") == true, "\(outcome)")
    #expect(fileNames(in: home.path("")).filter { $0.contains(".mp3") } == ["a.mp3"])
  }

  @Test("a warning on a terminal erases the line first, and the line is drawn again below it")
  func warningOnTerminal() throws {
    let (station, home) = (
      try Self.station(.live(try Self.live()).dropping(at: 80_000, by: .reset)), try Home()
    )
    let command = try home.startInShell(
      "\"$ROOMTONE\" record \(station.url("/live")) -o a.mp3 --for 12s 2>&1", input: .terminal)
    try command.expect("warn: ")
    let warning = try command.consume(upTo: "\n")
    try command.expect("● 0:")
    try command.expect(" / 0:12  ")
    try command.expect("a.mp3")
    command.send(SIGINT)
    let output = try command.finish().output
    let lines = output.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
    let index = try #require(lines.firstIndex { $0.contains("warn: ") })
    // The drawn line, blanks over it, and then the warning from the first column on.
    let pieces = lines[index].split(separator: "\r", omittingEmptySubsequences: false).suffix(3)
    #expect(pieces.last?.hasPrefix("warn: ") == true && warning.contains("reset"), "\(pieces)")
    #expect(pieces.dropFirst().first?.allSatisfy { $0 == " " } == true, "\(pieces)")
    #expect(pieces.dropFirst().first?.count == pieces.first?.count, "\(pieces)")
    #expect(lines[index + 1].hasPrefix("● 0:"), "\(lines)")
  }

  @Test("SIGHUP that was ignored at the start, as nohup has it, ends no recording") func ignoredHangup()
    throws
  {
    let (station, home) = (try Self.station(), try Home())
    let outcome = try home.runInShell(
      """
      trap '' HUP
      "$ROOMTONE" record \(station.url("/live")) -o a.mp3 --for 11s & job=$!
      until [ -e a.mp3.part ]; do sleep 0.02; done
      kill -HUP $job
      wait $job
      """)
    #expect(
      outcome.status == 0 && outcome.lines == ["recorded \(home.path("a.mp3")), 0:11, 88 kB"], "\(outcome)")
  }

  @Test("a folder for state that can't be had keeps nothing from being recorded")
  func noState() throws {
    let (station, home) = (try Self.station(), try Home())
    let outcome = try home.runInShell(
      "XDG_STATE_HOME=/proc/nothing \"$ROOMTONE\" record \(station.url("/live")) -o a.mp3 --for 2s")
    #expect(
      outcome.status == 0 && outcome.lines == ["recorded \(home.path("a.mp3")), 0:02, 16 kB"], "\(outcome)")
    #expect(outcome.errors.contains("warn: can't open /proc/nothing/roomtone/locks/"), "\(outcome)")
    #expect(outcome.errors.contains("warn: the catalogue of recordings can't be kept"), "\(outcome)")
  }

  @Test("files that follow on each other, as the sound became another, are counted")
  func otherFormat() throws {
    var other = Live(
      Programme(repeating: try readBytes(Fixtures.path("mp3-mpeg2-64-22k.mp3")), bytesPerSecond: 8_000))
    other.pace = .realTime(1)
    let station = try Self.station(.live(try Self.live()).dropping(at: 90_000, by: .reset), .live(other))
    let home = try Home()
    let outcome = try home.run("record", station.url("/live"), "-o", "a.mp3", "--for", "16s")
    #expect(
      outcome.lines.first?.hasPrefix("recorded 2 files, the last \(home.path("a (2).mp3")), ") == true,
      "\(outcome)")
    #expect(fileNames(in: home.path("")).filter { $0.contains(".mp3") }.sorted() == ["a (2).mp3", "a.mp3"])
  }

  @Test("on a terminal a line shows time, size, level, lost connections and title")
  func terminal() throws {
    let live = try Self.live(pace: 4)
    let station = try Self.station(.live(live).dropping(at: 90_000, by: .reset), .live(live))
    let home = try Home()
    let command = try home.start(["record", station.url("/live"), "-o", "a.mp3"], input: .terminal)
    try command.expect("● 0:")
    try command.expect("▮")
    try command.expect("1 reconnect  Some Artist - Some Song")
    command.send(SIGTERM)
    try command.expect("recorded \(home.path("a.mp3")), 0:")
    #expect(try command.finish().status == 143)
    #expect(try home.run("recordings", "verify").status == 0)
  }

  @Test("--append continues the file, --split makes one of each title")
  func files() throws {
    let home = try Home()
    let one = try Self.station()
    for _ in 0..<2 {
      let outcome = try home.run("record", one.url("/live"), "-o", "a.mp3", "--for", "2s", "--append")
      #expect(outcome.status == 0, "\(outcome)")
    }
    #expect(try home.run("recordings", "verify").lines == ["good  0:04  32 kB  \(home.path("a.mp3"))"])

    let two = try Self.station(
      .live(try Self.live(titles: [.init("A - One", at: 0), .init("B - Two", at: 150_000)])))
    let outcome = try home.run(
      "record", two.url("/live"), "-o", "songs/{artist}, {title}.{ext}", "--for", "3s", "--split")
    #expect(
      outcome.lines.first?.hasPrefix(
        "recorded 2 files, the last \(home.path("songs/B, Two (incomplete).mp3"))") == true,
      "\(outcome)")
    #expect(fileNames(in: home.path("songs")).contains("A, One (incomplete).mp3"))
    #expect(try home.run("recordings", "verify").status == 0)
  }

  @Test(
    "a recording whose process was killed is listed as interrupted, and made whole by repair; damage is found and mended"
  )
  func repair() throws {
    let (station, home) = (try Self.station(), try Home())
    let command = try home.start(["record", station.url("/live"), "-o", "a.mp3"])
    while (try? readBytes(home.path("a.mp3.part")).count) ?? 0 < 20_000 { usleep(20_000) }
    command.send(SIGKILL)
    #expect(try command.finish().status == 137)
    #expect(try home.run("recordings").output.contains("interrupted"))
    #expect(try home.run("recordings", "--state", "interrupted").lines.count == 2)
    let repaired = try home.run("recordings", "repair")
    #expect(repaired.lines == ["\(home.path("a.mp3")): made whole from its part"], "\(repaired)")
    #expect(try home.run("recordings", "list", "--state", "recovered").lines.count == 2)
    #expect(try home.run("recordings", "verify").status == 0)

    #expect(try home.runInShell("printf rubbish >>a.mp3").status == 0)
    let bad = try home.run("recordings", "verify", "a.mp3", "none.mp3")
    #expect(bad.status == 1 && bad.lines.count == 4, "\(bad)")
    #expect(bad.lines[1] == "      7 bytes are neither frames nor a tag" && bad.lines[2].hasPrefix("bad   "))
    #expect(
      bad.lines[3]
        == "      there is no file \(home.path("none.mp3")) (record.read); 'roomtone recordings' lists those that are known"
    )
    let json = try home.run("recordings", "verify", "--json")
    #expect(
      json.status == 1 && json.output.contains("\"good\": false") && json.output.contains("\"junk_bytes\": 7")
    )
    #expect(
      try home.run("recordings", "repair").lines == [
        "\(home.path("a.mp3")): 7 bytes after the last frame cut off"
      ])
    #expect(try home.run("recordings", "repair").lines == ["nothing to repair"])
    #expect(try home.run("recordings", "verify").status == 0)

    #expect(try home.run("recordings", "forget", "a.mp3").status == 0)
    #expect(try home.run("recordings").lines == ["no recordings"])
    let unknown = try home.run("recordings", "forget", "a.mp3")
    #expect(unknown.status == 1 && unknown.errors.contains("(record.unknown)"), "\(unknown)")
    #expect(fileNames(in: home.path("")).contains("a.mp3"))
  }

  @Test("a file of a list that does not work here is named and left out, and is the failure of the command")
  func foreignEntry() throws {
    let (station, home) = (try Station(), try Home())
    let (tune, webm) = (
      try readBytes(Fixtures.path("base-24bit.wav")),
      [0x1A, 0x45, 0xDF, 0xA3] + [UInt8](repeating: 7, count: 3_000)
    )
    station.answer("/tune.wav", with: .file(tune, type: "audio/wav"))
    station.answer("/a.webm", with: .file(webm, type: "audio/webm"))
    for list in ["/tune.wav\n/a.webm\n/tune.wav\n", "/a.webm\n/tune.wav\n"] {
      station.answer("/list", with: .page("#EXTM3U\n" + list, type: "audio/x-mpegurl"))
      let count = list.components(of: "tune")
      let outcomes = try [
        home.run("record", station.url("/list"), "-o", "{track} \(count).{ext}"),
        home.run("play", station.url("/list"), "--output", "null"),
      ]
      for outcome in outcomes {
        #expect(outcome.status == 1 && outcome.output == "", "\(outcome)")
        let lines = outcome.errors.split(separator: "\n")
        #expect(
          lines.count == 2 && lines.allSatisfy { $0.contains("\(station.url("/a.webm")) can't be ") },
          "\(lines)")
        #expect(lines.first?.hasPrefix("warn: ") == true && lines.last?.hasPrefix("roomtone: ") == true)
        #expect(lines.allSatisfy { $0.contains("Matroska or WebM") && $0.contains("stream.unsupported") })
      }
      let names = fileNames(in: home.path("")).filter { $0.hasSuffix(" \(count).wav") }
      #expect(names.count == count, "\(names)")
    }
  }

  @Test("cron runs a recording that was added: the file is there, whole, with its tags, and of its job")
  func cron() throws {
    guard let room = try CronRoom() else { return }
    let station = try Self.station()
    let added = try room.run(
      "$ROOMTONE cron add @reboot --name 'the show' -- "
        + "record \(station.url("/live")) -o 'Radio/{start:%Y} 100% {title}.{ext}' --for 3s --wait-for-audio")
    #expect(added.lines == ["the show: @reboot, when the machine starts"], "\(added)")
    let list = try room.run("$ROOMTONE cron")
    #expect(list.output.contains("--quiet '--job=the show'"), "\(list)")
    try room.withCron {
      for _ in 0..<1200
      where !fileNames(in: room.home.path("Radio")).contains(where: { $0.hasSuffix(".mp3") }) {
        usleep(50_000)
      }
    }
    let names = fileNames(in: room.home.path("Radio"))
    #expect(
      names.count == 1 && names[0].hasPrefix("20") && names[0].hasSuffix(" 100% Some Song.mp3"), "\(names)")
    let path = room.home.path("Radio/\(names.first ?? "")")
    #expect(try Self.tags(path).contains("TAG:album=Morning FM"))
    #expect(try room.home.run("recordings", "verify").lines == ["good  0:03  24 kB  \(path)"])
    #expect(try room.home.run("recordings", "list", "--job", "the show").lines.count == 2)
  }
}

extension String {
  /// Returns the number of occurrences of `part`.
  fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
