-- Named states of the house, for the store.

local checks = require "roomtone.misuse"
local fade = require "fade"
local kept = require "roomtone.kept"
local log = require "log"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local task = require "task"

local scene = checks.module "scene"
local at = checks.attribute

local OPTIONS = { fade = "duration" }

-- Returns true if a value of the store is a scene as `save` keeps it: `speakers` by their ids, and
-- `equalizer`, gains by band.
local function is_scene(value)
  if type(value) ~= "table" or type(value.speakers) ~= "table" or type(value.equalizer) ~= "table" then
    return false
  end
  for id, state in pairs(value.speakers) do
    if type(id) ~= "string" or type(state) ~= "table" or not options.volume(state.volume)
      or type(state.muted) ~= "boolean" or type(state.group) ~= "string" then
      return false
    end
  end
  for band, gain in pairs(value.equalizer) do
    if not math.tointeger(band) or type(gain) ~= "number" then
      return false
    end
  end
  return true
end

local scenes = kept.kind {
  name = "scene", prefix = "scene.", verb = "save", done = "saved", code = "scene.unknown",
  is_valid = is_scene,
}

function scene.save(name)
  kept.check_name(name, "save")
  local value = { speakers = {}, equalizer = {} }
  for _, level in ipairs(rooms.levels(at(checks.where(), speaker.devices))) do
    local device = level.device
    value.speakers[device.id] = {
      volume = level.volume, muted = level.muted, group = device.group_name,
    }
  end
  for band, gain in pairs(speaker.eq()) do
    value.equalizer[tostring(band)] = gain -- a key of the store's tables is text
  end
  scenes.set(name, value)
end

function scene.list()
  return (scenes.names())
end

function scene.delete(name)
  kept.check_name(name, "delete")
  return (scenes.delete(name))
end

-- Puts a speaker into the group of the scene. A change of group stops what the speaker plays.
local function place(device, state)
  if device.group_name ~= state.group then
    device:set_group(state.group)
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
  kept.check_name(name, "apply")
  local over = options.check("apply", given or {}, OPTIONS, {}, { fade = 0 }).fade
  local value, fades = scenes.get(name), {}
  at(checks.where(), speaker.devices) -- raises if the house is closed
  local _ <close> = object.closing(function() -- if the routine is cancelled; else they have ended
    for _, each in ipairs(fades) do
      each:cancel()
    end
  end)
  for id, state in pairs(value.speakers) do
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
  for band, gain in pairs(value.equalizer) do
    gains[math.tointeger(band)] = gain
  end
  at(checks.where(), speaker.set_eq, gains)
  for _, each in ipairs(fades) do
    each:wait "done"
  end
end

return checks.sealed("scene", scene, { apply = OPTIONS })
