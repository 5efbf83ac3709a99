-- Moves the music from room to room during the day, without a gap.
--
--   roomtone run scripts/follow_me.lua                   by the table below, until it is stopped
--   roomtone run scripts/follow_me.lua Kitchen           plays in the kitchen now
--   roomtone simulate scripts/follow_me.lua --for 24h    prints what it would do

local follow = require "follow"
local schedule = require "schedule"
local speaker = require "speaker"

-- The rooms by the time of day; without a room, the music stops.
local DAY = {
  { at = "07:00", room = "Bathroom" },
  { at = "07:20", room = "Kitchen" },
  { at = "08:15" },
  { at = "18:00", room = "Living Room" },
  { at = "21:45", room = "Bedroom" },
  { at = "23:30" },
}
-- Played if the house is silent: a URL, or the name of a station of the configuration.
local STATION = "http://127.0.0.1:8000/live.mp3"

local function move(room)
  follow.to { room, session = speaker.own } -- joins before the other rooms leave
  if not speaker.is_playing() then
    speaker.play_stream(STATION)
  end
end

if arg[1] then
  move(arg[1])
else
  for _, part in ipairs(DAY) do
    -- An unknown room is an error now, not at its time.
    local room = part.room and speaker.group(part.room)
    local name = ("%s at %s"):format(part.room or "silence", part.at)
    schedule.at(part.at, { days = "daily", name = name }, function()
      if room then
        move(room)
      else
        speaker.stop()
      end
    end)
  end
end
