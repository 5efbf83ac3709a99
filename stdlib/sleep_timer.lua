-- Music that fades out and stops after a time.
--
--   local sleep_timer = require "sleep_timer"
--   local timer = sleep_timer.start { after = "30m", fade = "5m", rooms = "Bedroom" }
--   timer:on("done", function() print "good night" end)
--   timer:extend "10m"                                          -- one more song; also during the fade
--   print(timer.remaining)                                      -- seconds until the music stops
--
-- After the fade the music stops: the default session, if no other room plays it; else the rooms leave. Then
-- the volumes are as before the fade, so that the music of the next day is heard.

local checks = require "roomtone.misuse"
local fade = require "fade"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local task = require "task"

local sleep_timer = checks.module "sleep_timer"

local OPTIONS = { after = "duration", fade = "duration", rooms = rooms.target }
local DEFAULTS = { fade = 300 }

local Timer = object.class {
  name = "a sleep timer",
  events = { "done" },
  fields = {
    active = function(own)
      return not own.is_closed
    end,
    remaining = function(own)
      return own.is_closed and 0.0 or math.max(0.0, own.begins + own.fade - task.now())
    end,
  },
  describe = function(own)
    local state = own.is_closed and "ended" or own.fading and "fading" or "waiting"
    return ("sleep timer (%s, %.0f s remaining)"):format(state, own.object.remaining)
  end,
}

-- Restores the volumes from before the fade, save those that somebody else has set meanwhile.
local function restore(own)
  local fading = own.fading
  if fading then
    own.fading = nil
    fading:cancel()
    for _, level in ipairs(own.levels) do
      if not level.muted and rooms.contains(fading.devices, level.device) then
        fade.volume { level.device, to = level.volume, over = 0 } -- also on a speaker that is away
      end
    end
  end
end

-- Stops what speakers play.
local function stop(devices)
  local session = speaker.default_session()
  local members, is_alone = session.devices, true
  for _, device in ipairs(members) do
    is_alone = is_alone and (rooms.contains(devices, device) or not device.available)
  end
  if is_alone then
    session:stop()
  end
  for _, device in ipairs(devices) do
    local is_stopped = is_alone and rooms.contains(members, device)
    -- A speaker that is away would play when it is back. One that was removed has left.
    if not is_stopped and device.active and (device.is_playing or not device.available) then
      task.try(device.leave, device)
    end
  end
end

local function run(own)
  task.sleep(math.max(0, own.begins - task.now()))
  if not speaker.is_open() then
    return object.close(own)
  end
  local devices = own.rooms or speaker.default_session().devices
  own.levels = rooms.levels(devices)
  own.fading = fade.volume { devices, to = 0, over = own.fade }
  -- The fade ends early if somebody else sets all volumes; the music stops on time in any case.
  task.sleep(own.fade)
  if not speaker.is_open() then
    return object.close(own)
  end
  stop(devices)
  restore(own)
  object.emit(own, "done", { timer = own.object })
  object.close(own)
end

-- Postpones the end, and returns true; false if the timer has ended. During the fade, the volumes return and
-- the time counts from now.
function Timer.methods.extend(own, time)
  local seconds = options.seconds(time)
  if not seconds then
    checks.raise(("bad argument #1 to 'extend' (%s is no duration, as in 90s, 5m, 1h30m)")
      :format(tostring(time)))
  elseif own.is_closed then
    return false
  end
  own.routine:cancel()
  own.begins = (own.fading and task.now() or own.begins) + seconds
  restore(own)
  own.routine = task.spawn(run, own)
  return true
end

function Timer.methods.cancel(own)
  if not own.is_closed then
    own.routine:cancel()
    restore(own)
    object.close(own)
  end
end

function sleep_timer.start(given)
  local own = options.check("start", given, OPTIONS, { "after" }, DEFAULTS)
  own.begins = task.now() + own.after
  own.routine = task.spawn(run, own)
  return (object.new(Timer, own))
end

return checks.sealed("sleep_timer", sleep_timer)
