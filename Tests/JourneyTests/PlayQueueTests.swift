import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("roomtone play, of several files and by keys", .waiting, .tags(.queue, .command)) struct PlayQueueTests
{
  private static let speakers = """
    house { speakers = {
      { name = "Kitchen", group = "Kitchen", volume = 50 }, { name = "Bath", group = "Bath", volume = 40 } } }
    """
  private static let house = ["--config=config.lua", "--on=kitchen"]

  private func home() throws -> Home {
    let home = try Home()
    try home.script(Self.speakers, as: "config.lua")
    mkdir(home.path("music"), 0o755)
    return home
  }

  /// Writes parts of one sound as files, which it returns.
  private func parts(_ home: Home, _ names: [String], frames: Int) throws -> Sound {
    let whole = try home.tune(frames: frames * names.count)
    for (index, name) in names.enumerated() {
      try whole[(index * frames)..<((index + 1) * frames)].write(to: home.path(name))
    }
    return whole
  }

  @Test(
    "plays several files, a folder and a playlist without a gap",
    arguments: [
      ["music/1.wav", "music/2.wav", "music/10.wav"], ["music"], ["list.m3u"], ["music/1.wav", "rest.pls"],
    ])
  func gapless(operands: [String]) throws {
    let home = try home()
    let whole = try parts(home, ["music/1.wav", "music/2.wav", "music/10.wav"], frames: 20_011)
    try home.script("music/1.wav\nmusic/2.wav\nmusic/10.wav\n", as: "list.m3u")
    try home.script("[playlist]\nFile1=music/2.wav\nFile2=music/10.wav\n", as: "rest.pls")
    let outcome = try home.start(["play", "--output=wav:out"] + Self.house + operands).finish()
    #expect(outcome == Outcome(status: 0, output: "", errors: ""))
    let sound = try Sound(file: home.path("out/Kitchen.wav"))
    let place = sound.alignment(to: whole).frames
    #expect(sound.frameCount >= place + whole.frameCount)
    #expect(sound.errorToSignal(against: whole, delay: place) == -.infinity)
  }

  @Test("a file that can't be read is told in one line, and the others play")
  func unreadable() throws {
    let home = try home()
    let whole = try parts(home, ["music/1.wav", "music/3.wav"], frames: 9_600)
    try home.script("no music", as: "music/2.wav")
    let outcome = try home.start(["play", "music", "--output=wav:out"] + Self.house).finish()
    #expect(
      outcome
        == Outcome(
          status: 0, output: "",
          errors: "warn: cannot decode music/2.wav: found text at byte 0 (audio.unreadable)\n"))
    let sound = try Sound(file: home.path("out/Kitchen.wav"))
    let place = sound.alignment(to: whole).frames
    #expect(sound.errorToSignal(against: whole, delay: place) == -.infinity)
  }

  @Test("an empty folder, an empty list and files none of which can be read are failures of one line")
  func failures() throws {
    let home = try home()
    try home.script("#EXTM3U\n", as: "none.m3u")
    for (operands, line) in [
      (
        ["music"],
        "the folder music has no sound files (audio.not_found); files are known by names such as .mp3 and .flac"
      ),
      (
        ["none.m3u"],
        "the playlist none.m3u lists no file (audio.not_found); open it in a text editor to see what it holds"
      ),
      (
        ["a.wav", "b.wav", "--loop"],
        "none of the 2 files of the queue can be played, the last one: cannot open b.wav: no such file or directory (audio.unreadable)"
      ),
    ] {
      let outcome = try home.start(["play", "--output=null"] + Self.house + operands).finish()
      #expect(outcome == Outcome(status: 1, output: "", errors: "roomtone: \(line)\n"))
    }
  }

  @Test("keys pause, seek, change the volume, go through the files and quit, and the terminal is as before")
  func keys() throws {
    let home = try home()
    for name in ["1.wav", "2.wav", "3.wav"] {
      try home.tune("music/\(name)", frames: 60 * 8_000, sampleRate: 8_000)
    }
    let player = try home.start(["play", "music", "--output=null"] + Self.house, input: .terminal)
    try player.expect("q quit")
    try player.expect("▶ 1.wav  0:00 / 1:00  1 of 3  volume 50  Kitchen")
    #expect(!player.terminalIsCooked)
    try player.type(" ")
    try player.expect("⏸ 1.wav")
    try player.type("n")
    try player.expect("⏸ 2.wav  0:00 / 1:00  2 of 3")
    try player.type("\u{1B}[C\u{1B}OC")
    try player.expect("⏸ 2.wav  0:20 / 1:00")
    try player.type("\u{1B}[D")
    try player.expect("⏸ 2.wav  0:10 / 1:00")
    try player.type("p")
    // Later than three seconds: its beginning; then the file before.
    try player.expect("⏸ 2.wav  0:00 / 1:00")
    try player.type("p")
    try player.expect("⏸ 1.wav  0:00 / 1:00  1 of 3")
    try player.type("-\u{1B}[B")
    try player.expect("volume 46")
    try player.type("+")
    try player.expect("volume 48")
    try player.type(" ")
    try player.expect("▶ 1.wav")
    try player.type("nn")
    try player.expect("▶ 3.wav  0:00 / 1:00  3 of 3")
    try player.type("q")
    let outcome = try player.finish()
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    #expect(outcome.output.hasSuffix("\r\n") && player.terminalIsCooked)
  }

  @Test("next behind the last file ends, with loop begins again", arguments: [false, true])
  func behindTheLast(loops: Bool) throws {
    let home = try home()
    for name in ["1.wav", "2.wav"] { try home.tune("music/\(name)", frames: 60 * 8_000, sampleRate: 8_000) }
    let player = try home.start(
      ["play", "music", "--output=null"] + Self.house + (loops ? ["--loop"] : []), input: .terminal)
    try player.expect("1 of 2")
    try player.type("n")
    try player.expect("2 of 2")
    try player.type("n")
    if loops {
      try player.expect("1 of 2")
      try player.type("q")
    }
    let outcome = try player.finish()
    #expect(outcome.status == 0 && outcome.errors == "" && player.terminalIsCooked, "\(outcome)")
  }

  @Test("--shuffle plays every file once, in orders of its own")
  func shuffled() throws {
    let home = try home()
    let names = (1...6).map { "\($0).wav" }
    for name in names { try home.tune("music/\(name)", frames: 60 * 8_000, sampleRate: 8_000) }
    var orders: Set<[String]> = []
    for _ in 0..<3 {
      let player = try home.start(
        ["play", "music", "--output=null", "--shuffle"] + Self.house, input: .terminal)
      var order: [String] = []
      for index in 1...6 {
        try player.expect("▶ ")
        order.append(try player.consume(upTo: "  0:00 / 1:00  \(index) of 6"))
        try player.type("n")
      }
      #expect(try player.finish().status == 0)
      #expect(order.sorted() == names)
      orders.insert(order)
    }
    // One of 518,400 runs has the same order three times.
    #expect(orders.count > 1)
  }

  @Test("a signal restores the terminal, also one that comes twice", arguments: [SIGINT, SIGTERM, SIGHUP])
  func signals(signal: Int32) throws {
    let home = try home()
    try home.tune(frames: 60 * 8_000, sampleRate: 8_000)
    let player = try home.start(["play", "tune.wav", "--output=null"] + Self.house, input: .terminal)
    try player.expect("▶ tune.wav")
    player.send(signal)
    player.send(signal)
    let outcome = try player.finish()
    #expect(outcome.status == 128 + signal && player.terminalIsCooked, "\(outcome)")
  }

  @Test("Ctrl-Z stops with the terminal as before, and continuing takes it again")
  func suspends() throws {
    let home = try home()
    try home.tune(frames: 60 * 8_000, sampleRate: 8_000)
    let player = try home.start(["play", "tune.wav", "--output=null"] + Self.house, input: .terminal)
    try player.expect("▶ tune.wav")
    #expect(!player.terminalIsCooked)
    // The only process of its session: its stop is ignored by the kernel, as nobody could continue it.
    try player.type("\u{1A}")
    try player.type(" ")
    try player.expect("⏸ tune.wav")
    #expect(!player.terminalIsCooked)
    try player.type("q")
    #expect(try player.finish().status == 0 && player.terminalIsCooked)
  }

  @Test("without a terminal standard input is left alone")
  func noTerminal() throws {
    let home = try home()
    try home.tune(frames: 2_400)
    #expect(
      try home.start(["play", "tune.wav", "--output=null"] + Self.house, input: .text("qqq nn")).finish()
        == Outcome(status: 0, output: "", errors: ""))
  }
}

extension String {
  /// Returns the text up to the end of `mark`, and the rest; nil without it.
  func cut(after mark: String) -> (String, String)? {
    guard let range = firstRange(of: mark) else { return nil }
    return (String(self[..<range.upperBound]), String(self[range.upperBound...]))
  }
}
