-- People in the rooms of scripts/presence.lua, in the demonstration house.

local mqtt = require "mqtt"
local speaker = require "speaker"
local start = require "routine"
local task = require "task"

local function motion(room, occupancy)
  mqtt.publish("zigbee2mqtt/" .. room .. " motion", { occupancy = occupancy, battery = 80 })
  task.sleep "3s"
end

local function names()
  local list = {}
  for index, device in ipairs(speaker.own.devices) do
    list[index] = device.name
  end
  return table.concat(list, ", ")
end

describe("presence", function()
  it("moves the music to the room that somebody comes into", function()
    start "presence"
    speaker.play_stream("http://radio.example/day.mp3", { rooms = "Kitchen" })
    motion("living room", true)
    expect(names():find "Kitchen"):to_be_nil()
    expect(names():find "Living"):to_differ_from(nil)
    motion("kitchen", true)
    expect(names()):to_equal "Kitchen"
    expect(speaker.is_playing()):to_be_true()
  end)

  it("pauses five minutes after the last one has left, and resumes where somebody comes", function()
    start "presence"
    speaker.play_stream("http://radio.example/day.mp3", { rooms = "Kitchen" })
    motion("kitchen", true)
    motion("kitchen", false)
    task.sleep "4m"
    expect(speaker.is_playing()):to_be_true()
    task.sleep "2m"
    expect(speaker.state()):to_equal "paused"
    motion("bathroom", true)
    expect(speaker.is_playing()):to_be_true()
    expect(names()):to_equal "Bathroom"
  end)

  it("goes on while somebody comes back in time", function()
    start "presence"
    speaker.play_stream("http://radio.example/day.mp3", { rooms = "Kitchen" })
    motion("kitchen", true)
    motion("kitchen", false)
    task.sleep "4m"
    motion("kitchen", true)
    task.sleep "1h"
    expect(speaker.is_playing()):to_be_true()
  end)

  it("starts nothing by itself", function()
    start "presence"
    motion("kitchen", true)
    expect(speaker.is_playing()):to_be_false()
  end)
end)
