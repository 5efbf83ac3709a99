-- A weekend of scripts/saturday_show.lua.

local recordings = require "recordings"
local speaker = require "speaker"
local start = require "routine"
local task = require "task"

describe("saturday_show", function()
  it("records on Saturday and plays in the living room on Sunday", { from = "2026-01-10T12:00" }, function()
    start "saturday_show"
    task.sleep "10h59m"
    expect(recordings.list({})[1].state):to_equal "recording"
    task.sleep "11h2m" -- Sunday, 10:01
    local show = recordings.list({})[1]
    expect(show.path):to_match "Saturday show/2026%-01%-10%.mp3$"
    expect(show.state):to_equal "finished"
    expect(show.seconds):to_be_near(127 * 60, 30)
    expect(speaker.is_playing()):to_be_true()
    expect(speaker.position()):to_be_near(2 * 60 + 60, 5)
    expect(speaker.group("Living Room").active):to_be_true()
    expect(speaker.device("Kitchen").active):to_be_false()
    expect(speaker.finish()):to_equal "finished"
    expect(os.date "%H:%M"):to_equal "12:05"
  end)

  it("plays nothing on Sunday if there was no recording", { from = "2026-01-11T00:00" }, function()
    start "saturday_show"
    task.sleep "10h1m"
    expect(speaker.is_playing()):to_be_false()
    expect(#speaker.own.rooms):to_equal(0)
  end)

  it("refuses an unknown station at its start", function()
    expect(function()
      start("saturday_show", "jazz")
    end):to_raise 'no station "jazz" is configured'
  end)
end)
