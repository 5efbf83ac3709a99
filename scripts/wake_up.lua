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

-- By default, every speaker of the house joins the default session.
speaker.open { add_all = false }
local bedroom, kitchen = speaker.group "Bedroom", speaker.group "Kitchen"

-- Callbacks run beside the routine. A failure of a callback is logged and affects nothing else.
speaker.on("error", function(event)
  log.error(event.message, { code = event.code })
end)
speaker.on("ended", function(event)
  print(event.source.title .. " is over: " .. event.reason)
end)

bedroom:set_volume(QUIET)
bedroom:join()
print "Good morning!"
speaker.play(TUNE, { title = "the morning tune" })

-- `fade` suspends this routine only: music, callbacks and other routines continue.
bedroom:fade { to = LOUD, over = "12s" }

-- A speaker that joins starts in step with the others, so the music moves without a gap.
kitchen:set_volume(LOUD)
kitchen:join()
print "Breakfast is in the kitchen."
task.sleep "2s"
bedroom:leave()

speaker.finish() -- returns when the last frame has been heard
