import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("roomtone play", .waiting, .tags(.command, .playback)) struct PlayTests {
  /// Configuration of four stereo speakers in three rooms, at unity.
  private static let speakers = """
    house { speakers = {
      { name = "Kitchen", group = "Kitchen", volume = 50 }, { name = "Bed left", group = "Bedroom", volume = 50 },
      { name = "Bath", group = "Bath", volume = 50 }, { name = "Bed right", group = "Bedroom", volume = 50 } } }
    """

  private func home(frames: Int = 9_600) throws -> (home: Home, tune: Sound) {
    let home = try Home()
    try home.script(Self.speakers, as: "config.lua")
    return (home, try home.tune(frames: frames))
  }

  /// Returns the sound of a speaker; nil for silence.
  private func played(_ speaker: String, _ home: Home) throws -> Sound? {
    let path = home.path("out/\(speaker).wav")
    guard access(path, F_OK) == 0 else { return nil }
    let sound = try Sound(file: path)
    return sound.peak == 0 ? nil : sound
  }

  /// Returns the size of a file in bytes, 0 while it does not exist.
  private func size(_ name: String, _ home: Home) -> Int {
    var status = stat()
    return stat(home.path(name), &status) == 0 ? Int(status.st_size) : 0
  }

  private let nothing = Outcome(status: 0, output: "", errors: "")

  @Test("sounds on exactly the rooms and speakers that are named, whole, and prints nothing")
  func rooms() throws {
    let (home, tune) = try home()
    let outcome = try home.run(
      "play", "--config", "config.lua", "--output", "wav:out", "tune.wav", "--on", "kit", "--on=bed left")
    #expect(outcome == nothing)
    #expect(try unfinishedWAVs(in: home.path("out")) == [])
    for speaker in ["Kitchen", "Bed left"] {
      let sound = try #require(try played(speaker, home))
      let place = sound.alignment(to: tune).frames
      #expect(sound.frameCount >= place + tune.frameCount, "\(speaker): \(sound) from \(place)")
      #expect(sound.errorToSignal(against: tune, delay: place) == -.infinity)
    }
    #expect(try played("Bath", home) == nil && played("Bed right", home) == nil)
  }

  @Test("sounds on all speakers of a room that is named, and on every speaker when none is")
  func groups() throws {
    let (home, _) = try home(frames: 2_400)
    #expect(
      try home.run("play", "tune.wav", "--config=config.lua", "--output=wav:out", "--on", "BED") == nothing)
    let sounding = ["Kitchen", "Bath", "Bed left", "Bed right"].map { try? played($0, home) != nil }
    #expect(sounding == [false, false, true, true])

    #expect(try home.run("play", "tune.wav", "--config=config.lua", "--output=wav:out") == nothing)
    for speaker in ["Kitchen", "Bath", "Bed left", "Bed right"] { #expect(try played(speaker, home) != nil) }
  }

  @Test("sets the volume from the first frame on, of the named speakers only, and it stays")
  func volume() throws {
    let (home, tune) = try home()
    #expect(
      try home.run(
        "play", "tune.wav", "--config=config.lua", "--output=wav:out", "--on=kitchen", "--volume", "40")
        == nothing)
    let sound = try #require(try played("Kitchen", home))
    let place = sound.alignment(to: tune).frames
    // Ten steps of 0.9 dB. Rounded to 16 bit the noise of half scale keeps some 80 dB.
    let part = sound[place..<(place + tune.frameCount)]
    #expect(abs(part.level - tune.level + 9) < 0.01)
    let head = part[0..<960].level - tune[0..<960].level
    #expect(abs(head + 9) < 0.05)
    let lines = try home.run("devices", "--config=config.lua").lines
    let volumes = lines.dropFirst().map { $0.split(separator: " ", omittingEmptySubsequences: true) }
    #expect(volumes.map { $0.contains("40") } == [true, false, false, false], "\(lines)")
  }

  @Test(
    "reports in one line a source that can't be played or found, with status 1, and the usage with status 2")
  func failures() throws {
    let (home, _) = try home(frames: 480)
    try home.script("no music", as: "text.mp3")
    let house = ["--config=config.lua", "--output=null"]
    for (words, line) in [
      (["missing.wav"], "cannot open missing.wav: no such file or directory (audio.not_found)"),
      (
        ["morning"],
        "cannot open morning: no such file, and no station 'morning' is configured (audio.not_found); "
          + "roomtone doctor lists the stations of the configuration"
      ),
      (
        ["http:/me:secret@radio/x"],
        "cannot open …radio/x: no such file or directory (audio.not_found); "
          + "the address of a station begins with http:// or https://"
      ),
      (
        ["tune.wav", "--on", "kichen"],
        "no room or speaker is called \"kichen\" (speaker.unknown); did you mean \"Kitchen\"?"
      ),
      (
        ["tune.wav", "--on", "kitchen", "--on", "b"],
        "\"b\" could be several rooms or speakers (speaker.unknown); write more of the name: \"Bedroom\", \"Bath\""
      ),
      (
        ["mms://user:secret@station.example/live"],
        "mms:// addresses don't work here (stream.unsupported); most such stations have an http:// address now: "
          + "look for it on the page of the station"
      ),
    ] {
      let outcome = try home.start(["play"] + house + words).finish()
      #expect(outcome == Outcome(status: 1, output: "", errors: "roomtone: \(line)\n"))
    }
    let unreadable = try home.start(["play", "text.mp3"] + house).finish()
    #expect(unreadable.status == 1 && unreadable.output == "" && unreadable.errorLines.count == 1)
    #expect(unreadable.errors.contains("(audio.un"), "\(unreadable)")
    for words in [
      ["play"], ["play", "tune.wav", ""], ["play", "tune.wav", "--volume", "51"], ["play", "x", "--on"],
      ["play", "tune.wav", "http://a.example/", "--output=null"],
      ["play", "http://me:secret@a.example/", "--shuffle", "--output=null"],
      ["play", "http://a.example/", "--loop", "--output=null"],
    ] {
      let outcome = try home.start(words).finish()
      #expect(outcome.status == 2 && outcome.output == "" && outcome.errorLines.count == 1, "\(words)")
      #expect(!outcome.errors.contains("secret"))
    }
  }

  @Test("a file that turns bad in the middle is heard up to there, and is a failure")
  func turnsBad() throws {
    let (home, _) = try home(frames: 480)
    var bytes = try readBytes(Fixtures.path("music-44k.flac"))
    for index in (bytes.count / 2)..<(bytes.count / 2 + 2_000) { bytes[index] = UInt8(index & 0x7f) }
    try home.write(bytes, to: "bad.flac")
    let outcome = try home.run("play", "bad.flac", "--config=config.lua", "--output=wav:out", "--on=kitchen")
    #expect(outcome.status == 1 && outcome.output == "" && outcome.errorLines.count == 1, "\(outcome)")
    #expect(outcome.errors.hasPrefix("roomtone: ") && outcome.errors.hasSuffix("(audio.unreadable)\n"))
    #expect(try unfinishedWAVs(in: home.path("out")) == [])
    #expect(try played("Kitchen", home)?.frameCount ?? 0 > 10_000)
  }

  @Test(
    "a speaker whose file can't be written is a failure, unless it was not named",
    arguments: ["kit", "bed l"])
  func unwritten(place: String) throws {
    let (home, _) = try home()
    try #require(mkdir(home.path("out"), 0o700) == 0)
    try #require(symlink("/dev/full", home.path("out/Kitchen.wav")) == 0)
    let outcome = try home.run(
      "play", "tune.wav", "--config=config.lua", "--output=wav:out", "--on", place)
    var lines = ["warn: cannot write audio to out/Kitchen.wav: no space left on device (audio.no_output)"]
    if place == "kit" { lines.append("roomtone: tune.wav was not heard whole on Kitchen (speaker.ended)") }
    #expect(outcome.errorLines == lines)
    #expect(outcome.status == (place == "kit" ? 1 : 0))
  }

  @Test("a file that must not grow ends as one on a full disk does")
  func limited() throws {
    let (home, _) = try home(frames: 48_000)
    // The thread sanitizer's memory is a file that grows: without it, where there is such a build.
    let program = getenv("ROOMTONE_RELEASE_BINARY").map { String(cString: $0) } ?? "$ROOMTONE"
    let outcome = try home.runInShell(
      "ulimit -f 100; \"\(program)\" play tune.wav --config=config.lua --output=wav:out --on=kit")
    #expect(outcome.status == 1 && outcome.errors.contains("file too large"), "\(outcome)")
  }

  @Test("a name with line ends and escapes is shown in one line")
  func controlCharacters() throws {
    let (home, _) = try home(frames: 480)
    #expect(
      try home.run("play", "a\nb\u{1b}[2J", "--output=null")
        == Outcome(
          status: 1, output: "",
          errors: "roomtone: cannot open a\\nb\\x1b[2J: no such file or directory (audio.not_found)\n"))
  }

  @Test("shows on a terminal how far it is, where, and for how long, in one line")
  func progress() throws {
    let (home, _) = try home(frames: 2 * 48_000 + 43_200)
    let player = try home.start(
      [
        "play", "tune.wav", "--config=config.lua", "--output=null", "--on=bed", "--on=bath", "--on=bed r",
        "--on=kitchen",
      ],
      input: .terminal)
    let outcome = try player.finish()
    #expect(outcome.status == 0 && outcome.errors == "")
    #expect(outcome.output.hasSuffix("\r\n"))
    let (help, line) = try #require(outcome.output.cut(after: "q quit\r\n"))
    #expect(help == "space pause · n next · p previous · ←/→ 10 s · ↑/↓ volume · q quit\r\n")
    let shown = line.dropLast().split(separator: "\r").map(String.init)
    let lines = ["0:00", "0:01", "0:02"].map { "▶ tune.wav  \($0) / 0:02  volume 50  Kitchen, Bedroom, Bath" }
    // A busy machine may skip a second; none comes twice.
    #expect(lines.dropFirst().contains(shown.last ?? "") && shown.count > 1, "\(shown)")
    #expect(shown == lines.filter(shown.contains), "\(shown)")
  }

  @Test("ends tidily with a signal: 130 or 143, whole WAV files, no complaint", arguments: [SIGINT, SIGTERM])
  func signals(signal: Int32) throws {
    let (home, _) = try home(frames: 480)
    try home.music()
    let player = try home.start(
      ["play", "music.mp3", "--config=config.lua", "--output=wav:out", "--on=kitchen"], input: .terminal)
    // At the beginning, and a second later.
    for _ in 1...2 { try player.expect(" / 0:23  volume 50  Kitchen") }
    #expect(!player.terminalIsCooked)
    player.send(signal)
    let outcome = try player.finish()
    #expect(outcome.status == 128 + signal && outcome.errors == "", "\(outcome)")
    #expect(outcome.output.hasSuffix("\r\n") && player.terminalIsCooked)
    #expect(try unfinishedWAVs(in: home.path("out")) == [])
    let sound = try #require(try played("Kitchen", home))
    #expect(sound.frameCount > 48_000 && sound.frameCount < 20 * 48_000)
  }

  @Test("waits for another process that has the house, reports it once, and a signal ends the waiting")
  func waits() throws {
    let (home, _) = try home(frames: 480)
    try home.longMusic()
    let house = ["--config=config.lua", "--output=null"]
    let first = try home.start(["play", "long.mp3"] + house, input: .terminal)
    try first.expect("▶ ")
    #expect(try home.run("ctl", "why", "kitchen").output.contains("person at the shell"))
    let waiting = try home.start(["play", "tune.wav"] + house)
    let patient = try home.start(["play", "tune.wav"] + house)
    for command in [waiting, patient] { try command.expectError("waiting for it\n") }
    waiting.send(SIGTERM)
    let outcome = try waiting.finish()
    #expect(outcome.status == 143 && outcome.output == "", "\(outcome)")
    #expect(outcome.errorLines.count == 1)
    #expect(outcome.errors.hasPrefix("warn: roomtone play (process "), "\(outcome)")
    #expect(outcome.errors.hasSuffix(") has the house: waiting for it\n"))
    first.send(SIGINT)
    #expect(try first.finish().status == 130)
    let played = try patient.finish()
    #expect(played.status == 0 && played.errorLines.count == 1, "\(played)")
  }

  @Test(
    "a station plays until a signal ends it, without a word off a terminal; its speakers' files are whole")
  func station() throws {
    let station = try Station()
    var live = Live(
      .init(repeating: try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")), bytesPerSecond: 16_000))
    live.pace = .realTime(8)
    station.answer("/live", with: .live(live))
    let (home, _) = try home()
    let command = try home.start(
      ["play", station.url("/live"), "--config", "config.lua", "--on", "kitchen", "--output", "wav:out"])
    // Twelve seconds of the station: the buffer is full. Of it a second is heard.
    for _ in 0..<6_000 where (station.visits.first?.end ?? 0) < 500_000 { usleep(10_000) }
    for _ in 0..<6_000 where size("out/Kitchen.wav", home) < 200_000 { usleep(10_000) }
    command.send(SIGINT)
    let outcome = try command.finish()
    #expect(outcome == Outcome(status: 130, output: "", errors: ""))
    #expect(try unfinishedWAVs(in: home.path("out")) == [])
    #expect(try #require(try played("Kitchen", home)).peak > 0.1)
    #expect(try played("Bath", home) == nil)
  }
}
