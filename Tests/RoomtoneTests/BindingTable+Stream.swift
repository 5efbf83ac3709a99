extension BindingTable {
  static let stream = #"""
    stream.effect.gain
      call stream.effect.gain(-6) --> effect gain
      then behind(results[1]) --> -15.0, -21.0
    stream.effect.equalizer
      call stream.effect.equalizer { [62] = 3, [1000] = -12 } --> effect equalizer
      then behind(results[1]) --> -21.0, -27.0
    stream.effect.mono
      call stream.effect.mono() --> effect mono
      then behind(results[1]) --> -21.1, -21.1
    stream.effect.swap
      call stream.effect.swap() --> effect swap
      then behind(results[1]) --> -15.0, -9.0
    stream.effect.lowpass
      call stream.effect.lowpass(200) --> effect lowpass
      then behind(results[1]) --> -37.0, -43.0
    stream.effect.highpass
      call stream.effect.highpass(5000.5) --> effect highpass
      then behind(results[1]) --> -37.7, -43.7
    stream.new
      call stream.new("http://me:secret@fm/", { buffer_blocks = 20, auth = { "me", "pw" } }) \#
    --> stream (http://fm/, stopped)
      then stream.new "morning" --> stream (http://fm/, stopped)
      then code(stream.new, "http://fm/", { auth = "me" }) --> "argument"
      stream.url stream.new "evening"
      stream.unsupported stream.new "mms://radio/"
      stream.auth stream.new "locked"
    stream.stations
      call stream.stations() --> {locked = "http://fm/", morning = "http://fm/"}
    stream.file
      call stream.file("tone.wav", { pause_timeout = 0 }) -->
      then stream.file("tone.wav").status --> "stopped"
      audio.not_found stream.file "http://me:secret@fm/"
    stream.Stream:start
      call radio:start() -->
      then radio.status, radio.format, radio.name, radio.title --> "playing", "mp3", "FM", "A - B"
      then radio.artist, radio.title_without_artist, radio.text, radio.bit_rate, radio.is_playing \#
    --> "A", "B", "A - B", 128, true
      stream.not_found stream.new "http://gone/":start()
      stream.not_found stream.file "nowhere.mp3":start()
      stream.auth stream.new "http://private/":start()
      stream.http stream.new "http://broken/":start()
      stream.network stream.new "http://refused/":start()
      stream.timeout stream.new "http://silent/":start()
      stream.content stream.new "http://page/":start()
      stream.unsupported stream.file "midi.mid":start()
      task.cancelled other = stream.new "http://other/" task.spawn(function() other:stop() end) other:start()
    stream.Stream:stop
      set radio:start()
      call radio:stop() -->
      then radio.status --> "stopped"
    stream.Stream:pause
      set radio:start()
      call radio:pause() -->
      then radio.status --> "paused"
    stream.Stream:rewind
      set radio:start() task.sleep(20)
      call radio:rewind(5) -->
      then radio.time_shift > 5 --> true
      stream.no_seek radio:stop() radio:rewind(1)
    stream.Stream:forward
      set radio:start() task.sleep(20) radio:rewind(10)
      call radio:forward(5) -->
      stream.no_seek radio:stop() radio:forward(1)
    stream.Stream:can_rewind
      set radio:start() task.sleep(20)
      call radio:can_rewind(10) --> true
      then radio:can_rewind("1h") --> false
    stream.Stream:can_forward
      set radio:start()
      call radio:can_forward "1h" --> false
    stream.Stream:seek
      set radio = stream.file "long.wav" radio:start() radio:pause()
      call radio:seek(6) -->
      then radio.file_time, radio.file_duration --> 6.0, 10.0
      stream.no_seek radio:seek(60)
    stream.Stream:go_live
      set radio:start() task.sleep(20) radio:rewind(10)
      call radio:go_live() -->
      then radio.time_shift < 5 --> true
      stream.no_seek radio:stop() radio:go_live()
    stream.Stream:audiovault
      call radio:audiovault { url = "http://fm/now.xml", timezone = "EST", elements = { event = "cut" } } -->
      stream.url radio:audiovault { url = "now.xml" }
      stream.unsupported radio:audiovault { url = "ftp://fm/now.xml" }
    stream.Stream:live365
      call radio:live365 { url = "http://fm/now.xml" } -->
      stream.url radio:live365 { url = "now.xml" }
      stream.unsupported radio:live365 { url = "ftp://fm/now.xml" }
    stream.Stream:set_gain
      call radio:set_gain(-3) -->
      then radio.gain --> -3.0
    stream.Stream:meter
      call radio:meter(true) -->
    stream.Stream:levels
      set radio:meter(true) radio:start() task.sleep(1)
      call radio:levels() -->
    stream.Stream:record
      call radio:record "show.{ext}" --> recording (~/recordings/show.mp3, recording, 4 s)
      then task.sleep(5) or #recordings.list() --> 1
      then radio:record("show.{ext}", { format = "wav" }).path --> "~/recordings/show.wav"
      record.write radio:record(FOLDER .. "/tone.wav/x.mp3")
      record.disk_full radio:record("d.mp3", { min_free = "900TB" })
      record.exists radio:record(FOLDER .. "/tone.wav", { append = true })
      stream.in_use radio:record("b.mp3", { reset = true })
      stream.unsupported stream.new "http://show/":record("c.mp3", { split = true })
    stream.Stream:tap
      call radio:tap(stream.effect.mono()) --> tap of effect mono (active)
      then radio:tap(print).active --> true
      script.objects for _ = 1, 20000 do kept = { radio:tap(print), kept } end
    stream.Stream:set_url
      call radio:set_url("http://other/", { user_agent = "Me" }) -->
      then radio.url, radio.user_agent, radio.status --> "http://other/", "Me", "playing"
      stream.url radio:set_url "evening"
      stream.unsupported radio:set_url "mms://radio/"
      stream.auth radio:set_url "locked"
    stream.Stream:set_type
      call radio:set_type "raw" -->
      then radio.type --> "raw"
    stream.Stream:set_buffer_blocks
      call radio:set_buffer_blocks(20) -->
      then radio.buffer_blocks --> 20
    stream.Stream:set_max_bit_rate
      call radio:set_max_bit_rate(96) -->
      then radio.max_bit_rate --> 96
    stream.Stream:set_user_agent
      call radio:set_user_agent "Me" -->
      then radio.user_agent --> "Me"
    stream.Stream:set_data_timeout
      call radio:set_data_timeout "5s" -->
      then radio.data_timeout --> 5.0
    stream.Stream:set_pause_timeout
      call radio:set_pause_timeout "1m" -->
      then radio.pause_timeout --> 60.0
    stream.Stream:set_metadata_encoding
      call radio:set_metadata_encoding "koi8-r" -->
      then radio.metadata_encoding --> "koi8-r"
    stream.Stream:set_buffer_wait
      call radio:set_buffer_wait(2) -->
      then radio.buffer_wait --> 2.0
    stream.Stream:set_catch_up
      call radio:set_catch_up "keep" -->
      then radio.catch_up --> "keep"
    stream.Stream:set_is_file
      call radio:set_is_file(false) -->
      then radio.is_file, radio:set_is_file(nil), radio.is_file --> false, nil, nil
    stream.Stream:set_buffer_wait_file
      call radio:set_buffer_wait_file(1) -->
      then radio.buffer_wait_file --> 1.0
    stream.Stream:set_throttle_bypass
      call radio:set_throttle_bypass "30s" -->
      then radio.throttle_bypass --> 30.0
    stream.Stream:set_auth
      call radio:set_auth("me", "secret") -->
    stream.Stream:on
      set heard = 0
      call radio:on("started", function() heard = heard + 1 end) --> subscription to "started" (active)
      then radio:start(), radio:pause(), radio:start(), task.sleep(1), heard --> nil, nil, nil, nil, 2
    stream.Stream:once
      set heard = 0
      call radio:once("started", function() heard = heard + 1 end) --> subscription to "started" (active)
      then radio:start(), radio:pause(), radio:start(), task.sleep(1), heard --> nil, nil, nil, nil, 1
    stream.Stream:wait
      set task.spawn(function() task.sleep(1) radio:start() end)
      call radio:wait "started" --> {}
      then radio:wait("paused", 1) --> nil, "timeout"
    stream.Recording:stop
      call recording:stop() -->
      then recording.state, #recordings.list() --> "finished", 1
    stream.Recording:on
      set heard = 0
      call recording:on("recording_finished", function() heard = heard + 1 end) -->
      then recording:stop(), task.sleep(1), heard --> nil, nil, 1
    stream.Recording:once
      set heard = 0
      call recording:once("recording_finished", function() heard = heard + 1 end) -->
      then recording:stop(), task.sleep(1), heard --> nil, nil, 1
    stream.Recording:wait
      set task.spawn(function() task.sleep(5) recording:stop() end)
      call recording:wait "recording_finished" -->
      then recording:wait("track", 1) --> nil, "closed"
    stream.Tap:remove
      call tap:remove() -->
      then tap.active, tap:remove() --> false
    stream.Block:get
      call inside(function(block) return block:get(1, 1) end) -->
      then inside(function(block) block:set(1, 1, 0.5) return block:get(1, 1) end) --> 0.5
    stream.Block:set
      call inside(function(block) block:set(1, 2, -1) end) -->
    stream.Block:rms
      call inside(function(block) return block:rms(2) end) -->
      then inside(function(block) return block:rms() < 0 end) --> true
    stream.Block:spectrum
      call inside(function(block) return block:spectrum(8) end) -->
      then inside(function(block) return #block:spectrum(8) end) --> 8
    recordings.list
      set recording:stop()
      call recordings.list { station = "fm", state = "finished", limit = 1 } -->
      then recordings.list()[1].codec, recordings.list { title = "zz" } --> "mp3", {}
    recordings.verify
      set recording:stop()
      call recordings.verify(recording.path) -->
      then recordings.verify(recording.path).good --> true
      record.read recordings.verify "nowhere.mp3"
    recordings.repair
      call recordings.repair() --> {}
    recordings.forget
      set recording:stop()
      call recordings.forget(recording.path) --> true
      then recordings.list(), recordings.forget(recording.path) --> {}, false
      record.write recording = radio:record "b.mp3" recordings.forget(recording.path)
    recordings.expire
      set recording:stop() task.sleep "2h"
      call recordings.expire { keep = "1h" } --> {"~/recordings/a.mp3"}
      then recordings.list(), recordings.expire { keep = "1h" } --> {}, {}
    """#
}
