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
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local store = require "store"

local zone = checks.module "zone"
local misuse, at = checks.raise, checks.attribute

-- Prefix of the store's keys for zones. A value has `ids`, a list; `level`, the volume of the zone; and by id
-- `offsets` and `volumes`, those that the zone has set last.
local PREFIX = "zone."
local LONGEST_NAME = 100
-- The zone objects by name: every part of a script has the same.
local zones = {}

-- Returns the zone's speakers; logs those that are not in the house any more.
local function members(own)
  local list = {}
  for _, id in ipairs(own.kept.ids) do
    local device = at(checks.where(), speaker.find, id)
    if device then
      list[#list + 1] = device
    else
      log.warn("a speaker of the zone is not in the house", { zone = own.name, speaker = id })
    end
  end
  return list
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
  name = "a zone",
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
  if not math.tointeger(volume) or volume ~= clamped(volume) then
    misuse(("bad argument #1 to 'set_volume' (whole number from 0 to 50 expected, got %s)")
      :format(tostring(volume)))
  end
  local kept, devices = own.kept, measure(own)
  kept.level = math.tointeger(volume)
  for _, device in ipairs(devices) do
    local wanted = volume > 0 and clamped(kept.level + kept.offsets[device.id]) or 0
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
  rooms.join(members(own), joined)
end

-- Plays a file, or a stream or its URL, on a session of the zone's own. If that fails, the speakers return to
-- the sessions that they were in.
function Zone.methods.play(own, source, given)
  local where = checks.where()
  local is_open, subscription = pcall(function()
    return own.session:on("ended", print)
  end)
  if is_open then
    subscription:cancel()
  else
    own.session = at(where, speaker.session, { name = own.name })
  end
  local session, is_playing = own.session, false
  local before = rooms.join(members(own), session)
  local _ <close> = object.closing(function()
    if not is_playing then
      before:restore()
    end
  end)
  local is_file = type(source) == "string" and not source:find("://", 1, true)
  at(where, is_file and session.play or session.play_stream, session, source, given)
  is_playing = true
end

-- Raises misuse unless `name` can be the name of a zone.
local function check_name(name, fn)
  if type(name) ~= "string" then
    misuse(("bad argument #1 to '%s' (string expected, got %s)"):format(fn, type(name)))
  elseif name == "" or #name > LONGEST_NAME or not utf8.len(name) then
    misuse(("bad argument #1 to '%s' (1 to %d bytes of UTF-8 expected)"):format(fn, LONGEST_NAME))
  end
end

-- Returns the object of a zone with its data; one that exists continues with the new data.
local function zone_of(name, kept)
  local own = zones[name] or { name = name }
  own.kept = kept
  if not zones[name] then
    object.new(Zone, own)
    zones[name] = own
  end
  return own.object
end

function zone.define(name, devices)
  check_name(name, "define")
  local list, expected = rooms.target(devices)
  if not list or #list == 0 then
    misuse(("bad argument #2 to 'define' (%s)"):format(expected or "at least one speaker expected"))
  end
  local kept = { ids = {}, level = 0, offsets = {}, volumes = {} }
  for index, device in ipairs(list) do
    kept.ids[index] = device.id
  end
  measure { name = name, kept = kept }
  at(checks.where(), store.set, PREFIX .. name, kept)
  return (zone_of(name, kept))
end

function zone.get(name)
  check_name(name, "get")
  if zones[name] then
    return zones[name].object
  end
  local where, known = checks.where(), {}
  local kept = at(where, store.get, PREFIX .. name)
  if not kept then
    for _, key in ipairs(at(where, store.keys)) do
      known[key:match "^zone%.(.*)" or 1] = true
    end
    known[1] = nil
    misuse(checks.unknown("zone", name, known), "zone.unknown")
  end
  return (zone_of(name, kept))
end

return checks.sealed("zone", zone)
