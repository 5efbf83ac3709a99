import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("the radio", .waiting, .tags(.stream, .playback))
struct RadioTests {
  @Test("where no network interface is up: no_network, and stream.network")
  func noNetwork() throws {
    guard try Command.run("unshare", ["-n", "true"]).status == 0 else {
      print("not tested: unshare -n is not permitted here")
      return
    }
    let home = try Home()
    let script = try home.script(
      """
      local stream, task = require "stream", require "task"
      for _, url in ipairs { "http://nowhere.invalid/", "http://192.0.2.1/" } do
        local radio = stream.new(url)
        for _, name in ipairs { "connecting", "no_network", "url_not_found", "timeout", "stopped" } do
          radio:on(name, function(event) print(name, event.code) end)
        end
        local _, err = task.try(radio.start, radio)
        task.sleep(0.05)
        print("raised", err.code, radio.status)
      end
      """)
    let outcome = try home.runInShell("unshare -n \"$ROOMTONE\" run \(script)")
    let reported = [
      "connecting\tnil", "no_network\tstream.network", "stopped\tnil", "raised\tstream.network\tstopped",
    ]
    #expect(outcome.lines == reported + reported, "\(outcome)")
  }

  @Test("the environment's proxy is asked for the station, by name and with what stations are asked")
  func proxy() throws {
    let proxy = try Station()
    var live = Live(
      .init(repeating: try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")), titles: [.init("A - B", at: 0)]))
    live.metaint = 4096
    proxy.answer("/live", with: .live(live))
    let home = try Home()
    let script = try home.script(
      """
      local stream = require "stream"
      local radio = stream.new("http://radio.test:8000/live", { user_agent = "Kitchen radio/1" })
      radio:start()
      print(radio.status, radio.title)
      radio:stop()
      """)
    let outcome = try home.runInShell("http_proxy=\(proxy.url("/")) \"$ROOMTONE\" run \(script)")
    #expect(outcome.lines == ["playing\tA - B"], "\(outcome)")
    let visit = try #require(proxy.visits.first)
    #expect(visit.target == "http://radio.test:8000/live")
    #expect(visit["User-Agent"] == "Kitchen radio/1" && visit["Icy-MetaData"] == "1")
  }

  @Test("play shows titles and failures of connections on a terminal, and plays on")
  func play() throws {
    let station = try Station()
    var live = Live(
      .init(
        repeating: try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")),
        titles: [.init("Some Artist - Song", at: 0)]))
    live.pace = .realTime(1)
    live.metaint = 4096
    live.burst = 200_000
    live.age = 300_000
    // Eight seconds after the burst: failures before playback are not reported.
    station.answer("/live", with: .live(live).dropping(at: 330_000, by: .reset), .live(live))
    let home = try Home()
    try home.write(Array("house { output = 'null' }".utf8), to: "config.lua")
    let command = try home.start(
      ["play", station.url("/live"), "--config", "config.lua"], input: .terminal)
    try command.expect("Some Artist - Song")
    for _ in 0..<3_000 where station.visits.count < 2 { usleep(10_000) }
    try command.expectError("ended the connection early")
    // Playback continues: a line a second, of more seconds than there were before the drop.
    for _ in 0..<11 { try command.expect("\r▶ ") }
    command.send(SIGINT)
    #expect(try command.finish().status == 130)
  }
}
