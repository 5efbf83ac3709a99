import EventLoop
import Roomtone
import TestSupport
import TestTraits
import Testing

@Suite("The own session of a script", .tags(.speaker, .sessions))
struct OwnSessionTests {
  /// Runs `code` in a house in whose sessions is no speaker.
  private func printed(_ code: String) throws -> [String] {
    var harness = try EngineHarness()
    harness.addsAll = false
    return try harness.printed(code)
  }

  @Test("it is named after the script, wants no room, and play says the two ways to one")
  func empty() throws {
    let lines = try printed(
      """
      print(speaker.own, #speaker.own.rooms, speaker.own == speaker.own)
      local err = failure(speaker.play, "tone.wav")
      print(err.code, err.hint)
      print(code(speaker.set_volume, 20), code(speaker.mute))
      """)
    #expect(
      lines == [
        "session \"test\" (stopped, 0 speakers)\t0\ttrue",
        "speaker.no_active_device\tname one with play(…, { rooms = \"Kitchen\" }), or join one first",
        "speaker.no_active_device\tspeaker.no_active_device",
      ])
  }

  @Test("rooms, join and add_all say what it wants")
  func rooms() throws {
    let lines = try printed(
      """
      speaker.play("long.wav", { rooms = "Kitchen" })
      print(names(speaker.own.rooms), names(speaker.own.devices))
      speaker.device "Bathroom":join()
      print(names(speaker.own.devices), speaker.device("Bathroom").session == speaker.own)
      speaker.play("long.wav", { rooms = { "Bathroom" } })
      print(names(speaker.own.rooms), speaker.device("Kitchen").session)
      speaker.open { add_all = true }
      print(#speaker.own.rooms, #speaker.own.devices)
      os.exit(0)
      """)
    #expect(
      lines == [
        "Kitchen\tKitchen", "Kitchen, Bathroom\ttrue", "Bathroom\tnil", "6\t6",
      ])
  }

  @Test("a play that fails changes no room")
  func failing() throws {
    let lines = try printed(
      """
      speaker.play("long.wav", { rooms = "Kitchen" })
      print(code(speaker.play, "nowhere.wav", { rooms = "Bathroom" }), names(speaker.own.rooms))
      print(code(speaker.play, { "nowhere.wav" }, { rooms = "Bathroom" }), names(speaker.own.rooms))
      print(code(speaker.play, "tone.wav", { rooms = "Attic" }), names(speaker.own.devices), speaker.state())
      os.exit(0)
      """)
    #expect(
      lines == ["audio.not_found\tKitchen", "audio.not_found\tKitchen", "speaker.unknown\tKitchen\tplaying"])
  }

  @Test("a room in which another session sounds is taken by the next to play, unless that ranks lower")
  func rivals() throws {
    let lines = try printed(
      """
      local other = speaker.session { name = "other", devices = { "Kitchen", "Bathroom" } }
      other:play("long.wav", { priority = 150 })
      local err = failure(speaker.play, "tone.wav", { rooms = "Kitchen" })
      print(err.code, err.session, err.message)
      speaker.play("tone.wav", { rooms = { "Kitchen", "Living Room" } })
      print(names(speaker.own.devices))
      speaker.play("tone.wav", { priority = 150 })
      print(names(other.devices), names(other.rooms))
      for _, session in ipairs(speaker.device("Kitchen").sessions) do print(session.name, session.owner) end
      local room = speaker.group "Living Room"
      print(room.session, #room.sessions, speaker.group("Kitchen").session.name, #speaker.group("Kitchen").sessions)
      speaker.device("Living Room Left"):join(other)
      speaker.device("Living Room Left"):leave()
      print(room.session, #room.sessions, #speaker.group("Bedroom").sessions)
      os.exit(0)
      """)
    let refusal = "speaker.outranked\tother\tplay: \"Kitchen\" is kept by \"other\""
    #expect(lines.first?.hasPrefix(refusal) == true)
    #expect(
      lines.dropFirst() == [
        "Living Room Left, Living Room Right", "Bathroom\tKitchen, Bathroom", "other\ttest", "test\ttest",
        "session \"test\" (playing \"tone.wav\", 3 speakers)\t1\ttest\t2", "nil\t1\t0",
      ])
  }

  @Test("speaker.on hears the own session and the house; with all it hears every session")
  func events() throws {
    let lines = try printed(
      """
      speaker.on("ended", function(event) print("own", event.session.name) end)
      speaker.on("ended", { all = true }, function(event) print("all", event.session.name) end)
      speaker.on("volume", function(event) print("volume", event.device.name) end)
      local other = speaker.session { name = "other", devices = "Bathroom" }
      other:play "tone.wav"
      other:finish()
      task.sleep(0.1)
      speaker.play("tone.wav", { rooms = "Kitchen" })
      speaker.finish()
      speaker.device("Bathroom"):set_volume(9)
      task.sleep(0.1)
      os.exit(0)
      """)
    #expect(lines == ["all\tother", "own\ttest", "all\ttest", "volume\tBathroom"])
  }

  @Test("two scripts supersede each other nowhere, and meet only in a room that both want")
  func twoScripts() throws {
    let harness = try EngineHarness()
    let engine = try harness.engine()
    var lines: [String] = []
    var failures: [String] = []
    engine.onPrint = { lines.append($0) }
    engine.onFailure = { failures.append($0.description) }
    func load(_ name: String, _ code: String) throws -> LoadedScript {
      let path = try harness.folder.write(Array(code.utf8), to: name)
      return try engine.load(ScriptText(path: path))
    }
    let music = try load(
      "music.lua",
      """
      local speaker = require "speaker"
      speaker.play("long.wav", { rooms = { "Kitchen", "Bathroom" } })
      print(speaker.own, speaker.finish())
      """)
    let bell = try load(
      "bell.lua",
      """
      local speaker, task = require "speaker", require "task"
      task.sleep(2)
      speaker.play("tone.wav", { rooms = "Kitchen" })
      print(speaker.own, speaker.device("Bathroom").session.name, #speaker.sessions())
      print(speaker.own.name, speaker.finish())
      """)
    _ = engine.run(music, bell)
    #expect(failures.isEmpty)
    #expect(
      lines == [
        "session \"bell\" (playing \"tone.wav\", 1 speaker)\tmusic\t2", "bell\tfinished",
        "session \"music\" (stopped, 1 speaker)\tfinished",
      ])
  }
}
