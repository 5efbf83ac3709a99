/// Changes, and their answers.
extension WhyTests {
  static let changes: [Case] = [
    Case(
      title: "a volume", code: "kitchen:set_volume(7) task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 7 (was 22)", "  00:00:00  test.lua:4  set_volume(7), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "a volume by a job",
      code:
        "schedule.cron('30 23 * * *', { name = 'bedtime' }, function() kitchen:set_volume(5) task.sleep(1) why(kitchen) os.exit() end)",
      answer: [
        "Kitchen is at 5 (was 22)",
        #"  23:30:00  test.lua:4  set_volume(5), by job "bedtime" (cron "30 23 * * *")"#,
      ]),
    Case(
      title: "a fade",
      code: "kitchen:set_volume(10) task.sleep '2m' kitchen:fade { to = 20, over = '20s' } why 'Kitchen'",
      answer: [
        "Kitchen is at 20 (was 10)", "  00:02:02  test.lua:4  fade(), by test.lua, started 00:00:00",
        "  00:00:00  before that, 10: test.lua:4  set_volume(10), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "a volume by a trigger",
      code:
        "trigger.on('bell', function() kitchen:set_volume(9) end) trigger.fire 'bell' task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 9 (was 22)",
        #"  00:00:00  test.lua:4  set_volume(9), by trigger "bell", by fire at test.lua:4, by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "a volume by a routine that waited for a trigger",
      code:
        "task.spawn(function() trigger.wait 'bell' kitchen:set_volume(9) end) task.sleep(1) trigger.fire 'bell' task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 9 (was 22)",
        #"  00:00:01  test.lua:4  set_volume(9), by trigger "bell", by fire at test.lua:4, by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "a volume by a listener",
      code:
        "speaker.on('volume', function(e) if e.device == bath then kitchen:set_volume(e.volume) end end) bath:set_volume(3) task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 3 (was 22)",
        #"  00:00:00  test.lua:4  set_volume(3), on "volume", by set_volume at test.lua:4, by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "a volume by the library",
      code:
        "local fade = require 'fade' fade.volume { kitchen, to = 12, over = 0 } task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 12 (was 22)", "  00:00:00  test.lua:4  volume(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "a volume in a coroutine of the script's own",
      code: "coroutine.wrap(function()\nkitchen:set_volume(4)\nend)() task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 4 (was 22)", "  00:00:00  test.lua:5  set_volume(4), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "an interruption",
      code:
        "speaker.interrupt { devices = kitchen, name = 'gong', volume = 40, play = function() task.sleep(1) why 'Kitchen' end }",
      answer: [
        "Kitchen is at 40 (was 22)",
        #"  00:00:00  interruption "gong", by interrupt at test.lua:4, by test.lua, started 00:00:00"#,
        #"Kitchen is in session "gong""#,
        #"  00:00:00  joins session "gong": test.lua:4  interrupt(), by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "the end of an interruption",
      code:
        "speaker.interrupt { devices = kitchen, name = 'gong', volume = 40, play = function() task.sleep(1) end } task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 22 (was 40)",
        #"  00:00:01  the end of interruption "gong", by interrupt at test.lua:4, by test.lua, started 00:00:00"#,
        #"  00:00:00  before that, 40: interruption "gong", by interrupt at test.lua:4, by test.lua, started 00:00:00"#,
        "Nothing plays in Kitchen",
        "  00:00:01  leaves its session: test.lua:4  interrupt(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "mute", code: "kitchen:mute() task.sleep(1) why 'Kitchen'",
      answer: ["Kitchen is muted, at 22", "  00:00:00  test.lua:4  mute(), by test.lua, started 00:00:00"]),
    Case(
      title: "unmute", code: "kitchen:mute() task.sleep(1) kitchen:unmute() task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  00:00:01  test.lua:4  unmute(), by test.lua, started 00:00:00",
        "  00:00:00  before that, muted: test.lua:4  mute(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "membership and playback", code: "kitchen:join() speaker.play 'tone.wav' why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", #"Kitchen plays "tone.wav""#,
        #"  00:00:00  ▶ tone.wav at volume 22: test.lua:4  play(), by test.lua, started 00:00:00"#,
        #"Kitchen is in session "test""#,
        #"  00:00:00  joins session "test": test.lua:4  join(), by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "a speaker that leaves",
      code: "kitchen:join() bath:join() speaker.play 'tone.wav' kitchen:leave() task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", "Nothing plays in Kitchen",
        "  00:00:00  leaves its session: test.lua:4  leave(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "the last speaker that leaves",
      code: "kitchen:join() speaker.play 'tone.wav' kitchen:leave() task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", "Nothing plays in Kitchen",
        #"  00:00:00  ■ tone.wav has no speaker left: no speaker was left, by leave at test.lua:4, by test.lua, started 00:00:00"#,
        "Kitchen is in no session",
        "  00:00:00  leaves its session: test.lua:4  leave(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "a pause",
      code: "kitchen:join() speaker.play 'tone.wav' speaker.pause() task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", #"Kitchen is paused in "tone.wav""#,
        #"  00:00:00  ⏸ paused: test.lua:4  pause(), by test.lua, started 00:00:00"#,
        #"Kitchen is in session "test""#,
        #"  00:00:00  joins session "test": test.lua:4  join(), by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "a resumption",
      code:
        "kitchen:join() speaker.play 'tone.wav' speaker.pause() task.sleep(1) speaker.resume() task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", #"Kitchen plays "tone.wav""#,
        #"  00:00:01  ▶ tone.wav at volume 22: test.lua:4  resume(), by test.lua, started 00:00:00"#,
        #"Kitchen is in session "test""#,
        #"  00:00:00  joins session "test": test.lua:4  join(), by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "a stop",
      code: "kitchen:join() speaker.play 'tone.wav' task.sleep(1) speaker.stop() task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", "Nothing plays in Kitchen",
        #"  00:00:01  ■ tone.wav is stopped: test.lua:4  stop(), by test.lua, started 00:00:00"#,
        #"Kitchen is in session "test""#,
        #"  00:00:00  joins session "test": test.lua:4  join(), by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "the end of a source",
      code: "kitchen:join() speaker.play 'tone.wav' task.sleep(5) why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", "Nothing plays in Kitchen",
        #"  00:00:03  ■ tone.wav has ended: it had been heard to its end"#,
        #"Kitchen is in session "test""#,
        #"  00:00:00  joins session "test": test.lua:4  join(), by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "a name", code: "kitchen:set_name 'Galley' task.sleep(1) why 'Galley'",
      answer: [
        "Galley is at 22", "  no change of it is known", #"Galley is called "Galley", before "Kitchen""#,
        #"  00:00:00  test.lua:4  set_name("Galley"), by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "a group", code: "kitchen:set_group 'Below' task.sleep(1) why(speaker.group 'Below')",
      answer: [
        "Kitchen is at 22", "  no change of it is known", #"Kitchen is in group "Below""#,
        #"  00:00:00  test.lua:4  set_group("Below"), by test.lua, started 00:00:00"#,
      ]
    ),
    Case(
      title: "a group, with a level that is reported before it",
      code:
        "kitchen:set_volume(7) kitchen:set_group 'Below' task.sleep(1) why(speaker.group 'Below')",
      answer: [
        "Kitchen is at 7 (was 22)", "  00:00:00  test.lua:4  set_volume(7), by test.lua, started 00:00:00",
        #"Kitchen is in group "Below""#,
        #"  00:00:00  test.lua:4  set_group("Below"), by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "role and balance",
      code: "kitchen:set_role 'left' kitchen:set_balance(-3) task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", "Kitchen has role left",
        #"  00:00:00  test.lua:4  set_role("left"), by test.lua, started 00:00:00"#, "Kitchen has balance -3",
        "  00:00:00  test.lua:4  set_balance(-3), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "equalizer, gain, position",
      code:
        "kitchen:join() speaker.play 'long.wav' speaker.set_eq { [31] = 6 } speaker.own:set_gain(-6) speaker.seek(4) task.sleep(1) why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", #"Kitchen plays "long.wav""#,
        #"  00:00:00  ▶ long.wav at volume 22: test.lua:4  play(), by test.lua, started 00:00:00"#,
        #"Kitchen is in session "test""#,
        #"  00:00:00  joins session "test": test.lua:4  join(), by test.lua, started 00:00:00"#,
        "Kitchen has equalizer 31 Hz +6 dB",
        "  00:00:00  test.lua:4  set_eq(), by test.lua, started 00:00:00", "Kitchen has gain -6 dB",
        "  00:00:00  test.lua:4  set_gain(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "a session",
      code:
        "local s = speaker.session { name = 'tea', devices = kitchen } s:play 'tone.wav' task.sleep(1) why(s)",
      answer: [
        #"session "tea""#,
        #"  00:00:00  ▶ tone.wav at volume 22: test.lua:4  play(), by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "a job that fails",
      code:
        "schedule.every('1m', { name = 'bad' }, function() error 'no sound' end) task.sleep '90s' why 'bad' os.exit()",
      answer: [
        #"job "bad": the next run is at 00:02:00"#, "  00:01:00  failed: test.lua:4: no sound",
        "  00:01:00  runs",
      ]),
    Case(
      title: "a run that was asked for",
      code:
        "local job = schedule.at('12:00', { name = 'noon' }, function() end) job:run_now() task.sleep(1) why(job) os.exit()",
      answer: [
        #"job "noon": the next run is at 12:00:00"#,
        "  00:00:00  runs: test.lua:4  run_now(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "a trigger",
      code: "trigger.on('bell', function() end) trigger.fire('bell', { button = 'front' }) why 'bell'",
      answer: [
        #"trigger "bell""#,
        #"  00:00:00  came with {"button":"front"}, and 1 listened: test.lua:4  fire(), by test.lua, started 00:00:00"#,
      ]),
  ]
}
