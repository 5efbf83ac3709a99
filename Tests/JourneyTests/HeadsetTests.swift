import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("headsets, from a script to a board", .waiting, .tags(.headset, .board))
struct HeadsetTests {
  /// Script that exercises every row of the table. Continues from one part to the next at a certain battery
  /// level.
  private static let rows = """
    local headset, task = require "headset", require "task"
    local function list(t) return table.concat(t, " ") end
    local h = headset.connect { transport = arg[1], key_file = "headset.key" }
    local function part(name, percent)
      print("part " .. name)
      while h:battery().percent ~= percent do task.sleep "20ms" end
    end
    print(h.connected, h.address == arg[1], h.model, h.firmware_version, headset.list()[1] == h)
    print(list(h.capabilities))

    local fields = {
      noise_cancelling = { "enabled" }, ambient = { "left", "right" }, equalizer = { "preset_name" },
      battery = { "percent", "charging" }, bootloader = {}, update_completed = { "version" },
    }
    for name, keys in pairs(fields) do
      h:on(name, function(event)
        local values = { "event", name }
        for _, key in ipairs(keys) do values[#values + 1] = tostring(event[key]) end
        print(list(values))
      end)
    end
    headset.on("noise_cancelling", function(event) print("any headset", event.headset == h, event.enabled) end)

    h:set_noise_cancelling(true)
    h:set_ambient { left = 5, right = 2 }
    h:set_ambient { right = 4 }
    h:set_band("user", 3, -6)
    h:set_preset(3)
    print(h:noise_cancelling(), h:ambient().left, h:ambient().right, h:ambient_max().left, h:ambient().max.right)
    part("host", 33)

    local battery, ambient, eq = h:battery(), h:ambient(), h:equalizer()
    print(h:noise_cancelling(), ambient.left, ambient.right, battery.percent, battery.charging)
    print(eq.preset, eq.preset_name, eq.min, eq.max, list(eq.values))
    for i, band in ipairs(eq.bands) do eq.bands[i] = band.frequency .. band.unit .. "=" .. band.hertz end
    print(list(eq.bands))
    h:set_equalizer("movie", { -1, -2, -3, -4, -5, 5, 4, 3, 2, 1 })
    h:reset_preset("user")
    print(list(h:equalizer("user").values), list(h:equalizer(1).values))
    part("wearer", 34)

    print(h:image_type())
    h:enter_bootloader()
    print(h:image_type(), select(2, pcall(h.ambient, h)).code)
    part("bootloader", 35)

    h:reboot()
    print(h:image_type(), h:equalizer().preset_name)
    local last, falls, times = -1, 0, 0
    local function progress(fraction)
      times = times + 1
      if fraction < last then falls = falls + 1 end
      last = fraction
    end
    print(h:update_firmware("app.rtfw", { on_progress = progress }))
    task.sleep "50ms"
    print(h.firmware_version, h:image_type(), last, falls, times > 5)
    print(h:update_firmware("app.rtfw"))
    part("update", 36)

    h:disconnect()
    print(h.connected, #headset.list(), select(2, pcall(h.battery, h)).code)
    """

  @Test(
    "each function and event of a headset, read back and compared with the board's state",
    arguments: EmulatedBoard.Transport.allCases)
  func rows(_ transport: EmulatedBoard.Transport) throws {
    let home = try Home()
    try home.key("headset.key")
    try home.firmware("app.rtfw", version: "2.0.0")
    let board = try EmulatedBoard(in: home, transport, "--key-file", "headset.key")
    let script = try home.start(
      ["run", try home.script(Self.rows), board.address], deadline: .seconds(180))
    /// Waits for the end of a part, compares the board's state with it, and lets the script continue.
    func part(_ name: String, _ facts: String..., wearer: [String]) throws {
      try script.expect("part \(name)\n")
      let state = try board.state()
      for fact in facts { #expect(state.contains(fact), "\(name): \(state)") }
      for line in wearer { try board.type(line) }
    }
    try part(
      "host", "\"noise_cancelling\": true", "\"ambient\": {\"left\": 5, \"right\": 4}", "\"preset\": 3",
      "[0, 0, -6, 0, 0, 0, 0, 0, 0, 0]]", "\"connected\": true",
      wearer: ["noise off", "ambient left 1", "preset 2", "charging on", "battery 33"])
    try part(
      "wearer", "[-1, -2, -3, -4, -5, 5, 4, 3, 2, 1], ", "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]", "\"preset\": 2",
      wearer: ["battery 34"])
    try part(
      "bootloader", "\"mode\": \"bootloader\"", "\"version\": \"1.0.0\"", wearer: ["battery 35"])
    try part(
      "update", "\"mode\": \"application\"", "\"version\": \"2.0.0\", \"sha256\": ", "\"whole\": true",
      "\"trial\": null", "\"transfer\": null",
      "\"dropped\": {\"unsealed\": 0, \"forged\": 0, \"repeated\": 0",
      wearer: ["battery 36"])
    let outcome = try script.finish()
    #expect(outcome.status == 0, "\(outcome)")
    // A warning for each update: this firmware is signed with the key that everybody has.
    #expect(outcome.errorLines.count == 2, "\(outcome)")
    for line in outcome.errorLines { #expect(line.contains("is signed with the development key")) }
    let isEvent = { (line: String) in line.hasPrefix("event") || line.hasPrefix("any headset") }
    #expect(
      outcome.lines.filter { !isEvent($0) } == [
        "true\ttrue\tRT-1\t1.0.0\ttrue", "ambient battery equalizer firmware_update noise_cancelling",
        "true\t5\t4\t7\t7", "part host",
        "false\t1\t4\t33\ttrue", "2\tvoice\t-12\t12\t-6 -4 -2 1 4 5 4 2 0 -2",
        "31.25Hz=31.25 62.5Hz=62.5 125Hz=125 250Hz=250 500Hz=500 1kHz=1000 2kHz=2000 4kHz=4000 8kHz=8000 "
          + "16kHz=16000",
        "0 0 0 0 0 0 0 0 0 0\t-1 -2 -3 -4 -5 5 4 3 2 1", "part wearer",
        "application", "bootloader\theadset.wrong_mode", "part bootloader",
        "application\tvoice", "true", "2.0.0\tapplication\t1.0\t0\ttrue", "false", "part update",
        "false\t0\theadset.not_connected",
      ])
    let events = Set(outcome.lines.filter(isEvent))
    for event in [
      "event noise_cancelling true", "event noise_cancelling false", "any headset\ttrue\ttrue",
      "any headset\ttrue\tfalse", "event ambient 5 4", "event ambient 1 4", "event equalizer user",
      "event equalizer voice", "event battery 80 true", "event battery 33 true", "event bootloader",
      "event update_completed 2.0.0",
    ] { #expect(events.contains(event), "\(event) is missing: \(events.sorted())") }
  }

  @Test(
    "a headset that loses its battery is connected again when it is back",
    arguments: EmulatedBoard.Transport.allCases)
  func battery(_ transport: EmulatedBoard.Transport) throws {
    let home = try Home()
    try home.script(
      """
      local headset = require "headset"
      local h = headset.connect { transport = arg[1] }
      h:set_ambient { left = 3 }
      h:on("disconnected", function(event) print("lost", #event.reason > 0, h.connected) end)
      print "ready"
      local event = h:wait("connected")
      print("back", event.headset == h, h:ambient().left)
      """)
    let board = try EmulatedBoard(in: home, transport, "--state", "flash")
    let script = try home.start(["run", "routine.lua", board.address], deadline: .seconds(120))
    try script.expect("ready\n")
    try board.kill()
    try script.expect("lost\ttrue\tfalse\n")
    let other = try EmulatedBoard(in: home, transport, "--state", "flash")
    let outcome = try script.finish()
    #expect(outcome.lines.last == "back\ttrue\t3" && outcome.status == 0, "\(outcome)")
    #expect(try other.state().contains("\"ambient\": {\"left\": 3, \"right\": 0}"))
  }

  @Test("a script waits for a headset that is switched on later, and has ended when it waits no more")
  func awaited() throws {
    let home = try Home()
    let config =
      "headset { transport = 'unix:\(home.path("board"))', key_file = '\(home.path("headset.key"))' }"
    try home.write(Array(config.utf8), to: "config.lua")
    try home.key("headset.key")
    try home.script(
      """
      local headset = require "headset"
      headset.on("connected", function(event)
        print(event.name, event.headset.address, event.headset:battery().percent)
        headset.auto_connect(false)
      end)
      headset.auto_connect(true)
      print "waiting"
      """)
    let script = try home.start(["run", "--config", "config.lua", "routine.lua"])
    try script.expect("waiting\n")
    let board = try EmulatedBoard(in: home, .unix, "--key-file", "headset.key", "--name", "Hall")
    let outcome = try script.finish()
    #expect(outcome.status == 0 && outcome.lines == ["waiting", "Hall\t\(board.address)\t80"], "\(outcome)")
    try board.expectLog("disconnected (the board ends the link)")
  }

  @Test("a signal ends a script, and its headset receives GOODBYE", arguments: [SIGINT, SIGTERM])
  func signals(_ signal: Int32) throws {
    let home = try Home()
    let board = try EmulatedBoard(in: home)
    let script = try home.start([
      "run", "-e",
      """
      local h = require "headset".connect { transport = "\(board.address)" }
      local guard <close> = setmetatable({}, { __close = function() h:set_noise_cancelling(true) end })
      print "ready"
      require "task".sleep "1h"
      """,
    ])
    try script.expect("ready\n")
    script.send(signal)
    let outcome = try script.finish()
    #expect(
      outcome.status == 128 + signal && outcome.errorLines.allSatisfy { $0.contains("development key") },
      "\(outcome)")
    try board.expectLog("disconnected (the board ends the link)")
    #expect(try board.state().contains("\"noise_cancelling\": true"))
  }

  @Test("a failed connection is reported in one line with its code and Avnera's name for it")
  func refused() throws {
    let home = try Home()
    try home.key("wrong.key", digit: "1")
    let board = try EmulatedBoard(in: home)
    try home.script(
      """
      local headset = require "headset"
      local function try(options)
        local isConnected, err = pcall(headset.connect, options)
        if isConnected then print "connected" else print(err.code, err.seed_name) end
      end
      try { transport = arg[1], key_file = "wrong.key" }
      try { transport = "unix:nowhere" }
      try { transport = "serial:/dev/null" }
      try()
      try { transport = arg[1] }
      try { transport = arg[1] }
      """)
    let outcome = try home.run("run", "routine.lua", board.address)
    #expect(
      outcome.lines == [
        "headset.auth\tCONNECTION_PROCESS_FAILED_UNKNOW_REASON",
        "headset.not_available\tCONNECTION_PROCESS_FAILED_DEVICE_IS_NOT_AVAILABLE",
        "headset.connection_failed\tCONNECTION_PROCESS_FAILED_UNKNOW_REASON",
        "headset.not_available\tCONNECTION_PROCESS_FAILED_DEVICE_IS_NOT_AVAILABLE", "connected",
        "headset.already_connected\tCONNECTION_PROCESS_FAILED_DEVICE_IS_ALREADY_CONNECTED",
      ], "\(outcome)")
  }
}
