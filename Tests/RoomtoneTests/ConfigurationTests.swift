import Glibc
import HeadsetKit
import HeadsetLink
import Home
import LuaModules
import LuaRuntime
import RecordingKit
import Roomtone
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("the configuration file", .waiting, .tags(.configuration))
struct ConfigurationTests {
  private func read(_ text: String) throws -> Configuration {
    try Configuration(text: Array(text.utf8), path: "config.lua")
  }

  private func failure(_ text: String) throws -> String {
    let error = #expect(throws: LuaError.self) { try read(text) }
    return try #require(error).description
  }

  @Test("sets the speakers, a script's limits and the log")
  func good() throws {
    let configuration = try read(
      """
      local bedroom = "Bedroom"
      house {
        driver = "house", output = "null",
        speakers = {
          { name = "Kitchen" },
          { name = "Bed left", group = bedroom, role = "left", volume = 10, balance = -3 },
        },
      }
      limits { memory = 64, run = "500ms" }
      log { level = "debug" }
      """)
    #expect(configuration.house.speakers?.count == 2)
    #expect(configuration.limits.memory == 64 << 20 && configuration.limits.run == .milliseconds(500))
    #expect(configuration.logLevel == .debug)
    #expect(try read("").house.speakers == nil && read("#!/usr/bin/lua\n").logLevel == .info)
  }

  @Test("sets the rooms of playback that names none, with any driver")
  func defaultRooms() throws {
    #expect(try read("").defaultRooms == nil)
    #expect(try read("house { default_rooms = { 'Kitchen', 'Hall' } }").defaultRooms == ["Kitchen", "Hall"])
    let server = try read("house { driver = 'snapcast', default_rooms = { 'Kitchen' } }")
    #expect(server.defaultRooms == ["Kitchen"] && server.driverName == "snapcast")
  }

  @Test("a driver selected in its place keeps the settings that the file has for it")
  func selectedDriver() throws {
    var configuration = try read("house { output = 'null', speakers = { { name = 'Kitchen' } } }")
    try configuration.useDriver("snapcast")
    #expect(configuration.driverName == "snapcast" && configuration.driver as? SnapcastSettings == .usual())
    let error = #expect(throws: LuaError.self) { try configuration.useDriver("hkwhub") }
    #expect(try #require(error).description.contains("names no hub"))
    try configuration.useDriver("house")
    #expect(configuration.driverName == "house" && configuration.house.speakers?.count == 1)

    var server = try read("house { driver = 'snapcast', port = 1799 }")
    try server.useDriver("snapcast")
    let settings = try #require(server.driver as? SnapcastSettings)
    #expect(settings.port == 1799 && !settings.isSearched)
    var hub = try read("house { driver = 'hkwhub', url = 'http://192.0.2.7:8080' }")
    try hub.useDriver("hkwhub")
    #expect(hub.driverName == "hkwhub")
    try hub.useDriver("snapcast")
    #expect(hub.driverName == "snapcast")
    #expect(configuration.isEmbedded && Configuration().isEmbedded && !hub.isEmbedded)
    #expect(Configuration.driverNames == ["house", "snapcast", "hkwhub"])
  }

  @Test("sets the folder of recordings, how long they are kept, and how much of the disk they leave")
  func recordings() throws {
    let recordings = try read(
      """
      recordings { folder = "/srv/radio", template = "{station}/{title}.{ext}", keep = "60d", min_free = "1.5GB" }
      """
    ).recordings
    #expect(recordings.folder == "/srv/radio" && recordings.template == "{station}/{title}.{ext}")
    #expect(recordings.keep == .seconds(60 * 86_400) && recordings.minimumFree == 1_500_000_000)
    let home = try #require(getenv("HOME").map { String(cString: $0) })
    #expect(try read("recordings { folder = '~/Radio' }").recordings.folder == "\(home)/Radio")
    #expect(try read("recordings { min_free = 4096 }").recordings.minimumFree == 4096)
    let usual = try read("").recordings
    #expect(usual.folder == nil && usual.keep == nil && usual.minimumFree == 0)
    #expect(usual.template == RecorderSettings().template)
  }

  @Test("sets the address of the headset, and the files of its keys")
  func headset() throws {
    let headset = try read(
      """
      headset { transport = "unix:/run/headset.sock", key_file = "/etc/headset.key", firmware_key = "~/maker.pem" }
      """
    ).headset
    #expect(headset.address == .unix(path: "/run/headset.sock") && headset.keyFile == "/etc/headset.key")
    let home = try #require(getenv("HOME").map { String(cString: $0) })
    #expect(headset.firmwareKeyFile == "\(home)/maker.pem")
    #expect(try read("").headset == HeadsetSettings())
  }

  @Test("names stations, which scripts find and may call by name")
  func stations() throws {
    var harness = try EngineHarness()
    harness.configuration =
      "stations { morning = 'http://127.0.0.1:8000/morning.mp3', ['Radio 5'] = 'https://five.example/live' }"
    let lines = try harness.printed(
      """
      local stream = require "stream"
      local stations = stream.stations()
      print(stations["Radio 5"], stations.morning)
      local radio = stream.new "Radio 5"
      print(radio.url)
      radio:set_url("morning", { start = false })
      print(radio.url)
      local err = failure(stream.new, "mornign")
      print(err.code, err.message)
      radio:start()
      print(radio.status)
      radio:stop()
      """)
    #expect(
      lines == [
        "https://five.example/live\thttp://127.0.0.1:8000/morning.mp3",
        "https://five.example/live", "http://127.0.0.1:8000/morning.mp3",
        "stream.url\tno station is called 'mornign'; did you mean 'morning'?", "playing",
      ])
  }

  @Test("a station has a charset, a user agent, and a password in a file that no one else may read")
  func stationSettings() throws {
    let station = try Station()
    let live = try LiveStationHarness.live(titles: [.init("\u{E9}", at: 0)])
    station.answer("/live", with: Answer.live(live).requiring(user: "me", password: "secret"))
    let folder = try TemporaryFolder()
    let file = try folder.write(Array("secret\n".utf8), to: "password")
    let url = station.url("/live")
    var harness = try EngineHarness(wall: true)
    harness.configuration = """
      house { output = 'null' }
      stations { morning = { url = '\(url)', charset = 'koi8-r', user_agent = 'Kitchen', user = 'me',
        password_file = '\(file)' }, open = { url = '\(url)', auth = { 'me', 'secret' } } }
      """
    let script = """
      local stream = require "stream"
      local radio = stream.new("morning", { buffer_wait = 0.2 })
      print(radio.metadata_encoding, radio.user_agent, radio.url == '\(url)')
      radio:start()
      radio:set_url("open", { user_agent = "Bath" })
      print(radio.status, radio.user_agent)
      radio:stop()
      """
    chmod(file, 0o600)
    #expect(try harness.printed(script) == ["koi8-r\tKitchen\ttrue", "playing\tBath"])
    #expect(station.visits.map { $0["User-Agent"] } == ["Kitchen", "Bath"])
    #expect(Set(station.visits.map { $0["Authorization"] }) == ["Basic bWU6c2VjcmV0"])
    chmod(file, 0o644)
    let code = "print(code(require 'stream'.new, 'morning'), message(require 'stream'.new, 'morning'))"
    let lines = try harness.printed(code)
    #expect(lines.first?.hasPrefix("stream.auth") == true && lines.first?.contains("by others") == true)
  }

  @Test("its speakers are those of the house")
  func speakers() throws {
    var harness = try EngineHarness()
    harness.configuration =
      "house { output = 'null', speakers = { { name = 'Bed left', group = 'Bedroom', role = 'left', volume = 10, balance = -3 } } }"
    let lines = try harness.printed(
      "local d = speaker.devices()[1] print(#speaker.devices(), d.name, d.group_name, d.role, d.volume, d.balance)"
    )
    #expect(lines == ["1\tBed left\tBedroom\tleft\t10\t-3"])
  }

  @Test("wires speakers to channels of cards, with delays; an output of the command line takes their place")
  func cards() throws {
    var configuration = try read(
      """
      house { output = "alsa:hw:1", speakers = {
        { name = "Hall" },
        { name = "Kitchen", output = "alsa:hw:2,0", channels = { 3, 4 }, delay = "12ms" },
        { name = "Bath", output = "alsa:hw:2,0", channels = { 5 }, delay = 0.02 },
      } }
      """)
    #expect(configuration.house.speakers?.map(\.channels) == [[], [3, 4], [5]])
    #expect(configuration.house.speakers?.map(\.delay) == [.zero, .milliseconds(12), .milliseconds(20)])
    #expect(configuration.driver.outputText == "alsa:hw:1 and alsa:hw:2,0")
    configuration.house.use(.null)
    #expect(configuration.driver.outputText == "null")
    #expect(configuration.house.speakers == ["Hall", "Kitchen", "Bath"].map { SpeakerSpec(name: $0) })
  }

  @Test(
    "a mistake is reported with file, line and the nearest known key",
    arguments: [
      ("recordings = { folder = '~/Radio' }", ["'recordings'", "write recordings { … }, without ="]),
      ("hous = {}", ["'hous'", "did you mean 'house'?"]),
      ("shelf = 3", ["'shelf'", "local shelf = …"]),
      ("function shelf() end", ["'shelf'", "local shelf = …"]),
      ("house { outputs = 'null' }", ["'outputs'", "did you mean 'output'?"]),
      ("limits { momory = 3 }", ["'momory'", "did you mean 'memory'?"]),
      ("log { lvl = 'info' }", ["'lvl'", "level"]),
      ("log { level = 'wran' }", ["'level'", "'wran'", "did you mean 'warn'?"]),
      ("house { output = 5 }", ["'output'", "string expected, got number"]),
      ("house { output = 'speakers' }", ["\"speakers\"", "null, wav:DIR, alsa"]),
      ("house { driver = 'sonos' }", ["'driver'", "'sonos'", "snapcast"]),
      ("house { speakers = 'all' }", ["'speakers'"]),
      ("house { default_rooms = 'Kitchen' }", ["'default_rooms'", "as in { \"Kitchen\" }"]),
      ("house { default_rooms = { 'Kitchen', 3 } }", ["'default_rooms'", "as in { \"Kitchen\" }"]),
      ("house { default_rooms = {} }", ["'default_rooms'", "leave it out for all rooms"]),
      ("house { speakers = { 'Kitchen' } }", ["speakers[1]", "table expected, got string"]),
      (
        "house { speakers = { { name = 'A' }, { nam = 'B' } } }",
        ["speakers[2]", "'nam'", "did you mean 'name'?"]
      ),
      ("house { speakers = { {} } }", ["speakers[1]", "name"]),
      (
        "house { speakers = { { name = 'A', volume = 51 } } }",
        ["speakers[1]", "'volume'", "0 to 50 expected, got 51"]
      ),
      ("house { speakers = { { name = 'A', role = 'letf' } } }", ["speakers[1]", "did you mean 'left'?"]),
      (
        "house { speakers = { { name = 'A', channels = { 3 } }, { name = 'B', channels = { 3 } } } }",
        ["'channels' of speakers[2]", "\"B\": channel 3 of \"default\" is \"A\"'s"]
      ),
      ("house { speakers = { { name = 'A', channels = 3 } } }", ["speakers[1]", "as in { 3, 4 }"]),
      ("house { speakers = { { name = 'A', channels = { 'left' } } } }", ["speakers[1]", "as in { 3, 4 }"]),
      (
        "house { speakers = { { name = 'A', output = 'hw:1' } } }",
        ["speakers[1]", "did you mean \"alsa:hw:1\"?"]
      ),
      ("house { speakers = { { name = 'A', output = 'null' } } }", ["speakers[1]", "as in \"alsa:hw:1\""]),
      ("house { speakers = { { name = 'A', delay = '1s' } } }", ["speakers[1]", "0 to 500 ms expected"]),
      (
        "house { output = 'null', speakers = { { name = 'A', delay = '1ms' } } }",
        ["'delay'", "give the speaker a card"]
      ),
      ("limits { memory = 0 }", ["'memory'", "1 to 65536 expected, got 0"]),
      ("limits { buffers = 0 }", ["'buffers'", "1 to 65536 expected, got 0"]),
      ("limits { store = 0 }", ["'store'", "1 to 65536 expected, got 0"]),
      ("limits { run = 'soon' }", ["'run'", "\"soon\""]),
      ("recordings { foldr = '/' }", ["'foldr'", "did you mean 'folder'?"]),
      ("recordings { folder = 'Radio' }", ["'folder'", "an absolute path", "\"Radio\""]),
      ("recordings { template = '' }", ["'template'", "empty"]),
      ("recordings { template = '{titel}.mp3' }", ["'template'", "did you mean {title}?"]),
      ("recordings { keep = '60 days' }", ["'keep'", "\"60 days\""]),
      ("recordings { keep = 0 }", ["'keep'", "more than 0"]),
      ("recordings { min_free = '2 gigs' }", ["'min_free'", "\"2 gigs\"", "2GB"]),
      ("recordings { min_free = -1 }", ["'min_free'", "got -1"]),
      ("recordings { min_free = '9999999999TB' }", ["'min_free'", "not an amount of bytes"]),
      ("headset { trasport = 'unix:/a' }", ["'trasport'", "did you mean 'transport'?"]),
      ("headset { transport = 'bluetooth' }", ["'transport'", "\"bluetooth\"", "unix:PATH"]),
      ("headset { transport = 'tcp:10.0.0.1:80' }", ["'transport'", "tcp:127.0.0.1:PORT"]),
      ("headset { transport = 7 }", ["'transport'", "string expected, got number"]),
      ("headset { key_file = 'headset.key' }", ["'key_file'", "an absolute path", "\"headset.key\""]),
      ("headset { firmware_key = true }", ["'firmware_key'", "string expected, got boolean"]),
      ("stations { 'http://radio/' }", ["name expected, got 1"]),
      ("stations { ['a/b'] = 'http://radio/' }", ["name expected, got a/b"]),
      ("stations { morning = 5 }", ["'morning'", "a URL or a table expected, got number"]),
      ("stations { morning = { charset = 'latin1' } }", ["'morning'", "url is missing"]),
      ("stations { morning = { url = 'http://a/', charset = 'x y' } }", ["charset", "'x y'", "'morning'"]),
      ("stations { morning = { url = 'http://a/', user = 'me' } }", ["password_file", "go together"]),
      ("stations { morning = { url = 'http://a/', ca_file = 'a.pem' } }", ["ca_file", "absolute path"]),
      ("stations { morning = { url = 'http://a/', passwd = 'x' } }", ["passwd"]),
      ("stations { morning = 'mms://radio/' }", ["'morning'", "mms://"]),
      (
        "stations { morning = 'radio' }",
        ["'morning'", "no station \"radio\" is configured, and it is not a URL"]
      ),
      ("limits(5)", ["table expected, got number"]),
      ("hous { output = 'null' }", ["'hous'", "did you mean 'house'?"]),
      ("house { output = 'null' ", ["'}' expected"]),
      ("print 'hello'", ["'print'"]),
    ])
  func wrong(_ text: String, _ parts: [String]) throws {
    let description = try failure("\n" + text)
    #expect(description.hasPrefix("config.lua:2: "), "\(description)")
    for part in parts { #expect(description.contains(part), "\(description)") }
  }

  @Test("a syntax error has the code script.syntax")
  func syntax() throws {
    let error = #expect(throws: LuaError.self) { try read("house {") }
    #expect(error?.code == "script.syntax")
  }

  @Test("two speakers of one name are an error, which names them")
  func sameName() throws {
    let description = try failure("house { output = 'null', speakers = { { name = 'A' }, { name = 'A' } } }")
    #expect(description.contains("option 'name' of speakers[2]: two speakers are called \"A\""))
  }

  @Test("its memory limit ends an allocation beyond it, and the script can catch the error")
  func memory() throws {
    var harness = try EngineHarness()
    harness.configuration = "house { output = 'null' } limits { memory = 8 }"
    let lines = try harness.printed(
      "print(code(function() local t = {} for i = 1, 1e7 do t[i] = { i } end end)) print(#string.rep('x', 1000000))"
    )
    #expect(lines == ["script.memory", "1000000"])
  }

  @Test("its time limit ends what never suspends, also through pcall")
  func run() throws {
    var harness = try EngineHarness(wall: true)
    harness.configuration = "house { output = 'null' } limits { run = '1s' }"
    let outcome = try harness.run(
      """
      task.spawn(function() task.sleep "2s" print "goes on" end)
      task.spawn(function() while true do pcall(error) end end)
      """)
    #expect(outcome.failures.map(\.code) == ["script.blocked"] && outcome.lines == ["goes on"])
    #expect(outcome.failures.first?.location == "test.lua:2" && outcome.status == 1)
  }
}
