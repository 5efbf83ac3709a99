import TestSupport
import TestTraits
import Testing

@Suite(
  "The library's modules and the example routines", .waiting,
  .tags(
    .specs, .alarm, .announce, .eq, .fade, .follow, .party, .recorder, .remote, .scene, .sleepTimer, .zone))
struct SpecTests {
  @Test(
    "behave as their specs say, with the modules inside the program",
    arguments: ["stdlib/spec", "scripts/spec"])
  func specs(folder: String) throws {
    let outcome = try Home().run("test", Fixtures.repository(folder))
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.lines.last?.hasSuffix(" passed, 0 failed") == true)
  }

  @Test("ring with the chime inside the program when no station can be reached")
  func chime() throws {
    let home = try Home()
    let script = try home.script(
      """
      local alarm, task = require "alarm", require "task"
      local wake = alarm.set { at = "00:01", rooms = "Kitchen", fade = 0, sources = { "http://127.0.0.1:9/" }, duration = "20s" }
      wake:on("ringing", function(event) print(event.source) end)
      wake:wait "dismissed"
      """)
    let stations =
      "station('http://127.0.0.1:9/', { file = '\(Fixtures.path("mp3-cbr128-44k.mp3"))', refuses = true })"
    try home.write(Array(stations.utf8), to: "stations.lua")
    let outcome = try home.run(
      "simulate", script, "--stations", "stations.lua", "--render", "out", "--for", "2m")
    #expect(outcome.status == 0 && outcome.output.contains("built-in"), "\(outcome)")
    #expect(try Sound(file: home.path("out/Kitchen.wav")).level > -50)
  }

  @Test("speak with espeak-ng, and it is heard")
  func speech() throws {
    let home = try Home()
    let script = try home.script(
      """
      local announce = require "announce"
      announce.say { "The door is open", rooms = "Kitchen", volume = 50, voice = "en" }
      """)
    let outcome = try home.run("run", "--output", "wav:out", script)
    guard !outcome.errors.contains("espeak-ng is not installed") else { return }
    #expect(outcome.status == 0, "\(outcome)")
    let sound = try Sound(file: home.path("out/Kitchen.wav"))
    #expect(sound.level > -40)
    #expect(
      try home.run("run", "--output", "null", "-e", "require 'announce'.say { 'x', voice = 'nobody' }")
        .errors.contains("announce.speech"))
  }
}
