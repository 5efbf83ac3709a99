-- Named sets of speakers with one volume that keeps the balance between them.

local checks = require "roomtone.misuse"
local fade = require "fade"
local kept = require "roomtone.kept"
local log = require "log"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local task = require "task"

local zone = checks.module "zone"
local misuse, at = checks.raise, checks.attribute

-- Returns true if a table of the store has a whole number for some ids, and nothing else.
local function is_by_id(values)
  if type(values) ~= "table" then
    return false
  end
  for id, value in pairs(values) do
    if type(id) ~= "string" or not (math.type(value) and math.tointeger(value)) then
      return false
    end
  end
  return true
end

-- Returns true if a value of the store is a zone as `define` keeps it: `ids`, a list; `level`, the volume of
-- the zone; and by id `offsets` and `volumes`, those that the zone has set last.
local function is_zone(value)
  if type(value) ~= "table" or type(value.ids) ~= "table" or not is_by_id(value.offsets)
    or not is_by_id(value.volumes) or not is_by_id { level = value.level } then
    return false
  end
  for _, id in ipairs(value.ids) do
    if type(id) ~= "string" or value.volumes[id] and not value.offsets[id] then
      return false
    end
  end
  return #value.ids > 0
end

local stored = kept.kind {
  name = "zone", prefix = "zone.", verb = "define", done = "defined", code = "zone.unknown",
  is_valid = is_zone,
}
-- The zone objects by name: every part of a script has the same.
local zones = {}

-- Returns the zone's speakers; logs once those that are not in the house any more. `missing` of the zone's
-- data is a set of their ids.
local function members(own)
  local list = {}
  for _, id in ipairs(own.value.ids) do
    local device = at(checks.where(), speaker.find, id)
    if device then
      list[#list + 1] = device
    elseif not own.missing[id] then
      log.warn("a speaker of the zone is not in the house", { zone = own.name, speaker = id })
    end
    own.missing[id] = not device
  end
  return list
end

-- Raises if none of the zone's speakers is in the house.
local function check_members(own)
  if #members(own) == 0 then
    misuse(("no speaker of the zone \"%s\" is in the house any more"):format(own.name), "speaker.unavailable",
      "define the zone again")
  end
end

-- Updates the offsets of speakers whose volume somebody else has set, and the level, so that the mean of the
-- offsets is 0. Returns the speakers.
local function measure(own)
  local value, devices, is_changed, sum, count = own.value, members(own), false, 0, 0
  for _, level in ipairs(rooms.levels(devices)) do
    local id = level.device.id
    if level.volume ~= value.volumes[id] and (level.device.available or not value.offsets[id]) then
      value.offsets[id], value.volumes[id] = level.volume - value.level, level.volume
      is_changed = true
    end
    sum, count = sum + value.offsets[id], count + 1
  end
  local shift = is_changed and math.floor(sum / count + 0.5) or 0
  value.level = value.level + shift
  for id, offset in pairs(value.offsets) do
    value.offsets[id] = offset - shift
  end
  return devices
end

local function clamped(volume)
  return math.max(0, math.min(volume, speaker.MAX_VOLUME))
end

local Zone = object.class {
  name = "a zone", definition = "zone.Zone",
  fields = {
    name = function(own)
      return own.name
    end,
    devices = members,
    volume = function(own)
      measure(own)
      return clamped(own.value.level)
    end,
  },
  describe = function(own)
    return ("zone \"%s\" (%d speakers)"):format(own.name, #own.value.ids)
  end,
}

function Zone.methods.set_volume(own, volume)
  local level, expected = options.volume(volume)
  if not level then
    misuse(("bad argument #1 to 'set_volume' (%s)"):format(expected))
  end
  check_members(own)
  local value, devices = own.value, measure(own)
  value.level = level
  for _, device in ipairs(devices) do
    local wanted = level > 0 and clamped(level + value.offsets[device.id]) or 0
    value.volumes[device.id] = wanted
    fade.volume { device, to = wanted, over = 0 } -- on a speaker that is away, once it is back
  end
  stored.set(own.name, value)
end

-- Joins all speakers to a session, or none.
function Zone.methods.join(own, session)
  local joined, expected = rooms.session(session or speaker)
  if not joined then
    misuse(("bad argument #1 to 'join' (%s)"):format(expected))
  end
  check_members(own)
  rooms.join(members(own), joined)
end

-- Calls a session's `play` or `play_stream`; its errors name the arguments of the zone's `play`.
local function play(where, fn, session, source, given)
  local _, err = task.try(fn, session, source, given)
  if err and err.code == "argument" then
    misuse((err.message:gsub("^bad argument #(%d+) to '[%w_]+'", function(number)
      return ("bad argument #%d to 'play'"):format(number - 1)
    end)), nil, err.hint)
  elseif err then
    err.where = where or ""
    error(err, 0)
  end
end

-- Plays a file, or a stream or its URL, on a session of the zone's own. If that fails, the speakers return to
-- the sessions that they were in.
function Zone.methods.play(own, source, given)
  local where, kind = checks.where(), getmetatable(source)
  if type(source) ~= "string" and kind ~= "stream" then
    misuse(("bad argument #1 to 'play' (file, URL or stream expected, got %s)"):format(type(source)))
  end
  check_members(own)
  if not own.session or own.session.closed then
    own.session = at(where, speaker.session, { name = own.name })
  end
  local session, is_playing = own.session, false
  local _, undo = rooms.join(members(own), session)
  local _ <close> = object.closing(function()
    if not is_playing then
      undo()
    end
  end)
  local is_file = type(source) == "string" and not source:find("://", 1, true)
  play(where, is_file and session.play or session.play_stream, session, source, given)
  is_playing = true
end

-- Returns the object of a zone with its data; one that exists continues with the new data.
local function zone_of(name, value, missing)
  local own = zones[name] or { name = name }
  own.value, own.missing = value, missing
  if not zones[name] then
    object.new(Zone, own)
    zones[name] = own
  end
  return own.object
end

function zone.define(name, devices)
  kept.check_name(name, "define")
  local list, expected = rooms.target(devices)
  if not list or #list == 0 then
    misuse(("bad argument #2 to 'define' (%s)"):format(expected or "at least one speaker expected"))
  end
  local value = { ids = rooms.ids(list), level = 0, offsets = {}, volumes = {} }
  local own = { name = name, value = value, missing = {} }
  measure(own)
  check_members(own)
  stored.set(name, value)
  return (zone_of(name, value, own.missing))
end

function zone.get(name)
  kept.check_name(name, "get")
  return zones[name] and zones[name].object or (zone_of(name, stored.get(name), {}))
end

return checks.sealed("zone", zone)
