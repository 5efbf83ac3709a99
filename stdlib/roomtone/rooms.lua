-- The speakers that a script means by a room or another target.
--
--   local rooms = require "roomtone.rooms"
--   local wanted = options.check("set", given, { rooms.target, to = "volume" }, { 1, "to" })
--   for _, level in ipairs(rooms.levels(wanted[1])) do       -- wanted[1] is a list of speakers now
--     print(level.device.name, level.volume, level.muted)
--   end

local checks = require "roomtone.misuse"
local log = require "log"
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
    err.where = checks.where() or ""
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

-- Returns the names of the speakers' groups, or of those without a group, as text: "Bedroom, Kitchen".
function rooms.names(devices)
  local names, is_listed = {}, {}
  for _, device in ipairs(devices) do
    local name = device.group and device.group_name or device.name
    if not is_listed[name] then
      is_listed[name] = true
      table.insert(names, name)
    end
  end
  return table.concat(names, ", ")
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

-- Returns the speakers of `devices` that are not in `others`.
function rooms.without(devices, others)
  local list = {}
  for _, device in ipairs(devices) do
    list[#list + 1] = not rooms.contains(others, device) and device or nil
  end
  return list
end

-- Returns the members of a session, and those that interruptions return to it.
function rooms.of(session)
  local list = session.devices
  return table.move(session.lent, 1, #session.lent, #list + 1, list)
end

-- Returns the volume and mute of speakers as a list of { device=, volume=, muted= }, without those that were
-- removed from the house. A volume that was set a moment before is included: a snapshot makes it take effect.
function rooms.levels(devices)
  local house, list = checks.attribute(checks.where(), speaker.devices), {}
  for _, device in ipairs(speaker.snapshot({ devices = devices }).devices) do
    if rooms.contains(house, device) then
      list[#list + 1] = { device = device, volume = device.asked_volume, muted = device.muted }
    end
  end
  return list
end

-- The kind of an option that names a session; the module `speaker` stands for the script's own one.
function rooms.session(value)
  if value == speaker then
    return checks.attribute(checks.where(), function()
      return speaker.own
    end)
  end
  return getmetatable(value) == "session" and value or nil,
    ("session expected, got %s"):format(type(value))
end

-- Returns the state of speakers that join a session: `inactive`, a list of those in no session; `taken`,
-- those of other sessions; snapshots of these, `whole` of all and `each` by the speaker's id; and `wanted`,
-- those that the session wants already.
local function state_of(devices, session)
  local state = { inactive = {}, taken = {}, each = {}, wanted = session.rooms }
  for _, device in ipairs(devices) do
    table.insert(device.active and state.taken or state.inactive, device)
    state.each[device.id] = device.active and speaker.snapshot { devices = { device } } or nil
  end
  state.whole = speaker.snapshot { devices = state.taken }
  return state
end

-- Restores sessions from snapshots. Volumes and mute remain.
local function restore(snapshots, devices)
  local levels = rooms.levels(devices)
  for _, snapshot in ipairs(snapshots) do
    local _, err = task.try(snapshot.restore, snapshot)
    if err then
      log.warn("speakers do not return to their session", { error = tostring(err) })
    end
  end
  for _, level in ipairs(levels) do
    local device = level.device
    if device.asked_volume ~= level.volume or device.muted ~= level.muted then
      task.try(device.set_volume, device, level.volume)
      if level.muted then
        task.try(device.mute, device)
      end
    end
  end
end

-- Undoes a join: each speaker that is still a member of the session returns to its former one, save those
-- for which `is_kept` returns true. The session does not want those any more that it has not had.
local function undo(state, session, is_kept)
  local members = session.devices
  for _, device in ipairs(state.taken) do
    if not rooms.contains(members, device) and not rooms.contains(state.wanted, device) then
      task.try(device.leave, device, session)
    end
  end
  local function returns(device)
    return rooms.contains(members, device) and not (is_kept and is_kept(device))
  end
  for _, device in ipairs(state.inactive) do
    if returns(device) then
      task.try(device.leave, device) -- fails for a speaker that was removed
    end
  end
  local devices, snapshots = {}, {}
  for _, device in ipairs(state.taken) do
    if returns(device) then
      table.insert(devices, device)
      table.insert(snapshots, state.each[device.id])
    end
  end
  -- The snapshot of all has the sources of sessions that have lost several members, too.
  restore(#devices == #state.taken and devices[1] and { state.whole } or snapshots, devices)
end

-- Joins speakers to a session, all of them or none: one that sounds has them then, another one wants them.
-- Raises at the script's line, `speaker.outranked` for a speaker that a session of higher priority keeps.
-- Returns a snapshot of those that were not in the session before, and a function that undoes the join, but
-- not volumes: `undo(is_kept)`.
function rooms.join(devices, session)
  local where, outsiders = checks.where(), rooms.without(devices, session.devices)
  local before, is_complete = speaker.snapshot { devices = outsiders }, false
  local state = state_of(outsiders, session)
  local function undo_join(is_kept)
    if speaker.is_open() then
      undo(state, session, is_kept)
    end
  end
  local _ <close> = object.closing(function() -- also if the routine is cancelled
    if not is_complete then
      undo_join()
    end
  end)
  for _, device in ipairs(outsiders) do
    checks.attribute(where, device.join, device, session)
    local holder = device.session
    if holder and holder ~= session and session:state() ~= "stopped" then
      checks.raise_at(where, ("\"%s\" is kept by \"%s\" of priority %d"):format(
        device.name, holder.name, holder.priority), "speaker.outranked", "wait until it is free")
    end
  end
  is_complete = true
  return before, undo_join
end

return checks.sealed("roomtone.rooms", rooms)
