import TestSupport
import TestTraits
import Testing

@Suite("streams that are cancelled, or left by their script", .waiting, .serialized, .tags(.stream))
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
      speaker.open { add_all = true }
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

  @Test("a stream that was not stopped ends with its script")
  func endsWithScript() throws {
    station.answer("/live", with: .live(try LiveStationHarness.live()))
    let lines = try harness.printed(
      """
      local has_started
      task.spawn(function()
        while not has_started do task.sleep(0.05) end
        task.sleep(1)
        os.exit(0)
      end)
      stream.new(url, quick):start()
      print "started"
      has_started = true
      """)
    #expect(lines == ["started"])
    for _ in 0..<600 where station.openConnections > 0 { _ = try Command.run("sleep", ["0.05"]) }
    #expect(station.openConnections == 0)
  }
}
