import JSONText
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("A person who plays and names no room", .tags(.playback, .prompt, .configuration))
struct DefaultRoomTests {
  private func harness(_ option: String) throws -> EngineHarness {
    var harness = try EngineHarness()
    harness.configuration = "house { output = 'null' \(option) }"
    return harness
  }

  @Test("hears it in the default rooms of the configuration, else in all rooms")
  func playback() throws {
    let cases = [
      ("", ["Bathroom", "Bedroom", "Kitchen", "Living Room"]),
      (", default_rooms = { 'kitchen', 'Bathroom' }", ["Bathroom", "Kitchen"]),
    ]
    for (option, expected) in cases {
      let harness = try harness(option)
      let house = LocalHouse(try harness.engine(), at: "the test")
      var rooms: [String] = []
      let files = JSON.array([.string(harness.folder.file("tone.wav"))])
      _ = try house.call("play", [("files", files)]) { method, parameters in
        if method == "playing" { rooms = parameters["rooms"]?.elements?.compactMap(\.text) ?? [] }
      }
      #expect(rooms.sorted() == expected)
    }
  }

  @Test("finds those rooms in the session of the prompt, whose sound is heard there")
  func prompt() throws {
    for (option, expected) in [("", 6), (", default_rooms = { 'Bedroom' }", 2)] {
      let harness = try harness(option)
      let engine = try harness.engine()
      let prompt = try Prompt(engine: engine, isInteractive: false)
      var shown: [String] = []
      engine.onPrint = { shown.append($0) }
      prompt.showError = { shown.append($0.description) }
      prompt.input = TypedInput(
        prompt,
        [
          "print(speaker.own.name, #speaker.own.rooms, #speaker.own.devices)",
          "speaker.play '\(harness.folder.file("tone.wav"))'", "print(speaker.is_playing())",
        ])
      _ = prompt.evaluateInput()
      #expect(shown == ["prompt\t\(expected)\t\(expected)", "true"])
    }
  }

  @Test("is told of a default room that the house does not have")
  func unknown() throws {
    let harness = try harness(", default_rooms = { 'Kitchn' }")
    let house = LocalHouse(try harness.engine(), at: "the test")
    let files = JSON.array([.string(harness.folder.file("tone.wav"))])
    let error = #expect(throws: RPCError.self) {
      try house.call("play", [("files", files)], onNotification: { _, _ in })
    }
    #expect(error?.message.contains("Kitchn") == true)
  }
}
