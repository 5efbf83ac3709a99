-- One music in the whole house, for a while.

local checks = require "roomtone.misuse"
local fade = require "fade"
local fades = require "roomtone.fades"
local host = require "roomtone.host"
local log = require "log"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local task = require "task"

local party = checks.module "party"

local OPTIONS = { volume = "volume", session = rooms.session }
-- `true` from the start of a party until all is restored.
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

-- Sets the volume of the party; an unavailable speaker receives it when it is back.
local function set_volume(own, devices)
  if own.volume then
    fade.volume { devices, to = own.volume, over = 0 }
  end
end

-- Keeps the former volume and mute of a speaker for the end of the party, and for the next process.
local function note(own, level)
  table.insert(own.levels, level)
  if own.volume then
    local number = fades.borrow(level.device, level.volume, level.muted, own.volume, own.volume)
    table.insert(own.borrowed, number)
  end
end

-- Keeps track of speakers whose volume somebody has set to another value than that of the party.
local function watch_volume(own, event)
  if event.cause == nil or event.cause == "controller" then
    own.changed[event.device.id] = event.muted or (event.asked or event.volume) ~= own.volume
  end
end

-- Joins a speaker that was added to the house to the party.
local function add(own, device)
  local level = rooms.levels({ device })[1]
  local _, err = task.try(device.join, device, own.session)
  if err then
    log.warn("a new speaker does not join the party", { speaker = device.name, error = tostring(err) })
  elseif level and not own.is_over then
    note(own, level)
    table.insert(own.added, device)
    set_volume(own, { device })
  end
end

-- Restores the source that the session played before the party, or stops it if it played nothing.
local function restore_music(own)
  local session, is_other = own.session, own.is_other
  local is_stopped = session:state() == "stopped"
  if is_stopped then
    return -- the source has ended, or somebody has stopped it
  elseif own.was == "stopped" then
    session:stop()
  elseif is_other then
    own.music:restore()
  elseif own.was == "paused" then
    session:pause()
  end
end

-- Restores the volume and mute of a speaker.
local function restore_level(level)
  if level.muted then
    task.try(level.device.set_volume, level.device, level.volume)
    task.try(level.device.mute, level.device)
  else
    fade.volume { level.device, to = level.volume, over = 0 }
  end
end

-- Returns the levels to restore: the former ones, or the current one where somebody has set it meanwhile.
local function levels_after(own)
  local list, now = {}, {}
  for index, level in ipairs(own.levels) do
    list[index] = level
    now[index] = level.device
  end
  for _, level in ipairs(rooms.levels(now)) do
    for index, before in ipairs(own.levels) do
      if before.device == level.device and (own.changed[level.device.id] or not own.volume) then
        list[index] = level
      end
    end
  end
  return list
end

-- Restores sessions, with their sources and positions, volumes and mute.
local function restore(own)
  local _ <close> = object.closing(function() -- also if the house is closed
    is_busy = false
    object.emit(own, "done", { party = own.object })
    object.close(own)
  end)
  local levels = levels_after(own)
  for _, device in ipairs(own.added) do
    task.try(device.leave, device) -- fails for a speaker that was removed
  end
  local _, failure = task.try(restore_music, own)
  local _, err = task.try(own.before.restore, own.before)
  for _, level in ipairs(levels) do
    restore_level(level)
  end
  for _, number in ipairs(own.borrowed) do
    fades.forget(number)
  end
  err = err or failure
  if err then
    error(err, 0)
  end
end

local function stop(own)
  if not own.is_over then
    own.is_over = true
    for _, subscription in ipairs(own.subscriptions) do
      subscription:cancel()
    end
    -- A task of its own: if the calling routine is cancelled, all is restored nevertheless.
    own.restoring = task.spawn(function()
      local _ <close> = object.closing(function()
        host.forget_end(own.ending)
      end)
      restore(own)
    end)
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
    is_busy = own.subscriptions ~= nil
  end)
  own.session = own.session or rooms.session(speaker)
  local devices = checks.attribute(checks.where(), speaker.devices)
  own.levels, own.added, own.changed, own.borrowed = {}, {}, {}, {}
  local levels = rooms.levels(devices)
  own.was = own.session:state()
  own.music = speaker.snapshot { devices = own.session.devices }
  own.before = rooms.join(devices, own.session)
  for _, level in ipairs(levels) do
    note(own, level)
  end
  set_volume(own, devices)
  own.subscriptions = {
    speaker.on("device", function(event)
      if event.reason == "added" then
        add(own, event.device)
      end
    end),
    speaker.on("volume", function(event)
      watch_volume(own, event)
    end),
    own.session:on("ended", function()
      own.is_other = true -- the source at the end was started during the party
    end),
  }
  own.ending = host.at_end(function()
    local _, err = task.try(stop, own)
    if err and err.code ~= "speaker.closed" then
      log.warn("not all is as before the party", { error = tostring(err) })
    end
  end)
  return (object.new(Party, own))
end

return checks.sealed("party", party, { start = OPTIONS })
