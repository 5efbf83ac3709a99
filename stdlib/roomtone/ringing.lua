-- The sound of an alarm in its rooms.
--
--   local ringing = require "roomtone.ringing"
--   own.pause = task.spawn(task.sleep, 3600)
--   ringing.sound(own)                            -- until the pause is over
--   ringing.restore(own)
--
-- `own` has the options of the alarm, `name`, `rooms` with their `ids`, `sources`, `priority`, `volume`,
-- `fade`, `sustain` and `over_limit`; the time at which it began to ring, `ring.began`; the former volumes by
-- the speakers' ids, `ring.levels`; the volumes when the script began to ring, `found`; and functions that
-- are called: `sounding(source)`, `fall_back(source, reason)`, `dismissed()`, which ends the pause.

local checks = require "roomtone.misuse"
local fade = require "fade"
local fades = require "roomtone.fades"
local host = require "roomtone.host"
local log = require "log"
local object = require "roomtone.object"
local rooms = require "roomtone.rooms"
local sounds = require "roomtone.sounds"
local speaker = require "speaker"
local task = require "task"

local ringing = checks.module "roomtone.ringing"

-- Seconds between attempts to ring in rooms that a higher priority has, or that can't be reached.
local RETRY = 5
-- Seconds by which a speaker may reach a volume of the alarm late.
local SETTLING = 2
local BLOCKED = {
  ["speaker.outranked"] = true, ["speaker.no_active_device"] = true, ["speaker.no_stream"] = true,
}

-- Returns the volume that the alarm has risen to, or had risen to some seconds ago.
local function level(own, ago)
  local risen = own.fade > 0 and (os.time() - (ago or 0) - own.ring.began) / own.fade or 1
  return math.max(1, math.floor(own.volume * math.min(risen, 1) + 0.5))
end

-- Calls a function, and cancels it at the end of the pause.
local function in_pause(own, fn, ...)
  local arguments = table.pack(...)
  task.race {
    function()
      fn(table.unpack(arguments))
    end,
    function()
      task.try(own.pause.await, own.pause)
    end,
  }
end

-- Opens the next source that can be reached, in place of one that has failed.
local function next_sound(own)
  while true do
    own.index = own.index + 1
    local source = own.sources[own.index] or sounds.BUILT_IN
    local sound, reason = sounds.open(source)
    if sound then
      own.sound = sound
      return
    end
    own.fall_back(source, reason)
  end
end

-- Raises the volume of a session, or of one of its speakers, from the level that the alarm has risen to. The
-- fades are the session's, which alone may exceed the limits of its speakers.
local function rise(own, session, device)
  local function step(to, over)
    if device then
      fades.begin({ device }, to, over, "linear", session):run()
    else
      session:fade { to = to, over = over }
    end
  end
  task.try(function() -- fails for a removed speaker, for example
    step(level(own), 0)
    step(own.volume, math.max(0, own.ring.began + own.fade - os.time()))
  end)
end

-- Handles an event of a speaker of the alarm.
local function follow(own, session, event)
  local device, reason = event.device, event.reason
  if not rooms.contains(own.rooms, device) then
    return
  elseif device.session == session and (reason == "joined" or reason == "available") then
    own.late[device.id] = own.late[device.id] or reason == "available"
    own.joined[device.id] = task.now()
    rise(own, session, device)
  elseif reason == "left" and device.session == nil and speaker.find(device.id) then
    own.dismissed()
  end
end

-- Reports a volume that somebody has set below that of the alarm, once for each room and volume; it stays.
-- The volume of a speaker that has just joined may still rise.
local function watch_volume(own, session, event)
  local device, now = event.device, event.muted and 0 or event.asked or event.volume
  if device.session ~= session or not rooms.contains(own.rooms, device)
    or task.now() - (own.joined[device.id] or own.joined.all) < SETTLING
    or now > 0 and now + 1 >= level(own, SETTLING)
  then
    return
  end
  local room = device.group and device.group.name or device.name
  local key = room .. now
  if own.told[key] then
    return
  end
  own.told[key] = true
  local words = now > 0 and ("at volume %d"):format(now) or "silent"
  host.note(own.name, ("is %s in %s, as somebody has set, not at %d"):format(words, room, level(own)))
  log.warn("an alarm is quieter than it would be: somebody has set the volume",
    { alarm = own.name, room = room, volume = now, wanted = level(own) })
end

-- Plays one source after the other.
local function play_sources(own, session)
  local failed
  local _ <close> = object.closing(function()
    if failed then
      sounds.close(failed)
    end
  end)
  while true do
    local sound = own.sound
    local reason = sounds.play(sound, session, own.sustain, function()
      own.sounding(sound.source)
    end, failed)
    failed = sound
    own.fall_back(failed.source, reason)
    next_sound(own)
  end
end

-- Lets a session exceed the limits of its speakers, up to the alarm's volume, until its interruption ends.
local function exceed_limits(own, session)
  local device = session.devices[1]
  if device then
    host.over_limit(device.id, own.volume)
  end
end

-- Rings on a session until the end of the pause.
local function play(own, session)
  own.has_sounded, own.told, own.joined = true, {}, { all = task.now() }
  if own.over_limit then
    exceed_limits(own, session)
  end
  local routines = {
    session:on("state", function(event)
      if event.state == "paused" then
        own.dismissed()
      end
    end),
    session:on("ended", function(event)
      if event.reason == "stopped" then
        own.dismissed()
      end
    end),
    speaker.on("device", function(event)
      follow(own, session, event)
    end),
    speaker.on("volume", function(event)
      watch_volume(own, session, event)
    end),
    task.spawn(rise, own, session),
  }
  local _ <close> = object.closing(function()
    for _, routine in ipairs(routines) do
      routine:cancel()
    end
  end)
  in_pause(own, play_sources, own, session)
end

-- Finds the speakers of the alarm in the house, which is opened for that if the script has closed it.
function ringing.find_rooms(own)
  if not speaker.is_open() then
    speaker.open()
  end
  own.rooms = rooms.present(own.ids)
end

-- Interrupts the rooms as soon as a source can be reached, so that their music is not cut off early.
-- Returns at the end of the pause, when the rooms are as before.
function ringing.sound(own)
  own.index = 0
  local _ <close> = object.closing(function()
    if own.sound then
      sounds.close(own.sound)
    end
  end)
  in_pause(own, next_sound, own)
  while not own.pause.done do
    local _, err = task.try(speaker.interrupt, {
      devices = own.rooms, name = own.name, priority = own.priority, volume = level(own),
      play = function(session)
        play(own, session)
      end,
    })
    if not err or err.code == "speaker.closed" and speaker.is_open() then
      own.dismissed() -- at the latest now: somebody may have closed the session
    else
      if not BLOCKED[err.code] and own.reason ~= err.message then
        log.error("an alarm can't ring, and tries again", { alarm = own.name, error = tostring(err) })
      end
      if own.reason ~= err.message then
        host.note(own.name, "can't ring yet: " .. err.message)
      end
      own.reason = err.message
      in_pause(own, task.sleep, RETRY)
      task.try(ringing.find_rooms, own)
    end
  end
end

-- Restores volumes that were raised before a restart, or on a speaker that was unavailable at the beginning.
function ringing.restore(own)
  for _, now in ipairs(rooms.levels(own.rooms)) do
    local device = now.device
    local before = own.ring.levels[device.id]
    if before and (now.volume == own.found[device.id] or own.late[device.id]) then
      if now.volume ~= before.volume then
        fade.volume { device, to = before.volume, over = 0 }
      end
      if before.muted and device.available then
        device:mute()
      end
    end
  end
end

return checks.sealed("roomtone.ringing", ringing)
