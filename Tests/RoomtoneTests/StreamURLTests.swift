import TestSupport
import TestTraits
import Testing

@Suite("set_url: a stream goes over to another station", .waiting, .serialized, .tags(.stream, .reconnection))
struct StreamURLTests {
  private let harness: LiveStationHarness
  private var station: Station { harness.station }

  init() throws {
    harness = try LiveStationHarness()
    station.answer("/live", with: .live(try LiveStationHarness.live()))
    var other = try LiveStationHarness.live("mp3-cbr128-44k.mp3")
    other.stationHeaders = [("icy-name", "Other"), ("icy-br", "64")]
    station.answer("/other", with: .live(other))
  }

  @Test("one that plays goes over at once, without a stop; nothing of the old one is left")
  func playing() throws {
    let lines = try harness.printed(
      """
      local radio = stream.new(url, quick)
      radio:start()
      task.sleep(0.5)
      follow(radio)
      radio:set_url(root .. "/other")
      print("over", radio.status, radio.url == root .. "/other", radio.name, radio.buffered_seconds < 6)
      task.sleep(0.1)
      radio:pause()
      radio:set_url(url)
      print("over", radio.status, radio.name)
      task.sleep(0.1)
      radio:stop()
      """)
    let reported = lines.map { $0.split(separator: "\t").filter { $0 != "nil" }.joined(separator: " ") }
    #expect(
      reported.filter { !$0.hasPrefix("over") } == [
        "connecting", "buffering", "started", "paused", "connecting", "buffering", "started", "stopped",
      ])
    #expect(
      reported.filter { $0.hasPrefix("over") } == [
        "over playing true Other true", "over playing Test station",
      ])
    for _ in 0..<600 where station.openConnections > 0 { _ = try Command.run("sleep", ["0.05"]) }
    #expect(station.openConnections == 0)
  }

  @Test(
    "for the next start: the current one continues, and start switches over, also from a pause and while it plays"
  )
  func later() throws {
    let lines = try harness.printed(
      """
      local other = root .. "/other"
      local radio = stream.new(url, quick)
      radio:set_url(other, { start = false })
      print(radio.status, radio.url == other)
      radio:set_url(url, { start = false })
      radio:start()
      radio:set_url(other, { start = false, pause_timeout = 7 })
      print(radio.status, radio.url == url, radio.name, radio.pause_timeout)
      radio:set_data_timeout(9)
      radio:start()
      print(radio.status, radio.url == other, radio.name, radio.pause_timeout, radio.data_timeout)
      radio:set_url(url, { start = false })
      radio:pause()
      radio:start()
      print(radio.status, radio.name)
      radio:set_url(other, { start = false })
      radio:stop()
      print(radio.url == other)
      radio:start()
      print(radio.url == other)
      radio:stop()
      """)
    #expect(
      lines == [
        "stopped\ttrue", "playing\ttrue\tTest station\t300.0", "playing\ttrue\tOther\t7.0\t9.0",
        "playing\tTest station", "true", "true",
      ])
  }

  @Test("a session continues with the new station, under its name, and follows it to the end")
  func onSession() throws {
    let folder = try TemporaryFolder()
    let lines = try harness.printed(
      """
      local radio = stream.new(url, quick)
      speaker.set_volume(50)
      speaker.on("ended", function(event) print("ended", event.reason, event.source.path) end)
      speaker.on("state", function(event) print("state", event.state) end)
      speaker.play_stream(radio)
      print(tostring(speaker.own):match "Test station")
      radio:set_url(root .. "/other")
      task.sleep(1)
      print(speaker.state(), tostring(speaker.own):match "Other", radio.time_shift < 10)
      speaker.pause()
      radio:set_url(url)
      task.sleep(1)
      print(speaker.state(), radio.status)
      print(code(radio.set_url, radio, root .. "/none"), radio.status)
      task.sleep(0.1)
      print(speaker.state())
      """, output: folder.file("out"))
    let states = lines.filter { $0.hasPrefix("state") }
    #expect(states == ["state\tplaying", "state\tpaused", "state\tplaying", "state\tstopped"])
    #expect(
      lines.filter { !$0.hasPrefix("state") } == [
        "Test station", "playing\tOther\ttrue", "playing\tplaying", "ended\tstopped\t\(station.url("/none"))",
        "stream.not_found\tstopped", "stopped",
      ])
    #expect(try Sound(file: folder.file("out/Bathroom.wav")).peak > 0.1)
  }

  @Test("user and password stay on their server")
  func credentials() throws {
    let elsewhere = try Station()
    elsewhere.answer("/live", with: .live(try LiveStationHarness.live()))
    // Another port of the same host, and another name of it.
    let others = [elsewhere.url("/live"), elsewhere.url("/live").replacing("127.0.0.1", with: "localhost")]
    let lines = try harness.printed(
      """
      local radio = stream.new(url, { buffer_wait = 0.5, auth = { "me", "secret" } })
      radio:start()
      radio:set_url(root .. "/other")
      for _, other in ipairs { "\(others[0])", "\(others[1])" } do
        radio:set_url(url, { auth = { "me", "again" } })
        radio:set_url(other)
      end
      radio:set_url(url, { auth = { "me", "again" } })
      radio:stop()
      """)
    #expect(lines == [])
    #expect(station.visits.map { $0["Authorization"] == nil } == [false, false, false, false, false])
    #expect(elsewhere.visits.map { $0["Authorization"] } == [nil, nil])
  }

  @Test("the error of the new station is raised, and the stream is stopped")
  func fails() throws {
    let lines = try harness.printed(
      """
      local radio = stream.new(url, quick)
      radio:start()
      follow(radio)
      local err = failure(radio.set_url, radio, root .. "/none")
      task.sleep(0.05)
      print(err.code, radio.status, radio.url == root .. "/none", radio.is_playing)
      """)
    #expect(
      lines == [
        "connecting\tnil\tnil", "missing_content\tstream.not_found\t404", "http_error\tstream.not_found\t404",
        "stopped\tnil\tnil", "stream.not_found\tstopped\ttrue\tfalse",
      ])
  }
}
