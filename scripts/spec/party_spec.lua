-- A Friday of scripts/party.lua, in the demonstration house.

local schedule = require "schedule"
local speaker = require "speaker"
local start = require "routine"
local task = require "task"

describe("party", function()
  it("plays in the whole house on Friday from 20:00 to 21:00", { from = "2026-01-09T00:00" }, function()
    start "party"
    task.sleep "20h1m"
    for _, device in ipairs(speaker.devices()) do
      expect(device.is_playing):to_be_true()
      expect(device.volume):to_equal(30)
    end
    task.sleep "1h"
    for _, device in ipairs(speaker.devices()) do
      expect(device.is_playing):to_be_false()
    end
    expect(os.date("%A", math.floor(schedule.jobs()[1].next))):to_equal "Friday"
  end)

  it("leaves all rooms as they were: volumes, and music at its position", function()
    speaker.device("Bathroom"):leave()
    local kitchen = speaker.session { name = "kitchen", devices = "Kitchen" }
    kitchen:play("../wake_up.mp3", { loop = true })
    task.sleep "10s"
    local party = task.spawn(start, "party", "now")
    task.sleep "30m"
    expect(speaker.device("Bathroom").is_playing):to_be_true()
    speaker.device("Bathroom"):set_volume(40)
    party:await()
    expect(kitchen:position()):to_be_near(12, 1)
    expect(kitchen:is_playing()):to_be_true()
    expect(speaker.device("Kitchen").volume):to_equal(22)
    expect(speaker.device("Bathroom").active):to_be_false()
    expect(speaker.device("Bathroom").volume):to_equal(40) -- somebody has set it
  end)

  it("continues after an interruption", function()
    speaker.open { add_all = true }
    local party = task.spawn(start, "party", "now")
    task.sleep "10m"
    speaker.interrupt { devices = "Kitchen", volume = 20, play = "../doorbell.mp3" }
    task.sleep "1m"
    expect(speaker.device("Kitchen").is_playing):to_be_true()
    expect(speaker.device("Kitchen").volume):to_equal(30)
    party:await()
    expect(speaker.device("Kitchen").volume):to_equal(22)
    expect(#speaker.own.devices):to_equal(6)
  end)

  it("restores the rooms also if it is cancelled", function()
    local party = task.spawn(start, "party", "now")
    task.sleep "10m"
    expect(speaker.device("Kitchen").volume):to_equal(30)
    party:cancel()
    task.sleep "10s"
    expect(speaker.device("Kitchen").volume):to_equal(22)
    expect(speaker.device("Kitchen").is_playing):to_be_false()
  end)

  it("refuses an unknown station at its start", function()
    expect(function()
      start("party", "20:00", "dance")
    end):to_raise 'no station "dance" is configured'
  end)
end)
