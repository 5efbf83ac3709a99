-- Wakes the bedroom with a rising volume: on weekdays, or now, as the demonstration that ends in the kitchen.
--
--   roomtone run scripts/wake_up.lua now                  the demonstration
--   roomtone run scripts/wake_up.lua now song.mp3         with another song
--   roomtone run scripts/wake_up.lua                      an alarm at 06:45, until it is stopped
--   roomtone run scripts/wake_up.lua 07:15 morning a.mp3  with a station, and a file if the station fails
--   roomtone simulate scripts/wake_up.lua --for 24h

local alarm = require "alarm"
local speaker = require "speaker"
local task = require "task"

local TIME = arg[1] or "06:45"
local SONG = arg[2] or "wake_up.mp3"
local SOURCES = { SONG, table.unpack(arg, 3) }
local QUIET, LOUD = 8, 32 -- volumes go from 0 to 50

if TIME ~= "now" then
  local wake = alarm.set {
    name = "wake up", at = TIME, days = "weekdays", rooms = "Bedroom",
    sources = SOURCES, -- the first one that sounds; else the built-in chime
    volume = LOUD, fade = "5m", duration = "30m",
  }
  wake:on("ringing", function(event)
    print("Good morning, with " .. event.source)
  end)
  return
end

local bedroom, kitchen = speaker.group "Bedroom", speaker.group "Kitchen"

-- Callbacks run beside the routine. A failure of a callback is logged and affects nothing else.
speaker.on("ended", function(event)
  print(event.source.title .. " is over: " .. event.reason)
end)

bedroom:set_volume(QUIET)
bedroom:join()
print "Good morning!"
speaker.play(SONG, { title = "the morning tune" })
bedroom:fade { to = LOUD, over = "12s" } -- suspends this routine only; music and callbacks continue

-- A speaker that joins starts in step with the others, so the music moves without a gap.
kitchen:set_volume(LOUD)
kitchen:join()
print "Breakfast is in the kitchen."
task.sleep "2s"
bedroom:leave()
speaker.finish() -- returns when the last frame has been heard
