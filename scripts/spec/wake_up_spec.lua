-- The morning of scripts/wake_up.lua, in the demonstration house.

local speaker = require "speaker"
local start = require "routine"
local task = require "task"

local TUNE = "../wake_up.mp3"

describe("wake_up", function()
  it("rises in the bedroom, and goes to the kitchen without a gap", function()
    local morning = task.spawn(start, "wake_up", TUNE)
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
    start("wake_up", TUNE)
    for _, name in ipairs { "Bathroom", "Living Room Left" } do
      expect(speaker.device(name).active):to_be_false()
    end
    expect(speaker.device("Bathroom").volume):to_equal(20)
  end)

  it("names the song that is not there", function()
    expect(function()
      start("wake_up", "song.mp3")
    end):to_raise "audio.not_found"
  end)
end)
