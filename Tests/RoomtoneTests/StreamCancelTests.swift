import TestSupport
import TestTraits
import Testing

@Suite("streams, cancelled and interrupted", .waiting, .serialized, .tags(.stream))
struct StreamCancelTests {
  private let harness: LiveStationHarness
  private var station: Station { harness.station }

  init() throws { harness = try LiveStationHarness() }

  @Test(
    "a routine that is cancelled while a stream starts unwinds at once, and the stream that it began stops",
    arguments: [
      "radio:start()", "speaker.play_stream(radio)", "radio:set_url(url, { data_timeout = 600 })",
      "speaker.play_stream(url)",
    ])
  func cancelled(_ call: String) throws {
    station.answer("/live", with: .live(try LiveStationHarness.live()).stalling(at: 0))
    let lines = try harness.printed(
      """
      local radio = stream.new(url, { data_timeout = 600 })
      speaker.open()
      follow(radio)
      print(code(task.timeout, 0.5, function()
        local guard <close> = setmetatable({}, { __close = function() print("unwound") end })
        \(call)
      end))
      task.sleep(0.05)
      print(radio.status)
      local routine = task.spawn(function() \(call) end)
      task.sleep(0.5)
      routine:cancel()
      print(code(routine.await, routine))
      task.sleep(0.05)
      print(radio.status)
      """)
    #expect(
      lines.filter { !$0.hasPrefix("connecting") && !$0.hasPrefix("stopped\tnil") } == [
        "unwound", "task.timeout", "stopped", "task.cancelled", "stopped",
      ])
    #expect(lines.filter { $0.hasPrefix("stopped\tnil") }.count == (call.contains("(url)") ? 0 : 2))
    for _ in 0..<600 where station.openConnections > 0 { _ = try Command.run("sleep", ["0.05"]) }
    #expect(station.openConnections == 0)
  }

  @Test("a stream that another routine waits for too continues")
  func shared() throws {
    station.answer("/live", with: .live(try LiveStationHarness.live()))
    let lines = try harness.printed(
      """
      local radio = stream.new(url, { buffer_wait = 6 })
      local first, second = task.spawn(radio.start, radio), task.spawn(radio.start, radio)
      task.sleep(0.1)
      first:cancel()
      second:await(60)
      print(radio.status)
      task.spawn(radio.start, radio):cancel()
      task.sleep(0.05)
      print(radio.status)
      radio:stop()
      """)
    #expect(lines == ["playing", "playing"])
    #expect(station.visits.count == 1)
  }

  @Test("stop in the moment of the start stops it")
  func stoppedAtOnce() throws {
    station.answer("/live", with: .live(try LiveStationHarness.live()))
    let lines = try harness.printed(
      """
      local radio = stream.new(url, quick)
      local routine = task.spawn(radio.start, radio)
      task.sleep(0)
      radio:stop()
      print(code(routine.await, routine), radio.status)
      """)
    #expect(lines == ["task.cancelled\tstopped"])
    for _ in 0..<600 where station.openConnections > 0 { _ = try Command.run("sleep", ["0.05"]) }
    #expect(station.openConnections == 0)
  }

  @Test(
    "while an interruption has the speakers a paused stream keeps buffering, and no pause gets too long")
  func interrupted() throws {
    station.answer("/live", with: .live(try LiveStationHarness.live()))
    let lines = try harness.printed(
      """
      local radio = stream.new(url, { buffer_wait = 0.5, pause_timeout = 2 })
      speaker.play_stream(radio)
      speaker.pause()
      task.sleep(0.05)
      follow(radio)
      local before = radio.buffered_seconds
      speaker.interrupt { play = "tone.wav" }
      print(radio.status, radio.buffered_seconds > before + 1.5)
      print(type(radio:wait("stopped", 60)), radio.status)
      """)
    let reported = lines.filter { $0 != "stopped\tnil\tnil" }
    #expect(
      reported.filter { $0.hasSuffix("nil") }
        == ["suspending", "suspended", "resumed"].map { $0 + "\tnil\tnil" })
    #expect(reported.filter { !$0.hasSuffix("nil") } == ["paused\ttrue", "table\tstopped"])
  }

  @Test("one that played is suspended and resumed, keeps what it missed, and plays on from there")
  func playsOn() throws {
    station.answer("/live", with: .live(try LiveStationHarness.live()))
    let lines = try harness.printed(
      """
      -- With less it could run dry, and start again, as it is followed.
      local radio = stream.new(url, { buffer_wait = 3, pause_timeout = 1 })
      speaker.play_stream(radio)
      follow(radio)
      local before = radio.time_shift
      speaker.interrupt { play = "tone.wav" }
      task.sleep(0.2)
      print(radio.status, radio.time_shift > before + 1.5, speaker.state())
      radio:stop()
      """)
    #expect(
      lines.map { $0.split(separator: "\t").filter { $0 != "nil" }.joined(separator: " ") } == [
        "suspending", "suspended", "resumed", "playing true playing", "stopped",
      ])
  }
}
