-- Remotes, knobs and buttons of MQTT for a room.

local checks = require "roomtone.misuse"
local fade = require "fade"
local log = require "log"
local mqtt = require "mqtt"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local task = require "task"

local remote = checks.module "remote"

-- Levels of one step, and a second's levels while a knob is turned; the stop of a turn that is lost is
-- assumed after 5 s.
local STEP, SPEED, LONGEST = 2, 5, 5

-- The effects of buttons

-- Returns the session that sounds in the room, or is paused there; nil without one.
local function session_of(own)
  for _, device in ipairs(own.room) do
    local session = device.session
    if session and session:state() ~= "stopped" then
      return session
    end
  end
end

local function halt(own)
  for _, ramp in ipairs(own.ramps) do
    ramp:cancel()
  end
  own.ramps = {}
end

local function limited(level)
  return math.max(0, math.min(speaker.MAX_VOLUME, level))
end

-- Returns the speakers that can be reached. A volume that was set a moment before takes effect.
local function reachable(own)
  local list = {}
  for _, level in ipairs(rooms.levels(own.room)) do
    if level.device.available then
      list[#list + 1] = level.device
    end
  end
  return list
end

-- Moves each speaker by some levels: those of a room keep their balance until one of them is at an end.
local function step(own, by)
  halt(own)
  for _, device in ipairs(reachable(own)) do
    device:set_volume(limited(device.volume + by))
  end
end

-- Moves the levels until `halt`, or for as long as a turn can last. The house makes the ramp.
local function ramp(own, direction)
  halt(own)
  for _, device in ipairs(reachable(own)) do
    local to = limited(device.volume + direction * SPEED * LONGEST)
    local over = math.abs(to - device.volume) / SPEED
    if over > 0 then
      table.insert(own.ramps, fade.volume { device, to = to, over = over })
    end
  end
end

local ACTIONS = {}

function ACTIONS.volume_up(own)
  step(own, STEP)
end

function ACTIONS.volume_down(own)
  step(own, -STEP)
end

function ACTIONS.ramp_up(own)
  ramp(own, 1)
end

function ACTIONS.ramp_down(own)
  ramp(own, -1)
end

ACTIONS.ramp_stop = halt

-- Plays the station on the session of the script, which outlives its reload; where that is in use, on one
-- of the remote's own, so that the rooms of other remotes keep what they play.
local function play_station(own)
  local session = speaker.own
  if session:state() ~= "stopped" then
    if not own.session or own.session.closed then
      own.session = speaker.session { name = rooms.names(own.room) }
    end
    session = own.session
  end
  session:play_stream(own.station, { rooms = own.room })
end

function ACTIONS.toggle(own)
  local session = session_of(own)
  if not session and own.station then
    play_station(own)
  elseif session and session:state() == "paused" then
    session:resume()
  elseif session then
    session:pause()
  end
end

for _, name in ipairs { "next", "previous", "stop" } do
  ACTIONS[name] = function(own)
    local session = session_of(own)
    if session then
      session[name](session)
    end
  end
end

function ACTIONS.mute(own)
  local is_muted = true
  for _, device in ipairs(own.room) do
    is_muted = is_muted and device.muted
  end
  for _, device in ipairs(own.room) do
    local set = is_muted and device.unmute or device.mute
    set(device)
  end
end

-- Maps: what each action of a device does.

remote.E1744 = {
  brightness_move_up = "ramp_up", brightness_move_down = "ramp_down", brightness_stop = "ramp_stop",
  brightness_step_up = "next", brightness_step_down = "previous", toggle = "toggle",
}
remote.SYMFONISK = remote.E1744
remote.E2123 = {
  toggle = "toggle", track_next = "next", track_previous = "previous", volume_up = "volume_up",
  volume_down = "volume_down", volume_up_hold = "volume_up", volume_down_hold = "volume_down",
}
remote.E1812 = { on = "toggle", brightness_move_up = "ramp_up", brightness_stop = "ramp_stop" }
remote.XIAOMI = { single = "toggle", double = "next", hold = "stop" }

-- Returns the kind of a map: a table from actions to names of what they do, or functions.
local function map(value)
  if type(value) ~= "table" then
    return nil, ("table expected, got %s"):format(type(value))
  end
  local copy = {}
  for action, what in pairs(value) do
    if type(action) ~= "string" then
      return nil, ("names of actions expected, got the key %s"):format(tostring(action))
    elseif type(what) ~= "function" and not ACTIONS[what] then
      local name = type(what) == "string" and what or type(what)
      return nil, ("'%s': function expected, or %s"):format(action, checks.unknown("name", name, ACTIONS))
    end
    copy[action] = what
  end
  return copy
end

local OPTIONS = { topic = "string", room = rooms.target, map = map, station = "any", field = "string" }
options.describe(OPTIONS, {})

local Binding = object.class {
  name = "a remote", definition = "remote.Binding",
  fields = {
    topic = function(own)
      return own.topic
    end,
    devices = function(own)
      return own.room
    end,
    active = function(own)
      return own.subscription.active
    end,
  },
  describe = function(own)
    local state = own.subscription.active and "active" or "cancelled"
    return ("remote \"%s\" in %s (%s)"):format(own.topic, rooms.names(own.room), state)
  end,
}

function Binding.methods.cancel(own)
  own.subscription:cancel()
  halt(own)
end

-- Returns the action that a message has; nil for one without any.
local function action_of(own, message)
  if message.retained then
    return nil -- the state of a device, not a press
  end
  local value = message.payload
  if type(message.json) == "table" then
    value = message.json[own.field]
  end
  return type(value) == "string" and value ~= "" and value or nil
end

local function receive(own, message)
  local action = action_of(own, message)
  local what = action and own.map[action]
  if type(what) == "function" then
    what(own.object, message)
  elseif what then
    local _, err = task.try(ACTIONS[what], own)
    if err then
      log.warn("the remote can't do that now", { topic = own.topic, action = action, reason = tostring(err) })
    end
  end
end

function remote.bind(given)
  local own = options.check("bind", given, OPTIONS, { "topic", "room", "map" }, { field = "action" })
  own.ramps = {}
  own.subscription = checks.attribute(checks.where(), mqtt.on, own.topic, function(message)
    receive(own, message)
  end)
  return object.new(Binding, own)
end

return checks.sealed("remote", remote, { bind = OPTIONS })
