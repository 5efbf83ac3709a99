import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("stream: internet radio", .waiting, .serialized, .tags(.stream))
struct StreamTests {
  private let station: Station

  init() throws { station = try Station() }

  /// A station that plays `mp3-cbr128-44k.mp3` over and over at the pace of hearing.
  private func live(titles: [Programme.Title] = []) throws -> Live {
    let file = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3"))
    var live = Live(.init(repeating: file, bytesPerSecond: 16_000, titles: titles))
    live.pace = .realTime(1)
    live.metaint = 8_192
    return live
  }

  private func printed(_ code: String) throws -> [String] {
    try EngineHarness(wall: true).printed(
      "local stream = require 'stream' local url = '\(station.url("/live"))' " + code)
  }

  @Test("a stream starts, shows its facts, pauses, moves and stops; each event comes with the new state")
  func life() throws {
    station.answer("/live", with: .live(try live(titles: [.init("Artist - Song", at: 0)])))
    let lines = try printed(
      """
      local radio = stream.new(url, { buffer_wait = 0.5 })
      print(radio.status, radio.is_playing, radio.title)
      for _, name in ipairs { "connecting", "buffering", "started", "paused", "stopped" } do
        radio:on(name, function() print(name, radio.status) end)
      end
      radio:on("metadata", function(event)
        print("metadata", event.artist, event.title, event.text, event.title_without_artist)
        print(event.artist == radio.artist and event.title == radio.title and event.text == radio.text
          and event.title_without_artist == radio.title_without_artist)
      end)
      radio:start()
      task.sleep(0.1)
      print(radio.name, radio.bit_rate, radio.format, radio.is_playing, radio.artist, radio.title_without_artist)
      radio:pause()
      task.sleep(0.05)
      local shift = radio.time_shift
      print(shift > 3, radio.buffer_size, radio.buffer_used > 10, radio:can_rewind(100), radio:can_forward(1))
      print(radio:forward(1) > 0.9, radio:rewind "500ms" > 0.4, radio.status)
      radio:start()
      task.sleep(0.05)
      radio:stop()
      task.sleep(0.1)
      print(tostring(radio):match "^stream")
      """)
    #expect(lines.first == "stopped\tfalse\tnil")
    let names = ["connecting", "buffering", "started", "paused", "stopped"]
    let events = lines.map { $0.split(separator: "\t").map(String.init) }.filter {
      names.contains($0.first ?? "")
    }
    // The line that is printed first has no event's name in front, but a status.
    #expect(
      events.dropFirst().map { $0[0] } == [
        "connecting", "buffering", "started", "paused", "started", "stopped",
      ],
      "\(lines)")
    #expect(lines.contains("paused\tpaused") && lines.contains("stopped\tstopped"))
    #expect(lines.contains("metadata\tArtist\tArtist - Song\tArtist - Song\tSong"))
    #expect(lines.contains("true"), "a word means the same in event and field")
    #expect(lines.contains("Test station\t128\tmp3\ttrue\tArtist\tSong"))
    #expect(lines.contains("true\t1200\ttrue\tfalse\ttrue"))
    #expect(lines.contains("true\ttrue\tpaused"))
    #expect(lines.last == "stream")
  }

  @Test("a stream that was not stopped ends with its script")
  func endsWithScript() throws {
    station.answer("/live", with: .live(try live()))
    let lines = try printed(
      """
      local has_started
      task.spawn(function()
        while not has_started do task.sleep(0.05) end
        task.sleep(1)
        os.exit(0)
      end)
      stream.new(url, { buffer_wait = 0.5 }):start()
      print "started"
      has_started = true
      """)
    #expect(lines == ["started"])
    for _ in 0..<600 where station.openConnections > 0 { try await0() }
    #expect(station.openConnections == 0)
  }

  private func await0() throws { _ = try Command.run("sleep", ["0.05"]) }
}
