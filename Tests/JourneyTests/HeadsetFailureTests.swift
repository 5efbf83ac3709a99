import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("headsets that fail", .waiting, .tags(.headset, .error))
struct HeadsetFailureTests {
  @Test("a headset that accepts the connection and stays silent is left as soon as no caller waits")
  func silent() throws {
    let home = try Home()
    let listener = try Descriptor(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0), of: "a socket")
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: home.path("silent").utf8) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener.number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(bound == 0 && listen(listener.number, 8) == 0)
    try home.script(
      """
      local headset, task = require "headset", require "task"
      for _ = 1, 2 do
        local _, err = pcall(task.timeout, "100ms", headset.connect, { transport = arg[1] })
        print(err.code)
      end
      local _, err = pcall(headset.connect, { transport = arg[1] })
      print(err.code, err.seed_name)
      """)
    let outcome = try home.run("run", "routine.lua", "unix:\(home.path("silent"))")
    #expect(outcome.lines == ["task.timeout", "task.timeout", "headset.timeout\tnil"], "\(outcome)")
  }

  @Test("a headset that comes back with another key ends the wait for it, which is a failure of the script")
  func otherKey() throws {
    let home = try Home()
    let config = "headset { transport = 'unix:\(home.path("board"))' }"
    try home.write(Array(config.utf8), to: "config.lua")
    try home.key("other.key")
    let board = try EmulatedBoard(in: home)
    try home.script(
      """
      local headset = require "headset"
      headset.on("connected", function(event) print(event.headset.address) end)
      headset.on("error", function(event) print(event.code, event.error.seed_name) end)
      headset.auto_connect(true)
      """)
    let script = try home.start(["run", "--config", "config.lua", "routine.lua"], deadline: .seconds(120))
    try script.expect("\(board.address)\n")
    try board.kill()
    let other = try EmulatedBoard(in: home, .unix, "--key-file", "other.key")
    let outcome = try script.finish()
    withExtendedLifetime(other) {}
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.lines.last == "headset.auth\tCONNECTION_PROCESS_FAILED_UNKNOW_REASON", "\(outcome)")
    #expect(outcome.failures.count == 1 && outcome.errors.contains("(headset.auth)"), "\(outcome)")
  }

  @Test(
    "an impossible update is reported with its step and reason, and changes nothing",
    arguments: [
      (["--fault", "stay=3"], "enter"), (["--battery", "20"], "battery"),
      (["--profile", "no-ambient"], "check"),
      (["--version", "3.0.0"], "check"),
    ])
  func updates(_ options: [String], _ step: String) throws {
    let home = try Home()
    try home.firmware("app.rtfw", version: "2.0.0")
    let board = try EmulatedBoard(in: home, .unix, options)
    try home.script(
      """
      local headset = require "headset"
      local h = headset.connect { transport = arg[1] }
      local _, err = pcall(h.update_firmware, h, "app.rtfw")
      print(err.code, err.step, #err.reason > 0, err.seed_name)
      if h:image_type() == "bootloader" then h:reboot() end
      print(h:image_type(), h.firmware_version)
      """)
    let outcome = try home.run("run", "routine.lua", board.address)
    let version = options == ["--version", "3.0.0"] ? "3.0.0" : "1.0.0"
    #expect(
      outcome.lines == [
        "headset.update_failed\t\(step)\ttrue\tERROR_FOUND_UPDATING_THE_FIRMWARE", "application\t\(version)",
      ], "\(outcome)")
    #expect(try board.state().contains("\"confirmed\": {\"slot\": \"a\", \"version\": \"\(version)\""))
  }
}
