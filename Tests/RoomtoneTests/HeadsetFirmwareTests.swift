import HeadsetLink
import TestSupport
import TestTraits
import Testing

@Suite("a headset's firmware, from a script", .waiting, .tags(.headset, .firmware))
struct HeadsetFirmwareTests {
  /// Runs `code` beside firmware 2.0.0 for the usual headset, `new.rtfw`.
  private func printed(_ code: String) throws -> [String] {
    let harness = try EngineHarness()
    _ = try harness.folder.write(HeadsetHarness.firmware().bytes, to: "new.rtfw")
    return try harness.printed(
      "local headset = require 'headset' local h = headset.connect() local start = task.now() " + code)
  }

  @Test("the headset goes to its bootloader, for the time that it announces, and back")
  func bootloader() throws {
    let lines = try printed(
      """
      h:on("bootloader", function(event) print("event", event.headset == h) end)
      print(h:image_type())
      h:enter_bootloader()
      print(h:image_type(), h.connected, task.now() - start >= 5, task.now() - start < 8)
      h:enter_bootloader()
      local err = failure(h.set_noise_cancelling, h, true)
      print(err.code, err.hint)
      h:reboot()
      print(h:image_type(), h:noise_cancelling())
      """)
    #expect(
      lines == [
        "application", "event\ttrue", "bootloader\ttrue\ttrue\ttrue",
        "headset.wrong_mode\th:reboot() starts its firmware", "application\tfalse",
      ])
  }

  @Test("an update reports its progress, has the headset for itself, and ends with the new version")
  func update() throws {
    let lines = try printed(
      """
      local reported, last = 0, 0
      h:on("progress", function(event)
        reported = reported + 1
        if event.fraction < last or event.fraction > 1 then print("falls", event.fraction) end
        last = event.fraction
      end)
      h:on("update_completed", function(event) print("completed", event.version, h.firmware_version) end)
      h:on("disconnected", print)
      task.spawn(function()
        task.sleep(2)
        local err = failure(h.noise_cancelling, h)
        print(err.code, tostring(h))
        print(code(h.update_firmware, h, "new.rtfw"), code(h.disconnect, h), code(headset.connect))
      end)
      local steps = 0
      print(h:update_firmware("new.rtfw", { on_progress = function(fraction) steps = steps + 1 end }))
      task.sleep(1)
      print(h.firmware_version, h:image_type(), reported > 5, reported == steps, last)
      print(h:update_firmware("new.rtfw"))
      """)
    #expect(
      lines == [
        "headset.busy\theadset \"Roomtone RT-1\" (unix:headset, busy)",
        "headset.busy\theadset.busy\theadset.already_connected",
        "completed\t2.0.0\t2.0.0", "true", "2.0.0\tapplication\ttrue\ttrue\t1.0", "false",
      ])
  }
}
