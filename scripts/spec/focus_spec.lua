-- The day of scripts/focus.lua, on an emulated headset.

local headset = require "headset"
local start = require "routine"
local task = require "task"

-- Returns the connected headset, some seconds after the routine has set it.
local function connected()
  local h = headset.wait("connected").headset
  task.sleep(5)
  return h
end

describe("focus", function()
  it("sets a headset when it connects, by the time of day", { from = "2026-01-05T09:10" }, function()
    start "focus"
    local h = connected()
    expect(h:noise_cancelling()):to_be_true()
    expect(h:ambient().left):to_equal(0)
    expect(h:equalizer().preset_name):to_equal "user" -- the desk's curve
  end)

  it("sets it again at the beginning of each part of the day", { from = "2026-01-05T11:30" }, function()
    start "focus"
    local h = connected()
    task.sleep "31m"
    expect(h:noise_cancelling()):to_be_false()
    expect(h:ambient().left):to_equal(h:ambient_max().left)
    expect(h:equalizer().preset_name):to_equal "voice"
    task.sleep "1h"
    expect(h:noise_cancelling()):to_be_true()
    expect(h:ambient().left):to_equal(0)
    task.sleep "5h"
    expect(h:noise_cancelling()):to_be_false()
    expect(h:equalizer().preset_name):to_equal "music"
  end)

  it("keeps the settings of the evening past midnight", { from = "2026-01-05T03:00" }, function()
    start "focus"
    expect(connected():equalizer().preset_name):to_equal "music"
  end)
end)
