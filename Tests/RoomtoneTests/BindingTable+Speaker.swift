extension BindingTable {
  static let speaker = #"""
    speaker.open
      call speaker.open() -->
      then speaker.is_open() --> true
      speaker.unsupported speaker.close() speaker.open { driver = "hkwhub" }
      speaker.closed speaker.close() task.spawn(speaker.close) speaker.open()
    speaker.close
      set subscription = speaker.on("state", print)
      call speaker.close() -->
      then subscription.active --> false
      then speaker.is_open(), code(speaker.state) --> false, "speaker.closed"
    speaker.is_open
      call speaker.is_open() --> true
    speaker.is_opening
      call speaker.is_opening() --> false
    speaker.capabilities
      call speaker.capabilities() -->
      then speaker.capabilities().seek --> true
    speaker.devices
      call speaker.devices() -->
      then names(speaker.devices()) \#
    --> "Living Room Left, Living Room Right, Kitchen, Bedroom Left, Bedroom Right, Bathroom"
    speaker.device
      call speaker.device "KITCH" --> speaker "Kitchen" (volume 22, active)
      then speaker.device(kitchen.id), failure(speaker.device, "Kitchn").suggestion \#
    --> speaker "Kitchen" (volume 22, active), "Kitchen"
      then failure(speaker.device, "Left").candidates --> {"Living Room Left", "Bedroom Left"}
      speaker.unknown speaker.device "Attic"
    speaker.find
      call speaker.find "kitchen" --> speaker "Kitchen" (volume 22, active)
      then speaker.find "bedroom l", speaker.find "Attic" --> speaker "Bedroom Left" (volume 18, active), nil
      speaker.unknown speaker.find "Left"
    speaker.groups
      call speaker.groups() -->
      then #speaker.groups(), speaker.groups()[3] --> 4, group "Bedroom" (2 speakers)
    speaker.group
      call speaker.group "bedr" --> group "Bedroom" (2 speakers)
      then names(group.devices), group.active, speaker.group(group.id) == group \#
    --> "Bedroom Left, Bedroom Right", true, true
      then failure(speaker.group, "Bedrom").suggestion --> "Bedroom"
      then empty "Living Room", code(speaker.group, "Living Room") \#
    --> group "Living Room" (0 speakers), "speaker.unknown"
      speaker.unknown speaker.group "Attic"
    speaker.active_devices
      set kitchen:leave()
      call speaker.active_devices() -->
      then #speaker.active_devices() --> 5
    speaker.active_groups
      set kitchen:leave()
      call speaker.active_groups() -->
      then #speaker.active_groups() --> 3
    speaker.sessions
      set other = speaker.session { name = "other" }
      call speaker.sessions() -->
      then speaker.sessions()[1] == session, speaker.sessions()[2] == other --> true, true
    speaker.set_volume
      call speaker.set_volume(10) -->
      then speaker.volume(), kitchen.volume --> 10, 10
      speaker.no_active_device leave() speaker.set_volume(10)
    speaker.volume
      set kitchen:mute()
      call speaker.volume() --> 18
    speaker.mute
      call speaker.mute() -->
      then kitchen.muted, kitchen.volume, speaker.is_muted() --> true, 22, true
      speaker.no_active_device leave() speaker.mute()
    speaker.unmute
      set speaker.mute()
      call speaker.unmute() -->
      then kitchen.muted, speaker.is_muted() --> false, false
      speaker.no_active_device leave() speaker.unmute()
    speaker.is_muted
      set speaker.mute()
      call speaker.is_muted() --> true
    speaker.play_stream
      call speaker.play_stream "http://fm/" -->
      then session --> session "test" (playing "FM", 6 speakers)
      stream.in_use speaker.play_stream(radio) speaker.session { devices = bath }:play_stream(radio)
      speaker.unknown speaker.play_stream(radio, { rooms = "Attic" })
      speaker.outranked other = speaker.session { devices = speaker.devices(), priority = 500 } \#
    other:play "long.wav" speaker.play_stream(radio)
      speaker.no_stream other:close() speaker.stop() \#
    for _ = 1, 32 do task.spawn(speaker.interrupt, { play = "long.wav", devices = bath }) end \#
    task.sleep(1) speaker.play_stream(radio)
      speaker.no_active_device leave() for _, d in ipairs(session.rooms) do d:leave(session) end \#
    speaker.play_stream(radio)
    speaker.play
      call speaker.play "tone.wav" -->
      then session --> session "test" (playing "tone.wav", 6 speakers)
      then failure(speaker.play, "nowhere.wav").path, failure(speaker.play, "tone.wav", { start = 4 }).start \#
    --> "nowhere.wav", 4.0
      then code(speaker.play, "tone.wav", { start = -1 }), code(speaker.play, "a", { priority = "x" }) \#
    --> "argument", "argument"
      then speaker.play("long.wav", { start = 7.5, priority = 200 }), speaker.position(), session.priority \#
    --> nil, 7.5, 200
      then speaker.play("tone.wav", { loop = true }), task.sleep(7.5), speaker.position() --> nil, nil, 1.5
      then speaker.play({ "tone.wav" }, { loop = true }), task.sleep(7.5), speaker.position() --> nil, nil, 1.5
      then speaker.pause(), speaker.play("long.wav", { resume = true }), speaker.state(), speaker.duration() \#
    --> nil, nil, "playing", 3.0
      then speaker.stop(), speaker.play("long.wav", { resume = true }), speaker.duration() --> nil, nil, 10.0
      then failure(speaker.play, "text.wav").byte, failure(speaker.play, "text.wav").found ~= nil --> 0, true
      audio.not_found speaker.play "nowhere.wav"
      audio.unreadable speaker.play "text.wav"
      audio.unsupported speaker.play "stations.m3u"
      stream.url speaker.play "http://[bad/"
      stream.unsupported speaker.play "mms://radio/"
      speaker.range speaker.play("tone.wav", { start = 60 })
      speaker.unknown speaker.play("tone.wav", { rooms = "Attic" })
      speaker.outranked other = speaker.session { devices = speaker.devices(), priority = 500 } \#
    other:play "long.wav" speaker.play "tone.wav"
      speaker.no_stream other:close() speaker.stop() \#
    for _ = 1, 32 do task.spawn(speaker.interrupt, { play = "long.wav", devices = bath, priority = 200 }) end \#
    task.sleep(1) speaker.play "tone.wav"
      speaker.no_active_device leave() for _, d in ipairs(session.rooms) do d:leave(session) end \#
    speaker.play "tone.wav"
    speaker.next
      set speaker.play { "tone.wav", "long.wav" }
      call speaker.next() -->
      then session.source.title, select(2, speaker.queue()) --> "long.wav", 2
      speaker.no_queue speaker.play_stream "http://fm/" speaker.next()
    speaker.previous
      set speaker.play { "tone.wav", "long.wav" } speaker.next() task.sleep(1)
      call speaker.previous() -->
      then select(2, speaker.queue()) --> 1
      speaker.no_queue speaker.stop() speaker.previous()
    speaker.queue
      set speaker.play { "tone.wav", "long.wav" }
      call speaker.queue() -->
      then #speaker.queue(), speaker.queue()[2].title, select(2, speaker.queue()) --> 2, "long.wav", 1
      then speaker.play("long.wav", { title = "song" }), speaker.queue()[1].title --> nil, "song"
    speaker.pause
      set speaker.play "tone.wav"
      call speaker.pause() -->
      then speaker.state() --> "paused"
    speaker.resume
      set speaker.play "long.wav" speaker.pause()
      call speaker.resume() -->
      then speaker.state() --> "playing"
      speaker.not_paused speaker.resume()
    speaker.stop
      set speaker.play "tone.wav"
      call speaker.stop() -->
      then speaker.state(), session.source --> "stopped", nil
    speaker.state
      call speaker.state() --> "stopped"
    speaker.is_playing
      set speaker.play "tone.wav"
      call speaker.is_playing() --> true
    speaker.position
      set speaker.play "long.wav" speaker.seek(4) speaker.pause()
      call speaker.position() --> 4.0
    speaker.duration
      set speaker.play "tone.wav"
      call speaker.duration() --> 3.0
      then speaker.stop(), speaker.duration() --> nil, nil
    speaker.seek
      set speaker.play "long.wav" speaker.pause()
      call speaker.seek "7s" -->
      then speaker.position(), failure(speaker.seek, 60).seconds, code(speaker.seek, 0 / 0) \#
    --> 7.0, 60.0, "argument"
      speaker.range speaker.seek(60)
      stream.no_seek speaker.play_stream(stream.new "http://show/") speaker.seek(1000)
      stream.no_seek speaker.play_stream(radio) speaker.seek(1)
      speaker.no_seek speaker.stop() speaker.seek(1)
    speaker.set_gain
      call speaker.set_gain(-6.5) -->
    speaker.set_eq
      call speaker.set_eq { [31] = 3 } -->
      then speaker.eq()[31], select(2, speaker.eq()) --> 3.0, nil
    speaker.eq
      set speaker.set_eq "rock"
      call speaker.eq() -->
      then select(2, speaker.eq()) --> "rock"
    speaker.fade
      set start = task.now()
      call speaker.fade { volume = 10, over = 60 } -->
      then kitchen.volume, task.now() - start >= 60 --> 10, true
      speaker.range speaker.fade { gain = 0, over = "25h" }
      speaker.no_active_device leave() speaker.fade { volume = 10, over = 60 }
    speaker.refresh
      set house:set_wifi(kitchen, -70)
      call speaker.refresh() -->
      then kitchen.wifi_signal --> -70
    speaker.watch
      set house:set_wifi(kitchen, -70)
      call speaker.watch(true) -->
      then task.sleep(3), kitchen.wifi_signal --> nil, -70
      then speaker.watch(false), house:set_wifi(kitchen, -50), task.sleep(5), kitchen.wifi_signal \#
    --> nil, nil, nil, -70
    speaker.session
      call speaker.session { name = "bath", devices = "Bathroom" } --> session "bath" (stopped, 1 speaker)
      then bath.session.name, #session.devices --> "bath", 5
      speaker.unknown speaker.session { devices = "Attic" }
      script.flooded for _ = 1, 1001 do kept = { speaker.session(), kept } end
    speaker.interrupt
      set speaker.play "long.wav"
      call speaker.interrupt { play = "tone.wav", devices = kitchen } -->
      then kitchen.session == session --> true
      then speaker.interrupt { play = "tone.wav", devices = kitchen, volume = 9, restore = false }, kitchen.session, \#
    kitchen.volume, session:state() --> nil, nil, 9, "playing"
      then code(speaker.interrupt, { priority = 99, play = "tone.wav" }) --> "speaker.outranked"
      then code(speaker.interrupt, { play = function() error { code = "mine" } end }) --> "mine"
      audio.not_found speaker.interrupt { play = "nowhere.wav" }
      audio.unreadable speaker.interrupt { play = "text.wav" }
      audio.unsupported speaker.interrupt { play = "stations.m3u" }
      stream.url speaker.interrupt { play = "http://[bad/" }
      stream.unsupported speaker.interrupt { play = "mms://radio/" }
      speaker.unknown speaker.interrupt { play = "tone.wav", devices = "Attic" }
      speaker.outranked speaker.session { devices = bath, priority = 500 }:play "long.wav" \#
    speaker.interrupt { play = "tone.wav", devices = bath }
      speaker.no_active_device for _, device in ipairs(speaker.devices()) do house:unplug(device) end \#
    local err = failure(speaker.interrupt, { play = "tone.wav" }) \#
    for _, device in ipairs(speaker.devices()) do house:plug(device) end error(err)
      speaker.no_stream for _ = 1, 30 do task.spawn(speaker.interrupt, { play = "long.wav", devices = kitchen }) end \#
    task.sleep(1) speaker.interrupt { play = "tone.wav", devices = kitchen }
    speaker.snapshot
      call speaker.snapshot { devices = "Bedroom" } --> snapshot of 2 speakers
      speaker.unknown speaker.snapshot { devices = "Attic" }
    speaker.house
      call speaker.house() --> house (its controls)
    speaker.finish
      set speaker.play "tone.wav"
      call speaker.finish() --> "finished"
      then select("#", speaker.finish()) --> 0
      then speaker.play("tone.wav"), speaker.finish(1) --> nil, nil, "timeout"
    speaker.on
      set heard, states, other = {}, {}, speaker.session { name = "other", devices = bath } \#
    speaker.on("state", function(e) table.insert(states, e.session.name) end) \#
    speaker.on("state", { all = true }, function(e) table.insert(states, "all " .. e.session.name) end)
      call speaker.on("volume", function(e) table.insert(heard, e.device.name) end) -->
      then speaker.device "Bathroom":set_volume(1), task.sleep(1), heard --> nil, nil, {"Bathroom"}
      then other:play "tone.wav", task.sleep(1), states --> nil, nil, {"all other"}
    speaker.once
      set heard, begun, other = 0, {}, speaker.session { name = "other", devices = bath } \#
    speaker.once("state", { all = true }, function(e) table.insert(begun, e.session.name) end)
      call speaker.once("volume", function() heard = heard + 1 end) --> subscription to "volume" (active)
      then speaker.set_volume(1), task.sleep(1), heard --> nil, nil, 1
      then other:play "tone.wav", task.sleep(4), begun --> nil, nil, {"other"}
    speaker.wait
      set speaker.play "tone.wav"
      call speaker.wait "time" \#
    --> {elapsed = 1, session = session "test" (playing "tone.wav", 6 speakers)}
      then speaker.wait("volume", 1) --> nil, "timeout"
      then speaker.stop(), speaker.session { name = "other", devices = bath }:play "long.wav", \#
    speaker.wait("time", { all = true }, 5).session.name --> nil, nil, "other"
      then speaker.wait("time", { all = false }, 2) --> nil, "timeout"
      then during(speaker.close, speaker.wait, "volume") --> nil, "closed"
    speaker.history
      set kitchen:set_volume(7) task.sleep(1)
      call speaker.history { device = kitchen, kind = "volume" } -->
      then speaker.history { device = kitchen, kind = "volume" }[1].to --> 7
      speaker.unknown speaker.history { device = "Attic" }
    """#
}
