import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("speaker: playback", .waiting, .tags(.speaker, .playback))
struct PlaybackTests {
  /// Prints what happens to the session, and when: `after` is the time since `play`.
  static let reported =
    """
    speaker.open()
    speaker.on("state", function(e) print("state " .. e.state) end)
    speaker.on("ended", function(e) print("ended " .. e.source.title .. " " .. e.reason) end)\u{20}

    """

  @Test("play on a paused session replaces it; with resume = true it continues instead")
  func playOnPaused() throws {
    let lines = try EngineHarness.printed(
      Self.reported + """
        speaker.play "tone.wav"
        task.sleep(1)
        speaker.pause()
        speaker.play("long.wav", { resume = true })
        print(speaker.position(), speaker.duration())
        speaker.pause()
        speaker.play "long.wav"
        print(speaker.position(), speaker.duration())
        speaker.stop()
        speaker.play("tone.wav", { resume = true })
        print(speaker.state(), speaker.duration())
        speaker.stop()
        """)
    #expect(lines.filter { $0.contains("\t") } == ["1.0\t3.0", "0.0\t10.0", "playing\t3.0"])
    #expect(
      lines.filter { $0.hasPrefix("ended") }.prefix(2) == [
        "ended tone.wav replaced", "ended long.wav stopped",
      ])
  }

  @Test("an undecodable source is named with what was found where, and the old one continues")
  func unreadable() throws {
    let harness = try EngineHarness()
    _ = try harness.folder.write(Array("<html>not found</html>".utf8), to: "page.mp3")
    let lines = try harness.printed(
      """
      speaker.play "tone.wav"
      local err = failure(speaker.play, "page.mp3")
      print(err.code, err.byte, err.found ~= nil, err.path:match "page.mp3$")
      print(speaker.state(), speaker.duration())
      print(code(speaker.play, "tone.wav", { volume = 3 }), message(speaker.play, "tone.wav", { strat = 3 }))
      speaker.stop()
      """)
    #expect(lines[0] == "audio.unreadable\t0\ttrue\tpage.mp3")
    #expect(lines[1] == "playing\t3.0")
    #expect(lines[2].hasPrefix("argument\t") && lines[2].hasSuffix("did you mean 'start'?)"))
  }

  @Test("stop right after play stops what has hardly begun")
  func stopRightAfterPlay() throws {
    var harness = try EngineHarness()
    harness.configuration = "house { output = 'wav:\(harness.folder.file("out"))' }"
    let lines = try harness.printed(
      """
      speaker.open()
      local playing = task.spawn(function() return code(speaker.play, "long.wav") end)
      task.spawn(speaker.stop)
      print(playing:await(), speaker.state())
      """)
    #expect(lines == ["none\tstopped"])
  }

  @Test("a script that only listens ends; one that plays continues to the end of the source")
  func lifetime() throws {
    let harness = try EngineHarness()
    let idle = try harness.run("speaker.on('ended', print)")
    #expect(idle.status == 0 && idle.seconds < 1)
    let playing = try harness.run(
      "speaker.on('ended', function(e) print(e.reason) end) speaker.play 'tone.wav'")
    #expect(playing.lines == ["finished"] && playing.seconds > 3 && playing.seconds < 4)
  }
}
