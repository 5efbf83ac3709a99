-- Named sets of speakers with one volume that keeps the balance between them.
--
--   local zone = require "zone"
--   zone.define("downstairs", { "Kitchen", "Living Room" })     -- kept until it is redefined
--   local downstairs = zone.get "downstairs"
--   downstairs:set_volume(50)
--   downstairs:set_volume(20)                                    -- each as far from the others as before
--   downstairs:play("http://127.0.0.1:8000/jazz.mp3")
--
-- Each speaker has an offset from the zone's volume, which is kept where it can't be heard: at 0, where all
-- are silent, and at 50. Steps are decibels, so an offset is a ratio of loudness. A speaker whose volume
-- somebody sets has a new offset from then on.

local checks = require "roomtone.misuse"
local fade = require "fade"
local log = require "log"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local store = require "store"
local task = require "task"

local zone = checks.module "zone"
local misuse, at = checks.raise, checks.attribute

-- Prefix of the store's keys for zones. A value has `ids`, a list; `level`, the volume of the zone; and by id
-- `offsets` and `volumes`, those that the zone has set last.
local PREFIX = "zone."
-- The zone objects by name: every part of a script has the same.
local zones = {}

-- Returns the zone's speakers; logs once those that are not in the house any more. `missing` of the zone's
-- data is a set of their ids.
local function members(own)
  local list = {}
  for _, id in ipairs(own.kept.ids) do
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
  local kept, devices, is_changed, sum, count = own.kept, members(own), false, 0, 0
  for _, level in ipairs(rooms.levels(devices)) do
    local id = level.device.id
    if level.volume ~= kept.volumes[id] and (level.device.available or not kept.offsets[id]) then
      kept.offsets[id], kept.volumes[id] = level.volume - kept.level, level.volume
      is_changed = true
    end
    sum, count = sum + kept.offsets[id], count + 1
  end
  local shift = is_changed and math.floor(sum / count + 0.5) or 0
  kept.level = kept.level + shift
  for id, offset in pairs(kept.offsets) do
    kept.offsets[id] = offset - shift
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
      return clamped(own.kept.level)
    end,
  },
  describe = function(own)
    return ("zone \"%s\" (%d speakers)"):format(own.name, #own.kept.ids)
  end,
}

function Zone.methods.set_volume(own, volume)
  local level, expected = options.volume(volume)
  if not level then
    misuse(("bad argument #1 to 'set_volume' (%s)"):format(expected))
  end
  check_members(own)
  local kept, devices = own.kept, measure(own)
  kept.level = level
  for _, device in ipairs(devices) do
    local wanted = level > 0 and clamped(kept.level + kept.offsets[device.id]) or 0
    kept.volumes[device.id] = wanted
    fade.volume { device, to = wanted, over = 0 } -- on a speaker that is away, once it is back
  end
  at(checks.where(), store.set, PREFIX .. own.name, kept)
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
  local is_open, subscription = pcall(function()
    return own.session:on("ended", print)
  end)
  if is_open then
    subscription:cancel()
  else
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

-- Returns true if a value of the store is a zone as `define` stores it.
local function is_zone(kept)
  if type(kept) ~= "table" or type(kept.ids) ~= "table" or not is_by_id(kept.offsets)
    or not is_by_id(kept.volumes) or not is_by_id { level = kept.level } then
    return false
  end
  for _, id in ipairs(kept.ids) do
    if type(id) ~= "string" or kept.volumes[id] and not kept.offsets[id] then
      return false
    end
  end
  return #kept.ids > 0
end

-- Returns the object of a zone with its data; one that exists continues with the new data.
local function zone_of(name, kept, missing)
  local own = zones[name] or { name = name }
  own.kept, own.missing = kept, missing
  if not zones[name] then
    object.new(Zone, own)
    zones[name] = own
  end
  return own.object
end

function zone.define(name, devices)
  options.check_name(name, "define")
  local list, expected = rooms.target(devices)
  if not list or #list == 0 then
    misuse(("bad argument #2 to 'define' (%s)"):format(expected or "at least one speaker expected"))
  end
  local kept = { ids = {}, level = 0, offsets = {}, volumes = {} }
  for index, device in ipairs(list) do
    kept.ids[index] = device.id
  end
  local own = { name = name, kept = kept, missing = {} }
  measure(own)
  check_members(own)
  at(checks.where(), store.set, PREFIX .. name, kept)
  return (zone_of(name, kept, own.missing))
end

function zone.get(name)
  options.check_name(name, "get")
  if zones[name] then
    return zones[name].object
  end
  local where, known = checks.where(), {}
  local kept = at(where, store.get, PREFIX .. name)
  if kept == nil then
    for _, key in ipairs(at(where, store.keys, PREFIX)) do
      known[key:sub(#PREFIX + 1)] = true
    end
    local message = next(known) and checks.unknown("zone", name, known)
      or ("no zone is called '%s', as no zone is defined"):format(name)
    misuse(message, "zone.unknown")
  elseif not is_zone(kept) then
    misuse(("the store's value '%s%s' is not a zone"):format(PREFIX, name), "zone.unknown",
      "define the zone again")
  end
  return (zone_of(name, kept, {}))
end

return checks.sealed("zone", zone)
