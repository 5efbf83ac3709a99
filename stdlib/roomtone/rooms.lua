-- The speakers that a script means by a room or another target.
--
--   local rooms = require "roomtone.rooms"
--   local wanted = options.check("set", given, { rooms.target, to = "volume" }, { 1, "to" })
--   for _, level in ipairs(rooms.levels(wanted[1])) do       -- wanted[1] is a list of speakers now
--     print(level.device.name, level.volume, level.muted)
--   end

local checks = require "roomtone.misuse"
local object = require "roomtone.object"
local speaker = require "speaker"
local task = require "task"

local rooms = checks.module "roomtone.rooms"

-- The kind of an option that names speakers. Returns the list of them, each once: of the house for the module
-- `speaker`; of a session, zone or party; of a speaker or group, the name of one, or a list of these.
-- Raises `speaker.unknown` at the script's line for a name or group that does not exist.
function rooms.target(value)
  local kind = getmetatable(value)
  if value == speaker then
    return checks.attribute(checks.where(), speaker.devices)
  elseif kind == "session" or type(value) == "table" and kind then
    return value.devices
  elseif type(value) ~= "string" and type(value) ~= "table" and kind ~= "speaker" and kind ~= "group" then
    return nil, ("speaker, group, session, name or list of these expected, got %s"):format(type(value))
  end
  -- A snapshot resolves names as all functions of the module do.
  local snapshot, err = task.try(speaker.snapshot, { devices = value })
  if err and err.code == "argument" then
    return nil, err.message:match "%(option 'devices': (.*)%)$" or err.message
  elseif err then
    err.where = checks.where() or err.where
    error(err, 0)
  end
  return snapshot.devices
end

-- Returns the ids of speakers: they outlive a house that is closed and opened again.
function rooms.ids(devices)
  local list = {}
  for index, device in ipairs(devices) do
    list[index] = device.id
  end
  return list
end

-- Returns the speakers with these ids, without those that are not in the house any more.
function rooms.present(ids)
  local list = {}
  for _, id in ipairs(ids) do
    list[#list + 1] = speaker.find(id)
  end
  return list
end

-- Returns true if a speaker is in a list.
function rooms.contains(devices, device)
  for _, other in ipairs(devices) do
    if other == device then
      return true
    end
  end
  return false
end

-- Returns the volume and mute of speakers as a list of { device=, volume=, muted= }, without those that were
-- removed from the house. A volume that was set a moment before is included: a snapshot makes it take effect.
function rooms.levels(devices)
  local house, list = checks.attribute(checks.where(), speaker.devices), {}
  for _, device in ipairs(speaker.snapshot({ devices = devices }).devices) do
    if rooms.contains(house, device) then
      list[#list + 1] = { device = device, volume = device.volume, muted = device.muted }
    end
  end
  return list
end

-- The kind of an option that names a session; the module `speaker` stands for the default one.
function rooms.session(value)
  if value == speaker then
    return checks.attribute(checks.where(), speaker.default_session)
  end
  return getmetatable(value) == "session" and value or nil,
    ("session expected, got %s"):format(type(value))
end

-- Joins speakers to a session, all of them or none, and returns a snapshot of those that were not in it
-- before. Raises at the script's line.
function rooms.join(devices, session)
  local where, members, outsiders = checks.where(), session.devices, {}
  for _, device in ipairs(devices) do
    outsiders[#outsiders + 1] = not rooms.contains(members, device) and device or nil
  end
  local before, is_complete = speaker.snapshot { devices = outsiders }, false
  local _ <close> = object.closing(function() -- also if the routine is cancelled
    if not is_complete then
      before:restore()
    end
  end)
  for _, device in ipairs(outsiders) do
    checks.attribute(where, device.join, device, session)
  end
  is_complete = true
  return before
end

return checks.sealed("roomtone.rooms", rooms)
