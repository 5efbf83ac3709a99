-- One music in the whole house, for a while.
--
--   local party = require "party"
--   local birthday = party.start { volume = 30 }
--   speaker.play_stream "http://127.0.0.1:8000/dance.mp3"
--   task.sleep "4h"
--   birthday:stop()                                       -- every room as it was before
--
-- All speakers join one session, and so does one that is added to the house during the party. The session
-- continues after the party, for the speakers that it had before. There is one party at a time in a script.

local checks = require "roomtone.misuse"
local fade = require "fade"
local log = require "log"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local task = require "task"

local party = checks.module "party"

local OPTIONS = { volume = "volume", session = rooms.session }
-- True from the start of a party until all is restored.
local is_busy = false

local Party = object.class {
  name = "a party", definition = "party.Party",
  events = { "done" },
  fields = {
    active = function(own)
      return not own.is_over
    end,
    devices = function(own)
      return own.session.devices
    end,
  },
  describe = function(own)
    return ("party (%s, %d speakers)"):format(own.is_over and "ended" or "active", #own.session.devices)
  end,
}

-- Sets the volume of the party; on a speaker that is away, once it is back.
local function set_volume(own, devices)
  if own.volume then
    fade.volume { devices, to = own.volume, over = 0 }
  end
end

-- Lets a speaker that was added to the house join the party.
local function add(own, device)
  local level = rooms.levels({ device })[1]
  local _, err = task.try(device.join, device, own.session)
  if err then
    log.warn("a new speaker does not join the party", { speaker = device.name, error = tostring(err) })
  elseif level and not own.is_over then
    table.insert(own.levels, level)
    table.insert(own.added, device)
    set_volume(own, { device })
  end
end

-- Restores sessions, with their sources and positions, volumes and mute.
local function restore(own)
  local _ <close> = object.closing(function() -- also if the house is closed
    is_busy = false
    object.emit(own, "done", { party = own.object })
    object.close(own)
  end)
  for _, device in ipairs(own.added) do
    task.try(device.leave, device) -- one that was removed since has left
  end
  local _, err = task.try(own.before.restore, own.before)
  for _, level in ipairs(own.levels) do
    if level.muted then
      task.try(level.device.set_volume, level.device, level.volume)
      task.try(level.device.mute, level.device)
    else
      fade.volume { level.device, to = level.volume, over = 0 }
    end
  end
  if err then
    error(err, 0)
  end
end

local function stop(own)
  if not own.is_over then
    own.is_over = true
    own.subscription:cancel()
    -- A task of its own: if the calling routine is cancelled, all is restored nevertheless.
    own.restoring = task.spawn(restore, own)
  end
  checks.attribute(checks.where(), own.restoring.await, own.restoring)
end
Party.methods.stop, Party.methods.cancel = stop, stop

function party.start(given)
  local own = options.check("start", given or {}, OPTIONS)
  if is_busy then
    checks.raise("the script has a party already", "party.active", "stop it first")
  end
  is_busy = true
  local _ <close> = object.closing(function() -- also if the routine is cancelled
    is_busy = own.subscription ~= nil
  end)
  own.session = own.session or rooms.session(speaker)
  local devices = checks.attribute(checks.where(), speaker.devices)
  own.levels, own.added = rooms.levels(devices), {}
  own.before = rooms.join(devices, own.session)
  set_volume(own, devices)
  own.subscription = speaker.on("device", function(event)
    if event.reason == "added" then
      add(own, event.device)
    end
  end)
  return (object.new(Party, own))
end

return checks.sealed("party", party, { start = OPTIONS })
