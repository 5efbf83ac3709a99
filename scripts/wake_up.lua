-- Wakes the bedroom with a fade-in, then moves the music to the kitchen.
--
--   roomtone run scripts/wake_up.lua              plays it now
--   roomtone simulate scripts/wake_up.lua         prints what it would do
--   roomtone run scripts/wake_up.lua song.mp3     plays another song

local log = require "log"
local speaker = require "speaker"
local task = require "task"

local TUNE = arg[1] or "wake_up.mp3"
local QUIET, LOUD = 8, 32 -- volumes go from 0 to 50
local FADE = 12 -- seconds

-- By default, every speaker of the house joins the default session.
speaker.open { add_all = false }

-- Callbacks run beside the routine. A failure of a callback is logged and affects nothing else.
speaker.on("error", function(event)
  log.error(event.message, { code = event.code })
end)
speaker.on("ended", function(event)
  print(event.source.title .. " is over: " .. event.reason)
end)

local bedroom = speaker.group("Bedroom").devices
for _, device in ipairs(bedroom) do
  device:set_volume(QUIET)
  device:join()
end

print "Good morning!"
speaker.play(TUNE, { title = "the morning tune" })

-- `sleep` suspends this routine only: music, callbacks and other routines continue.
for volume = QUIET + 1, LOUD do
  task.sleep(FADE / (LOUD - QUIET))
  for _, device in ipairs(bedroom) do
    device:set_volume(volume)
  end
end

-- A speaker that joins starts in step with the others, so the music moves without a gap.
local kitchen = speaker.device "Kitchen"
kitchen:set_volume(LOUD)
kitchen:join()
print "Breakfast is in the kitchen."
task.sleep("2s")
for _, device in ipairs(bedroom) do
  device:leave()
end

speaker.finish() -- returns when the last frame has been heard
