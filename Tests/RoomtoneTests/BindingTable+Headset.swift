extension BindingTable {
  static let headset = #"""
    headset.connect
      call headset.connect { transport = "unix:other" } --> headset "Roomtone RT-1" (unix:other, connected)
      headset.already_connected headset.connect { transport = "unix:other" }
    headset.auto_connect
      call headset.auto_connect(true) -->
    headset.list
      call headset.list() --> {headset "Roomtone RT-1" (unix:headset, connected)}
      then h:disconnect() or headset.list() --> {}
    headset.on
      set heard = {}
      call headset.on("noise_cancelling", function(e) table.insert(heard, e.enabled) end) -->
      then h:set_noise_cancelling(true), task.sleep(1), heard --> nil, nil, {true}
    headset.once
      set heard = 0
      call headset.once("noise_cancelling", function(e) heard = heard + 1 end) -->
      then h:set_noise_cancelling(true), h:set_noise_cancelling(false), task.sleep(1), heard \#
    --> nil, nil, nil, 1
    headset.wait
      set task.spawn(function() task.sleep(1) h:set_noise_cancelling(true) end)
      call headset.wait "noise_cancelling" -->
      then headset.wait("ambient", 1) --> nil, "timeout"
    headset.Headset:disconnect
      call h:disconnect() -->
      then h.connected, code(h.battery, h) --> false, "headset.not_connected"
    headset.Headset:noise_cancelling
      call h:noise_cancelling() --> false
    headset.Headset:set_noise_cancelling
      call h:set_noise_cancelling(true) -->
      then h:noise_cancelling() --> true
    headset.Headset:ambient
      set h:set_ambient { left = 2, right = 1 }
      call h:ambient() --> {left = 2, max = {left = 7, right = 7}, right = 1}
    headset.Headset:ambient_max
      call h:ambient_max() --> {left = 7, right = 7}
    headset.Headset:set_ambient
      call h:set_ambient { right = 3 } -->
      then h:ambient().left, h:ambient().right --> 0, 3
      headset.range h:set_ambient { left = 99 }
    headset.Headset:equalizer
      call h:equalizer "music" -->
      then h:equalizer().values, h:equalizer(1).preset_name --> {4, 3, 2, 0, -1, 0, 1, 2, 3, 4}, "movie"
    headset.Headset:set_band
      call h:set_band("user", 1, 5) -->
      then h:equalizer("user").values[1] --> 5
      headset.range h:set_band("user", 1, 99)
    headset.Headset:set_preset
      call h:set_preset "voice" -->
      then h:equalizer().preset, h:equalizer().preset_name --> 2, "voice"
    headset.Headset:set_equalizer
      call h:set_equalizer("user", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }) -->
      then h:equalizer("user").values --> {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
      headset.range h:set_equalizer("user", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 99 })
      headset.wrong_band_count h:set_equalizer("user", { 1 })
    headset.Headset:reset_preset
      set h:set_band("music", 1, -5)
      call h:reset_preset "music" -->
      then h:equalizer("music").values[1] --> 4
    headset.Headset:battery
      call h:battery() --> {charging = false, percent = 80}
    headset.Headset:image_type
      call h:image_type() --> "application"
    headset.Headset:enter_bootloader
      call h:enter_bootloader() -->
      then h:image_type() --> "bootloader"
    headset.Headset:update_firmware
      call h:update_firmware "new.rtfw" --> true
      then h.firmware_version, h:update_firmware "new.rtfw" --> "2.0.0", false
      headset.update_failed h:update_firmware "tone.wav"
    headset.Headset:reboot
      call h:reboot() -->
      then h.connected --> true
    headset.Headset:on
      set heard = 0
      call h:on("ambient", function() heard = heard + 1 end) --> subscription to "ambient" (active)
      then h:set_ambient { left = 1 }, task.sleep(1), heard --> nil, nil, 1
    headset.Headset:once
      set heard = 0
      call h:once("ambient", function() heard = heard + 1 end) --> subscription to "ambient" (active)
      then h:set_ambient { left = 1 }, h:set_ambient { left = 2 }, task.sleep(1), heard --> nil, nil, nil, 1
    headset.Headset:wait
      set task.spawn(function() task.sleep(1) h:set_ambient { left = 1 } end)
      call h:wait "ambient" -->
      then h:wait("ambient", 1) --> nil, "timeout"
      then during(function() h:disconnect() end, h.wait, h, "ambient") --> nil, "closed"
    """#
}
