import EventLoop
import JSONText
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("A playback that a client requests", .tags(.playback, .control)) struct RequestedPlaybackTests {
  /// The notifications of a playback.
  private final class Client {
    var playback = 0
    /// `title position/duration volume`, with a star while it is paused.
    var playing: [String] = []
    var warnings: [String] = []
    var ends = 0
    /// Performed when the playback begins.
    var onBegin: () -> Void = {}

    func receive(_ method: String, _ parameters: JSON) {
      switch method {
      case "begins":
        playback = parameters["playback"]?.int ?? 0
        // The closure holds this client.
        let begin = onBegin
        onBegin = {}
        begin()
      case "playing":
        let duration = parameters["duration"]?.int.map { "/\($0)" } ?? ""
        let star = parameters["paused"]?.bool == true ? "*" : ""
        let line =
          "\(parameters["title"]?.text ?? "") \(parameters["position"]?.int ?? -1)\(duration) "
          + "\(parameters["volume"]?.int ?? -1)\(star)"
        if line != playing.last { playing.append(line) }
      case "ended": ends += 1
      default: warnings.append(parameters["message"]?.text ?? "")
      }
    }

    func parameters(_ action: String, _ step: Int) -> [(name: String, value: JSON)] {
      [("playback", .number(playback)), ("action", .string(action)), ("by", .number(step))]
    }
  }

  private static func parameters(_ files: String..., volume: Int? = nil) -> [(name: String, value: JSON)] {
    [
      ("files", .array(files.map { .string($0) })), ("rooms", .array(["kitchen"])),
      ("volume", volume.map { .number($0) } ?? .null),
    ]
  }

  @Test("in a house of this process it is paused, moved, made softer and ended; the level that it set stays")
  func own() throws {
    var harness = try EngineHarness()
    harness.stateFolder = harness.folder.file("state")
    let engine = try harness.engine()
    let house = LocalHouse(engine, at: "the test")
    let client = Client()
    var errors: [String] = []
    func act(_ action: String, _ step: Int = 0) {
      house.start("playback", client.parameters(action, step)) { result in
        if case .failure(let error) = result { errors.append(error.message) }
      }
    }
    client.onBegin = {
      let acts = [("pause", 0), ("seek", 5), ("volume", -2), ("volume", -2), ("volume", 50), ("leap", 0)]
      for (index, (action, step)) in acts.enumerated() {
        engine.loop.after(.milliseconds(2500 + index)) { act(action, step) }
      }
      engine.loop.after(.milliseconds(4500)) { act("pause") }
      engine.loop.after(.milliseconds(6200)) { act("stop") }
    }
    let result = try house.call(
      "play", Self.parameters(harness.folder.file("long.wav"), volume: 20), onNotification: client.receive)
    #expect(result.line == "{}" && client.warnings == [] && client.ends == 1)
    #expect(
      client.playing == [
        "long.wav 0/10 20", "long.wav 1/10 20", "long.wav 2/10 20", "long.wav 2/10 20*", "long.wav 7/10 20*",
        "long.wav 7/10 18*", "long.wav 7/10 16*", "long.wav 7/10 16", "long.wav 8/10 16", "long.wav 9/10 16",
      ], "\(client.playing)")
    #expect(errors.count == 1 && errors[0].contains("leap"), "\(errors)")
    let kept = LocalHouse(try harness.engine(), at: "the test")
    let levels = try kept.call("volume", [("room", "kitchen")], onNotification: { _, _ in })
    #expect(levels.elements?.map { $0["volume"]?.int } == [16])
  }

  @Test("in a daemon its client controls it by its number, and the rooms have their levels again after it")
  func shared() throws {
    let harness = try DaemonHarness([("a.lua", "require('speaker').open()")])
    try harness.begin()
    let file = try harness.folder.write(EngineHarness.silence(seconds: 10), to: "long.wav")
    _ = try harness.call("volume", [("room", "kitchen"), ("volume", "30")])
    let client = Client()
    var error: RPCError?
    client.onBegin = {
      harness.loop.after(.milliseconds(1500)) {
        do {
          _ = try harness.start("playback", client.parameters("seek", 60))
          _ = try harness.start("playback", [("playback", 99), ("action", "stop")])
        } catch let thrown as RPCError { error = thrown } catch {}
      }
    }
    let start = harness.loop.now
    let result = try harness.call("play", Self.parameters(file, volume: 5), onNotification: client.receive)
    #expect(result.line == "{}" && start.duration(to: harness.loop.now) < .seconds(4))
    #expect(client.playing.first == "long.wav 0/10 5", "\(client.playing)")
    #expect(error?.message.contains("number of one that lasts") == true)
    let levels = try harness.call("volume", [("room", "kitchen")])
    #expect(levels.elements?.map { $0["volume"]?.int } == [30])
  }

  @Test("each file of several that can't be read is a warning, in a daemon as in a house of this process")
  func unreadable() throws {
    let harness = try DaemonHarness([("a.lua", "")])
    try harness.begin()
    let file = try harness.folder.write(EngineHarness.silence(seconds: 3), to: "tone.wav")
    let text = try harness.folder.write(Array("no music".utf8), to: "text.wav")
    let (client, other) = (Client(), Client())
    let parameters = Self.parameters(text, file, text)
    _ = try harness.call("play", parameters, onNotification: client.receive)
    let own = LocalHouse(try EngineHarness().engine(), at: "the test")
    _ = try own.call("play", parameters, onNotification: other.receive)
    #expect(client.warnings.count == 2 && client.warnings[0].contains("text.wav"), "\(client.warnings)")
    #expect(client.warnings == other.warnings && client.playing == other.playing)
  }

  @Test("the titles of a station are reported as they come") func titles() throws {
    let url = "http://a.example/live.mp3"
    let stations = """
      station("\(url)", { file = "\(Fixtures.path("mp3-cbr128-44k.mp3"))",
        titles = { { at = 0, title = "One" }, { at = 30, title = "Two" } } })
      """
    let harness = try DaemonHarness(stations: stations, [("a.lua", "")])
    try harness.begin()
    let client = Client()
    client.onBegin = {
      harness.loop.after(.seconds(50)) { _ = try? harness.start("playback", client.parameters("stop", 0)) }
    }
    _ = try harness.call(
      "play", [("station", .string(url)), ("rooms", .array(["kitchen"]))], onNotification: client.receive)
    let titles = client.playing.map { String($0.prefix(3)) }
    #expect(titles.contains("One") && titles.last == "Two", "\(client.playing)")
  }
}
