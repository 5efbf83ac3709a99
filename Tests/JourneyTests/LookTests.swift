import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("roomtone devices, groups and status", .waiting, .tags(.command, .discovery)) struct LookTests {
  private static let speakers = #"""
    house { output = "wav:out", speakers = {
      { name = "Küche \"alt\"", group = "Küche", role = "left", volume = 7, balance = -3 },
      { name = "Flur" }, { name = "Küche neu", group = "Küche", role = "right" } } }
    """#

  private func home() throws -> Home {
    let home = try Home()
    try home.script(Self.speakers, as: "config.lua")
    return home
  }

  /// Returns the output of Python's `print(EXPRESSION)`, with the parsed JSON of a command in `d`.
  private func read(_ command: String, _ expression: String, _ home: Home) throws -> String {
    let outcome = try home.runInShell(
      "$ROOMTONE \(command) --json --config config.lua "
        + "| python3 -c 'import json, sys; d = json.load(sys.stdin); print(\(expression))'")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    return outcome.output
  }

  @Test("tables have aligned columns and no blanks at the ends of lines")
  func tables() throws {
    let home = try home()
    let devices = try home.run("devices", "--config", "config.lua")
    #expect(devices.status == 0 && devices.errors == "")
    #expect(
      devices.lines.map { String($0.prefix(43)) } == [
        "NAME         GROUP  ROLE    VOLUME  BALANCE",
        "Küche \"alt\"  Küche  left    7       3 left ",
        "Flur         -      stereo  25      0      ",
        "Küche neu    Küche  right   25      0      ",
      ], "\(devices)")
    #expect(devices.lines.allSatisfy { !$0.hasSuffix(" ") })
    #expect(devices.lines.dropFirst().allSatisfy { $0.contains(" idle   wav:out  0017") })

    let groups = try home.run("groups", "--config", "config.lua")
    #expect(groups.lines.count == 2 && groups.lines[0] == "NAME   ACTIVE  ID            MEMBERS")
    #expect(
      groups.lines[1].hasPrefix("Küche  no      0017")
        && groups.output.hasSuffix("Küche \"alt\", Küche neu\n"))

    let status = try home.run("status", "--config", "config.lua")
    #expect(
      status.lines == [
        "House          house", "Output         wav:out", "Used by        nobody",
        "Speakers       3 in 1 group, 3 available", "Playing        nothing",
        "State          \(home.path("state"))/roomtone", "Configuration  config.lua",
      ])
    // Inspecting creates no files.
    #expect(fileNames(in: home.path("state")) == [] && fileNames(in: home.path("")) == Self.files)
  }

  private static let files = ["config", "config.lua", "runtime", "state"]

  @Test("JSON has all attributes of a speaker, by the names that scripts use")
  func json() throws {
    let home = try home()
    #expect(
      try read("devices", #"" ".join(d[0])"#, home) == """
        id name group_id group_name model ip_address port mac_address volume muted active wifi_signal role version \
        balance is_playing channel_type is_master available output asked_volume max_volume

        """)
    #expect(
      try read(
        "devices", #"[(e["name"], e["volume"], e["balance"], e["is_master"], e["active"]) for e in d]"#, home)
        == "[('Küche \"alt\"', 7, -3, True, False), ('Flur', 25, 0, True, False), ('Küche neu', 25, 0, False, False)]\n"
    )
    #expect(
      try read("groups", #"[(e["name"], e["active"], e["members"]) for e in d]"#, home)
        == "[('Küche', False, ['Küche \"alt\"', 'Küche neu'])]\n")
    #expect(
      try read("status", "d", home)
        == "{'driver': 'house', 'output': 'wav:out', 'process': None, 'speakers': 3, 'available': 3, 'groups': 1, "
        + "'playing': [], 'state_folder': '\(home.path("state"))/roomtone', 'configuration': 'config.lua', 'invented': False, 'loss': None}\n"
    )
  }

  @Test("while another process has the house they report it, show the stored house, and do not disturb it")
  func busy() throws {
    let home = try home()
    try home.longMusic()
    // Its control socket is where nobody looks for it.
    let player = try home.startInShell(
      "XDG_RUNTIME_DIR=$PWD/state exec \"$ROOMTONE\" play long.mp3 --output=null --config=config.lua --volume=11",
      input: .terminal)
    // The volume is written a second after it has changed.
    for _ in 0...3 { try player.expect("▶ ") }
    #expect(
      try read("status", #"d["process"]["name"], d["process"]["id"] > 0, d["output"], d["playing"]"#, home)
        == "roomtone play True null ['long.mp3 in Küche, Flur']\n")
    #expect(
      try read("devices", #"{(e["volume"], e["active"], e["is_playing"]) for e in d}"#, home)
        == "{(11, None, None)}\n")
    #expect(try read("groups", #"d[0]["active"]"#, home) == "None\n")
    let status = try home.run("status")
    #expect(status.lines[2].hasPrefix("Used by        roomtone play (process "), "\(status)")
    #expect(status.lines[1] == "Output         null", "of the process, not of the configuration")
    #expect(status.lines[4] == "Playing        long.mp3 in Küche, Flur")
    #expect(
      try home.run("devices", "--config=config.lua").lines.dropFirst().allSatisfy {
        $0.contains(" unknown  wav:out  0017")
      })
    player.send(SIGINT)
    #expect(try player.finish().status == 130)
    #expect(try home.run("status").lines[2] == "Used by        nobody")
  }

  @Test("a damaged file is reported and left where it is; a wrong command line ends with status 2")
  func damage() throws {
    let home = try home()
    let folder = home.path("state/roomtone")
    guard mkdir(folder, 0o700) == 0 else { throw TestFailure("cannot make \(folder)") }
    try home.script("hello\u{1b}[2J", as: "state/roomtone/house.state")
    for command in ["devices", "groups", "status"] {
      let outcome = try home.run(command)
      #expect(outcome.status == 0 && outcome.errorLines.count == 1, "\(outcome)")
      #expect(outcome.errors.contains("house.state is damaged"))
      #expect(fileNames(in: folder) == ["house.state"])
      let wrong = try home.run(command, "extra")
      #expect(wrong.status == 2 && wrong.output == "" && wrong.errorLines.count == 1)
      let missing = try home.run(command, "--config", "none.lua")
      #expect(missing.status != 0 && missing.output == "" && missing.errorLines.count == 1, "\(missing)")
    }
  }
}
