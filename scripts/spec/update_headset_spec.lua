-- The refusals of scripts/update_headset.lua: an update itself needs a firmware file.

local headset = require "headset"
local start = require "routine"

describe("update_headset", function()
  it("names the missing argument", function()
    expect(function()
      start "update_headset"
    end):to_raise "which firmware? roomtone run update_headset.lua FILE [TRANSPORT]"
  end)

  it("leaves the headset as it is if the file is no firmware", function()
    expect(function()
      start("update_headset", "../wake_up.mp3")
    end):to_raise "headset.update_failed"
    local h = headset.list()[1]
    expect(h.connected):to_be_true()
    expect(h:image_type()):to_equal "application"
  end)
end)
