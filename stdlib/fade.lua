-- Fades of volumes that run beside the script.
--
--   local fade = require "fade"
--   local evening = fade.volume { "Living Room", to = 8, over = "20m" }
--   evening:on("done", function(event) print(#event.devices, "speakers are quiet now") end)
--   fade.volume { speaker.default_session(), to = 30, over = "10s", curve = "equal_power" }
--
-- A fade controls each speaker until somebody else sets its volume, mutes it or fades it: the later one wins.
-- A speaker that can't be reached, or that an announcement interrupts with a volume of its own, is left out,
-- and receives the volume of the fade when it is back. A fade ends with its script, as by `cancel`: volumes
-- stay where they are.

local checks = require "roomtone.misuse"
local fades = require "roomtone.fades"
local host = require "roomtone.host"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local task = require "task"

local fade = checks.module "fade"

local OPTIONS = {
  rooms.target, to = "volume", over = "duration", curve = options.one_of("linear", "equal_power"),
}
options.describe(OPTIONS, { "the speakers" })
-- The part of a fade that controls a speaker, by the speaker's id.
local parts = {}

-- Curves: functions that return the fraction of the time, 0 to 1, at which a fade reaches a volume.

-- Returns the power of the sound at a volume; 1 at 50. A step is 0.9 dB, 0 is silence.
local function power(volume)
  return volume == 0 and 0 or 10 ^ (0.09 * (volume - 50))
end

local curves = {
  -- Equal times for equal steps, each of which sounds as large as the others.
  linear = function(from, to, volume)
    return (volume - from) / (to - from)
  end,
  -- The power follows the square of a sine: while one room fades out and another fades in, the sum of their
  -- powers stays the same, within a step. Most steps are near the quiet end.
  equal_power = function(from, to, volume)
    local risen = (power(volume) - power(from)) / (power(to) - power(from))
    return math.asin(math.sqrt(risen)) * 2 / math.pi
  end,
}

local Fade = object.class {
  name = "a fade", definition = "fade.Fade",
  events = { "done" },
  fields = {
    active = function(own)
      return not own.is_closed
    end,
    progress = function(own)
      local elapsed = (own.ended or task.now()) - own.started
      return own.over == 0 and 1.0 or math.min(1.0, elapsed / own.over)
    end,
    devices = function(own)
      local list = {}
      for _, part in ipairs(own.parts) do
        list[#list + 1] = not part.is_lost and part.device or nil
      end
      return list
    end,
  },
  describe = function(own)
    local state = own.is_closed and "ended" or "active"
    return ("fade to %d (%s, %d %%)"):format(own.to, state, math.floor(100 * own.object.progress))
  end,
}

-- Ends the control of a speaker.
local function release(part)
  for _, subscription in ipairs(part.subscriptions) do
    subscription:cancel()
  end
  if parts[part.device.id] == part then
    parts[part.device.id] = nil
  end
end

-- Ends a fade; speakers that are away remain until they have received its volume, unless it `is_cancelled`.
local function finish(own, is_cancelled)
  if own.is_closed then
    return
  end
  own.ended = task.now()
  if own.ending then
    host.forget_end(own.ending)
  end
  for _, part in ipairs(own.parts) do
    if is_cancelled or not part.is_behind then
      release(part)
    end
    if is_cancelled then
      fades.cancel(part.device, part.number)
    end
  end
  if not is_cancelled then
    object.emit(own, "done", { fade = own.object, devices = own.object.devices })
  end
  object.close(own)
  own.routine:cancel()
end

-- Leaves a speaker to somebody else. The fade ends with its last speaker.
local function lose(part)
  release(part)
  part.is_lost = true
  if #part.own.object.devices == 0 then
    finish(part.own)
  end
end

-- Reports what is left of the fade to the house, as its last fade of the speaker.
local function begin(part)
  local own = part.own
  part.number = fades.begin(part.device, own.to, math.max(0, own.started + own.over - task.now()))
end

-- Sets the volume that the fade has reached; on a speaker that is away or interrupted, once it is back.
local function set(part, volume)
  part.volume, part.is_behind = volume, part.is_interrupted or not part.device.available
  if not part.is_behind then
    local before = part.sent[#part.sent] or not part.device.muted and part.device.volume
    local is_own, err = task.try(fades.step, part.device, volume, part.number)
    if err then
      finish(part.own, true) -- the house is closed
    elseif not is_own then
      lose(part)
    elseif before ~= volume then -- else there is no event
      table.insert(part.sent, volume)
    end
  end
end

-- Sets the volume that a speaker has missed, if it can have it now.
local function catch_up(part)
  if part.volume and not part.is_interrupted then
    begin(part)
    set(part, part.volume)
    if part.own.is_closed then
      release(part)
    end
  end
end

-- Begins the control of a speaker, in place of another fade.
local function control(own, level)
  local device = level.device
  if parts[device.id] then
    lose(parts[device.id])
  end
  -- A muted speaker rises from silence. `sent`: the volumes whose events have not arrived yet.
  local part = { own = own, device = device, from = level.muted and 0 or level.volume, sent = {} }
  parts[device.id] = part
  begin(part)
  part.subscriptions = {
    device:on("volume", function(event)
      if event.cause then
        -- An announcement, for one, at a volume of its own: the fade continues behind it.
        part.sent, part.is_interrupted = {}, event.cause == "interruption"
        catch_up(part)
      elseif event.volume == part.sent[1] and not event.muted then
        table.remove(part.sent, 1)
      else
        lose(part)
        if part.sent[1] then -- a step that was sent later would hide the other volume
          device:set_volume(event.volume)
          if event.muted then
            device:mute()
          end
        end
      end
    end),
    device:on("device", function(event)
      if event.reason == "available" then
        part.sent = {}
        catch_up(part)
      elseif event.reason == "removed" then
        lose(part)
      end
    end),
  }
  return part
end

-- Returns the steps of a fade, each whole volume of each speaker, in the order of their times.
local function steps(own)
  local list = {}
  for _, part in ipairs(own.parts) do
    local by = part.from < own.to and 1 or -1
    local first = own.over > 0 and part.from + by or own.to
    for volume = first, part.from ~= own.to and own.to or first - by, by do
      local time = own.over * curves[own.curve](part.from, own.to, volume)
      list[#list + 1] = { part = part, volume = volume, at = own.started + time }
    end
  end
  table.sort(list, function(a, b)
    return a.at < b.at
  end)
  return list
end

local function take(step, session)
  local part = step.part
  local is_borrowed = part.is_interrupted or session and session.suspended
  if session and not is_borrowed and not rooms.contains(session.devices, part.device) then
    fades.cancel(part.device, part.number)
    lose(part)
  elseif not part.is_lost then
    set(part, step.volume)
  end
end

local function run(own, list)
  for _, step in ipairs(list) do
    task.sleep(math.max(0, step.at - task.now()))
    take(step, own.session)
  end
  if own.parts[1] then
    task.sleep(math.max(0, own.started + own.over - task.now()))
  end
  local _, err = task.try(rooms.levels, own.object.devices) -- the last steps take effect
  finish(own, err ~= nil) -- the house is closed
end

function Fade.methods.cancel(own)
  finish(own, true)
end

function fade.volume(given)
  local own = options.check("volume", given, OPTIONS, { 1, "to", "over" }, { curve = "linear" })
  own.started, own.parts = task.now(), {}
  own.session = getmetatable(given[1]) == "session" and given[1] or nil
  local result = object.new(Fade, own)
  for index, level in ipairs(rooms.levels(own[1])) do
    own.parts[index] = control(own, level)
  end
  local list = steps(own)
  if own.over > 0 then
    own.ending = host.at_end(function()
      finish(own, true)
    end)
  end
  own.routine = task.spawn(run, own, own.over > 0 and list or {})
  for _, step in ipairs(own.over == 0 and list or {}) do
    take(step)
  end
  return result
end

return checks.sealed("fade", fade, { volume = OPTIONS })
