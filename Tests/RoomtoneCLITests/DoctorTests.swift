import EventLoop
import Glibc
import Home
import JSONText
import LuaRuntime
import RecordingKit
import Roomtone
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite(.tags(.doctor)) struct DoctorTests {
  // MARK: The run

  @Test("findings come in the order of the table, and a check that hangs is cut off, without the others")
  func run() throws {
    let start = ContinuousClock.now
    var lines: [String] = []
    Check.run([
      Check("slow") {
        usleep(100_000)
        return .ok("slow", "late")
      },
      Check(["hangs", "twice"], isAskedFor: true, limit: .milliseconds(500)) {
        while true { pause() }
      },
      Check(["hangs too"], limit: .milliseconds(300)) { while true { pause() } },
      Check("fast") { .warn("fast", "first", hint: "wait") },
    ]) { findings in lines += findings.map { "\($0.state.rawValue) \($0.check): \($0.detail)" } }
    #expect(
      lines == [
        "ok slow: late", "FAIL hangs: no answer within 0.5 s", "FAIL twice: no answer within 0.5 s",
        "warn hangs too: no answer within 0.3 s", "warn fast: first",
      ])
    #expect(start.duration(to: .now) < .seconds(10))
  }

  @Test("lines are aligned, with the hint below the fact, and colored on a terminal alone")
  func lines() {
    let finding = Finding.fail("state", "broken\u{1b}[2J", hint: "mend it")
    #expect(
      DoctorCommand.lines(finding, width: 8, isColored: false) == [
        "FAIL  state     broken\\x1b[2J", "                → mend it",
      ])
    #expect(DoctorCommand.lines(.ok("a", "b"), width: 3, isColored: false) == ["ok    a    b"])
    #expect(
      DoctorCommand.lines(.warn("a", "b", hint: nil), width: 1, isColored: true) == [
        "\u{1b}[33mwarn\u{1b}[0m  a  b"
      ]
    )
  }

  // MARK: The machine

  @Test("each library is there, with a version")
  func libraries() throws {
    let checks = SystemChecks.table(DoctorSubject())
    let check = try #require(checks.first { $0.names.contains("Lua") })
    #expect(
      check.names == [
        "Lua", "mpg123", "faad", "sndfile", "FLAC", "vorbis", "opus", "soxr", "SQLite", "xml2", "crypto",
        "z", "curl", "ALSA", "tag", "edit", "microhttpd", "avahi-client", "mosquitto",
      ])
    for finding in check.run() {
      #expect(finding.state == .ok && finding.detail.contains { $0.isNumber }, "\(finding)")
    }
    #expect(check.run().first?.detail.hasPrefix("5.4.") == true)
  }

  @Test("the limit of open files is too low, or is not")
  func openFiles() {
    #expect(SystemChecks.openFiles(limit: 64).state == .warn)
    #expect(SystemChecks.openFiles(limit: 4096) == .ok("open files", "4096 at most"))
    #expect(SystemChecks.openFiles(limit: .max).detail == "no limit")
  }

  @Test("an output is opened: a card that is not there is a failure when the configuration names it")
  func sound() throws {
    let missing = Output.alsa(device: "hw:CARD=no-such-card")
    #expect(SystemChecks.sound(missing, isAskedFor: true).state == .fail)
    let finding = SystemChecks.sound(missing, isAskedFor: false)
    #expect(finding.state == .warn && finding.detail.contains("no-such-card") && finding.hint != nil)
    #expect(SystemChecks.sound(.null, isAskedFor: true).state == .ok)
    // A device of ALSA's own, which needs no card.
    #expect(SystemChecks.sound(.alsa(device: "null"), isAskedFor: true).state == .ok)
    let folder = try TemporaryFolder()
    #expect(SystemChecks.sound(.wav(folder: folder.file("new")), isAskedFor: true).state == .ok)
    let file = try folder.write([], to: "file")
    #expect(SystemChecks.sound(.wav(folder: file + "/new"), isAskedFor: true).state == .fail)
  }

  @Test("the time zone is that of TZ or of the machine; one that is missing is found")
  func zone() throws {
    let folder = try TemporaryFolder()
    #expect(SystemChecks.timeZone("Europe/Berlin").detail.hasPrefix("Europe/Berlin, now UTC"))
    #expect(SystemChecks.timeZone(":Europe/Berlin").state == .ok)
    #expect(SystemChecks.timeZone("CET-1CEST,M3.5.0,M10.5.0/3").state == .ok)
    #expect(SystemChecks.timeZone("").detail == "UTC, by an empty TZ")
    #expect(SystemChecks.timeZone("Europe/Brelin").state == .fail)
    #expect(SystemChecks.timeZone("Europe/Berlin", folder: folder.path).state == .fail)
    #expect(SystemChecks.timeZone(nil, link: folder.file("none")).state == .warn)
    guard symlink("/usr/share/zoneinfo/Asia/Tokyo", folder.file("localtime")) == 0 else {
      throw TestFailure("cannot make a link")
    }
    #expect(
      SystemChecks.timeZone(nil, link: folder.file("localtime")).detail.hasPrefix("Asia/Tokyo, now UTC"))
    #expect(SystemChecks.zoneFiles().state == .ok)
    #expect(SystemChecks.zoneFiles(in: folder.path).hint == "apt install tzdata")
  }

  @Test("the clock is in step, or is not")
  func clock() {
    #expect(
      SystemChecks.clock(.synchronized(maximumError: .microseconds(1500)))
        == .ok("clock", "synchronized, at most 2 ms off"))
    #expect(SystemChecks.clock(.free).state == .warn && SystemChecks.clock(.free).hint != nil)
    #expect(SystemChecks.clock(.unknown).state == .warn)
  }

  @Test("speech needs a program that runs")
  func speech() throws {
    let folder = try TemporaryFolder()
    #expect(SystemChecks.speech(path: folder.path).hint == "apt install espeak-ng")
    let program = try folder.write(Array("#!/bin/sh\nexit 3\n".utf8), to: "espeak-ng")
    #expect(SystemChecks.speech(path: folder.path).state == .warn, "without the right to run")
    chmod(program, 0o755)
    #expect(SystemChecks.speech(path: folder.path).detail == "\(program) does not run")
    _ = try folder.write(
      Array("#!/bin/sh\necho 'eSpeak NG text-to-speech: 9.9  Data'\n".utf8), to: "espeak-ng")
    #expect(SystemChecks.speech(path: folder.path) == .ok("speech", "espeak-ng 9.9"))
  }

  // MARK: Files

  @Test("a folder can be written into and has room, or the reason is named")
  func folders() throws {
    let home = try TemporaryFolder()
    func check(_ path: String, least: Int = 0, mayBeMissing: Bool = false, isAskedFor: Bool = true) -> Finding
    {
      FolderChecks.folder("x", path, least: least, isAskedFor: isAskedFor, mayBeMissing: mayBeMissing)
    }
    #expect(check(home.path).state == .ok && check(home.path).detail.hasSuffix(" free"))
    #expect(check(home.file("a/b/c")).detail.hasSuffix(", is created when needed"))
    #expect(check(home.file("a"), mayBeMissing: true).state == .warn)
    let file = try home.write([], to: "file")
    #expect(check(file).detail == "\(file) is not a folder")
    #expect(check(file + "/inside").detail == "\(file)/inside: Not a directory")
    #expect(check("/proc/self").state == .fail, "nobody writes there")
    let full = check(home.path, least: 1 << 60)
    #expect(full.state == .fail && full.hint == "make room on its disk", "\(full)")
    #expect(check(file, isAskedFor: false).state == .warn)
    #expect(FolderChecks.runtime(nil).state == .warn && FolderChecks.runtime("relative").state == .warn)
    #expect(FolderChecks.runtime(home.path).state == .ok)
  }

  @Test("a database is read from end to end: one that is damaged is found, and left as it is")
  func databases() throws {
    let home = try TemporaryFolder()
    let path = home.file("recordings.db")
    #expect(FolderChecks.database("catalogue", path) == .ok("catalogue", "none yet"))
    #expect(access(path, F_OK) != 0, "it is not created")
    #expect(FolderChecks.database("catalogue", nil).state == .fail)
    var catalogue: Catalogue? = try Catalogue(path: path)
    #expect(FolderChecks.database("catalogue", path).state == .ok)
    withExtendedLifetime(catalogue) {}
    catalogue = nil
    // Pages behind the first one are overwritten: the header is still that of a database.
    var bytes = try readBytes(path)
    #expect(bytes.count > 8192)
    for index in 4096..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: index &* 37) }
    _ = try home.write(bytes, to: "recordings.db")
    let finding = FolderChecks.database("catalogue", path)
    #expect(finding.state == .fail && finding.detail.contains("is damaged"), "\(finding)")
    _ = try home.write(Array("no database at all, and long enough".utf8), to: "recordings.db")
    #expect(FolderChecks.database("catalogue", path).detail.contains("is damaged"))
    #expect(try readBytes(path).prefix(11).elementsEqual("no database".utf8))
    #expect(fileNames(in: home.path).allSatisfy { !$0.contains("damaged") })
  }

  @Test("all errors of a configuration are found, each with its line; the other sections count")
  func configuration() {
    func read(_ text: String) -> DoctorSubject {
      let (configuration, errors) = Configuration.readAll(text: Array(text.utf8), path: "c.lua")
      return DoctorSubject(configuration: configuration, path: "c.lua", errors: errors)
    }
    let bad = read(
      """
      house { speakerz = 1 }
      stations { morning = "http://127.0.0.1/" }
      limits { memory = "x" }
      log { level = "loud" }
      lmits {}
      """)
    let findings = FolderChecks.configuration(bad)
    #expect(findings.count == 4 && findings.allSatisfy { $0.state == .fail })
    #expect(findings.map { String($0.detail.prefix(7)) } == ["c.lua:1", "c.lua:3", "c.lua:4", "c.lua:5"])
    #expect(findings[0].detail.contains("did you mean 'speakers'?"))
    #expect(bad.configuration.stations.addresses.count == 1)
    #expect(FolderChecks.configuration(read("house {")).count == 1, "no Lua")
    let good = read("house { output = 'null', speakers = { { name = 'A' } } }")
    #expect(FolderChecks.configuration(good) == [.ok("configuration", "c.lua: 1 speaker, 0 stations")])
    #expect(good.configuration.house.namesOutput && !bad.configuration.house.namesOutput)
    #expect(FolderChecks.configuration(DoctorSubject())[0].state == .ok)
  }

  // MARK: cron

  @Test("cron that does not run is a failure when there are jobs")
  func cron() throws {
    #expect(CronChecks.cron(isRunning: true, jobs: 3).state == .ok)
    #expect(CronChecks.cron(isRunning: false, jobs: 0).state == .warn)
    #expect(CronChecks.cron(isRunning: false, jobs: 1).state == .fail)
    let processes = try TemporaryFolder()
    #expect(!CronChecks.isRunning(in: processes.path))
    for (number, name) in [("12", "bash\n"), ("99", "cron\n")] {
      guard mkdir(processes.file(number), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
      _ = try processes.write(Array(name.utf8), to: "\(number)/comm")
      #expect(CronChecks.isRunning(in: processes.path) == (number == "99"))
    }
  }

  @Test("a job that can't run is found, with its reason")
  func crontab() throws {
    let folder = try TemporaryFolder()
    let program = try folder.write([], to: "roomtone")
    chmod(program, 0o755)
    let script = try folder.write(Array("print(1)".utf8), to: "show.lua")
    let broken = try folder.write(Array("print(".utf8), to: "broken.lua")
    func check(_ schedule: String, _ command: String) -> Finding {
      var crontab = Crontab([])
      crontab.add(.init(name: "show", schedule: schedule, command: command))
      return CronChecks.crontab(crontab)
    }
    #expect(CronChecks.crontab(Crontab([])) == .ok("crontab", "no jobs"))
    #expect(
      check("30 20 * * 6", "/usr/bin/env TZ=UTC \(program) run \(script)")
        == .ok("crontab", "1 job, all of which can run"))
    #expect(check("@daily", "true").state == .ok, "a program that cron finds")
    for (schedule, command, reason) in [
      ("30 25 * * 6", "\(program) run \(script)", "25"),
      ("@daily", "\(program) run 'x", "quote without an end"),
      ("@daily", "\(folder.file("gone")) run x", "is not there"),
      ("@daily", "no-such-program x", "is not there"),
      ("@daily", "\(program) run \(folder.file("gone.lua"))", "can't open the script"),
      ("@daily", "\(program) run \(broken)", "broken.lua:1"),
      ("@daily", "\(program) record http://127.0.0.1/", "needs an end"),
      ("@daily", "/usr/bin/env TZ=UTC", "no command"),
    ] {
      let finding = check(schedule, command)
      #expect(finding.state == .fail && finding.detail.hasPrefix("show: "), "\(finding)")
      #expect(finding.detail.contains(reason), "\(finding)")
    }
  }

  // MARK: The daemon

  @Test("Home Assistant was seen, is there, or was never seen; or the daemon knows nothing of it")
  func homeAssistant() throws {
    func check(_ status: String) throws -> Finding {
      let json: JSON = try #require(JSON(parsing: status.utf8))
      return HomeAssistantCheck.finding(json)
    }
    let seen = try check(#"{"devices": 5, "present": true, "seen": 1700000000.0}"#)
    #expect(seen.state == .ok)
    #expect(seen.detail.hasPrefix("5 devices for Home Assistant, which was seen at 2023-"))
    #expect(
      try check(#"{"devices": 5, "present": true, "seen": null}"#)
        == .ok("home assistant", "5 devices for Home Assistant, which is there"))
    let unseen = try check(#"{"devices": 5, "present": false, "seen": null}"#)
    #expect(unseen.state == .warn && unseen.detail.hasSuffix(", which has not been seen yet"))
    #expect(try check("null").hint == "start it again, to read its configuration")
    let text = "mqtt { host = '127.0.0.1', home_assistant = true }"
    let (configuration, _) = Configuration.readAll(text: Array(text.utf8), path: "c.lua")
    let subject = DoctorSubject(configuration: configuration, path: "c.lua", errors: [])
    func names(_ subject: DoctorSubject) -> [String] {
      NetworkChecks.table(subject, isOffline: true).flatMap(\.names)
    }
    #expect(names(subject).contains("home assistant") && !names(DoctorSubject()).contains("home assistant"))
  }

  @Test("the daemon's socket accepts, or is a remnant")
  func daemon() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("control.sock")
    #expect(NetworkChecks.daemon(socket: nil).state == .ok)
    #expect(NetworkChecks.daemon(socket: path).detail.hasPrefix("not running"))
    // A program that another test starts meanwhile would keep it open.
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let isBound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    #expect(isBound && listen(listener, 1) == 0)
    #expect(NetworkChecks.daemon(socket: path) == .ok("daemon", "accepts connections at \(path)"))
    close(listener)
    #expect(NetworkChecks.daemon(socket: path).state == .warn)
    #expect(NetworkChecks.daemon(socket: try folder.write([], to: "file")).state == .warn)
  }
}
