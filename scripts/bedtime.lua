-- Ends the day: the bedroom alone plays on, fades out and stops; the other rooms are silent at once.
--
--   roomtone run scripts/bedtime.lua                     every evening at 22:30, until it is stopped
--   roomtone run scripts/bedtime.lua 23:15 "Living Room" at another time, in another room
--   roomtone run scripts/bedtime.lua now                 once, at once
--   roomtone simulate scripts/bedtime.lua --for 24h      prints what it would do

local follow = require "follow"
local schedule = require "schedule"
local sleep_timer = require "sleep_timer"
local speaker = require "speaker"

local TIME = arg[1] or "22:30"
local ROOM = speaker.group(arg[2] or "Bedroom") -- an unknown room is an error now, not in the evening
local VOLUME = 12
-- Played if the house is silent: a URL, or the name of a station of the configuration.
local STATION = "http://127.0.0.1:8000/night.mp3"

local function bedtime()
  ROOM:set_volume(VOLUME)
  follow.to { ROOM } -- joins before the other rooms leave
  if not speaker.is_playing() then
    speaker.play_stream(STATION)
  end
  -- Returns when the music has stopped. The volume is VOLUME again then, so that the morning is heard.
  sleep_timer.start({ after = "25m", fade = "5m", rooms = ROOM }):wait "done"
  print "Good night."
end

if TIME == "now" then
  bedtime()
else
  schedule.at(TIME, { days = "daily", name = "bedtime" }, bedtime)
end
