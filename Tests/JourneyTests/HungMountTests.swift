import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("a mount whose server is gone", .waiting)
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

  @Test("all calls for its files end within seconds, with its name, and the loop runs on")
  func silence() throws {
    let home = try Home()
    try home.music()
    let script = try home.script(
      """
      local alarm, speaker = require "alarm", require "speaker"
      local stream, task = require "stream", require "task"
      local ticks, left, texts = 0, 12, {}
      local function run(name, fn)
        task.spawn(function()
          local _, err = task.try(fn)
          texts[name], left = tostring(err), left - 1
        end)
      end
      run("1", function() speaker.play "\(home.path("music"))/a.mp3" end)
      run("2", function() assert(io.open "nas/a.txt") end)
      run("3", function() io.lines "nas/a.txt" end)
      run("4", function() alarm.set { at = "06:45", rooms = "Bedroom", sources = { "nas/a.mp3" } } end)
      run("5", function() stream.file("\(home.path("nas"))/a.mp3"):start() end)
      run("6", function()
        speaker.play { "music.mp3", "nas/a.mp3", "nas/b.mp3", "music.mp3" }
        error("plays: " .. tostring(speaker.is_playing()), 0)
      end)
      run("7", function() dofile "nas/a.lua" end)
      run("8", function() assert(loadfile "nas/a.lua") end)
      run("9", function()
        package.path = "./?.lua;nas/?.lua"
        require "kitchen"
      end)
      run("10", function() assert(os.remove "nas/a.txt") end)
      run("11", function() assert(os.rename("a.txt", "nas/a.txt")) end)
      run("12", function() io.output "nas/a.txt" end)
      while left > 0 do task.sleep "100ms"; ticks = ticks + 1 end
      for number = 1, 12 do print(number, texts[tostring(number)]) end
      print(ticks > 50, ticks < 400)
      os.exit(0)
      """)
    guard let outcome = try run("run \(script)", in: home) else { return }
    let nas = home.path("nas")
    let silence = "no answer within 10 s from the mount \(nas) (fuse, nas:/music)"
    let lines = outcome.lines.map { $0.split(separator: "\t", maxSplits: 1).last.map(String.init) ?? "" }
    try #require(lines.count == 13, "\(outcome)")
    #expect(lines[0].contains("cannot open \(home.path("music"))/a.mp3: \(silence)"))
    #expect(lines[1].contains("cannot open nas/a.txt: \(silence)"))
    #expect(lines[2].contains("cannot open nas/a.txt: \(silence)"))
    #expect(lines[3].contains("cannot open nas/a.mp3: \(silence)"))
    #expect(lines[4].contains("cannot read \(nas)/a.mp3: \(silence)"))
    #expect(lines[5] == "plays: true")
    #expect(lines[6].contains("cannot open nas/a.lua: \(silence)"))
    #expect(lines[7].contains("cannot open nas/a.lua: \(silence)"))
    #expect(lines[8].contains("module 'kitchen': cannot open nas/kitchen.lua: \(silence)"))
    #expect(lines[9].contains("cannot open nas/a.txt: \(silence)"))
    #expect(lines[10].contains("cannot open nas/a.txt: \(silence)"))
    #expect(lines[11].contains("cannot open nas/a.txt: \(silence)"))
    #expect(outcome.lines.last == "true\ttrue", "\(outcome)")
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

  @Test("open files fail while their mount is silent, and go on where they were once it answers")
  func openFiles() throws {
    let home = try Home()
    let script = try home.script(
      """
      local task = require "task"
      local ticks, left, texts = 0, 8, {}
      local file, lines, all = assert(io.open "nas/a.txt"), nil, io.lines "nas/a.txt"
      local output = assert(io.open("nas/b.txt", "w"))
      io.input "nas/a.txt"
      lines = file:lines()
      print(file:read "l", lines(), all(), io.read "l", io.type(output:write "x"))
      local function signal(name) assert(io.open(name, "w")):close() end
      local function run(number, fn)
        task.spawn(function()
          local value, err = task.try(fn)
          texts[number], left = tostring(err or value), left - 1
        end)
      end
      signal "stop"
      task.sleep "1500ms"                     -- the answer of a mount counts for a second
      run(1, function() assert(file:read "l") end)
      run(2, lines)
      run(3, all)
      run(4, function() assert(io.read "l") end)
      run(5, function() assert(file:seek "set") end)
      run(6, function() assert(output:write "y") end)
      run(7, function() assert(output:flush()) end)
      run(8, function() assert(output:close()) end)
      while left > 0 do task.sleep "100ms"; ticks = ticks + 1 end
      for number = 1, 8 do print(number, texts[number]) end
      print(ticks > 50, ticks < 400)
      signal "continue"
      task.sleep "1500ms"
      print(file:read "l", lines(), all(), io.read "l", file:seek "set", io.type(output:write "z"))
      print(output:close(), io.open("nas/b.txt"):read "a")
      os.exit(0)
      """)
    try home.script(
      """
      mkdir real nas
      printf '1\\n2\\n3\\n4\\n' > real/a.txt
      bindfs -f real nas & server=$!
      while ! grep -q ' fuse ' /proc/self/mountinfo; do kill -0 $server || exit 77; sleep 0.1; done
      (
        while [ ! -e stop ]; do sleep 0.1; done; kill -STOP $server
        while [ ! -e continue ]; do sleep 0.1; done; kill -CONT $server
      ) & signals=$!
      ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" "$ROOMTONE" run \(script); status=$?
      touch stop continue; wait $signals
      umount -l nas; wait $server
      exit $status
      """, as: "mount.sh")
    let outcome = try home.runInShell("unshare -m sh mount.sh")
    guard outcome.status != 77, !outcome.errors.contains("unshare") else {
      print("not tested: unshare -m with a mount of FUSE is not permitted here")
      return
    }
    let silence = "no answer within 10 s from the mount \(home.path("nas")) (fuse"
    try #require(outcome.lines.count == 12, "\(outcome)")
    #expect(outcome.lines[0] == "1\t2\t1\t1\tfile")
    for number in 1...8 {
      let name = number < 6 ? "a.txt" : "b.txt"
      #expect(outcome.lines[number].hasPrefix("\(number)\t"))
      #expect(outcome.lines[number].contains("cannot open nas/\(name): \(silence)"), "\(outcome)")
    }
    #expect(outcome.lines[9] == "true\ttrue")
    #expect(outcome.lines[10] == "3\t4\t2\t2\t0\tfile")
    #expect(outcome.lines[11] == "true\txz")
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
