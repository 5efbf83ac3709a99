-- Rings at the door: a chime in the whole house. Music pauses for it, and continues exactly where it was.
--
--   roomtone run scripts/doorbell.lua                    once, at once
--   roomtone run scripts/doorbell.lua 16:00              every day at this time
--   roomtone run scripts/doorbell.lua now ~/gong.wav     with another sound
--   roomtone simulate scripts/doorbell.lua 16:00 --for 24h

local schedule = require "schedule"
local speaker = require "speaker"

local TIME = arg[1] or "now"
local CHIME = arg[2] or "doorbell.mp3"
local VOLUME = 28

local function ring()
  -- Suspends the sessions of the speakers, and then gives back what it has changed: sessions, positions and
  -- volumes. A session of higher priority is not interrupted; alarms have 200.
  speaker.interrupt {
    devices = speaker.devices(),
    priority = 300,
    volume = VOLUME,
    fade = "300ms",
    play = CHIME,
  }
end

if TIME == "now" then
  ring()
else
  schedule.at(TIME, { days = "daily", name = "doorbell" }, ring)
end
