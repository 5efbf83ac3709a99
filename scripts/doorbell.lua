-- Rings at the door: a chime in the whole house. Music pauses for it, and continues exactly where it was.
--
--   roomtone serve                                       in the folder of the daemon: at each trigger
--   roomtone ctl trigger doorbell                        the trigger, by hand or from a program at the door
--   roomtone run scripts/doorbell.lua now                once, at once
--   roomtone run scripts/doorbell.lua now ~/gong.wav     with another sound
--   roomtone simulate scripts/doorbell.lua 16:00 --for 24h   every day at this time

local announce = require "announce"
local schedule = require "schedule"
local speaker = require "speaker"
local trigger = require "trigger"

local WHEN = arg[1] or "trigger"
local CHIME = arg[2] or "doorbell.mp3"
local VOLUME = 28

local function ring()
  -- The music pauses, an alarm too, and continues at its volume. The second of two visits waits.
  announce.play { CHIME, rooms = speaker, volume = VOLUME } -- `speaker` stands for the whole house
end

if WHEN == "now" then
  ring()
elseif WHEN == "trigger" then
  trigger.on("doorbell", ring)
  print 'The bell waits for "roomtone ctl trigger doorbell", in a daemon.'
else
  schedule.at(WHEN, { days = "daily", name = "doorbell" }, ring)
end
