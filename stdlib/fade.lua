-- Fades of volumes that run beside the script: the house makes them, as those of `speaker.fade`.

local checks = require "roomtone.misuse"
local fades = require "roomtone.fades"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local task = require "task"

local fade = checks.module "fade"

local OPTIONS = {
  rooms.target, to = "volume", over = "duration", curve = options.one_of("linear", "equal_power"),
}
options.describe(OPTIONS, { "the speakers" })

local Fade = object.class {
  name = "a fade", definition = "fade.Fade",
  events = { "done" },
  fields = {
    active = function(own)
      return own.fade.active
    end,
    progress = function(own)
      return own.fade.progress
    end,
    devices = function(own)
      return own.fade.devices
    end,
  },
  describe = function(own)
    local state = own.fade.active and "active" or "ended"
    return ("fade to %d (%s, %d %%)"):format(own.to, state, math.floor(100 * own.fade.progress))
  end,
}

function Fade.methods.cancel(own)
  if own.fade.active then
    own.fade:cancel()
    object.close(own)
  end
end

local function run(own)
  if own.fade:run() then
    object.emit(own, "done", { fade = own.object, devices = own.fade.devices })
  end
  object.close(own)
end

function fade.volume(given)
  local own = options.check("volume", given, OPTIONS, { 1, "to", "over" }, { curve = "linear" })
  local session = getmetatable(given[1]) == "session" and given[1] or nil
  own.fade = checks.attribute(checks.where(), fades.begin, own[1], own.to, own.over, own.curve, session)
  local result = object.new(Fade, own)
  task.spawn(run, own)
  return result
end

return checks.sealed("fade", fade, { volume = OPTIONS })
