-- Presses for scripts/button.lua, in the demonstration house.

local mqtt = require "mqtt"
local speaker = require "speaker"
local start = require "routine"
local task = require "task"

local function press(device, action)
  mqtt.publish("zigbee2mqtt/kitchen " .. device, { action = action, battery = 87 })
  task.sleep "2s"
end

describe("button", function()
  it("starts the station, pauses it and resumes it", function()
    start "button"
    expect(speaker.device("Kitchen").is_playing):to_be_false()
    press("button", "single")
    expect(speaker.device("Kitchen").is_playing):to_be_true()
    expect(speaker.device("Bathroom").is_playing):to_be_false()
    press("button", "single")
    expect(speaker.device("Kitchen").is_playing):to_be_false()
    press("button", "single")
    expect(speaker.device("Kitchen").is_playing):to_be_true()
  end)

  it("mutes with two presses, and unmutes", function()
    start "button"
    press("button", "double")
    expect(speaker.device("Kitchen").muted):to_be_true()
    press("button", "double")
    expect(speaker.device("Kitchen").muted):to_be_false()
  end)

  it("has a dial for the volume of another room", function()
    start("button", "Bathroom")
    local before = speaker.device("Bathroom").volume
    press("dial", "brightness_move_down")
    press("dial", "brightness_stop")
    expect(speaker.device("Bathroom").volume < before):to_be_true()
    expect(speaker.device("Kitchen").volume):to_equal(22)
  end)
end)
