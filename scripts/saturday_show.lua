-- Records a show on Saturday night, and plays it on Sunday morning.
--
--   roomtone run scripts/saturday_show.lua               until it is stopped
--   roomtone run scripts/saturday_show.lua morning       from a station of the configuration, by its name
--   roomtone simulate scripts/saturday_show.lua --for 7d prints what it would do

local follow = require "follow"
local log = require "log"
local recorder = require "recorder"
local recordings = require "recordings"
local schedule = require "schedule"
local speaker = require "speaker"

local STATION = arg[1] or "http://127.0.0.1:8000/live.mp3"
local ROOM = speaker.group "Living Room"

local show = recorder.schedule {
  name = "the Saturday show",
  url = STATION,
  at = "23:00",
  days = "sat",
  duration = "2h",
  pad_before = "2m", -- clocks of stations are not exact
  pad_after = "5m",
  template = "Saturday show/{start:%Y-%m-%d}.{ext}",
  keep = "30d",
}

schedule.at("10:00", { days = "sun", name = "the show on Sunday" }, function()
  local last = recordings.list({ job = show.name, since = os.time() - 24 * 3600 })[1]
  if not last then
    return log.warn "there is no recording of last night"
  end
  follow.to { ROOM, session = speaker.own }
  speaker.play(last.path, { title = show.name, start = "2m" }) -- past the padding
  speaker.finish()
end)

local next_time = show.next
if next_time then
  print("the next show is on " .. os.date("%A, %d %B, %H:%M", math.floor(next_time)))
end
