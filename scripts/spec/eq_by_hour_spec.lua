-- The day of scripts/eq_by_hour.lua, in the demonstration house and on an emulated headset.

local headset = require "headset"
local speaker = require "speaker"
local start = require "routine"
local task = require "task"

-- Returns the name of the preset of the house, nil for other gains.
local function preset()
  return (select(2, speaker.eq()))
end

describe("eq_by_hour", function()
  it("sets the equalizer of the house at its start, and at the hours of the table", function()
    expect(preset()):to_equal "flat" -- of the own session, which is open from here on
    start "eq_by_hour"
    expect(preset()):to_equal "night"
    task.sleep "6h31m"
    expect(preset()):to_equal "voice"
    task.sleep "3h"
    expect(preset()):to_equal "flat"
    task.sleep "9h"
    expect(preset()):to_equal "loudness"
    task.sleep "4h"
    expect(preset()):to_equal "night"
    task.sleep "8h"
    expect(preset()):to_equal "voice"
  end)

  it("sets a headset whenever it is on", { from = "2026-01-05T12:00" }, function()
    start("eq_by_hour", "headset")
    headset.wait "connected"
    task.sleep(5)
    local h = headset.list()[1]
    expect(h:equalizer().values[1]):to_equal(0) -- flat, since 09:00
    task.sleep "7h"
    expect(h:equalizer().values[1] > 0):to_be_true()
    expect(preset()):to_equal "flat" -- that of the house is left alone
  end)

  it("names the targets that it has", function()
    expect(function()
      start("eq_by_hour", "radio")
    end):to_raise "which equalizer? roomtone run eq_by_hour.lua [house|headset]"
  end)
end)
