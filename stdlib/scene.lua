-- Named states of the house, for the store.
--
--   local scene = require "scene"
--   scene.save "dinner"                                   -- the house as it is now
--   scene.apply("dinner", { fade = "10s" })               -- on another day, also after a restart
--   for _, name in ipairs(scene.list()) do print(name) end
--   scene.delete "dinner"
--
-- A scene has the volume, mute, group, and membership of the default session of each speaker, and the
-- equalizer of the default session. The music is left as it is: a speaker that joins plays it too.

local checks = require "roomtone.misuse"
local fade = require "fade"
local log = require "log"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local store = require "store"
local task = require "task"

local scene = checks.module "scene"
local misuse, at = checks.raise, checks.attribute

-- Prefix of the store's keys for scenes. A value has `speakers` by their ids, and `equalizer`, gains by band.
local PREFIX = "scene."
local OPTIONS = { fade = "duration" }

-- Returns where a speaker plays: in the "default" session, "other" ones, or "none".
local function session_of(device)
  local is_member = rooms.contains(speaker.default_session().devices, device)
  return is_member and "default" or device.active and "other" or "none"
end

function scene.save(name)
  options.check_name(name, "save")
  local kept = { speakers = {}, equalizer = {} }
  for _, level in ipairs(rooms.levels(at(checks.where(), speaker.devices))) do
    local device = level.device
    kept.speakers[device.id] = {
      volume = level.volume, muted = level.muted, group = device.group_name, session = session_of(device),
    }
  end
  for band, gain in pairs(speaker.eq()) do
    kept.equalizer[tostring(band)] = gain -- a key of the store's tables is text
  end
  at(checks.where(), store.set, PREFIX .. name, kept)
end

-- Returns the names of the scenes, sorted.
local function names(where)
  local list = {}
  for _, key in ipairs(at(where, store.keys, PREFIX)) do
    list[#list + 1] = key:sub(#PREFIX + 1)
  end
  return list
end

function scene.list()
  return (names(checks.where()))
end

function scene.delete(name)
  options.check_name(name, "delete")
  return (at(checks.where(), store.delete, PREFIX .. name))
end

-- Returns true if a value of the store is a scene as `save` stores it.
local function is_scene(kept)
  if type(kept) ~= "table" or type(kept.speakers) ~= "table" or type(kept.equalizer) ~= "table" then
    return false
  end
  for id, state in pairs(kept.speakers) do
    if type(id) ~= "string" or type(state) ~= "table" or not options.volume(state.volume)
      or type(state.muted) ~= "boolean" or type(state.group) ~= "string" then
      return false
    end
  end
  for band, gain in pairs(kept.equalizer) do
    if not math.tointeger(band) or type(gain) ~= "number" then
      return false
    end
  end
  return true
end

-- Returns the state of a scene; raises `scene.unknown` if there is none.
local function load_kept(name)
  local where, known = checks.where(), {}
  local kept = at(where, store.get, PREFIX .. name)
  if kept == nil then
    for _, each in ipairs(names(where)) do
      known[each] = true
    end
    local message = next(known) and checks.unknown("scene", name, known)
      or ("no scene is called '%s', as no scene is saved"):format(name)
    misuse(message, "scene.unknown")
  elseif not is_scene(kept) then
    misuse(("the store's value '%s%s' is not a scene"):format(PREFIX, name), "scene.unknown",
      "save the scene again")
  end
  return kept
end

-- Puts a speaker into the group and the session of the scene. A change of group stops what the speaker plays.
local function place(device, state)
  if device.group_name ~= state.group then
    device:set_group(state.group)
  end
  local now = session_of(device)
  if state.session == "default" and now ~= "default" then
    device:join()
  elseif state.session == "none" and now ~= "none" then
    device:leave()
  end
end

-- Sets the volume and mute of a speaker; returns the fade of its volume.
local function level(device, state, over)
  if state.muted then
    device:set_volume(state.volume)
    device:mute()
    return nil
  end
  return fade.volume { device, to = state.volume, over = over }
end

function scene.apply(name, given)
  options.check_name(name, "apply")
  local over = options.check("apply", given or {}, OPTIONS, {}, { fade = 0 }).fade
  local kept, fades = load_kept(name), {}
  at(checks.where(), speaker.default_session) -- raises if the house is closed
  local _ <close> = object.closing(function() -- if the routine is cancelled; else they have ended
    for _, each in ipairs(fades) do
      each:cancel()
    end
  end)
  for id, state in pairs(kept.speakers) do
    local device = speaker.find(id)
    local _, err = task.try(function()
      place(device or error("the speaker is not in the house", 0), state)
      fades[#fades + 1] = level(device, state, over)
    end)
    if err then
      log.warn("a speaker is left out of the scene", { scene = name, speaker = id, error = tostring(err) })
    end
  end
  local gains = {}
  for band, gain in pairs(kept.equalizer) do
    gains[math.tointeger(band)] = gain
  end
  at(checks.where(), speaker.set_eq, gains)
  for _, each in ipairs(fades) do
    each:wait "done"
  end
end

return checks.sealed("scene", scene, { apply = OPTIONS })
