import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("jobs in the crontab", .waiting, .tags(.cron, .schedule))
struct CronTests {
  @Test("are added, listed and removed through the real crontab, and no other line changes")
  func manage() throws {
    guard let room = try CronRoom() else { return }
    try room.home.script("print('hello')", as: "show.lua")
    let own = "# mine\nMAILTO=me\n5 5 * * * true\n"
    #expect(try room.run("printf '\(own.replacing("\n", with: "\\n"))' | crontab -").status == 0)
    #expect(try room.run("$ROOMTONE cron").lines == ["no jobs: 'roomtone cron add' makes one"])

    let added = try room.run(
      "$ROOMTONE cron add '30 20 * * 6' show.lua 'one word' && $ROOMTONE cron add @reboot show.lua")
    #expect(added.status == 0 && added.errors == "", "\(added)")
    #expect(added.lines.first?.hasPrefix("show: 30 20 * * 6, next 2") == true, "\(added)")
    #expect(added.lines.last == "show-2: @reboot, when the machine starts")

    let list = try room.run("$ROOMTONE cron list")
    #expect(list.lines.count == 3 && list.lines[0].hasPrefix("NAME    SCHEDULE     NEXT"), "\(list)")
    #expect(list.lines[1].hasSuffix("  run \(room.home.path("show.lua")) 'one word'"), "\(list)")
    let json = try room.run("$ROOMTONE cron list --json")
    #expect(
      json.output.contains("\"name\": \"show-2\", \"schedule\": \"@reboot\", \"next\": null"), "\(json)")

    let crontab = try room.run("crontab -l").lines
    #expect(crontab.count == 5 && crontab[..<3].joined(separator: "\n") + "\n" == own)
    #expect(
      crontab[3].contains("XDG_STATE_HOME=\(room.home.path("state"))")
        && crontab[3].hasSuffix("# roomtone: show"))

    #expect(try room.run("$ROOMTONE cron remove show && $ROOMTONE cron remove show-2").status == 0)
    #expect(try room.run("crontab -l").output == own)
  }

  @Test("leave no line of the crontab out where no disk has room for it")
  func noRoom() throws {
    guard let room = try CronRoom() else { return }
    let own = (1...400).map { "# line \($0) of a person who keeps much in the crontab\n" }.joined()
    try room.home.write(Array(own.utf8), to: "crontab")
    // The thread sanitizer keeps a file of its own in TMPDIR, and the program itself may be below /tmp.
    let outcome = try room.run(
      """
      crontab "$HOME/crontab" && mount -t tmpfs none /mnt && mkdir /mnt/bin
      mount --bind "${ROOMTONE%/*}" /mnt/bin && mount -t tmpfs -o size=4k none /tmp && ROOMTONE=/mnt/bin/roomtone
      head -c 9000 /dev/zero >/tmp/full 2>/mnt/errors
      export XDG_STATE_HOME=/mnt TMPDIR=/mnt
      $ROOMTONE cron add @daily --name show record http://127.0.0.1/ -o /mnt/show.mp3 --for 1h && crontab -l
      """)
    #expect(outcome.status == 0 && outcome.lines.count == 402, "\(outcome)")
    #expect(outcome.lines.dropFirst().dropLast().map { $0 + "\n" }.joined() == own)
    #expect(outcome.lines.last?.hasSuffix("# roomtone: show") == true)
  }

  @Test("have the options of the command that they run, without a mark between the two")
  func options() throws {
    guard let room = try CronRoom() else { return }
    try room.home.script("print(1)", as: "show.lua")
    let lines = [
      "'30 20 * * 6' record http://127.0.0.1/ --for 2h -o 'a.mp3' --name one",
      "@daily --name two show.lua --for 1h x",
      "@daily show.lua --for=1h --name three -- --for", "@daily --name four -- show.lua --for",
      "@daily play http://127.0.0.1/ --on bedroom --volume 20 --name five",
      "@daily run --for 1h show.lua --name six",
    ]
    for line in lines {
      let outcome = try room.run("$ROOMTONE cron add \(line)")
      #expect(outcome.status == 0 && outcome.errors == "", "\(line): \(outcome)")
    }
    let path = room.home.path("show.lua")
    let commands = try room.run("$ROOMTONE cron").lines.dropFirst().map { line in
      line.split(separator: "  ", omittingEmptySubsequences: true).last.map(String.init) ?? ""
    }
    #expect(
      commands.map { $0.drop { $0 == " " } } == [
        "record --for=2h --output=\(room.home.path("a.mp3")) --quiet --job=one http://127.0.0.1/",
        "run --for=1h \(path) x", "run --for=1h -- \(path) --for", "run -- \(path) --for",
        "play --on=bedroom --volume=20 http://127.0.0.1/", "run --for=1h \(path)",
      ])
  }

  @Test("are called by the file of a URL whose host is a number")
  func names() throws {
    guard let room = try CronRoom() else { return }
    for url in ["http://127.0.0.1:8000/jazz.mp3", "http://127.0.0.1/", "http://radio.example/a.mp3"] {
      let outcome = try room.run("$ROOMTONE cron add @daily play \(url)")
      #expect(outcome.status == 0, "\(outcome)")
    }
    let names = try room.run("$ROOMTONE cron").lines.dropFirst().map { String($0.prefix { $0 != " " }) }
    #expect(names == ["jazz", "127.0.0.1", "radio.example"], "\(names)")
  }

  @Test("warn of a password in a URL, which others could read")
  func password() throws {
    guard let room = try CronRoom() else { return }
    let outcome = try room.run("$ROOMTONE cron add @daily record http://joe:sesame@127.0.0.1/a --for 2h")
    #expect(
      outcome.status == 0 && outcome.errors.hasPrefix("warn: the password of http://127.0.0.1/a stands"))
    #expect(!outcome.errors.contains("sesame") && outcome.errors.contains("--password-file"), "\(outcome)")
  }

  @Test("are reported as failed when the crontab has lost a foreign line")
  func lostLine() throws {
    let home = try Home()
    // A crontab program that drops a line.
    try home.script(
      "#!/bin/sh\n[ \"$1\" = -l ] && exec cat \"$HOME/table\"\ngrep -v mine >\"$HOME/table\"\n", as: "crontab"
    )
    try home.write(Array("1 1 * * * mine\n".utf8), to: "table")
    let outcome = try home.runInShell(
      "chmod +x crontab; PATH=$PWD:$PATH \"$ROOMTONE\" cron add @daily -- record http://127.0.0.1/ -o a.mp3 --for 1h"
    )
    #expect(
      outcome.status == 1 && outcome.failures.first?.contains("differs from the text") == true, "\(outcome)"
    )
  }

  @Test("that can't run are refused, with the status of wrong usage where they were written wrong")
  func refused() throws {
    guard let room = try CronRoom() else { return }
    try room.home.script("print(", as: "bad.lua")
    try room.home.script("print(1)", as: "good.lua")
    let cases: [(line: String, status: Int32, reason: String)] = [
      ("add '30 20 * *' good.lua", 2, "4 fields, not five"),
      ("add '30 20 * * 6' none.lua", 2, "can't open the script"),
      ("add '30 20 * * 6' bad.lua", 1, "bad.lua:1:"),
      ("add '30 20 * * 6' -- play --volume 99 a.wav", 2, "--volume"),
      ("add '30 20 * * 6' play none.wav", 2, "none.wav"),
      ("add '30 20 * * 6' record http://127.0.0.1/ -o a.mp3", 2, "needs an end: --for 2h, or --until 22:30"),
      ("add '30 20 * * 6' play http://127.0.0.1/ --on Garage", 1, "no room or speaker is called \"Garage\""),
      ("add '30 20 * * 6' good.lua --fro 2h", 2, "no option '--fro'; did you mean '--for'?"),
      ("add '30 20 * * 6' play http://", 2, "names no server"),
      ("add '30 20 * * 6' --name 'a#b' good.lua", 2, "can't be a job's name"),
      ("remove good", 1, "no job is called 'good'"),
      ("add '30 20 * * 6' good.lua \(String(repeating: "x", count: 1000))", 1, "cron would cut"),
    ]
    for (line, status, reason) in cases {
      let outcome = try room.run("$ROOMTONE cron \(line)")
      #expect(outcome.status == status && outcome.output == "", "\(line): \(outcome)")
      #expect(outcome.failures.count == 1 && outcome.failures[0].contains(reason), "\(line): \(outcome)")
    }
    #expect(try room.run("crontab -l").status == 1)
    #expect(
      try room.run("PATH=/nowhere $ROOMTONE cron").failures.first?.contains("(cron.missing); install cron")
        == true)
  }

  @Test("are run by hand as cron runs them, with their exit status, and the list has the last result of each")
  func result() throws {
    guard let room = try CronRoom() else { return }
    try room.home.script(
      "print(os.getenv 'XDG_STATE_HOME', os.getenv 'PATH', os.getenv 'ROOMTONE_JOB')", as: "good.lua")
    try room.home.script("print 'works' error 'no bread'", as: "bad.lua")
    let outcome = try room.run(
      """
      $ROOMTONE cron add @daily good.lua && $ROOMTONE cron add @daily bad.lua
      $ROOMTONE cron list; $ROOMTONE cron run good; echo "status $?"; $ROOMTONE cron run bad; echo "status $?"
      $ROOMTONE cron list; $ROOMTONE cron list --json; $ROOMTONE cron run god
      """)
    let lines = outcome.lines
    #expect(lines.count > 12, "\(outcome)")
    #expect(lines[3].contains(" -     ") && lines[4].contains(" -     "), "\(outcome)")
    #expect(
      lines[5] == "\(room.home.path("state"))\t/usr/bin:/bin\tnil" && lines[6] == "status 0", "\(outcome)")
    #expect(lines[7] == "works" && lines[8] == "status 1", "\(outcome)")
    #expect(lines[10].contains(" ok  ") && lines[11].contains(" failed (status 1)  "), "\(outcome)")
    #expect(
      outcome.output.contains("\"state\": \"failed\"") && outcome.output.contains("bad.lua:1: no bread"))
    #expect(
      outcome.errors.contains("no job is called 'god'; did you mean 'good'?")
        || outcome.errors.contains("did you mean 'good'?"), "\(outcome)")
  }

  @Test("that cron runs leave their results, also one that is killed")
  func killed() throws {
    guard let room = try CronRoom() else { return }
    try room.home.script(
      "local out <close> = io.open(\"\(room.home.path("reported"))\", \"w\") out:write \"begun\\n\" out:flush() require 'task'.sleep '1h'",
      as: "long.lua")
    #expect(try room.run("$ROOMTONE cron add @reboot long.lua").status == 0)
    try room.withCron {
      try room.waitFor("reported", toEndWith: "begun\n")
      let running = try room.run("$ROOMTONE cron")
      #expect(running.lines.last?.contains(" running  ") == true, "\(running)")
      _ = try room.run(
        "for p in /proc/[0-9]*; do if tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q ' run \(room.home.path("long.lua"))'; then kill -9 ${p#/proc/}; fi; done"
      )
    }
    try ServeTests.wait("the job is known as killed") {
      try room.run("$ROOMTONE cron").lines.last?.contains(" killed  ") == true
    }
  }

  @Test("are run by cron with the words, the folders and the time zone that they were added with")
  func daemon() throws {
    guard let room = try CronRoom() else { return }
    try room.home.script(
      """
      local out <close> = io.open("\(room.home.path("reported"))", "w")
      out:write(table.concat(arg, "|"), "\\n", os.getenv "XDG_STATE_HOME", "\\n", os.getenv "TZ", "\\n")
      """, as: "tell me.lua")
    let added = try room.run(
      "TZ=Asia/Tokyo $ROOMTONE cron add @reboot -- 'tell me.lua' \"it's\" '%Y-%m-%d 100%' 'a\\%b' '$HOME' -x")
    #expect(added.status == 0, "\(added)")
    try room.withCron { try room.waitFor("reported", toEndWith: "Asia/Tokyo\n") }
    let reported = String(decoding: try readBytes(room.home.path("reported")), as: UTF8.self)
    #expect(reported == "it's|%Y-%m-%d 100%|a\\%b|$HOME|-x\n\(room.home.path("state"))\nAsia/Tokyo\n")
  }
}

/// A crontab and a cron of a test's own, in a mount namespace that hides files of the system behind others.
final class CronRoom {
  let home: Home

  /// Creates the namespace's files; nil where namespaces are not permitted, or there is no cron.
  init?() throws {
    guard try Command.run("unshare", ["-m", "which", "crontab", "cron"]).status == 0 else {
      print("not tested: it takes cron, and root, who may unshare -m")
      return nil
    }
    home = try Home()
    for name in ["spool", "nothing"] {
      guard mkdir(home.path(name), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    }
  }

  /// Runs a line of the shell, in which `$ROOMTONE` is the command.
  func run(_ line: String) throws -> Outcome { try home.runInShell(try inside(line)) }

  /// Runs cron while `body` runs; jobs for the start of the machine run at once.
  func withCron(_ body: () throws -> Void) throws {
    let line =
      "mount -t tmpfs none /run && mount --bind \"$HOME/nothing\" /etc/cron.d && "
      + "mount --bind /dev/null /etc/crontab && exec cron -f"
    let daemon = try home.startInShell("exec " + inside(line))
    defer { daemon.send(SIGTERM) }
    try body()
  }

  /// Waits for a file in the home that ends with `text`.
  func waitFor(_ name: String, toEndWith text: String) throws {
    for _ in 0..<1200 {
      if access(home.path(name), R_OK) == 0,
        try readBytes(home.path(name)).suffix(text.utf8.count) == Array(text.utf8)[...]
      {
        return
      }
      usleep(50_000)
    }
    throw TestFailure("cron has not made \(name)")
  }

  private func inside(_ line: String) throws -> String {
    let name = "line-\(getpid())-\(UInt32.random(in: 0...UInt32.max)).sh"
    try home.script("mount --bind \"$HOME/spool\" /var/spool/cron/crontabs && \(line)\n", as: name)
    return "unshare -m /bin/sh \"$HOME/\(name)\""
  }
}
