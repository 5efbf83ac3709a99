-- The behaviour of alarms, in the demonstration house: all speakers are in the own session. The clock of
-- most tests begins a minute before the alarm.

local alarm = require "alarm"
local announce = require "announce"
local speaker = require "speaker"
local stream = require "stream"
local task = require "task"

speaker.open { add_all = true }

local GOOD = "http://radio.example/good.mp3"
local MORNING = { from = "2026-01-05T06:44", stations = "stations.lua" }

-- Sets an alarm in the bedroom; returns it, and the list of its events.
local function set(given)
  local wanted = { at = "06:45", days = "daily", rooms = "Bedroom", sources = { GOOD } }
  for key, value in pairs(given or {}) do
    wanted[key] = value
  end
  local wake, events = alarm.set(wanted), {}
  for _, name in ipairs { "ringing", "fallback", "snoozed", "dismissed", "missed" } do
    wake:on(name, function(event)
      local what = event.source and event.source:match "[^/]*$" or event.by or ""
      table.insert(events, ("%s %s %s"):format(os.date "%H:%M:%S", name, what):match "^(.-)%s*$")
    end)
  end
  return wake, events
end

local function left()
  return speaker.device "Bedroom Left"
end

-- Plays in the whole house.
local function play()
  speaker.play_stream "http://radio.example/night.mp3"
end

-- Returns the time for which a speaker does not play, sampled ten times a second.
local function silence(device, seconds)
  local sum = 0
  for _ = 1, seconds * 10 do
    task.sleep(0.1)
    sum = sum + (device.is_playing and 0 or 0.1)
  end
  return sum
end

describe("an alarm", function()
  it("interrupts its rooms, rises, and restores them after its duration", MORNING, function()
    play()
    local wake, events = set { duration = "30m", volume = 20, fade = "5m" }
    local bath = speaker.device "Bathroom"
    expect(wake.state):to_equal "waiting"
    expect(silence(left(), 65)):to_equal(0)
    expect(wake.state):to_equal "ringing"
    expect(left().session.source.title):to_equal "Good FM"
    expect(left().volume):to_equal(1)
    expect(bath.session.source.title):to_equal "night"
    task.sleep "150s"
    expect(left().volume):to_be_near(10, 1)
    task.sleep "150s"
    expect(left().volume):to_equal(20)
    task.sleep "25m"
    expect(wake.state):to_equal "waiting"
    expect(left().session == speaker.own):to_be_true()
    expect(left().volume):to_equal(18)
    expect(left().is_playing):to_be_true()
    expect(events):to_equal { "06:45:10 ringing good.mp3", "07:15:00 dismissed duration" }
  end)

  it("takes the next source if a station is down, silent, or a page; the volume rises on", MORNING, function()
    local sources = {}
    for index, name in ipairs { "down", "gone", "mute", "html", "silence", "good" } do
      sources[index] = ("http://radio.example/%s.mp3"):format(name)
    end
    local _, events = set { sources = sources, volume = 50 }
    task.sleep "3m"
    expect(events):to_equal {
      "06:45:00 fallback down.mp3", "06:45:00 fallback gone.mp3", "06:45:10 fallback mute.mp3",
      "06:45:10 fallback html.mp3", "06:45:20 fallback silence.mp3", "06:45:30 ringing good.mp3",
    }
    expect(left().volume):to_be_near(20, 1)
  end)

  it("shows no query of a source, which may be a secret, in the history", MORNING, function()
    set { sources = { "http://bob:sesame@radio.example/down.mp3?token=sesame", GOOD .. "?token=sesame" } }
    task.sleep "3m"
    expect(left().is_playing):to_be_true()
    local told = {}
    for _, change in ipairs(speaker.history()) do
      table.insert(told, tostring(change) .. (change.detail or "") .. tostring(change.to))
    end
    local text = table.concat(told, "\n")
    expect(text):to_match "down.mp3%?…"
    expect(text:find("sesame", 1, true)):to_equal(nil)
  end)

  it("takes the next source if there is hardly any sound", MORNING, function()
    local _, events = set { sources = { "http://radio.example/beeps.mp3" } }
    task.sleep "2m"
    expect(events):to_equal { "06:45:20 fallback beeps.mp3", "06:45:20 ringing built-in" }
  end)

  it("rings with its chime if the last station is lost in the middle", MORNING, function()
    local wake, events = set { sources = { "http://radio.example/lost.mp3" } }
    local fallback = wake:wait("fallback", "10m")
    expect(fallback.reason):to_equal "silent for 10 s"
    expect(events[1]):to_equal "06:45:10 ringing lost.mp3"
    expect(events[2]):to_match "^06:5%d:%d%d fallback lost.mp3$"
    task.sleep "30m"
    expect(events[3]):to_match "^06:5%d:%d%d ringing built%-in$"
    expect(left().is_playing):to_be_true()
  end)

  it("plays files, over and over", MORNING, function()
    local wake, events = set { sources = { "../simulation/station.mp3" }, duration = "10m" }
    task.sleep "10m"
    expect(left().is_playing):to_be_true()
    expect(wake:wait("dismissed", "2m").by):to_equal "duration"
    expect(events[1]):to_equal "06:45:00 ringing station.mp3"
  end)

  it("survives speakers that disappear in the middle, also all of them", MORNING, function()
    local wake, events = set { duration = "30m" }
    local house, right = speaker.house(), speaker.device "Bedroom Right"
    task.sleep "3m"
    house:unplug(right)
    task.sleep "2m"
    expect(left().is_playing):to_be_true()
    house:unplug(left())
    task.sleep "2m"
    house:plug(left())
    task.sleep(2)
    expect(left().is_playing):to_be_true()
    house:plug(right)
    task.sleep(2)
    expect(right.is_playing):to_be_true()
    expect(right.volume):to_equal(20)
    house:unplug(right)
    expect(wake:wait("dismissed").by):to_equal "duration"
    house:plug(right)
    task.sleep(1)
    expect(left().volume):to_equal(18)
    expect(right.volume):to_equal(18)
    expect(#events):to_equal(2)
  end)

  it("raises a speaker that is back in the middle, and restores that, too", MORNING, function()
    local right = speaker.device "Bedroom Right"
    speaker.house():unplug(right)
    local wake = set { duration = "10m" }
    task.sleep "6m30s"
    speaker.house():plug(right)
    task.sleep(1)
    expect(right.is_playing):to_be_true()
    expect(right.volume):to_equal(20)
    wake:wait "dismissed"
    task.sleep(1)
    expect(right.volume):to_equal(18)
  end)

  it("rings in rooms that were away at its time, once one is back", MORNING, function()
    local kitchen = speaker.device "Kitchen"
    speaker.house():unplug(kitchen)
    local _, events = set { rooms = { "Kitchen" } }
    task.sleep "5m"
    expect(#events):to_equal(0)
    speaker.house():plug(kitchen)
    task.sleep "20s"
    expect(kitchen.is_playing):to_be_true()
    expect(kitchen.volume):to_be_near(16, 1)
    expect(events[1]):to_match "ringing"
  end)

  it("rings in a house that was opened again, without a speaker that was removed", MORNING, function()
    local _, events = set { duration = "5m" }
    speaker.close()
    speaker.open()
    speaker.house():remove(speaker.device "Bedroom Right")
    task.sleep "2m"
    expect(left().is_playing):to_be_true()
    expect(left().session.name):to_equal "at 06:45 daily"
    task.sleep "5m"
    expect(left().volume):to_equal(18)
    expect(#events):to_equal(2)
  end)

  it("opens the house that the script has closed, before and while it rings", MORNING, function()
    local _, events = set { duration = "10m" }
    speaker.close()
    task.sleep "1m20s"
    expect(left().is_playing):to_be_true()
    speaker.close()
    task.sleep "20s"
    expect(left().is_playing):to_be_true()
    expect(events[1]):to_match "ringing"
  end)

  it("leaves a volume that somebody sets while it rings", MORNING, function()
    local wake = set { duration = "10m" }
    task.sleep "3m"
    left():set_volume(9)
    task.sleep "4m"
    expect(left().volume):to_equal(9)
    expect(speaker.device("Bedroom Right").volume):to_equal(20)
    wake:wait "dismissed"
    task.sleep(1)
    expect(left().volume):to_equal(9)
    expect(speaker.device("Bedroom Right").volume):to_equal(18)
  end)
end)

describe("two alarms that meet in a room", function()
  it("of equal priority: the later one rings, without silence, then the other one", MORNING, function()
    play()
    local first, first_events = set { name = "first", duration = "30m" }
    local second, second_events = set {
      name = "second", at = "06:50", duration = "10m", sources = { "http://radio.example/news.mp3" },
      rooms = { "Bedroom", "Bathroom" },
    }
    expect(silence(left(), 370)):to_equal(0)
    expect(left().session.source.title):to_equal "News"
    expect(first.state):to_equal "ringing"
    expect(silence(left(), 600)):to_equal(0)
    expect(left().session.source.title):to_equal "Good FM"
    expect(left().volume):to_equal(20)
    expect(second.state):to_equal "waiting"
    expect(silence(left(), 900)):to_equal(0)
    expect(left().volume):to_equal(18)
    expect(speaker.device("Bathroom").volume):to_equal(20)
    expect(#speaker.own.devices):to_equal(6)
    expect(first_events):to_equal { "06:45:10 ringing good.mp3", "07:15:00 dismissed duration" }
    expect(second_events):to_equal { "06:50:10 ringing news.mp3", "07:00:00 dismissed duration" }
  end)

  it("of different priorities: the lower one waits, or is missed", MORNING, function()
    set { name = "high", priority = 201, duration = "10m" }
    local low, low_events = set { name = "low", at = "06:50", duration = "10m" }
    local missed, missed_events = set { name = "missed", at = "06:50", duration = "4m" }
    task.sleep "10m59s"
    expect(low.state):to_equal "ringing"
    expect(#low_events):to_equal(0)
    expect(missed.state):to_equal "waiting"
    expect(missed_events):to_equal { "06:54:00 missed" }
    task.sleep "1m"
    expect(#low_events):to_equal(1)
    task.sleep "10m"
    expect(left().volume):to_equal(18)
  end)
end)

describe("an announcement during an alarm during a recording", function()
  it("is heard at its volume; the alarm and the recording go on", MORNING, function()
    play()
    local radio = stream.new(GOOD)
    local recording = radio:record "show.mp3"
    local wake, events = set { duration = "20m" }
    task.sleep "3m"
    local volume, began = left().volume, task.now()
    announce.say { ("The door is open. "):rep(50), rooms = "Bedroom", volume = 40 }
    expect(task.now() - began):to_be_near(61, 2)
    expect(wake.state):to_equal "ringing"
    task.sleep(1)
    expect(left().session.source.title):to_equal "Good FM"
    expect(left().volume):to_be_near(volume + 4, 1) -- the rise goes on meanwhile
    task.sleep "4m"
    expect(left().volume):to_equal(20)
    wake:wait "dismissed"
    task.sleep(1)
    expect(left().volume):to_equal(18)
    expect(left().session == speaker.own):to_be_true()
    expect(recording.seconds):to_be_near(21 * 60, 15)
    expect(#recording.gaps):to_equal(0)
    recording:stop()
    expect(#events):to_equal(2)
  end)
end)

describe("snooze and dismiss", function()
  it("silence the alarm, which rings again nine minutes later for the rest of its time", MORNING, function()
    play()
    local wake, events = set { duration = "20m" }
    expect(wake:snooze()):to_be_false()
    task.sleep "6m"
    expect(wake:snooze()):to_be_true()
    task.sleep(1)
    expect(wake.state):to_equal "snoozed"
    expect(left().session.source.title):to_equal "night"
    expect(left().volume):to_equal(18)
    task.sleep "9m"
    expect(wake.state):to_equal "ringing"
    expect(left().volume):to_equal(20)
    wake:wait "dismissed"
    expect(events):to_equal {
      "06:45:10 ringing good.mp3", "06:50:00 snoozed", "06:59:10 ringing good.mp3",
      "07:14:00 dismissed duration",
    }
  end)

  it("end it until the next day, also while it snoozes", MORNING, function()
    local wake, events = set()
    task.sleep "2m"
    wake:snooze()
    task.sleep "1m"
    expect(wake:dismiss()):to_be_true()
    task.sleep "1h"
    expect(wake:dismiss()):to_be_false()
    expect(events[3]):to_equal "06:47:00 dismissed call"
    expect(os.date("%d %H:%M", wake.next // 1 | 0)):to_equal "06 06:45"
    wake:wait "ringing"
    expect(os.date "%d %H:%M"):to_equal "06 06:45"
  end)

  it("happens in the room: a pause, a stop, or a speaker that is taken out", MORNING, function()
    for _, action in ipairs {
      function(device) device.session:pause() end, function(device) device.session:stop() end,
      function(device) device:leave() end, function(device) device.session:close() end,
    } do
      local wake, events = set()
      wake:wait "ringing"
      action(left())
      task.sleep(1)
      expect(events[2]):to_match "dismissed room$"
      expect(speaker.device("Bedroom Right").session == speaker.own):to_be_true()
      wake:cancel()
    end
  end)
end)

describe("the time of an alarm", function()
  it("is that of the clock on the wall when clocks go forward",
    { from = "2026-03-28T23:00", timezone = "Europe/Berlin" }, function()
      local _, morning = set { name = "morning", duration = "5m" }
      local _, night = set { name = "night", at = "02:30", rooms = "Kitchen", duration = "5m" }
      task.sleep "30h"
      expect(night[1]):to_equal "03:00:10 ringing good.mp3"
      expect(morning[1]):to_equal "06:45:10 ringing good.mp3"
      expect(#night):to_equal(4)
    end)

  it("comes once when clocks go back", { from = "2026-10-24T23:00", timezone = "Europe/Berlin" }, function()
    local _, morning = set { name = "morning", duration = "5m" }
    local _, night = set { name = "night", at = "02:30", rooms = "Kitchen", duration = "5m" }
    task.sleep "12h"
    expect(night):to_equal { "02:30:10 ringing good.mp3", "02:35:00 dismissed duration" }
    expect(morning):to_equal { "06:45:10 ringing good.mp3", "06:50:00 dismissed duration" }
  end)

  it("is left out on request", MORNING, function()
    local wake, events = set()
    expect(os.date("%d", wake:skip_next() // 1 | 0)):to_equal "05"
    task.sleep "2h"
    expect(#events):to_equal(0)
    expect(os.date("%d", wake.next // 1 | 0)):to_equal "06"
  end)
end)

describe("alarm.list", function()
  it("has the alarms until they are cancelled, or have no further time", MORNING, function()
    local once = alarm.set { at = "06:45", rooms = "Kitchen", sources = { GOOD }, duration = "5m" }
    local daily = set { name = "daily" }
    expect(#alarm.list()):to_equal(2)
    expect(alarm.list()[1] == once):to_be_true()
    expect(tostring(daily)):to_equal 'alarm "daily" (waiting, next 2026-01-05 06:45)'
    task.sleep "10m"
    expect(once.state):to_equal "ended"
    expect(once:wait "ringing"):to_be_nil()
    expect(#alarm.list()):to_equal(1)
    daily:cancel()
    task.sleep(1)
    expect(#alarm.list()):to_equal(0)
    expect(left().volume):to_equal(18)
    expect(daily.state):to_equal "ended"
    set { name = "daily" }
  end)
end)

describe("a routine that is cancelled", function()
  it("leaves the alarm that it has set alone", MORNING, function()
    local events
    local routine = task.spawn(function()
      local wake
      wake, events = set()
      wake:wait "dismissed"
    end)
    task.sleep "2m"
    routine:cancel()
    task.sleep "2m"
    expect(left().is_playing):to_be_true()
    expect(#events):to_equal(1)
  end)
end)

describe("alarm.set", function()
  it("raises for what can't ring, when it is set", MORNING, function()
    for _, case in ipairs {
      { { rooms = "Attic" }, "speaker.unknown" }, { { sources = {} }, "at least one URL, station or file" },
      { { at = "2026-01-01 07:00", days = false }, "argument" }, { { at = "30 Feb" }, "schedule.syntax" },
      { { source = GOOD }, "did you mean 'sources'" }, { { sources = { "nowhere.mp3" } }, "audio.not_found" },
      { { volume = 0 }, "option 'volume' of 'set': more than 0 expected" },
    } do
      expect(function()
        set(case[1])
      end):to_raise(case[2])
    end
    expect(#alarm.list()):to_equal(0)
    expect(function()
      alarm.set { at = "2026-01-01 07:00", rooms = "Kitchen", sources = { GOOD } }
    end):to_raise "schedule.past"
    set { name = "same" }
    expect(function()
      set { name = "same" }
    end):to_raise "schedule.duplicate"
  end)
end)
