-- Music that fades out and stops after a time.

local checks = require "roomtone.misuse"
local fade = require "fade"
local fades = require "roomtone.fades"
local host = require "roomtone.host"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local task = require "task"

local sleep_timer = checks.module "sleep_timer"

local OPTIONS = { after = "duration", fade = "duration", rooms = rooms.target }
local DEFAULTS = { fade = 300 }

local Timer = object.class {
  name = "a sleep timer", definition = "sleep_timer.Timer",
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
    local state = own.is_closed and "ended" or own.tracks and "fading" or "waiting"
    return ("sleep timer (%s, %.0f s remaining)"):format(state, own.object.remaining)
  end,
}

-- Fades of speakers by the speaker's id: `level`, the volume and mute before the first fade; `borrowed`, the
-- number under which the house keeps that level for the next process; `timers`, the timers that fade the
-- speaker; and `fade`, which the last of them controls.
local tracks = {}

-- Returns true if the speaker's volume was not set from elsewhere.
local function is_controlled(track)
  return track.fade.devices[1] ~= nil
end

-- Begins the fade of the last timer of a track.
local function control(track)
  local last = track.timers[#track.timers]
  local over = math.max(0, last.begins + last.fade - task.now())
  track.fade = fade.volume { track.level.device, to = 0, over = over }
end

-- Fades speakers. The levels that return later are those from before the first timer that fades them.
local function begin(own, devices)
  own.tracks = {}
  for index, level in ipairs(rooms.levels(devices)) do
    local id = level.device.id
    local track = tracks[id]
    if not track or track.level.device ~= level.device or not is_controlled(track) then
      if track then
        fades.forget(track.borrowed)
      end
      track = { level = level, timers = {} }
      track.borrowed = fades.borrow(level.device, level.volume, level.muted, 0, level.volume)
      tracks[id] = track
    end
    table.insert(track.timers, own)
    own.tracks[index] = track
    control(track)
  end
end

-- Removes a timer from a track; returns true if it was the last, which controls the fade.
local function remove(own, track)
  for index, timer in ipairs(track.timers) do
    if timer == own then
      table.remove(track.timers, index)
      return index > #track.timers
    end
  end
end

-- Ends the fades of a timer: another timer continues them; else the volumes from before return, save those
-- that somebody else has set meanwhile.
local function restore(own)
  local list, is_open = own.tracks or {}, speaker.is_open()
  own.tracks = nil
  for _, track in ipairs(list) do
    local level, was_last = track.level, remove(own, track)
    local is_over = #track.timers == 0
    if was_last and is_open and is_controlled(track) then
      if not is_over then
        control(track)
      else
        track.fade:cancel()
        if not level.muted then
          fade.volume { level.device, to = level.volume, over = 0 } -- also on an unavailable speaker
        end
      end
    end
    if is_over then
      fades.forget(track.borrowed)
      if tracks[level.device.id] == track then
        tracks[level.device.id] = nil
      end
    end
  end
end

-- Stops a session that has, or gets back, no other speakers that can be reached; returns true if it does so.
local function stop_alone(session, devices)
  for _, device in ipairs(rooms.of(session)) do
    if device.available and not rooms.contains(devices, device) then
      return false
    end
  end
  session:stop()
  return true
end

-- Stops the music on speakers: they leave sessions that play elsewhere too.
local function stop(devices)
  for _, session in ipairs(speaker.sessions()) do
    local members = rooms.of(session) -- also those that an announcement has now
    local is_music = not session.interrupts and session:state() ~= "stopped"
    if is_music and #members > 0 and not stop_alone(session, devices) then
      for _, device in ipairs(members) do
        if rooms.contains(devices, device) then
          task.try(device.leave, device, session) -- fails for one that was removed
        end
      end
    end
  end
end

-- Returns the speakers on which music plays, also those that an alarm or an announcement has now.
local function playing()
  local found = {}
  for _, session in ipairs(speaker.sessions()) do
    if not session.interrupts and session:state() ~= "stopped" then
      for _, device in ipairs(rooms.of(session)) do
        table.insert(found, device)
      end
    end
  end
  return found
end

-- Ends the object of a timer.
local function close(own)
  host.forget_end(own.ending)
  object.close(own)
end

local function run(own)
  task.sleep(math.max(0, own.begins - task.now()))
  if not speaker.is_open() then
    return close(own)
  end
  local devices = own.rooms or playing()
  begin(own, devices)
  -- The fades end early if somebody else sets all volumes; the music stops on time in any case.
  task.sleep(own.fade)
  if not speaker.is_open() then
    restore(own)
    return close(own)
  end
  stop(devices)
  restore(own)
  object.emit(own, "done", { timer = own.object })
  close(own)
end

-- Postpones the end, and returns true; false if the timer has ended. During the fade, the volumes return and
-- the time counts from now.
function Timer.methods.extend(own, time)
  local seconds, wrong = options.seconds(time)
  local from = own.tracks and task.now() or own.begins
  if not wrong and from + seconds - task.now() > options.LONGEST then
    wrong = ("the music would continue for more than a hundred years, got %s"):format(tostring(time))
  end
  if wrong then
    checks.raise(("bad argument #1 to 'extend' (%s)"):format(wrong))
  elseif own.is_closed then
    return false
  end
  own.routine:cancel()
  own.begins = from + seconds
  restore(own)
  own.routine = task.spawn(run, own)
  return true
end

function Timer.methods.cancel(own)
  if not own.is_closed then
    own.routine:cancel()
    restore(own)
    close(own)
  end
end

function sleep_timer.start(given)
  local own = options.check("start", given, OPTIONS, { "after" }, DEFAULTS)
  checks.attribute(checks.where(), speaker.devices) -- opens the house; raises if it is closed
  own.begins = task.now() + own.after
  own.ending = host.at_end(function()
    own.object:cancel()
  end)
  own.routine = task.spawn(run, own)
  return (object.new(Timer, own))
end

return checks.sealed("sleep_timer", sleep_timer, { start = OPTIONS })
