-- Records a show every Saturday evening, and the news at noon.
--
--   roomtone run scripts/record_show.lua                         until it is stopped
--   roomtone run scripts/record_show.lua http://127.0.0.1:8000/live.mp3
--   roomtone simulate scripts/record_show.lua --from 2026-03-27T00:00 --for 7d
--
-- A cron job needs no script: 58 19 * * 6 roomtone record URL -o 'Show {start:%Y-%m-%d}.{ext}' --for 2h

local log = require "log"
local recorder = require "recorder"

local STATION = arg[1] or "http://127.0.0.1:8000/live.mp3"

-- `template` is expanded when the file opens. A relative path begins in the folder of the configuration.
local show = recorder.schedule {
  name = "saturday show",
  url = STATION,
  fallbacks = { "http://127.0.0.1:8001/live.mp3" },
  cron = "0 20 * * sat",
  duration = "2h",
  pad_before = "2m", -- clocks of stations are not exact
  pad_after = "5m",
  template = "Saturday show/{start:%Y-%m-%d} {station}.{ext}",
}

local news = recorder.schedule {
  name = "news",
  url = STATION,
  at = "12:00",
  days = "mon-fri",
  duration = "10m",
  pad_after = "1m",
  template = "News/{start:%Y-%m-%d}.{ext}",
  keep = "14d", -- older recordings are deleted
}

-- Each run ends with one event "finished" or "failed".
for _, recording in ipairs { show, news } do
  local next_time = recording.next
  print(recording.name, "next on", next_time and os.date("%a %d %b, %H:%M", math.floor(next_time)))
  recording:on("finished", function(event)
    print(recording.name, event.path, ("%.0f minutes, %.1f MB"):format(event.seconds / 60, event.bytes / 1e6))
  end)
  recording:on("failed", function(event)
    log.error(recording.name .. " was not recorded", { error = tostring(event.error) })
  end)
  recording:on("fallback", function(event)
    log.warn("the station is not there", { station = event.from, instead = event.url })
  end)
end
