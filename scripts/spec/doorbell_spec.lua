-- Visits announced by scripts/doorbell.lua, in the demonstration house.

local speaker = require "speaker"
local start = require "routine"
local task = require "task"
local trigger = require "trigger"

local CHIME = "doorbell.mp3" -- beside the routine

describe("doorbell", function()
  it("rings in every room, at a volume that is heard, and restores all of it", function()
    speaker.device("Bathroom"):mute()
    local ringing = task.spawn(start, "doorbell", "now", CHIME)
    task.sleep(1.5)
    for _, device in ipairs(speaker.devices()) do
      expect(device.is_playing):to_be_true()
      expect(device.volume):to_equal(28)
      expect(device.muted):to_be_false()
    end
    ringing:await()
    expect(speaker.device("Kitchen").volume):to_equal(22)
    expect(speaker.device("Bathroom").muted):to_be_true()
    expect(speaker.is_playing()):to_be_false()
  end)

  it("rings in a room that an alarm has, too", function()
    local alarm = speaker.session { devices = "Bedroom", priority = 200 }
    alarm:play("../wake_up.mp3", { loop = true })
    start("doorbell", "now", CHIME)
    expect(alarm:is_playing()):to_be_true()
    expect(#alarm.devices):to_equal(2)
  end)

  it("rings twice for two visits, one after the other", function()
    local began = task.now()
    task.all {
      function()
        start("doorbell", "now", CHIME)
      end,
      function()
        start("doorbell", "now", CHIME)
      end,
    }
    expect(task.now() - began):to_be_near(6, 1)
    expect(speaker.device("Kitchen").volume):to_equal(22)
  end)

  it("lets the music continue where it was", function()
    speaker.play("../wake_up.mp3", { loop = true, rooms = speaker.devices() })
    task.sleep "5s"
    local position = speaker.position()
    local began = task.now()
    start("doorbell", "now", CHIME)
    local rung = task.now() - began
    expect(rung):to_be_near(3, 0.5)
    expect(speaker.position()):to_be_near(position, 0.8) -- the time of the fades
    expect(speaker.is_playing()):to_be_true()
    expect(speaker.device("Kitchen").volume):to_equal(22)
  end)

  it("leaves paused music paused", function()
    speaker.play("../wake_up.mp3", { loop = true, rooms = speaker.devices() })
    task.sleep "5s"
    speaker.pause()
    start("doorbell", "now", CHIME)
    expect(speaker.state()):to_equal "paused"
    expect(speaker.position()):to_be_near(5, 0.2)
  end)

  it("rings whenever it is told, and not at its start", function()
    start("doorbell", "trigger", CHIME)
    task.sleep "1m"
    for _ = 1, 2 do
      expect(speaker.device("Kitchen").is_playing):to_be_false()
      trigger.fire "doorbell"
      task.sleep(1.5)
      expect(speaker.device("Kitchen").is_playing):to_be_true()
      task.sleep "1h"
    end
  end)

  it("rings every day at a time", function()
    start("doorbell", "16:00", CHIME)
    for _ = 1, 2 do
      task.sleep "16h1s"
      expect(speaker.device("Kitchen").is_playing):to_be_true()
      task.sleep "7h59m59s"
    end
  end)

  it("names the chime that is not there", function()
    expect(function()
      start("doorbell", "now", "gong.wav")
    end):to_raise "gong.wav"
    expect(speaker.device("Kitchen").volume):to_equal(22)
  end)
end)
