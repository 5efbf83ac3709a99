import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("Queues of files, from Lua", .tags(.speaker, .queue))
struct QueueTests {
  /// Listens to what a queue tells, with the position of each event in tenths of a second since the start.
  private static let listen = """
    local started
    local function tell(...) print(string.format("%.1f", task.now() - started), ...) end
    for _, name in ipairs { "track", "ended", "error" } do
      speaker.on(name, function(e)
        tell(name, e.source and e.source.title or e.code, e.index and e.index .. "/" .. e.count or e.reason)
      end)
    end
    started = task.now()

    """

  private func harness() throws -> EngineHarness {
    let harness = try EngineHarness()
    mkdir(harness.folder.file("music"), 0o755)
    for name in ["10 ten.wav", "2 two.wav", "1 one.wav"] {
      _ = try harness.folder.write(EngineHarness.silence(seconds: 1), to: "music/\(name)")
    }
    _ = try harness.folder.write(Array("no sound".utf8), to: "music/3 bad.mp3")
    return harness
  }

  private func printed(_ code: String, _ prepare: (EngineHarness) throws -> Void = { _ in }) throws
    -> [String]
  {
    let harness = try harness()
    try prepare(harness)
    return try harness.printed(Self.listen + code)
  }

  @Test("a list plays from file to file: track for each, one ended")
  func list() throws {
    #expect(
      try printed(
        """
        speaker.play { "tone.wav", "music/1 one.wav", "tone.wav" }
        local files, index = speaker.queue()
        print(#files, index, files[2].title, files[2].path:match "[^/]+$")
        task.sleep("3500ms")
        print(select(2, speaker.queue()), speaker.position(), speaker.duration())
        print(speaker.finish())
        print(#speaker.queue(), select(2, speaker.queue()))
        """) == [
          "3\t1\t1 one.wav\t1 one.wav", "0.0\ttrack\ttone.wav\t1/3", "3.0\ttrack\t1 one.wav\t2/3",
          "2\t0.5\t1.0", "4.0\ttrack\ttone.wav\t3/3", "7.0\tended\ttone.wav\tfinished", "finished", "0\tnil",
        ])
  }

  @Test("shuffle is drawn by math.random: the same for one seed, with every file once")
  func shuffle() throws {
    func order(_ seed: Int) throws -> [String] {
      try printed(
        """
        math.randomseed(\(seed))
        local list = {} for i = 1, 8 do list[i] = "f" .. i .. ".wav" end
        speaker.play(list, { shuffle = true })
        local names = {} for i, e in ipairs(speaker.queue()) do names[i] = e.title end
        print(table.concat(names, " "), select(2, speaker.queue()))
        speaker.stop()
        """
      ) { harness in
        for index in 1...8 {
          _ = try harness.folder.write(EngineHarness.silence(seconds: 1), to: "f\(index).wav")
        }
      }
    }
    let one = try order(1)
    #expect(try order(1) == one)
    #expect(try order(2)[0] != one[0])
    let names = one[0].split(separator: "\t")[0].split(separator: " ").map(String.init)
    #expect(names.sorted() == (1...8).map { "f\($0).wav" } && names != names.sorted())
    #expect(one[0].hasSuffix("\t1"))
  }

  @Test("start is a position of the first file; pause, resume=true and priority are as for one file")
  func options() throws {
    #expect(
      try printed(
        """
        speaker.play({ "tone.wav", "music/1 one.wav" }, { start = 2, priority = 7 })
        print(speaker.position(), speaker.own.priority)
        speaker.pause() task.sleep("5s")
        speaker.play("music", { resume = true })
        speaker.finish()
        """) == [
          "2.0\t7", "0.0\ttrack\ttone.wav\t1/2", "6.0\ttrack\t1 one.wav\t2/2",
          "7.0\tended\t1 one.wav\tfinished",
        ])
  }

  @Test("what is no queue is refused at once and by name")
  func refused() throws {
    let lines = try printed(
      """
      local function show(...) local e = failure(...) print(e.code, (e.message:gsub("%S*/", ""))) end
      show(speaker.play, "empty") show(speaker.play, "none.m3u") show(speaker.play, "radio.m3u")
      show(speaker.play, "missing.m3u") show(speaker.play, "list.asx")
      show(speaker.play, {}) show(speaker.play, { "tone.wav", 7 }) show(speaker.play, { "tone.wav", "http://a.example/" })
      show(speaker.play, "music", { title = "x" }) show(speaker.play, "music", { shufle = true })
      show(speaker.play, { "music/3 bad.mp3", "missing.wav" }) show(speaker.play, { "tone.wav" }, { start = 4 })
      show(speaker.next) show(speaker.previous) show(speaker.next, 1)
      """
    ) { harness in
      mkdir(harness.folder.file("empty"), 0o755)
      _ = try harness.folder.write(Array("#EXTM3U\n".utf8), to: "none.m3u")
      _ = try harness.folder.write(Array("http://radio.example/live\n".utf8), to: "radio.m3u")
      _ = try harness.folder.write(Array("<asx></asx>".utf8), to: "list.asx")
    }
    #expect(
      lines == [
        "audio.not_found\tthe folder empty has no sound files",
        "audio.not_found\tthe playlist none.m3u lists no file",
        "audio.unsupported\tthe playlist radio.m3u lists a station, live, and a queue plays files",
        "audio.not_found\tcannot open missing.m3u: no such file or directory",
        "audio.unsupported\tlist.asx is a list of stations, not of files",
        "argument\tbad argument #1 to 'play' (the list has no files)",
        "argument\tbad argument #1 to 'play' ([2]: the path of a file expected)",
        "argument\tbad argument #1 to 'play' ([2]:  is a URL, not a file)",
        "argument\tbad argument #2 to 'play' (option 'title': a queue shows the titles of its files)",
        "argument\tbad argument #2 to 'play' (no option is called 'shufle'; did you mean 'shuffle'?)",
        "audio.unreadable\tnone of the 2 files of the queue can be played, the last one: cannot open missing.wav: no such file or directory",
        "speaker.range\t4.0 s is past the end of tone.wav",
        "speaker.no_queue\tnext: nothing plays", "speaker.no_queue\tprevious: nothing plays",
        "argument\t'next' takes no argument",
      ])
  }
}
