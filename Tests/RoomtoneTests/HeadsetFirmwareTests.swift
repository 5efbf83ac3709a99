import HeadsetLink
import TestSupport
import TestTraits
import Testing

@Suite("a headset's firmware, from a script", .waiting, .tags(.headset, .firmware))
struct HeadsetFirmwareTests {
  /// A harness with firmware 2.0.0 for the usual headset, whole as `new.rtfw` and damaged as `bad.rtfw`.
  private func harness() throws -> EngineHarness {
    let harness = try EngineHarness()
    let file = try HeadsetHarness.firmware()
    _ = try harness.folder.write(file.bytes, to: "new.rtfw")
    var damaged = file.bytes
    damaged[damaged.count - 1] ^= 1
    _ = try harness.folder.write(damaged, to: "bad.rtfw")
    return harness
  }

  private func printed(_ code: String) throws -> [String] {
    try harness().printed(
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

  @Test("a file that is damaged, or none, is refused before anything is asked of the headset")
  func refused() throws {
    let lines = try printed(
      """
      for _, name in ipairs { "bad.rtfw", "tone.wav", "nowhere.rtfw" } do
        local err = failure(h.update_firmware, h, name)
        print(err.code, err.step, err.seed_name, err.reason ~= nil)
      end
      print(h:image_type(), h.firmware_version, task.now() - start < 1)
      """)
    #expect(
      lines == [
        "headset.update_failed\tcheck\tERROR_FOUND_UPDATING_THE_FIRMWARE\ttrue",
        "headset.update_failed\tcheck\tERROR_FOUND_UPDATING_THE_FIRMWARE\ttrue",
        "headset.update_failed\tcheck\tERROR_FOUND_UPDATING_THE_FIRMWARE\ttrue",
        "application\t1.0.0\ttrue",
      ])
  }

  @Test("an update that a script cancels resumes where it was")
  func cancelledUpdate() throws {
    let lines = try printed(
      """
      local function update() return h:update_firmware("new.rtfw") end
      local job = task.spawn(update)
      local event
      repeat event = h:wait("progress") until event.fraction > 0.3
      job:cancel()
      task.sleep(30)
      local first
      h:once("progress", function(e) first = e.fraction end)
      print(update(), h.firmware_version, first > 0.1)
      """)
    #expect(lines == ["true\t2.0.0\ttrue"])
  }
}
