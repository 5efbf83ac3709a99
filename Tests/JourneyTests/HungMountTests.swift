import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("a mount whose server is gone", .waiting, .tags(.files, .limits))
struct HungMountTests {
  /// Runs `roomtone` beside a file system that answers nothing: its requests go to `/dev/fuse`, where nobody reads.
  ///
  /// Without a search for leaks at its end: the leak sanitizer stops all threads first, and waits for ever for the
  /// one that waits for the mount.
  /// - Returns: nil where such a mount is not permitted.
  private func run(_ arguments: String, in home: Home) throws -> Outcome? {
    let mount = """
      exec 3<>/dev/fuse && mkdir -p nas && ln -sfn nas music &&
      mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 nas:/music nas || exit 77
      export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
      "$ROOMTONE" \(arguments)
      """
    try home.script(mount, as: "mount.sh")
    let outcome = try home.runInShell("unshare -m sh mount.sh")
    guard outcome.status != 77, !outcome.errors.contains("unshare") else {
      print("not tested: unshare -m with a mount of FUSE is not permitted here")
      return nil
    }
    return outcome
  }

  @Test("sound on it fails within seconds, with its name, and the loop runs on")
  func silence() throws {
    let home = try Home()
    try home.music()
    let script = try home.script(
      """
      local alarm, speaker = require "alarm", require "speaker"
      local stream, task = require "stream", require "task"
      local ticks, left, texts = 0, 4, {}
      speaker.open { add_all = true }
      local function run(number, fn)
        task.spawn(function()
          local _, err = task.try(fn)
          texts[number], left = tostring(err), left - 1
        end)
      end
      run(1, function() speaker.play "\(home.path("music"))/a.mp3" end)
      run(2, function() alarm.set { at = "06:45", rooms = "Bedroom", sources = { "nas/a.mp3" } } end)
      run(3, function() stream.file("\(home.path("nas"))/a.mp3"):start() end)
      run(4, function()
        speaker.play { "music.mp3", "nas/a.mp3", "nas/b.mp3", "music.mp3" }
        error("plays: " .. tostring(speaker.is_playing()), 0)
      end)
      while left > 0 do task.sleep "100ms"; ticks = ticks + 1 end
      for number = 1, 4 do print(texts[number]) end
      print(ticks > 50, ticks < 400)
      os.exit(0)
      """)
    guard let outcome = try run("run \(script)", in: home) else { return }
    let nas = home.path("nas")
    let silence = "no answer within 10 s from the mount \(nas) (fuse, nas:/music)"
    let lines = outcome.lines
    try #require(lines.count == 5, "\(outcome)")
    #expect(lines[0].contains("cannot open \(home.path("music"))/a.mp3: \(silence)"))
    #expect(lines[1].contains("cannot open nas/a.mp3: \(silence)"))
    #expect(lines[2].contains("cannot read \(nas)/a.mp3: \(silence)"))
    #expect(lines[3] == "plays: true")
    #expect(lines[4] == "true\ttrue", "\(outcome)")
  }

  @Test("a recording to it waits in memory and is said, and the others are whole")
  func recordings() throws {
    let (station, home) = (try RecordTests.station(), try Home())
    let script = try home.script(
      """
      local stream, task = require "stream", require "task"
      local far, near = stream.new "\(station.url("/live"))", stream.new "\(station.url("/live"))"
      task.spawn(function() far:record "nas/far.mp3" end)
      local recording = near:record "near.mp3"
      task.sleep "11s"
      recording:stop()
      print(recording.state, recording.seconds > 15)
      os.exit(0)
      """)
    guard let outcome = try run("run \(script)", in: home) else { return }
    let silence = "no answer within 10 s from the mount \(home.path("nas")) (fuse, nas:/music)"
    #expect(outcome.status == 0 && outcome.lines == ["finished\ttrue"], "\(outcome)")
    #expect(outcome.errors.contains("warn: \(silence): recordings there wait in memory\n"))
    #expect(
      outcome.errors.contains("warn: \(silence): the last sound of recordings there is not written\n"))
    #expect(try readBytes(home.path("near.mp3")).count > 15 * 8_000)
  }

  @Test("keys, passwords and firmware on it are refused with its name, and the loop runs on")
  func secrets() throws {
    let home = try Home()
    let board = try EmulatedBoard(in: home)
    guard mkdir(home.path("config/roomtone"), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    try home.script(
      "stations { Locked = { url = 'http://127.0.0.1:1/x', user = 'a', password_file = '\(home.path("nas"))/word' } }",
      as: "config/roomtone/config.lua")
    let script = try home.script(
      """
      local headset, stream, task = require "headset", require "stream", require "task"
      local ticks, left, texts = 0, 3, {}
      local function run(number, fn)
        task.spawn(function()
          local _, err = task.try(fn)
          texts[number], left = tostring(err), left - 1
        end)
      end
      run(1, function() headset.connect { transport = "unix:none", key_file = "nas/key" } end)
      run(2, function() stream.new "Locked" end)
      run(3, function() headset.connect { transport = "\(board.address)" }:update_firmware "nas/a.rtfw" end)
      while left > 0 do task.sleep "100ms"; ticks = ticks + 1 end
      for number = 1, 3 do print(texts[number]) end
      print(ticks > 50, ticks < 400)
      os.exit(0)
      """)
    guard let outcome = try run("run \(script)", in: home) else { return }
    let silence = "no answer within 10 s from the mount \(home.path("nas")) (fuse, nas:/music)"
    try #require(outcome.lines.count == 4, "\(outcome)")
    #expect(outcome.lines[0].contains("nas/key can't be used: \(silence)"), "\(outcome)")
    #expect(outcome.lines[1].contains("nas/word can't be used: \(silence)"), "\(outcome)")
    #expect(outcome.lines[2].contains("nas/a.rtfw: it can't be read: \(silence)"), "\(outcome)")
    #expect(outcome.lines[3] == "true\ttrue")
  }

  @Test("a call of Lua's own for its files ends the process, with the script's name")
  func ownCall() throws {
    let home = try Home()
    let script = try home.script("assert(io.open 'nas/a.txt')")
    guard let outcome = try run("run \(script)", in: home) else { return }
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.errors.contains("can't be interrupted"), "\(outcome)")
    #expect(outcome.errors.contains("or a file whose server is gone?"), "\(outcome)")
  }

  @Test("a script on it is refused with its name, and other scripts of a daemon run on")
  func script() throws {
    let home = try Home()
    guard let refused = try run("run nas/far.lua", in: home) else { return }
    let silence = "no answer within 10 s from the mount"
    #expect(refused.status == 2, "\(refused)")
    #expect(
      refused.errors.contains("can't read the script nas/far.lua: \(silence) \(home.path("nas")) (fuse"))

    try home.script(
      """
      local task = require "task"
      for count = 1, 60 do task.sleep "100ms"; print("near", count) end
      """, as: "near.lua")
    let served = try run(
      """
      --version; mkdir scripts; mv near.lua scripts; ln -s ../nas/far.lua scripts
      timeout 14 "$ROOMTONE" serve scripts
      """, in: home)
    let outcome = try #require(served)
    #expect(outcome.errors.contains("far: ") && outcome.errors.contains("far.lua: \(silence)"), "\(outcome)")
    #expect((outcome.output + outcome.errors).contains("near 60"), "\(outcome)")

    let folder = try #require(try run("serve nas", in: try Home()))
    #expect(folder.status != 0 && folder.errors.contains("can't read the folder of scripts"), "\(folder)")
    #expect(folder.errors.contains(silence), "\(folder)")
  }

  @Test("play ends with the name of the mount")
  func play() throws {
    let home = try Home()
    guard let outcome = try run("play music/a.mp3", in: home) else { return }
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.errors.contains("(fuse, nas:/music) (audio.unreadable); check the server of the mount"))
  }
}
