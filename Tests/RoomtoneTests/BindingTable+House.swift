extension BindingTable {
  static let house = #"""
    speaker.Device:set_volume
      call kitchen:set_volume(9) -->
      then kitchen.volume --> 9
      speaker.unavailable house:remove(kitchen) kitchen:set_volume(3)
    speaker.Device:mute
      call kitchen:mute() -->
      then kitchen, kitchen.muted --> speaker "Kitchen" (volume 22, muted, active), true
      speaker.unavailable house:remove(kitchen) kitchen:mute()
    speaker.Device:unmute
      set kitchen:mute()
      call kitchen:unmute() -->
      then kitchen.muted --> false
      speaker.unavailable house:remove(kitchen) kitchen:unmute()
    speaker.Device:join
      set other = speaker.session()
      call kitchen:join(other) -->
      then message(kitchen.join, kitchen, 7) --> "bad argument #2 to 'join' (session expected, got number)"
      then kitchen.session == other, other.devices --> true, {speaker "Kitchen" (volume 22, active)}
      speaker.unavailable house:remove(kitchen) kitchen:join()
    speaker.Device:leave
      call kitchen:leave() -->
      then kitchen.session, kitchen.active --> nil, false
      speaker.unavailable house:remove(kitchen) kitchen:leave()
    speaker.Device:refresh_wifi
      set house:set_wifi(kitchen, -71)
      call kitchen:refresh_wifi() --> -71
      then kitchen.wifi_signal, kitchen.wifi_strength --> -71, "weak"
      speaker.unavailable house:remove(kitchen) kitchen:refresh_wifi()
    speaker.Device:set_name
      call kitchen:set_name "Galley" -->
      then kitchen.name, speaker.device "Galley" == kitchen --> "Galley", true
      speaker.range kitchen:set_name "Bathroom"
      speaker.unavailable house:remove(kitchen) kitchen:set_name "Kitchen"
    speaker.Device:set_group
      call kitchen:set_group "Bedroom" -->
      then kitchen.group, kitchen.is_master --> group "Bedroom" (3 speakers), false
      then kitchen.group_id == speaker.device "Bedroom Left".id --> true
      then speaker.play "long.wav", during(function() kitchen:set_group "Kitchen" end, speaker.wait, "error").device \#
    --> nil, speaker "Kitchen" (volume 22, active)
      speaker.range kitchen:set_group " "
      speaker.unavailable house:remove(kitchen) kitchen:set_group "Bedroom"
    speaker.Device:leave_group
      call kitchen:leave_group() -->
      then kitchen.group, kitchen.group_name --> nil, "harman"
      then kitchen.group_id == kitchen.id, kitchen.is_master, kitchen.output --> true, true, "invented, on null"
      speaker.unavailable house:remove(kitchen) kitchen:leave_group()
    speaker.Device:set_role
      call kitchen:set_role "left" -->
      then kitchen.role, kitchen.channel_type --> "left", 1
      then kitchen:set_role "stereo", task.sleep(0.1), kitchen.channel_type --> nil, nil, 1
      then kitchen:set_role "mono", task.sleep(0.1), kitchen.channel_type --> nil, nil, 0
      speaker.unavailable house:remove(kitchen) kitchen:set_role "left"
    speaker.Device:set_balance
      call kitchen:set_balance(-6) -->
      then kitchen.balance --> -6
      then message(kitchen.set_balance, kitchen, 7) \#
    --> "bad argument #2 to 'set_balance' (-6 to 6 expected, got 7)"
      speaker.unavailable house:remove(kitchen) kitchen:set_balance(0)
    speaker.Device:fade
      call kitchen:fade { to = 0, over = "1m" } -->
      then kitchen.volume --> 0
      speaker.range kitchen:fade { to = 0, over = "25h" }
      speaker.unavailable house:remove(kitchen) kitchen:fade { to = 0, over = 1 }
    speaker.Device:on
      set heard = 0
      call kitchen:on("volume", function() heard = heard + 1 end) --> subscription to "volume" (active)
      then speaker.set_volume(1), task.sleep(1), heard --> nil, nil, 1
    speaker.Device:once
      set heard = 0
      call kitchen:once("volume", function() heard = heard + 1 end) --> subscription to "volume" (active)
      then kitchen:mute(), kitchen:unmute(), task.sleep(1), heard --> nil, nil, nil, 1
    speaker.Device:wait
      set task.spawn(function() task.sleep(1) bath:mute() kitchen:mute() end)
      call kitchen:wait "volume" \#
    --> {average = 14, device = speaker "Kitchen" (volume 22, muted, active), muted = true, volume = 22}
      then kitchen.muted, kitchen:wait("volume", 1) --> true, nil, "timeout"
      then during(speaker.close, kitchen.wait, kitchen, "volume") --> nil, "closed"
    speaker.Group:join
      set other = speaker.session()
      call group:join(other) -->
      then other --> session "session 2" (stopped, 2 speakers)
      speaker.unknown empty "Living Room":join()
    speaker.Group:leave
      call group:leave() -->
      then group.active, #session.devices --> false, 4
      speaker.unknown empty "Living Room":leave()
    speaker.Group:set_volume
      call group:set_volume(8) -->
      then group.volume, kitchen.volume --> 8, 22
      speaker.unavailable unplug "Bathroom":set_volume(8)
      speaker.unknown empty "Living Room":set_volume(8)
    speaker.Group:mute
      call group:mute() -->
      then group.muted, group.volume, kitchen.muted --> true, 0, false
      speaker.unavailable unplug "Bathroom":mute()
      speaker.unknown empty "Living Room":mute()
    speaker.Group:unmute
      set group:mute()
      call group:unmute() -->
      then group.muted, group.volume --> false, 18
      speaker.unavailable unplug "Bathroom":unmute()
      speaker.unknown empty "Living Room":unmute()
    speaker.Group:fade
      call group:fade { volume = 30, over = 30 } -->
      then group.volume --> 30
      speaker.range group:fade { volume = 30, over = "25h" }
      speaker.unavailable unplug "Bathroom":fade { volume = 30, over = 1 }
      then message(group.fade, empty "Living Room", { to = 30, over = 1 }) \#
    --> "no speaker is in the group \"Living Room\" any more"
      speaker.unknown empty "Living Room":fade { volume = 30, over = 1 }
    speaker.Group:on
      set heard = 0
      call group:on("volume", function() heard = heard + 1 end) --> subscription to "volume" (active)
      then speaker.set_volume(1), task.sleep(1), heard --> nil, nil, 2
    speaker.Group:once
      set heard = 0
      call group:once("volume", function() heard = heard + 1 end) --> subscription to "volume" (active)
      then group:set_volume(1), task.sleep(1), heard --> nil, nil, 1
    speaker.Group:wait
      set task.spawn(function() task.sleep(1) kitchen:mute() group:mute() end)
      call group:wait "volume" -->
      then group.muted, group:wait("volume", 1) --> true, nil, "timeout"
      then during(speaker.close, group.wait, group, "volume") --> nil, "closed"
    speaker.Session:play
      set session = speaker.session { devices = kitchen }
      call session:play("tone.wav", { title = "tone" }) -->
      then session, speaker.state() --> session "session 2" (playing "tone", 1 speaker), "stopped"
    speaker.Session:next
      set session:play { "tone.wav", "long.wav" }
      call session:next() -->
      then session.source.title --> "long.wav"
      speaker.no_queue session:stop() session:next()
    speaker.Session:previous
      set session:play { "tone.wav", "long.wav" } session:next()
      call session:previous() -->
      then session.source.title --> "tone.wav"
      speaker.no_queue session:stop() session:previous()
    speaker.Session:queue
      call session:queue() --> {}, nil
      then session:play "tone.wav", session:queue()[1].title --> nil, "tone.wav"
    speaker.Session:pause
      set session:play "tone.wav"
      call session:pause() -->
      then session:state() --> "paused"
    speaker.Session:resume
      set session:play "long.wav" session:pause()
      call session:resume() -->
      then session:state() --> "playing"
      speaker.not_paused session:resume()
    speaker.Session:stop
      set session:play "tone.wav"
      call session:stop() -->
      then session:state() --> "stopped"
    speaker.Session:state
      set session:play "tone.wav"
      call session:state() --> "playing"
    speaker.Session:is_playing
      set session:play "tone.wav" session:pause()
      call session:is_playing() --> false
    speaker.Session:position
      call session:position() --> 0.0
    speaker.Session:duration
      call session:duration() --> nil
      then session:play "tone.wav", session:duration() --> nil, 3.0
    speaker.Session:seek
      set session:play "long.wav" session:pause()
      call session:seek(2) -->
      then session:position() --> 2.0
      speaker.range session:seek(60)
      stream.no_seek session:play_stream(stream.new "http://show/") session:seek(1000)
      stream.no_seek session:play_stream(radio) session:seek(1)
      speaker.no_seek session:stop() session:seek(1)
    speaker.Session:finish
      set session:play "tone.wav"
      call session:finish() --> "finished"
    speaker.Session:set_volume
      set kitchen:leave()
      call session:set_volume(4) -->
      then session:volume(), kitchen.volume --> 4, 22
      speaker.no_active_device speaker.session():set_volume(4)
    speaker.Session:set_gain
      call session:set_gain(12) -->
    speaker.Session:play_stream
      call session:play_stream("http://fm/", { title = "FM" }) -->
      then session --> session "test" (playing "FM", 6 speakers)
    speaker.Session:set_eq
      call session:set_eq "night" -->
      then select(2, session:eq()) --> "night"
    speaker.Session:eq
      call session:eq() -->
      then select(2, session:eq()), session:eq()[16000] --> "flat", 0.0
    speaker.Session:fade
      set session:play "long.wav" start = task.now()
      call session:fade { gain = -20, over = 5 } -->
      then task.now() - start >= 5 --> true
      speaker.range session:fade { gain = 0, over = "25h" }
      speaker.no_active_device speaker.session():fade { volume = 4, over = 1 }
    speaker.Session:close
      set session = speaker.session { devices = kitchen }
      call session:close() -->
      then kitchen.session, session:state(), #speaker.sessions() --> nil, "stopped", 1
    speaker.Session:volume
      set session = speaker.session { devices = kitchen }
      call session:volume() --> 22
    speaker.Session:mute
      set session = speaker.session { devices = kitchen }
      call session:mute() -->
      then session:is_muted(), speaker.is_muted() --> true, false
      speaker.no_active_device speaker.session():mute()
    speaker.Session:unmute
      set session:mute()
      call session:unmute() -->
      then session:is_muted() --> false
      speaker.no_active_device speaker.session():unmute()
    speaker.Session:is_muted
      call session:is_muted() --> false
    speaker.Session:on
      set heard = {}
      call session:on("state", function(e) table.insert(heard, e.state) end) -->
      then session:play "tone.wav", session:finish(), heard --> nil, "finished", {"playing", "stopped"}
    speaker.Session:once
      set heard = {}
      call session:once("state", function(e) table.insert(heard, e.state) end) -->
      then session:play "tone.wav", session:finish(), heard --> nil, "finished", {"playing"}
    speaker.Session:wait
      set session:play "tone.wav"
      call session:wait "time" --> {elapsed = 1, session = session "test" (playing "tone.wav", 6 speakers)}
      then session:wait("state", 0.5) --> nil, "timeout"
      then during(speaker.close, session.wait, session, "state") --> nil, "closed"
    speaker.Snapshot:restore
      set kitchen:set_volume(9) task.sleep(1) snapshot = speaker.snapshot() kitchen:set_volume(1)
      call snapshot:restore() -->
      then kitchen.volume, #snapshot.devices --> 9, 6
      speaker.outranked speaker.play("tone.wav", { rooms = kitchen }) snapshot = speaker.snapshot() \#
    local vip = speaker.session { devices = kitchen, priority = 500 } vip:play("tone.wav", { loop = true }) \#
    local err = failure(snapshot.restore, snapshot) vip:close() error(err)
      audio.unreadable restored("tone.wav", "no sound at all, but a text")
      audio.unsupported restored("long.wav", "MThd\0\0\0\6\0\0\0\1\0\1")
      audio.not_found os.remove(FOLDER .. "/long.wav") snapshot:restore()
    speaker.House:unplug
      call house:unplug(bath) -->
      then bath, bath.active, bath.wifi_strength --> speaker "Bathroom" (volume 20, unavailable), true, "none"
      then code(bath.set_role, bath, "left"), code(bath.set_name, bath, "X"), code(bath.refresh_wifi, bath) \#
    --> "speaker.unavailable", "speaker.unavailable", "speaker.unavailable"
      speaker.unavailable house:remove(bath) house:unplug(bath)
    speaker.House:plug
      set house:unplug(bath)
      call house:plug(bath) -->
      then bath.available --> true
      speaker.unavailable house:remove(bath) house:plug(bath)
    speaker.House:set_wifi
      call house:set_wifi(bath, -100) -->
      then bath:refresh_wifi() --> -100
      speaker.unavailable house:remove(bath) house:set_wifi(bath, -50)
    speaker.House:add
      call house:add { name = "Attic", volume = 3 } --> speaker "Attic" (volume 3, idle)
      then speaker.device "Attic".session --> nil
      speaker.range house:add { name = "Attic" }
    speaker.House:remove
      call house:remove(bath) -->
      then speaker.find "Bathroom" --> nil
      speaker.unavailable house:remove(bath)
    Subscription:cancel
      set heard = 0 subscription = speaker.on("volume", function() heard = heard + 1 end)
      call subscription:cancel() -->
      then speaker.mute(), task.sleep(1), heard, subscription.active --> nil, nil, 0, false
    """#
}
