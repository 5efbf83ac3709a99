-- The mornings of scripts/wake_up.lua, in the demonstration house.

local speaker = require "speaker"
local start = require "routine"
local task = require "task"

local TUNE = "wake_up.mp3" -- beside the routine

describe("wake_up", function()
  it("rises in the bedroom, and goes to the kitchen without a gap", function()
    local morning = task.spawn(start, "wake_up", "now", TUNE)
    task.sleep(1)
    local bedroom, kitchen = speaker.group "Bedroom", speaker.group "Kitchen"
    expect(bedroom.volume):to_be_near(9, 1)
    expect(kitchen.active):to_be_false()
    task.sleep(12)
    expect(bedroom.volume):to_equal(32)
    expect(kitchen.active):to_be_true()
    expect(speaker.position()):to_be_near(13, 0.2)
    task.sleep(2)
    expect(bedroom.active):to_be_false()
    expect(kitchen.devices[1].is_playing):to_be_true()
    morning:await()
    expect(speaker.is_playing()):to_be_false()
    expect(task.now()):to_be_near(23, 1) -- heard to its end
  end)

  it("leaves the other rooms alone", function()
    start("wake_up", "now", TUNE)
    for _, name in ipairs { "Bathroom", "Living Room Left" } do
      expect(speaker.device(name).active):to_be_false()
    end
    expect(speaker.device("Bathroom").volume):to_equal(20)
  end)

  it("waits for the morning when it is started without a time", { from = "2026-01-09T06:00" }, function()
    start("wake_up", nil, TUNE)
    task.sleep "44m"
    expect(speaker.is_playing()):to_be_false()
    task.sleep "2m"
    expect(speaker.group("Bedroom").devices[1].is_playing):to_be_true()
  end)

  it("rings on weekdays in the bedroom, for half an hour", { from = "2026-01-09T06:00" }, function()
    start("wake_up", "06:45", TUNE)
    local bedroom = speaker.group "Bedroom"
    task.sleep "47m30s"
    expect(bedroom.volume):to_be_near(16, 2)
    expect(bedroom.devices[1].is_playing):to_be_true()
    expect(speaker.device("Kitchen").is_playing):to_be_false()
    task.sleep "25m"
    expect(bedroom.volume):to_equal(32)
    task.sleep "3m"
    expect(bedroom.devices[1].is_playing):to_be_false()
    expect(bedroom.volume):to_equal(18)
    task.sleep "23h35m" -- Saturday, 06:51
    expect(bedroom.devices[1].is_playing):to_be_false()
    task.sleep "48h"
    expect(bedroom.devices[1].is_playing):to_be_true()
  end)

  it("refuses an unknown song or time when it is set", function()
    expect(function()
      start("wake_up", "now", "song.mp3")
    end):to_raise "audio.not_found"
    expect(function()
      start("wake_up", "06:45", "song.mp3")
    end):to_raise "audio.not_found"
    expect(function()
      start("wake_up", "6:45 am", TUNE)
    end):to_raise "schedule.syntax"
  end)
end)
