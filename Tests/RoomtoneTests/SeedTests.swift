import EventLoop
import Reference
import TestSupport
import TestTraits
import Testing

/// Each operation of the two HKWirelessHD programming guides, and its form here.
@Suite("The operations of the HKWirelessHD guides", .waiting, .tags(.speaker)) struct SeedTests {
  /// Operations, and the functions, methods, fields and events that stand for them.
  static let forms: [(operation: String, forms: [String])] = [
    ("initializeHKWirelessController", ["speaker.open"]),
    ("initializeHKWirelessController withSpeakersAdded", ["speaker.open", "speaker.OpenOptions.add_all"]),
    ("isInitialized", ["speaker.is_open"]), ("initializing", ["speaker.is_opening"]),
    ("getDeviceCount", ["speaker.devices"]), ("getDeviceInfoByIndex", ["speaker.devices"]),
    ("getDeviceInfoById", ["speaker.device", "speaker.find"]),
    ("getGroupCount", ["speaker.groups"]), ("getDeviceGroupByIndex", ["speaker.groups"]),
    ("getDeviceGroupByGroupId", ["speaker.group"]), ("getDeviceGroupNameByIndex", ["speaker.Group.name"]),
    ("getDeviceGroupIdByIndex", ["speaker.Group.id"]),
    ("getDeviceCountInGroupIndex", ["speaker.Group.devices"]),
    ("getDeviceInfoByGroupIndexAndDeviceIndex", ["speaker.Group.devices"]),
    ("getDeviceGroupByDeviceId", ["speaker.Device.group"]),
    ("isDeviceAvailable", ["speaker.Device.available"]), ("isDeviceActive", ["speaker.Device.active"]),
    ("getWifiSignalStrengthType", ["speaker.Device.wifi_strength"]),
    ("refreshDeviceWiFiSignal", ["speaker.Device:refresh_wifi"]),
    ("refreshDeviceInfoOnce", ["speaker.refresh"]), ("startRefreshDeviceInfo", ["speaker.watch"]),
    ("stopRefreshDeviceInfo", ["speaker.watch"]),
    ("addDeviceToSession", ["speaker.Device:join", "speaker.PlayOptions.rooms"]),
    ("removeDeviceFromSession", ["speaker.Device:leave"]),
    ("getActiveDeviceCount", ["speaker.active_devices"]), ("getActiveGroupCount", ["speaker.active_groups"]),
    ("playCAF", ["speaker.play"]), ("playCAFFromCertainTime", ["speaker.play", "speaker.PlayOptions.start"]),
    ("playWAV", ["speaker.play"]), ("playStreamingMedia", ["speaker.play_stream"]),
    ("pause", ["speaker.pause"]), ("playCAF resumeFlag", ["speaker.resume", "speaker.PlayOptions.resume"]),
    ("stop", ["speaker.stop"]), ("getPlayerState", ["speaker.state"]), ("isPlaying", ["speaker.is_playing"]),
    ("setVolume", ["speaker.set_volume"]), ("setVolumeDevice", ["speaker.Device:set_volume"]),
    ("getVolume", ["speaker.volume"]), ("getDeviceVolume", ["speaker.Device.volume"]),
    ("getMaximumVolumeLevel", ["speaker.MAX_VOLUME"]),
    ("mute", ["speaker.mute", "speaker.Device:mute"]),
    ("unmute", ["speaker.unmute", "speaker.Device:unmute"]),
    ("isMuted", ["speaker.is_muted", "speaker.Device.muted"]),
    ("setDeviceName", ["speaker.Device:set_name"]), ("setDeviceGroupName", ["speaker.Device:set_group"]),
    ("removeDeviceFromGroup", ["speaker.Device:leave_group"]), ("setDeviceRole", ["speaker.Device:set_role"]),
    (
      "DeviceInfo",
      [
        "id", "name", "group_id", "group_name", "model", "ip_address", "port", "mac_address", "volume",
        "active",
        "wifi_signal", "role", "version", "balance", "is_playing", "channel_type", "is_master",
      ].map { "speaker.Device.\($0)" }
    ),
    ("hkwDeviceStateUpdated", ["event device"]), ("hkwDeviceVolumeChanged", ["event volume"]),
    ("hkwPlaybackStateChanged", ["event state"]), ("hkwPlaybackTimeChanged", ["event time"]),
    ("hkwPlayEnded", ["event ended"]), ("hkwErrorOccurred", ["event error"]),
  ]

  @Test("each has its form in the definitions", arguments: forms.map(\.operation))
  func form(_ operation: String) throws {
    let reference = ReferenceCheck.reference
    for form in Self.forms.first(where: { $0.operation == operation })?.forms ?? [] {
      if form.hasPrefix("event ") {
        let events = reference.aliases.first { $0.name == "speaker.Event" }?.type.text ?? ""
        #expect(events.contains("\"\(form.dropFirst(6))\""), "\(form)")
      } else if reference.function(form) == nil {
        let parts = form.split(separator: ".").map(String.init)
        let (owner, name) = (parts.dropLast().joined(separator: "."), parts.last ?? "")
        let isField = reference.fields(of: owner).contains { $0.name == name }
        let isValue = reference.values(of: owner).contains { $0.name == form }
        #expect(isField || isValue, "\(form)")
      }
    }
  }

  @Test("the listings of the guides, as scripts") func listings() throws {
    var harness = try EngineHarness()
    harness.addsAll = false
    let lines = try harness.printed(
      """
      -- Initialization, and the list of speakers.
      if not speaker.is_open() then speaker.open { license = "a license key" } end
      print(#speaker.devices(), #speaker.groups())
      for _, group in ipairs(speaker.groups()) do
        for _, device in ipairs(group.devices) do assert(speaker.device(device.id).group == group) end
      end
      local updated = speaker.on("device", function(e) print("device", e.device.name, e.reason) end)
      speaker.watch(true) speaker.watch(false) speaker.refresh()
      -- A speaker joins the session, then the music plays.
      local kitchen = speaker.device "Kitchen"
      kitchen:join()
      task.sleep(0.1)
      updated:cancel()
      print(#speaker.active_devices(), kitchen.active)
      speaker.on("state", function(e) print("state", e.state) end)
      speaker.on("ended", function(e) print("ended", e.reason) end)
      speaker.play("tone.wav", { title = "a song" })
      speaker.play("tone.wav", { start = 1 })
      print(speaker.state(), speaker.position())
      speaker.pause()
      task.sleep(0.1)
      speaker.play("tone.wav", { resume = true })
      speaker.finish()
      -- Volumes.
      local heard = speaker.on("volume", function(e) print("volume", e.device.name, e.volume) end)
      speaker.set_volume(25)
      speaker.wait("volume")
      kitchen:set_volume(10)
      speaker.wait("volume")
      print(speaker.volume(), kitchen.volume, speaker.MAX_VOLUME)
      heard:cancel()
      speaker.mute() task.sleep(0.1) print(speaker.is_muted())
      speaker.unmute() task.sleep(0.1) print(speaker.is_muted(), kitchen.volume)
      -- Names and groups.
      kitchen:set_name "My Omni10"
      kitchen:set_group "Living Room"
      print(kitchen.name, kitchen.group.name, #kitchen.group.devices)
      kitchen:leave_group()
      print(kitchen.group_name == speaker.UNGROUPED)
      -- The end of the session.
      kitchen:leave()
      print(failure(speaker.play, "tone.wav").code)
      speaker.open { add_all = true }
      print(#speaker.active_devices())
      speaker.stop()
      os.exit(0)
      """)
    #expect(
      lines == [
        "6\t4", "device\tKitchen\tjoined", "1\ttrue", "state\tplaying", "playing\t1.0", "ended\treplaced",
        "state\tplaying", "state\tpaused", "state\tplaying", "state\tstopped", "ended\tfinished",
        "volume\tKitchen\t25", "volume\tKitchen\t10", "10\t10\t50", "true", "false\t10",
        "My Omni10\tLiving Room\t3", "true", "speaker.no_active_device", "6",
      ])
  }
}
