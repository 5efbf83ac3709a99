-- Rings at the door: a chime in the whole house. Music pauses for it, and continues exactly where it was.
--
--   roomtone run scripts/doorbell.lua                    once, at once
--   roomtone run scripts/doorbell.lua 16:00              every day at this time
--   roomtone run scripts/doorbell.lua now ~/gong.wav     with another sound
--   roomtone simulate scripts/doorbell.lua 16:00 --for 24h

local announce = require "announce"
local schedule = require "schedule"
local speaker = require "speaker"

local TIME = arg[1] or "now"
local CHIME = arg[2] or "doorbell.mp3"
local VOLUME = 28

local function ring()
  -- What plays pauses, an alarm too, and continues at its volume. Of two visits, the second one waits.
  announce.play { CHIME, rooms = speaker, volume = VOLUME } -- `speaker` stands for the whole house
end

if TIME == "now" then
  ring()
else
  schedule.at(TIME, { days = "daily", name = "doorbell" }, ring)
end
