-- The days of scripts/follow_me.lua, in the demonstration house.

local speaker = require "speaker"
local start = require "routine"
local task = require "task"

-- Returns the rooms in which the music plays.
local function rooms()
  local list = {}
  for _, group in ipairs(speaker.groups()) do
    if group.devices[1].is_playing then
      list[#list + 1] = group.name
    end
  end
  return list
end

describe("follow_me", function()
  it("plays in the rooms of the table at their times", function()
    start "follow_me"
    local wanted = {
      { "7h5m", { "Bathroom" } }, { "20m", { "Kitchen" } }, { "1h", {} }, { "10h", { "Living Room" } },
      { "4h", { "Bedroom" } }, { "2h", {} }, { "7h", { "Kitchen" } },
    }
    for _, part in ipairs(wanted) do
      task.sleep(part[1])
      expect(rooms()):to_equal(part[2])
    end
  end)

  it("moves without a gap: the new room joins before the old one leaves", function()
    start("follow_me", "Kitchen")
    local states = {}
    speaker.on("state", function(event)
      states[#states + 1] = event.state
    end)
    local moving = task.spawn(start, "follow_me", "Bathroom")
    task.sleep(0.5)
    expect(rooms()):to_equal { "Kitchen", "Bathroom" }
    moving:await()
    expect(rooms()):to_equal { "Bathroom" }
    expect(states):to_equal {}
  end)

  it("stays where it is if the room is not there", function()
    start("follow_me", "Kitchen")
    expect(function()
      start("follow_me", "Attic")
    end):to_raise "speaker.unknown"
    expect(rooms()):to_equal { "Kitchen" }
  end)
end)
