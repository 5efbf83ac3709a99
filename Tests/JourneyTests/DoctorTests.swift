import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("roomtone doctor", .waiting, .tags(.doctor))
struct DoctorTests {
  /// Returns the line of a check, with blanks joined.
  private static func line(_ check: String, _ outcome: Outcome) -> String? {
    outcome.lines.map { $0.split(separator: " ").joined(separator: " ") }
      .first {
        $0.hasPrefix("ok \(check) ") || $0.hasPrefix("warn \(check) ") || $0.hasPrefix("FAIL \(check) ")
      }
  }

  @Test("a machine without a configuration is well enough: status 0, nothing created, columns aligned")
  func bare() throws {
    let home = try Home()
    let outcome = try home.run("doctor")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    #expect(fileNames(in: home.path("state")) == [] && fileNames(in: home.path("config")) == [])
    let columns = outcome.lines.filter { !$0.hasPrefix(" ") }.map { line -> Int in
      let name = line.dropFirst(6)
      let gap = name.firstRange(of: "  ")
      return gap.map { 6 + name[..<$0.lowerBound].count + name[$0.lowerBound...].prefix { $0 == " " }.count }
        ?? -1
    }
    #expect(Set(columns).count == 1 && columns.count > 25, "\(outcome)")
    for check in ["version", "Lua", "time zone", "state", "cron", "catalogue", "daemon"] {
      #expect(Self.line(check, outcome) != nil, "\(check)")
    }
    #expect(!outcome.output.contains("\u{1b}"))
    let json = try home.runInShell(
      "\"$ROOMTONE\" doctor --json | python3 -c 'import json, sys; d = json.load(sys.stdin); "
        + "print({tuple(e) for e in d}, {e[\"state\"] for e in d} <= {\"ok\", \"warn\"})'")
    #expect(json.output == "{('check', 'state', 'detail', 'hint')} True\n", "\(json)")
  }

  @Test(
    "stations of the configuration are listened to: format, bit rate and titles, or the reason of silence")
  func stations() throws {
    var plain = try RecordTests.live()
    plain.metaint = nil
    plain.stationHeaders = []
    let (station, home) = (try RecordTests.station(), try Home())
    station.answer("/plain", with: .live(plain))
    station.answer("/gone", with: .page("gone", status: "404 Not Found"))
    station.answer("/page", with: .page("<html>no sound</html>"))
    // The kernel accepts connections; nobody answers.
    let silent = try home.startInShell(
      "exec python3 -c 'import socket, time; s = socket.create_server((\"127.0.0.1\", 0)); "
        + "print(s.getsockname()[1], flush=True); time.sleep(300)'")
    let port = try silent.consume(upTo: "\n")
    try home.script(
      """
      stations { morning = "\(station.url("/live"))", plain = "\(station.url("/plain"))",
        gone = "\(station.url("/gone"))", page = "\(station.url("/page"))",
        silent = "http://127.0.0.1:\(port)/", dead = "http://127.0.0.1:1/" }
      """, as: "config.lua")
    let outcome = try home.run("doctor", "--config", "config.lua")
    #expect(outcome.status == 1)
    #expect(
      Self.line("station morning", outcome)
        == "ok station morning MP3, 44.1 kHz, mono, 128 kbit/s, with titles", "\(outcome)")
    #expect(
      Self.line("station plain", outcome)
        == "ok station plain MP3, 44.1 kHz, mono, 64 kbit/s, no titles", "\(outcome)")
    for (name, reason) in [
      ("gone", "404"), ("page", "(stream."), ("silent", "no sound within 5 s"),
      ("dead", "refuses connections"),
    ] {
      let line = Self.line("station \(name)", outcome)
      #expect(line?.hasPrefix("FAIL ") == true && line?.contains(reason) == true, "\(name): \(outcome)")
    }
    let offline = try home.run("doctor", "--config", "config.lua", "--offline")
    #expect(offline.status == 0 && !offline.output.contains("station morning"), "\(offline)")
    silent.send(SIGTERM)
  }

  @Test("the headset of the configuration is connected")
  func headset() throws {
    let home = try Home()
    let board = try EmulatedBoard(in: home)
    try home.script("headset { transport = '\(board.address)' }", as: "config.lua")
    let good = try home.run("doctor", "--config", "config.lua")
    #expect(good.status == 0, "\(good)")
    #expect(Self.line("headset", good) == "ok headset Roomtone RT-1, firmware 1.0.0", "\(good)")
    try board.kill()
    let bad = try home.run("doctor", "--config", "config.lua")
    #expect(bad.status == 1 && Self.line("headset", bad)?.hasPrefix("FAIL ") == true, "\(bad)")
  }

  @Test("what the configuration asks for and is not there makes the status 1")
  func asked() throws {
    let home = try Home()
    for (text, check) in [
      ("house { output = 'alsa:hw:CARD=none' }", "sound"), ("house { output = ", "configuration"),
      ("recordings { folder = '/dev/null/radio' }", "recordings"),
    ] {
      try home.script(text, as: "config.lua")
      let outcome = try home.run("doctor", "--config", "config.lua")
      #expect(outcome.status == 1 && Self.line(check, outcome)?.hasPrefix("FAIL ") == true, "\(outcome)")
    }
    let zone = try home.runInShell("TZ=Europe/Brelin \"$ROOMTONE\" doctor")
    #expect(zone.status == 1 && Self.line("time zone", zone)?.hasPrefix("FAIL ") == true, "\(zone)")
    guard mkdir(home.path("state/roomtone"), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    try home.write([UInt8](repeating: 7, count: 5000), to: "state/roomtone/recordings.db")
    let damaged = try home.run("doctor")
    #expect(damaged.status == 1 && Self.line("catalogue", damaged)?.hasPrefix("FAIL ") == true, "\(damaged)")
    #expect(fileNames(in: home.path("state/roomtone")).contains("recordings.db"))
    let missing = try home.run("doctor", "--config", "none.lua")
    #expect(missing.status == 2 && missing.output == "" && missing.errorLines.count == 1)
  }

  @Test("a program that hangs is cut off, and the other checks are not held up")
  func hangs() throws {
    let home = try Home()
    let outcome = try home.runInShell(
      "printf '#!/bin/sh\\nexec sleep 20\\n' >crontab; chmod +x crontab; PATH=$PWD:$PATH \"$ROOMTONE\" doctor"
    )
    #expect(Self.line("crontab", outcome) == "warn crontab no answer within 5 s", "\(outcome)")
    #expect(Self.line("cron", outcome) == "warn cron no answer within 5 s", "\(outcome)")
    #expect(Self.line("daemon", outcome)?.hasPrefix("ok ") == true, "\(outcome)")
    // A FIFO without a writer blocks its reader, as a file on a hung mount does.
    let blocked = try home.runInShell("mkfifo config.lua; \"$ROOMTONE\" doctor --config config.lua")
    #expect(
      blocked.status == 1
        && Self.line("configuration", blocked)?.contains("config.lua: no answer within 5 s") == true,
      "\(blocked)")
  }

  @Test("cron and the jobs of the crontab: that a job can't run any more is found")
  func cron() throws {
    let none = try Home().runInShell("PATH=/nowhere \"$ROOMTONE\" doctor")
    #expect(Self.line("crontab", none) == "warn crontab this system has no crontab", "\(none)")
    guard let room = try CronRoom() else { return }
    try room.home.script("print(1)", as: "show.lua")
    #expect(try room.run("$ROOMTONE cron add @daily show.lua").status == 0)
    try room.withCron {
      var good = try room.run("$ROOMTONE doctor")
      // The process may still be about to begin.
      for _ in 0..<100 where Self.line("cron", good)?.hasPrefix("ok ") != true {
        usleep(100_000)
        good = try room.run("$ROOMTONE doctor")
      }
      #expect(good.status == 0, "\(good)")
      #expect(Self.line("crontab", good) == "ok crontab 1 job, all of which can run", "\(good)")
    }
    let bad = try room.run("rm show.lua; $ROOMTONE doctor")
    #expect(bad.status == 1 && Self.line("crontab", bad)?.contains("can't open the script") == true, "\(bad)")
  }
}
