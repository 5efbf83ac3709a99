import EventLoop
import JSONText
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("errors of scripts in the daemon's list", .waiting, .tags(.daemon, .error)) struct DaemonErrorTests {
  @Test("the error of a mended script is its last one, with its time, and not its state")
  func mended() throws {
    let harness = try DaemonHarness([("a.lua", "error 'broken'")])
    try harness.begin()
    func script() throws -> JSON? { try harness.call("scripts").elements?.first }
    let began = harness.loop.wallNow.inSeconds
    harness.pass(.seconds(60))
    try harness.write("require 'task'.sleep '1h'", to: "a.lua")
    _ = try harness.call("reload", [("name", "a")])
    harness.pass(.seconds(60))
    let mended = try script()
    #expect(mended?["state"]?.text == "running" && mended?["error"]?.text == nil)
    #expect(mended?["last_error"]?.text?.contains("a.lua:1: broken") == true)
    guard case .decimal(let at)? = mended?["last_error_at"] else {
      Issue.record("no time of the last error")
      return
    }
    #expect(abs(at - began) < 1)
  }
}
