import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("speaker: playback", .waiting, .tags(.speaker, .playback))
struct PlaybackTests {
  @Test("stop right after play stops what has hardly begun")
  func stopRightAfterPlay() throws {
    var harness = try EngineHarness()
    harness.configuration = "house { output = 'wav:\(harness.folder.file("out"))' }"
    let lines = try harness.printed(
      """
      speaker.open { add_all = true }
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
