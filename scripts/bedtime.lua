-- Ends the day: the bedroom alone continues, fades out and stops; the other rooms are silent at once.
--
--   roomtone run scripts/bedtime.lua                     every evening at 22:30, until it is stopped
--   roomtone run scripts/bedtime.lua 23:15 "Living Room" at another time, in another room
--   roomtone run scripts/bedtime.lua now                 once, at once
--   roomtone simulate scripts/bedtime.lua --for 24h      prints what it would do

local follow = require "follow"
local schedule = require "schedule"
local sleep_timer = require "sleep_timer"
local speaker = require "speaker"
local store = require "store"

local TIME = arg[1] or "22:30"
local ROOM = speaker.group(arg[2] or "Bedroom") -- an unknown room is an error now, not in the evening
local VOLUME = 12
local LENGTH, FADE = 30 * 60, 5 * 60 -- seconds until the music stops, with the fade
-- Played if the house is silent: a URL, or the name of a station of the configuration.
local STATION = "http://127.0.0.1:8000/night.mp3"

local function play()
  follow.to { ROOM, session = speaker.own } -- joins before the other rooms leave
  if not speaker.is_playing() then
    speaker.play_stream(STATION)
  end
end

-- Returns when the music has stopped. The store keeps the end, so that a restart does not change it.
local function wait_for_end()
  local left = math.max(0, store.get "ends" - os.time())
  local fade = math.min(FADE, left)
  local timer = sleep_timer.start { after = left - fade, fade = fade, rooms = ROOM }
  -- If somebody stops the music before the end, the evening is over.
  local stopped = speaker.own:on("ended", function(event)
    if event.reason == "stopped" and timer.remaining > 1 then
      store.delete "ends"
      timer:cancel()
    end
  end)
  if timer:wait "done" then -- not if the script ends
    store.delete "ends"
    -- The timer has restored the volume from before the fade, so that the music of the morning is heard.
    print "Good night."
  end
  stopped:cancel()
end

local function bedtime()
  ROOM:set_volume(VOLUME)
  play()
  store.set("ends", os.time() + LENGTH)
  wait_for_end()
end

if TIME == "now" then
  bedtime()
else
  schedule.at(TIME, { days = "daily", name = "bedtime" }, bedtime)
  -- An evening continues after a reload or a restart in its middle.
  if store.get("ends", 0) > os.time() then
    if speaker.state() == "stopped" then
      play()
    end
    wait_for_end()
  end
end
