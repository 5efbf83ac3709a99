/// Questions about things that did not happen, and their answers.
extension WhyTests {
  static let silences: [Case] = [
    Case(
      title: "nothing has changed", code: "why 'Kitchen'",
      answer: ["Kitchen is at 22", "  no change of it is known"]),
    Case(
      title: "a session that does nothing", code: "why(speaker.own)",
      answer: [#"session "test""#, "  no change of it is known"]),
    Case(
      title: "a run that was skipped",
      code:
        "schedule.every('1m', { name = 'long', align = true }, function() task.sleep '150s' end) task.sleep '130s' why 'long' os.exit()",
      answer: [
        #"job "long": it runs"#,
        "  00:02:00  skips its run of 2026-01-05 00:02: the one before has not ended",
        "  00:01:00  runs",
      ]),
    Case(
      title: "a run that was left out",
      code:
        "local job = schedule.at('06:45', { days = 'daily', name = 'wake' }, print) job:skip() why 'wake' os.exit()",
      answer: [
        #"job "wake": the next run is at 2026-01-06 06:45:00"#, "  it has not run yet",
        "  00:00:00  leaves out its run of 2026-01-05 06:45, as requested: test.lua:4  skip(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "a job that was cancelled",
      code: "local job = schedule.at('06:45', { name = 'wake' }, print) job:cancel() why 'wake'",
      answer: [
        #"job "wake": no run is scheduled"#,
        "  00:00:00  is scheduled no more: test.lua:4  cancel(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "a job that is not due",
      code: "schedule.at('06:45', { name = 'wake' }, print) why 'wake' os.exit()",
      answer: [#"job "wake": the next run is at 06:45:00"#, "  it has not run yet"]),
    Case(
      title: "a trigger without a listener", code: "trigger.fire 'bell' why 'bell'",
      answer: [
        #"trigger "bell""#,
        "  00:00:00  came, and nobody listened: test.lua:4  fire(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "a trigger whose listener is gone",
      code: "local s = trigger.on('bell', print) s:cancel() task.sleep(1) trigger.fire 'bell' why 'bell'",
      answer: [
        #"trigger "bell""#,
        "  00:00:01  came, and nobody listened: test.lua:4  fire(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "playback without a speaker", code: "failure(speaker.play, 'tone.wav') why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known",
        "Kitchen refused a command: play: the session wants no room",
        "  00:00:00  test.lua:1  try(), by test.lua, started 00:00:00",
      ]
    ),
    Case(
      title: "a speaker that is taken",
      code:
        "local s = speaker.session { name = 'vip', devices = kitchen, priority = 500 } s:play 'tone.wav' for _ = 1, 3 do failure(speaker.play, 'tone.wav', { rooms = kitchen }) end why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", #"Kitchen plays "tone.wav""#,
        "  00:00:00  ▶ tone.wav at volume 22: test.lua:4  play(), by test.lua, started 00:00:00",
        #"Kitchen is in session "vip""#,
        "  00:00:00  joins tone.wav: test.lua:4  session(), by test.lua, started 00:00:00",
        #"Kitchen refused a command (3 times): play: "Kitchen" is kept by "vip" of priority 500 (play at test.lua:4)"#,
        "  00:00:00  test.lua:1  try(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "a speaker that is away",
      code:
        "speaker.house():unplug(kitchen) task.sleep(1) failure(kitchen.set_volume, kitchen, 9) why 'Kitchen'",
      answer: [
        "Kitchen is at 22", "  no change of it is known", "Kitchen can't be reached",
        "  00:00:00  test.lua:4  unplug(), by test.lua, started 00:00:00",
        #"Kitchen refused a command: set_volume: "Kitchen" can't be reached"#,
        "  00:00:01  test.lua:1  try(), by test.lua, started 00:00:00",
      ]),
    Case(
      title: "music that waits for an interruption",
      code:
        "kitchen:join() speaker.play 'tone.wav' speaker.interrupt { devices = kitchen, name = 'gong', play = function() task.sleep(1) why 'Kitchen' end }",
      answer: [
        "Kitchen is at 22", "  no change of it is known", "Nothing plays in Kitchen",
        #"  00:00:00  silenced by "gong": interruption "gong", by interrupt at test.lua:4, by test.lua, started 00:00:00"#,
        #"Kitchen is in session "gong""#,
        #"  00:00:00  joins session "gong": test.lua:4  interrupt(), by test.lua, started 00:00:00"#,
      ]),
    Case(
      title: "an alarm that was dismissed",
      code:
        "local a = require 'alarm'.set { at = '06:45', name = 'wake up', rooms = 'Kitchen', sources = { 'long.wav' }, fade = 0 } schedule.at('06:46', { name = 'off' }, function() a:dismiss() task.sleep(5) why 'wake up' os.exit() end)",
      answer: [
        #"job "wake up": no run is scheduled"#, #"  06:46:00  ■ long.wav is stopped"#,
        #"  06:46:00  dismissed: test.lua:4, by job "off" (at 2026-01-05 06:46)"#,
        "  06:45:00  rings with long.wav", #"  06:45:00  ▶ long.wav at volume 20"#, "  06:45:00  runs",
      ]),
    Case(
      title: "an alarm that snoozes",
      code:
        "local a = require 'alarm'.set { at = '06:45', name = 'wake up', rooms = 'Kitchen', sources = { 'long.wav' }, fade = 0 } a:on('ringing', function() a:snooze() task.sleep(5) why 'wake up' os.exit() end)",
      answer: [
        #"job "wake up": it runs"#, #"  06:45:00  ■ long.wav is stopped"#,
        #"  06:45:00  snoozes: test.lua:4, by job "wake up" (at 2026-01-05 06:45)"#,
        "  06:45:00  rings with long.wav", #"  06:45:00  ▶ long.wav at volume 20"#, "  06:45:00  runs",
      ]),
    Case(
      title: "an alarm in a room that was stopped",
      code:
        "require 'alarm'.set { at = '06:45', name = 'wake up', rooms = 'Kitchen', sources = { 'long.wav' }, fade = 0 } schedule.at('06:46', { name = 'off' }, function() kitchen:leave() task.sleep(5) why 'wake up' os.exit() end)",
      answer: [
        #"job "wake up": no run is scheduled"#,
        #"  06:46:00  dismissed, as its rooms were stopped: on "device", by leave at test.lua:4, by job "off" (at 2026-01-05 06:46)"#,
        #"  06:46:00  ■ long.wav has no speaker left: no speaker was left, by leave at test.lua:4, by job "off" (at 2026-01-05 06:46)"#,
        "  06:45:00  rings with long.wav", #"  06:45:00  ▶ long.wav at volume 20"#, "  06:45:00  runs",
      ]),
    Case(
      title: "an alarm that is outranked",
      code:
        "require 'alarm'.set { at = '06:45', name = 'wake up', rooms = 'Kitchen', sources = { 'long.wav' }, duration = '1m' } local s = speaker.session { name = 'vip', devices = kitchen, priority = 500 } s:play('long.wav', { loop = true }) schedule.at('06:47', { name = 'ask' }, function() why 'wake up' os.exit() end)",
      answer: [
        #"job "wake up": no run is scheduled"#,
        #"  06:46:00  could not ring: "Kitchen" is in "vip" of priority 500, and the request has priority 200"#,
        #"  06:45:00  can't ring yet: "Kitchen" is in "vip" of priority 500, and the request has priority 200"#,
        "  06:45:00  runs",
      ]),
    Case(
      title: "an alarm that an announcement silences",
      code:
        "require 'alarm'.set { at = '06:45', name = 'wake up', rooms = 'Kitchen', sources = { 'long.wav' }, fade = 0 } schedule.at('06:46', { name = 'gong' }, function() require 'announce'.play { 'tone.wav', rooms = 'Kitchen' } why 'wake up' os.exit() end)",
      answer: [
        #"job "wake up": it runs"#,
        #"  06:46:03  goes on after "announcement": interruption "announcement", by play at test.lua:4, by job "gong" (at 2026-01-05 06:46)"#,
        #"  06:46:00  silenced by "announcement": interruption "announcement", by play at test.lua:4, by job "gong" (at 2026-01-05 06:46)"#,
        "  06:45:00  rings with long.wav", #"  06:45:00  ▶ long.wav at volume 20"#, "  06:45:00  runs",
      ]),
    Case(
      title: "a thing that nobody knows",
      code: "print(message(why, 'Kitchn')) print(message(why, 'zzzzzz')) print(message(why))",
      answer: [
        #"nothing is known about "Kitchn""#, #"nothing is known about "zzzzzz""#,
        "bad argument #1 to 'why' (name, speaker, group, session or job expected, got no value)",
      ]),
  ]
}
