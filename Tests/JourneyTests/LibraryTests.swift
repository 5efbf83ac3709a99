import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("libraries that are loaded at their first use", .waiting, .tags(.doctor)) struct LibraryTests {
  /// A home with a folder in which each of these libraries is a file that is none.
  private static func home(
    _ others: [String] = ["libtag_c.so.0", "libcurl.so.4", "libsndfile.so.1", "libsoxr.so.0"]
  ) throws -> Home {
    let home = try Home()
    guard mkdir(home.path("broken"), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    for name in [
      "libavahi-client.so.3", "libmicrohttpd.so.12", "libedit.so.2", "libasound.so.2", "libmosquitto.so.1",
    ]
      + others
    {
      try home.write(Array("no library".utf8), to: "broken/\(name)")
    }
    return home
  }

  private static let roomtone = "LD_LIBRARY_PATH=broken exec \"$ROOMTONE\""

  @Test("the program starts without them")
  func start() throws {
    // The dynamic linker lists what it would load.
    let outcome = try Home().runInShell("LD_TRACE_LOADED_OBJECTS=1 exec \"$ROOMTONE\"")
    let names = outcome.lines.compactMap { $0.split(whereSeparator: \.isWhitespace).first }
    #expect(names.contains { $0.hasPrefix("libmpg123.so") }, "\(outcome)")
    for name in [
      "avahi", "dbus", "microhttpd", "edit", "tag", "asound", "curl", "ssl", "ldap", "sndfile", "soxr",
      "gomp", "mosquitto",
    ] {
      #expect(!names.contains { $0.hasPrefix("lib\(name)") }, "\(name)")
    }
    #expect(try Self.home().runInShell("\(Self.roomtone) run --output null /dev/null").status == 0)
  }

  @Test("doctor names those that are missing, with their packages")
  func doctor() throws {
    let outcome = try Self.home().runInShell("\(Self.roomtone) doctor --offline")
    for (name, file, package) in [
      ("curl", "libcurl.so.4", "libcurl4"), ("ALSA", "libasound.so.2", "libasound2"),
      ("sndfile", "libsndfile.so.1", "libsndfile1"), ("soxr", "libsoxr.so.0", "libsoxr0"),
      ("tag", "libtag_c.so.0", "libtagc0"),
      ("edit", "libedit.so.2", "libedit2"), ("microhttpd", "libmicrohttpd.so.12", "libmicrohttpd12"),
      ("avahi-client", "libavahi-client.so.3", "libavahi-client3"),
      ("mosquitto", "libmosquitto.so.1", "libmosquitto1"),
    ] {
      let index = try #require(
        outcome.lines.firstIndex { $0.hasPrefix("warn  \(name) ") }, "\(outcome)")
      #expect(outcome.lines[index].contains("  \(file) can't be loaded: "), "\(outcome)")
      #expect(outcome.lines[index + 1].hasSuffix("→ apt install \(package)"), "\(outcome)")
    }
  }

  @Test("a recording without TagLib is kept, without tags, and a warning says why")
  func record() throws {
    let (station, home) = (try RecordTests.station(), try Self.home(["libtag_c.so.0"]))
    let outcome = try home.runInShell(
      "\(Self.roomtone) record \(station.url("/live")) --for 3s -o a.mp3")
    #expect(outcome.status == 0 && outcome.output.hasPrefix("recorded "), "\(outcome)")
    #expect(outcome.errorLines.count == 1, "\(outcome)")
    #expect(outcome.errors.hasPrefix("warn: recordings get no tags: libtag_c.so.0 can't be loaded"))
    #expect(outcome.errors.hasSuffix("; apt install libtagc0\n"))
    #expect(try readBytes(home.path("a.mp3")).first == 0xFF)
  }

  @Test("streams without libcurl are a failure in one line, with its package")
  func stream() throws {
    let outcome = try Self.home().runInShell(
      "\(Self.roomtone) record http://127.0.0.1:1/live --for 3s -o a.mp3")
    #expect(outcome.status != 0 && outcome.errorLines.count == 1, "\(outcome)")
    #expect(outcome.errors.contains("libcurl.so.4 can't be loaded: "), "\(outcome)")
    #expect(outcome.errors.contains("apt install libcurl4"), "\(outcome)")
    let home = try Self.home()
    try home.script("require('http').get('http://127.0.0.1:1/')", as: "get.lua")
    let request = try home.runInShell("\(Self.roomtone) run --output null get.lua")
    #expect(request.status != 0 && request.errors.contains("libcurl.so.4 can't be loaded: "), "\(request)")
    #expect(request.errors.contains("apt install libcurl4"), "\(request)")
  }

  @Test("a sound file without libsndfile is a failure in one line, with its package, and so is a WAV output")
  func soundFile() throws {
    let home = try Self.home(["libsndfile.so.1"])
    try home.tune(frames: 4_800)
    let play = try home.runInShell("\(Self.roomtone) play tune.wav --output null")
    #expect(play.status != 0 && play.errorLines.count == 1, "\(play)")
    #expect(play.errors.contains("cannot decode tune.wav: libsndfile.so.1 can't be loaded: "), "\(play)")
    #expect(play.errors.contains("apt install libsndfile1"), "\(play)")
    try home.script("require('speaker').play('tune.wav', { rooms = 'Kitchen' })", as: "play.lua")
    let write = try home.runInShell("\(Self.roomtone) run --output wav:out play.lua")
    #expect(write.status != 0 && write.errors.contains("libsndfile.so.1 can't be loaded: "), "\(write)")
  }

  @Test("a file of another sample rate without libsoxr is a failure in one line, with its package")
  func resampling() throws {
    let home = try Self.home(["libsoxr.so.0"])
    try home.tune(frames: 4_410, sampleRate: 44_100)
    let play = try home.runInShell("\(Self.roomtone) play tune.wav --output null")
    #expect(play.status != 0 && play.errorLines.count == 1, "\(play)")
    #expect(
      play.errors.contains("cannot resample from 44100 to 48000 Hz: libsoxr.so.0 can't be loaded: "),
      "\(play)")
    #expect(play.errors.contains("apt install libsoxr0"), "\(play)")
  }

  @Test("a prompt without libedit reads plain lines")
  func prompt() throws {
    let home = try Self.home()
    defer { withExtendedLifetime(home) {} }  // its folder is there while the process runs
    let prompt = try home.startInShell(
      "TERM=xterm \(Self.roomtone) repl --output null", input: .terminal)
    try prompt.expect("> ")
    try prompt.type("20 + 22\n")
    try prompt.expect("42\r\n> ")
    try prompt.type("\u{4}")
    let outcome = try prompt.finish()
    #expect(outcome.status == 0 && outcome.errorLines.count == 1, "\(outcome)")
    #expect(outcome.errors.hasPrefix("warn: lines can't be edited or completed here: libedit.so.2 can't"))
    #expect(outcome.errors.hasSuffix("; apt install libedit2\n"))
  }

  @Test("speakers behind a library that is missing are a failure in one line, with its package")
  func speakers() throws {
    let home = try Self.home([])  // with libcurl, by which a hub is reached
    try home.tune(frames: 4_800)
    for (house, package) in [
      ("driver = 'hkwhub', url = 'http://127.0.0.1:1', serve = '127.0.0.1'", "libmicrohttpd12"),
      ("driver = 'snapcast'", "libavahi-client3"),
    ] {
      try home.script("house { \(house) }", as: "config.lua")
      let outcome = try home.runInShell("\(Self.roomtone) play tune.wav --config config.lua")
      #expect(outcome.status != 0 && outcome.errorLines.count == 1, "\(outcome)")
      #expect(outcome.errors.contains("apt install \(package)"), "\(outcome)")
    }
    let silent = try home.runInShell("\(Self.roomtone) play tune.wav --output alsa:default")
    #expect(silent.errors.contains("libasound.so.2 can't be loaded"), "\(silent)")
    #expect(silent.errors.contains("apt install libasound2"), "\(silent)")
  }
}
