import EventLoop
import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing

/// `roomtone serve` and those who talk to it, as processes.
@Suite("the daemon", .waiting, .tags(.daemon)) struct ServeTests {
  /// Returns a home with scripts, and its daemon, which serves.
  static func serve(_ scripts: [(String, String)], _ variables: String = "") throws -> (Home, RunningCommand)
  {
    let home = try Home()
    guard mkdir(home.path("scripts"), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    for (name, text) in scripts { try home.script(text, as: "scripts/\(name)") }
    let process = try home.startInShell("exec env \(variables) $ROOMTONE serve --output null scripts")
    do { try awaitAnswer(home) } catch {
      process.send(SIGTERM)
      throw TestFailure("\(error): \(try process.finish())")
    }
    return (home, process)
  }

  /// Waits until the daemon answers.
  static func awaitAnswer(_ home: Home) throws {
    try wait("the daemon answers") { try home.run("ctl", "status", "--json").status == 0 }
  }

  /// Waits at most 30 s for a condition.
  static func wait(_ what: String, until isDone: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(30)
    while try !isDone() {
      guard ContinuousClock.now < end else { throw TestFailure("it took too long until \(what)") }
      usleep(20_000)
    }
  }

  /// Returns the states of the scripts: `a running`.
  private static func states(_ home: Home) throws -> [String] {
    let outcome = try home.run("ctl", "scripts", "--json")
    return (JSON(parsing: outcome.output.utf8)?.elements ?? []).map {
      "\($0["name"]?.text ?? "") \($0["state"]?.text ?? "")"
    }
  }

  @Test("scripts are read again when their files or libraries change, and end when their files are gone")
  func reload() throws {
    let (home, process) = try Self.serve([
      ("a.lua", "print('a', require '_common', require '_lib.more')"), ("b.lua", "print 'b'"),
      ("_common.lua", "return 1"),
    ])
    try process.expect("b: b\n")
    #expect(try Self.states(home) == ["a failed", "b running"])
    mkdir(home.path("scripts/_lib"), 0o700)
    try home.script("return 2", as: "scripts/_lib/more.lua")
    try process.expect("a: a 1 2\n")
    try home.script("return 3", as: "scripts/_common.lua")
    try process.expect("a: a 3 2\n")
    try home.script("return 4", as: "scripts/_lib/more.lua")
    try process.expect("a: a 3 4\n")
    try home.script("local x = =", as: "scripts/b.lua")
    try process.expectError("b: error: ")
    #expect(try Self.states(home) == ["a running", "b stale"])
    try home.script("print 'moved in'", as: "scripts/new")
    rename(home.path("scripts/new"), home.path("scripts/b.lua"))
    try process.expect("b: moved in\n")
    unlink(home.path("scripts/a.lua"))
    try Self.wait("a script is gone") { try Self.states(home) == ["b running"] }

    // The folder vanishes, and comes back.
    rename(home.path("scripts"), home.path("away"))
    try process.expectError("can't read the folder of scripts")
    #expect(try Self.states(home) == ["b running"])
    rename(home.path("away"), home.path("scripts"))
    try process.expect("b: moved in\n")
    try home.script("print 'last'", as: "scripts/b.lua")
    try process.expect("b: last\n")

    process.send(SIGHUP)
    try process.expect("b: last\n")
    process.send(SIGTERM)
    let outcome = try process.finish()
    #expect(outcome.status == 128 + SIGTERM, "\(outcome)")
    #expect(access(home.path("runtime/roomtone/control.sock"), F_OK) != 0)
  }

  @Test("ctl top shows the script that takes the most time, with its line")
  func top() throws {
    let (home, process) = try Self.serve([
      ("busy.lua", "require 'schedule'.every('1s', function()\nfor i = 1, 1e8 do end\nend)"),
      ("calm.lua", "require 'task'.sleep '1h'"),
    ])
    try process.expectError("busy: warn: busy.lua:2: it held all other scripts for ")
    let lines = try home.run("ctl", "top").output.split(separator: "\n").map(String.init)
    #expect(lines.first?.split(separator: " ") == ["SCRIPT", "TIME", "LONGEST", "AT", "MEMORY", "EVENTS"])
    #expect(lines.dropFirst().map { $0.prefix(4) } == ["busy", "calm"])
    #expect(lines[1].contains("busy.lua:2") && lines[1].contains(" MB"))
    let top = try JSON(parsing: home.run("ctl", "top", "--json").output.utf8)
    #expect(top?.elements?.first?["longest_hold_at"]?.text == "busy.lua:2")
    process.send(SIGTERM)
    _ = try process.finish()
  }

  @Test("a second daemon names the first; one that was killed is replaced")
  func single() throws {
    let (home, process) = try Self.serve([("a.lua", "print 'on'")])
    let second = try home.run("serve", "--output", "null", "scripts")
    #expect(
      second.status == 1 && second.errors.contains("by process \(process.process) (roomtone serve)"),
      "\(second)")
    var status = stat()
    #expect(stat(home.path("runtime/roomtone/control.sock"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(stat(home.path("runtime/roomtone"), &status) == 0 && status.st_mode & 0o777 == 0o700)
    process.send(SIGKILL)
    _ = try process.finish()
    #expect(
      try home.run("ctl").failures == ["roomtone: no daemon runs (ctl.none); start one: roomtone serve"])
    let next = try home.start(["serve", "--output", "null", "scripts"])
    try next.expect("a: on")
    try Self.awaitAnswer(home)
    next.send(SIGINT)
    #expect(try next.finish().status == 128 + SIGINT)
  }

  @Test("a process that has the house is named")
  func ownedHouse() throws {
    let home = try Home()
    mkdir(home.path("scripts"), 0o700)
    let owner = try home.start(
      ["run", "--output", "null", "-e", "require 'speaker'.open() print 'open' require 'task'.sleep '1h'"])
    try owner.expect("open")
    let outcome = try home.run("serve", "--output", "null", "scripts")
    #expect(outcome.status == 1 && outcome.errors.contains("speaker.busy"), "\(outcome)")
    #expect(outcome.errors.contains("\(owner.process)"), "\(outcome)")
    owner.send(SIGTERM)
    _ = try owner.finish()
  }

  @Test("verbs of the shell act on rooms with a daemon and without one")
  func verbs() throws {
    let (home, process) = try Self.serve([
      (
        "a.lua",
        "local s = require 'speaker' s.play('\(Fixtures.repository("scripts/wake_up.mp3"))', { loop = true, rooms = s.devices() }) print 'plays'"
      )
    ])
    try process.expect("plays")
    #expect(try home.run("volume", "kit", "20").lines == ["Kitchen  20"])
    try Self.wait("the level is set") { try home.run("volume", "kitchen").lines == ["Kitchen  20"] }
    #expect(try home.run("volume", "kit", "-5").lines == ["Kitchen  15"])
    #expect(try home.run("volume", "attic").failures.first?.contains("attic") == true)
    #expect(try home.run("volume", "kit", "51").status == 1)
    #expect(try home.run("now").output.contains("playing"))
    let devices = try home.run("devices")
    #expect(devices.status == 0 && devices.output.contains("playing"), "\(devices)")
    #expect(try home.run("groups").output.contains("yes"))
    #expect(try home.run("pause").output.contains("paused"))
    #expect(try home.run("resume").output.contains("playing"))
    #expect(try home.run("mute", "kit", "--json").output.contains("\"muted\": true"))
    #expect(try !home.run("stop", "kit").output.contains("Kitchen"))
    #expect(try home.run("stop").lines == ["nothing plays"])
    process.send(SIGTERM)
    _ = try process.finish()
    #expect(try home.run("volume", "kit").lines == ["Kitchen  15 muted"])
    #expect(try home.run("volume", "kit", "+1").lines == ["Kitchen  16"])
    #expect(try home.run("volume", "kit").lines == ["Kitchen  16"])
    #expect(try home.run("now").lines == ["nothing plays"])
    #expect(try home.run("pause").failures.count == 1)
  }

  @Test("a service manager is told of the beginning, reloads, the watchdog and the end")
  func notifications() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("notify")
    let socket = try NotifySocket(path)
    let (home, process) = try Self.serve(
      [("a.lua", "print(os.getenv 'NOTIFY_SOCKET')")], "NOTIFY_SOCKET=\(path) WATCHDOG_USEC=200000")
    try process.expect("a: nil")
    try socket.expect { $0.contains("READY=1") }
    try socket.expect { $0 == ["WATCHDOG=1"] }
    try socket.expect { $0 == ["WATCHDOG=1"] }
    process.send(SIGHUP)
    try socket.expect { $0.first == "RELOADING=1" && $0.last?.hasPrefix("MONOTONIC_USEC=") == true }
    try socket.expect { $0.contains("READY=1") && $0.contains("STATUS=1 script running") }
    try home.script("error 'no'", as: "scripts/a.lua")
    try socket.expect { $0 == ["STATUS=0 scripts running, 1 failed"] }
    process.send(SIGTERM)
    try socket.expect { $0 == ["STOPPING=1"] }
    _ = try process.finish()
  }

  @Test("--install writes a unit that systemd accepts, with absolute paths, and says how to enable it")
  func install() throws {
    let home = try Home()
    mkdir(home.path("my \"scripts\" 100%"), 0o700)
    let outcome = try home.run(
      "serve", "--install", "--house", "house", "--output", "null", "my \"scripts\" 100%")
    let path = home.path("config/systemd/user/roomtone.service")
    #expect(outcome.status == 0 && outcome.lines.first == path, "\(outcome)")
    #expect(outcome.output.contains("systemctl --user enable --now roomtone.service"))
    #expect(outcome.output.contains("loginctl enable-linger"))
    let text = String(decoding: try readBytes(path), as: UTF8.self)
    #expect(text.contains("\"serve\" \"--house\" \"house\" \"--output\" \"null\""), "\(text)")
    #expect(text.contains("\"--\" \"\(home.path("my \\\"scripts\\\" 100%%"))\""), "\(text)")
    for name in ["config", "state", "runtime"] {
      #expect(
        text.contains(
          "Environment=\"XDG_\(name == "runtime" ? "RUNTIME_DIR" : "\(name.uppercased())_HOME")=\(home.path(name))\"\n"
        ), "\(text)")
    }
    #expect(text.contains("Environment=\"TZ=UTC\"\n") && !text.contains("\"PATH="), "\(text)")
    // For systemd before version 253, which does not send the signal itself.
    #expect(text.contains("ExecReload=kill -HUP $MAINPID"))
    // Without systemd the text alone is checked.
    guard access("/usr/bin/systemd-analyze", X_OK) == 0 else { return }
    let verified = try Command.run(
      "env", ["XDG_RUNTIME_DIR=\(home.path("runtime"))", "systemd-analyze", "--user", "verify", path])
    // Before version 253 the second type is ignored, and the first stays.
    let errors = String(decoding: verified.errors, as: UTF8.self).split(separator: "\n").filter {
      !$0.hasSuffix("Failed to parse service type, ignoring: notify-reload")
    }
    #expect(verified.status == 0 && errors.isEmpty, "\(errors)")
  }

  @Test(
    "a scheduled recording continues in its file after a reload and a kill: exactly with a long burst, else with its gaps in the catalogue",
    arguments: [0, 240_000])
  func recording(burst: Int) throws {
    let station = try Station()
    var live = Live(NumberedProgramme.programme(titleEvery: 60_000))
    // Without a burst nothing that was missed is sent later.
    (live.pace, live.metaint, live.burst, live.age) = (.realTime(1), 8_192, burst, 800_000)
    station.answer("/live", with: .live(live))
    // The moment is nearer than the time before the show, so that it begins at once.
    let text = """
      local show = require "recorder".schedule {
        url = "\(station.url("/live"))", template = os.getenv "HOME" .. "/radio/show.{ext}", name = "show",
        at = "23:59", pad_before = "24h", duration = "1h",
      }
      show:on("started", function(event)
        print(event.continued and (event.gap_seconds > 0 and "continued behind a gap" or "continued exactly") or "begun")
      end)
      """
    let (home, process) = try Self.serve([("show.lua", text)])
    try process.expect("show: begun")
    usleep(1_500_000)
    process.send(SIGHUP)
    try process.expect("show: continued")
    usleep(1_500_000)
    process.send(SIGKILL)
    _ = try process.finish()
    usleep(3_000_000)
    let next = try home.start(["serve", "--output", "null", "scripts"], deadline: .seconds(60))
    try next.expect("show: continued \(burst > 0 ? "exactly" : "behind a gap")")
    if burst == 0 { try next.expectError("show.mp3 is continued after a gap of ") }
    usleep(1_000_000)
    next.send(SIGTERM)
    _ = try next.finish()

    let path = home.path("radio/show.mp3")
    #expect(fileNames(in: home.path("radio")).filter { !$0.hasSuffix(".cue") } == ["show.mp3"])
    let list = try home.run(
      "run", "--output", "null", "-e",
      "for _, r in ipairs(require 'recordings'.list()) do print(r.path, r.state, #r.gaps > 0, r.job) end")
    #expect(list.lines == ["\(path)\tfinished\t\(burst == 0)\tshow"], "\(list)")
    let bytes = try readBytes(path)
    let numbers = try NumberedProgramme.numbers(of: bytes[endOfTag(bytes)...], in: path)
    #expect(numbers.count > 100)
    let seams = zip(numbers, numbers.dropFirst()).filter { $0 + 1 != $1 }
    #expect(seams.allSatisfy { $0 < $1 } && seams.isEmpty == (burst > 0), "\(seams)")
    #expect(try home.run("recordings", "verify").status == 0)
  }

  @Test("the log is followed, of one script or all")
  func log() throws {
    let (home, process) = try Self.serve([
      ("a.lua", "require 'trigger'.on('x', function(e) print('a', e.value) end)"),
      ("b.lua", "require 'trigger'.on('x', function(e) require 'log'.warn('b', { n = e.value }) end)"),
    ])
    let follower = try home.start(["ctl", "log", "--follow", "--script", "b"])
    // Until it follows nothing is lost: earlier lines are shown too.
    #expect(try home.run("ctl", "trigger", "x", "7").status == 0)
    try follower.expect("b: warn: b n=7")
    #expect(try home.run("ctl", "trigger", "x", "not JSON").status == 0)
    try follower.expect("n=not JSON")
    #expect(try home.run("ctl", "log").lines.contains { $0.hasSuffix("a: a 7") })
    process.send(SIGTERM)
    #expect(try follower.finish().failures == ["roomtone: the daemon has ended (ctl.socket)"])
    _ = try process.finish()
  }
}

/// The socket of a service manager.
private final class NotifySocket {
  private let fd: Int32

  init(_ path: String) throws {
    fd = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard let address = UnixAddress(path), address.withPointer({ bind(fd, $0, $1) }) == 0 else {
      throw TestFailure("cannot listen at \(path)")
    }
    var time = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(fd) }

  /// Receives datagrams up to one whose lines are as wanted.
  func expect(_ isWanted: ([String]) -> Bool) throws {
    while true {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = recv(fd, &bytes, bytes.count, 0)
      guard count > 0 else { throw TestFailure("the service manager was not told") }
      let lines = String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").map(String.init)
      if isWanted(lines) { return }
    }
  }
}
