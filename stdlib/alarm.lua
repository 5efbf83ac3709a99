-- Alarms that ring, whatever happens to the radio.

local checks = require "roomtone.misuse"
local host = require "roomtone.host"
local log = require "log"
local object = require "roomtone.object"
local options = require "roomtone.options"
local ringing = require "roomtone.ringing"
local rooms = require "roomtone.rooms"
local schedule = require "schedule"
local sounds = require "roomtone.sounds"
local store = require "store"
local task = require "task"

local alarm = checks.module "alarm"
local misuse = checks.raise

local OPTIONS = {
  at = "string", days = "string", rooms = rooms.target, sources = sounds.list, volume = "volume",
  fade = "duration", duration = "duration", priority = options.whole(0, 1000), snooze = "duration",
  name = "string", sustain = "duration", over_limit = "boolean",
}
local DEFAULTS = { volume = 20, fade = 300, duration = 3600, priority = 200, snooze = 540, sustain = 10 }
-- Prefix of the store's keys. A value describes the last ringing: `due`, `began`, `ends`, `wakes` while it
-- snoozes, the former `levels` by the speakers' ids, and `is_over`. Times are in seconds since 1970.
local PREFIX = "alarm."
-- The alarms, in the order of their creation.
local alarms = {}

local Alarm = object.class {
  name = "an alarm", definition = "alarm.Alarm",
  events = { "ringing", "fallback", "snoozed", "dismissed", "missed" },
  fields = {
    name = function(own)
      return own.name
    end,
    next = function(own)
      return own.job and own.job.next
    end,
    state = function(own)
      return own.is_closed and "ended" or own.state
    end,
  },
  describe = function(own)
    local due = own.job and own.job.next
    local time = due and os.date(", next %Y-%m-%d %H:%M", due // 1 | 0) or ""
    return ("alarm \"%s\" (%s%s)"):format(own.name, own.object.state, time)
  end,
}

-- Marks an action of the alarm on the time line of a simulation.
local function mark(own, kind, source, message)
  host.mark { kind = kind, message = message, room = rooms.names(own.rooms), source = source.name }
end

-- Records an action of the alarm for `why` and for Home Assistant, with the cause of the running routine.
local function note(own, message, event)
  host.note(own.name, message, event)
end

local function keep(own)
  store.set(PREFIX .. own.name, own.ring)
end

-- Ends the pause in which the alarm rings or snoozes.
local function decide(own, verdict, by)
  if own.pause and not own.pause.done and not own.verdict then
    own.verdict, own.by = verdict, by
    note(own, verdict == "snoozed" and "snoozes" or by == "room" and "dismissed, as its rooms were stopped"
      or "dismissed", verdict)
    own.pause:cancel()
  end
end

-- Waits until a time, or until `decide` is called; `ring`, if given, rings meanwhile.
local function pause(own, time, ring)
  own.verdict, own.by = nil, "duration"
  own.pause = task.spawn(task.sleep, math.max(0, time - os.time()))
  local _, err = task.try(ring or own.pause.await, ring and own or own.pause)
  own.pause:cancel()
  own.pause, own.failure = nil, ring and err
end

-- Ends the object when the alarm neither rings nor has a further time.
local function close_if_over(own)
  if own.state == "waiting" and not own.object.next then
    for index, other in ipairs(alarms) do
      if other == own.object then
        table.remove(alarms, index)
      end
    end
    object.close(own)
  end
end

-- Rings and snoozes until the alarm is dismissed, or its duration is over.
local function run(own)
  own.found, own.late, own.has_sounded = {}, {}, false
  ringing.find_rooms(own)
  local kept, is_new = own.ring, own.ring.levels == nil
  kept.levels = kept.levels or {}
  for _, each in ipairs(rooms.levels(own.rooms)) do
    local id = each.device.id
    own.found[id] = each.volume
    if is_new then
      kept.levels[id] = { volume = each.volume, muted = each.muted }
    end
  end
  keep(own)
  repeat
    own.state = kept.wakes and "snoozed" or "ringing"
    if kept.wakes then
      pause(own, kept.wakes)
      kept.wakes = nil
    else
      pause(own, kept.ends, ringing.sound)
    end
    if own.verdict == "snoozed" then
      kept.wakes = os.time() + own.snooze
      kept.ends = kept.ends + own.snooze
      object.emit(own, "snoozed", { alarm = own.object, wakes = kept.wakes })
    end
    keep(own)
  until own.failure or own.verdict == "dismissed" or os.time() >= kept.ends
  ringing.restore(own)
  kept.is_over, own.state = true, "waiting"
  if own.object.next then
    keep(own)
  else
    store.delete(PREFIX .. own.name)
  end
  if own.failure then
    error(own.failure, 0)
  elseif own.has_sounded then
    if own.by == "duration" then
      note(own, "has rung for its whole time", "dismissed")
    end
    object.emit(own, "dismissed", { alarm = own.object, by = own.by })
  else
    note(own, "could not ring: " .. own.reason, "missed")
    log.warn("an alarm could not ring", { alarm = own.name, reason = own.reason })
    object.emit(own, "missed", { alarm = own.object, due = kept.due, reason = own.reason })
  end
end

-- Continues the ringing after a restart; restores the volumes if its time is over by now.
local function resume(own)
  local kept, due = own.ring, own.job and own.job.due
  if due and due ~= kept.due then -- the process ended before the run could be stored
    local ends = due + own.duration
    kept = { due = due, began = os.time(), ends = ends, is_over = os.time() >= ends }
  end
  own.ring = kept
  if kept.ends and not kept.is_over then
    task.spawn(function()
      run(own)
      close_if_over(own)
    end)
  end
end

-- Methods

-- Silences the alarm, which rings again later. Returns false unless it rings.
function Alarm.methods.snooze(own)
  local is_ringing = own.state == "ringing" and not own.verdict
  if is_ringing then
    decide(own, "snoozed")
  end
  return is_ringing
end

-- Ends the ringing or snoozing until the next time. Returns false if it does neither.
function Alarm.methods.dismiss(own)
  local is_active = own.pause ~= nil and not own.verdict
  decide(own, "dismissed", "call")
  return is_active
end

-- Leaves out the next time, which is returned; nil without one.
function Alarm.methods.skip_next(own)
  return own.job and own.job:skip()
end

-- Cancels the alarm; ends the ringing.
function Alarm.methods.cancel(own)
  if own.job then
    own.job:cancel()
  end
  decide(own, "dismissed", "call")
  close_if_over(own)
end

function alarm.set(given)
  local own = options.check("set", given, OPTIONS, { "at", "rooms", "sources" }, DEFAULTS)
  for _, name in ipairs { "duration", "snooze", "sustain", "volume" } do
    if own[name] == 0 then
      misuse(("option '%s' of 'set': more than 0 expected"):format(name))
    end
  end
  if #own.rooms == 0 then
    misuse("option 'rooms' of 'set': at least one speaker expected")
  end
  own.state, own.ids = "waiting", rooms.ids(own.rooms)
  own.sounding = function(source)
    local shown = sounds.shown(source.name)
    mark(own, "alarm", source, ("%s rings with %s"):format(own.name, shown))
    note(own, "rings with " .. shown, "ringing")
    object.emit(own, "ringing", { alarm = own.object, source = source.name })
  end
  own.fall_back = function(source, reason)
    local shown = sounds.shown(source.name)
    mark(own, "fallback", source, ("%s: no %s, %s"):format(own.name, shown, reason))
    note(own, ("%s failed: %s"):format(shown, reason), "fallback")
    log.warn("an alarm falls back", { alarm = own.name, source = shown, reason = reason })
    object.emit(own, "fallback", { alarm = own.object, source = source.name, reason = reason })
  end
  own.dismissed = function()
    decide(own, "dismissed", "room")
  end
  local err
  own.job, err = task.try(schedule.at, own.at, { days = own.days, name = own.name }, function()
    if own.state == "waiting" then -- not if it still rings since a restart
      local due = own.job.due
      own.ring = { due = due, began = os.time(), ends = due + own.duration }
      local _ <close> = object.closing(function()
        own.state = "waiting"
        close_if_over(own)
      end)
      run(own)
    end
  end)
  own.name = own.job and own.job.name or own.name or "at " .. own.at
  own.ring = checks.attribute(checks.where(), store.get, PREFIX .. own.name, {})
  -- A date may be over while the alarm rings.
  if err and not (err.code == "schedule.past" and own.ring.ends and not own.ring.is_over) then
    local reason = err.message:match "%((.*)%)$" or err.message
    misuse(reason:find "^option" and (reason:gsub("^(option '%w+')", "%1 of 'set'"))
      or "option 'at' of 'set': " .. reason, err.code, err.hint)
  end
  object.new(Alarm, own)
  table.insert(alarms, own.object)
  if own.job then
    own.job:on("missed", function(event)
      local reason = "the script was not running"
      object.emit(own, "missed", { alarm = own.object, due = event.due, reason = reason })
      close_if_over(own)
    end)
  end
  resume(own)
  return own.object
end

function alarm.list()
  return { table.unpack(alarms) }
end

return checks.sealed("alarm", alarm, { set = OPTIONS })
