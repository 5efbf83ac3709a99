---@meta alarm
---@search wake clock morning snooze reminder

-- Alarms that ring, whatever happens to the radio.
--
--   local alarm = require "alarm"
--   local wake = alarm.set {
--     at = "06:45", days = "mon-fri", rooms = { "Bedroom" },
--     sources = { "http://127.0.0.1:8000/morning.mp3", "wake_up.mp3" },
--     volume = 20, fade = "5m",
--   }
--   wake:on("ringing", function(event)
--     print("good morning, with", event.source)
--   end)
--
-- At its time an alarm interrupts the music in its rooms, and rises to its volume. A station counts as sounding when
-- `sustain` seconds of sound above -60 dBFS have been heard; one that can't be reached or falls silent is replaced by
-- the next source, the last one by a chime that is built in. Meanwhile the volume rises as before. The alarm ends after
-- its duration, or when a person pauses or stops its session or makes a speaker leave it. A volume that somebody sets
-- meanwhile stays; one below that of the alarm is logged. Limits of speakers in the configuration hold for alarms too,
-- unless they have `over_limit = true`: such an alarm rises to its volume, and nothing else exceeds the limit meanwhile.
-- Then its rooms play as before, at their volumes, save those that somebody has changed meanwhile.
--
-- If two alarms meet in a room, the one of higher priority rings, or the later one of equal priorities; the other one
-- rings when the room is free, if that is within its duration. An announcement is heard in between. A restart of the
-- script during the ringing does not end it: it rings for the rest of its duration, at the volume that it has risen to.
-- A run that is due while the machine is off begins up to ten minutes late, or is missed. When clocks change, an alarm
-- rings once a day, at its time of day; one whose time is skipped rings right after the gap.

---@class alarmlib
local alarm = {}

---@class alarm.Options
---@field at string Time of the alarm, as for `schedule.at`: `"06:45"`, `"sunrise"`, `"2026-12-24 07:30"`.
---@field days? string Days of the week to repeat on, as for `schedule.at` (default: once).
---@field rooms fade.Target The speakers.
---@field sources string[] Sources to play, in the order of preference: URLs, stations of the configuration, paths of files; a file is repeated.
---@field volume? integer Volume after the rise, 1 to 50 (default: 20).
---@field fade? Duration Length of the rise, from a volume of 1 (default: `"5m"`).
---@field duration? Duration Time after which the alarm ends by itself, snoozing excepted (default: `"1h"`).
---@field priority? integer Priority in its rooms, 0 to 1000 (default: 200).
---@field snooze? Duration Length of a snooze (default: `"9m"`).
---@field name? string Name of the alarm and its job, unique in the script (default: derived from the time).
---@field over_limit? boolean `true` if the alarm may exceed the limits of its speakers in the configuration (default: `false`).
---@field sustain? Duration Time for which a station must be heard to count as sounding, and for which it may be silent (default: `"10s"`).

---Sets an alarm, which lives until it is cancelled or has no further time. A script with alarms keeps running. At its
---time an alarm opens the house if the script has closed it.
---
---Raises `schedule.syntax`, `schedule.past`, `schedule.location`, `schedule.duplicate`, `speaker.unknown`,
---`speaker.closed`, `stream.url`, `stream.unsupported`, `audio.not_found`, `argument`.
---@param options alarm.Options
---@return alarm.Alarm
function alarm.set(options) end

---Returns the script's alarms, in the order of their creation.
---@return alarm.Alarm[]
function alarm.list() end

---An alarm, as `alarm.set` returns it; prints as `alarm "wake" (waiting, next 2026-01-06 06:45)`.
---@class alarm.Alarm
---@field name string Name of the alarm.
---@field next? number The next time, in seconds since 1970; nil if the alarm has no further time.
---@field state "waiting"|"ringing"|"snoozed"|"ended"
local Alarm = {}

---Silences the alarm; it rings again after its `snooze` time.
---@return boolean snoozed `false` if it does not ring.
function Alarm:snooze() end

---Ends the ringing or snoozing, until the next time.
---@return boolean dismissed `false` if it does neither.
function Alarm:dismiss() end

---Leaves out the next time.
---@return number? due The time that is left out, in seconds since 1970; nil without one.
function Alarm:skip_next() end

---Cancels the alarm, and ends its ringing.
function Alarm:cancel() end

---@alias alarm.EventName
---| "ringing" # `{alarm, source}`: a source sounds.
---| "fallback" # `{alarm, source, reason}`: a source can't be reached or has fallen silent; the next one is tried.
---| "snoozed" # `{alarm, wakes}`: the alarm is silent until then, in seconds since 1970.
---| "dismissed" # `{alarm, by}`: the ringing is over, by a `"call"` of a method, in a `"room"`, or its `"duration"`; volumes are restored.
---| "missed" # `{alarm, due, reason}`: the alarm has not rung: the script was not running, or its rooms were not free.

---Calls a function with the payload of every event of that name. Raises `argument`.
---@param event alarm.EventName
---@param listener async fun(payload: table)
---@return Subscription
function Alarm:on(event, listener) end

---Calls a function with the payload of the next event of that name, once. Raises `argument`.
---@param event alarm.EventName
---@param listener async fun(payload: table)
---@return Subscription
function Alarm:once(event, listener) end

---Waits for the next event of that name. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event alarm.EventName
---@param timeout? Duration Longest wait (default: none).
---@return table? payload
---@return "timeout"|"closed"|nil why The reason for nil; `"closed"`: the alarm has no further time.
function Alarm:wait(event, timeout) end

return alarm
