-- The evening of scripts/bedtime.lua, in the demonstration house.

local speaker = require "speaker"
local start = require "routine"
local store = require "store"
local task = require "task"

describe("bedtime", function()
  local evening = { from = "2026-01-05T22:00" }

  it("lets the bedroom alone play on, fades it out, and keeps its volume for the morning", evening, function()
    start "bedtime"
    speaker.play_stream("http://radio.example/evening.mp3", { rooms = speaker.devices() })
    task.sleep "31m"
    expect(speaker.group("Bedroom").volume):to_equal(12)
    expect(speaker.device("Bedroom Left").is_playing):to_be_true()
    expect(speaker.device("Kitchen").active):to_be_false()
    task.sleep "26m30s" -- half of the fade
    expect(speaker.group("Bedroom").volume):to_be_near(6, 1)
    task.sleep "3m"
    expect(speaker.state()):to_equal "stopped"
    expect(speaker.group("Bedroom").volume):to_equal(12)
  end)

  it("plays a station in a silent house, every evening", function()
    start "bedtime"
    for _ = 1, 2 do
      task.sleep "22h31m"
      expect(speaker.is_playing()):to_be_true()
      task.sleep "1h29m"
      expect(speaker.is_playing()):to_be_false()
    end
  end)

  it("takes another time and another room, or the present", function()
    start("bedtime", "23:15", "Living Room")
    task.sleep "23h16m"
    expect(speaker.group("Living Room").devices[1].is_playing):to_be_true()
    task.sleep "44m"
    start("bedtime", "now")
    expect(os.date "%H:%M"):to_equal "00:30"
    expect(speaker.is_playing()):to_be_false()
  end)

  it("goes on for the time that was left after a restart, in the bedroom alone", evening, function()
    store.set("ends", os.time() + 12 * 60)
    local script = task.spawn(start, "bedtime")
    task.sleep(5)
    expect(speaker.device("Bedroom Left").is_playing):to_be_true()
    expect(speaker.device("Kitchen").active):to_be_false()
    local volume = speaker.group("Bedroom").volume
    task.sleep "6m50s"
    expect(speaker.group("Bedroom").volume):to_equal(volume)
    task.sleep "2m40s"
    expect(speaker.group("Bedroom").volume < volume - 4):to_be_true()
    task.sleep "2m"
    expect(speaker.is_playing()):to_be_true()
    task.sleep "30s"
    expect(speaker.state()):to_equal "stopped"
    expect(speaker.group("Bedroom").volume):to_equal(volume)
    script:await()
    expect(store.get "ends"):to_equal(nil)
  end)

  it("does not begin an evening again that is over, or whose music somebody has stopped", evening, function()
    store.set("ends", os.time() - 60)
    start "bedtime"
    task.sleep "1m"
    expect(speaker.is_playing()):to_be_false()
    task.sleep "31m"
    expect(speaker.is_playing()):to_be_true()
    speaker.stop()
    task.sleep(1)
    expect(store.get "ends"):to_equal(nil)
    expect(speaker.group("Bedroom").volume):to_equal(12)
  end)

  it("refuses an unknown room or time at its start", function()
    expect(function()
      start("bedtime", "22:30", "Attic")
    end):to_raise 'no group is called "Attic"'
    expect(function()
      start("bedtime", "25:00")
    end):to_raise '"25:00" is not a time of day'
  end)
end)
