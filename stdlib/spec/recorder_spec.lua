-- The options of scheduled recordings.

local recorder = require "recorder"

-- Returns a function that schedules a recording with further options.
local function scheduling(given)
  given.url, given.template, given.cron = "http://radio.example/day.mp3", "a.mp3", "@daily"
  return function()
    recorder.schedule(given):cancel()
  end
end

describe("recorder.schedule", function()
  it("refuses durations that are too long by the name of their option", function()
    expect(scheduling { duration = 1e12 })
      :to_raise "option 'duration' of 'schedule': at most a hundred years expected"
    expect(scheduling { duration = "1h", pad_after = 1e300 })
      :to_raise "option 'pad_after' of 'schedule': at most a hundred years expected"
    expect(scheduling { duration = "1h", keep = "40000d", name = "a" })
      :to_raise "option 'keep' of 'schedule': at most a hundred years expected, got 40000d"
    expect(scheduling { duration = "1h", pad_before = "25h" })
      :to_raise "option 'pad_before' of 'schedule': at most 24h expected, got 25h"
    scheduling { duration = "36525d", pad_before = "24h" }()
  end)
end)
