---@meta sleep_timer
---@search bedtime night nap doze asleep

-- Music that fades out and stops after a time.
--
--   local sleep_timer = require "sleep_timer"
--   local timer = sleep_timer.start {
--     after = "30m", fade = "5m", rooms = "Bedroom" }
--   timer:on("done", function() print "good night" end)
--   timer:extend "10m"  -- one more song; also during the fade
--   print(timer.remaining)  -- seconds until the music stops
--
-- After `after` the music fades out for `fade`, and stops: a session as a whole if only these rooms play it,
-- so that they remain its members; else the rooms leave their sessions, which continue for others. Then the volumes
-- are as before the fade, save those that somebody else has set during it. A muted speaker stays muted. If two timers
-- fade a speaker at the same time, the later one controls the volume, and the last to end restores it. A timer ends
-- with its script, as by `cancel`; if the process is killed during the fade, the volumes return at the next start.

---@class sleep_timerlib
local sleep_timer = {}

---@class sleep_timer.Options
---@field after Duration Time until the music begins to fade out.
---@field fade? Duration Length of the fade (default: `"5m"`); 0: no fade.
---@field rooms? fade.Target The speakers (default: those on which something plays at the beginning of the fade).

---Starts a timer and returns it at once. Raises `speaker.unknown`, `speaker.closed`, `argument`.
---@param options sleep_timer.Options
---@return sleep_timer.Timer
function sleep_timer.start(options) end

---A timer, as `sleep_timer.start` returns it; prints as `sleep timer (waiting, 2100 s remaining)`.
---@class sleep_timer.Timer
---@field active boolean `true` until the music has stopped or the timer is cancelled.
---@field remaining number Time until the music stops, in seconds; 0 after the end.
local Timer = {}

---Postpones the beginning of the fade. During the fade the volumes return, and the time counts from now. Raises
---`argument`.
---@param time Duration
---@return boolean extended `false` if the timer has ended.
function Timer:extend(time) end

---Cancels the timer: the music continues, at the volumes from before the fade, or in the fade of another timer. No
---effect if the timer has ended.
function Timer:cancel() end

---@alias sleep_timer.EventName
---| "done" # `{timer}`: the music has stopped; not emitted after `cancel`.

---Calls a function with the payload of every event of that name. Raises `argument`.
---@param event sleep_timer.EventName
---@param listener async fun(payload: table)
---@return Subscription
function Timer:on(event, listener) end

---Calls a function with the payload of the next event of that name, once. Raises `argument`.
---@param event sleep_timer.EventName
---@param listener async fun(payload: table)
---@return Subscription
function Timer:once(event, listener) end

---Waits for the next event of that name. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event sleep_timer.EventName
---@param timeout? Duration Longest wait (default: none).
---@return table? payload
---@return "timeout"|"closed"|nil why The reason for nil; `"closed"`: the timer has ended or was cancelled.
function Timer:wait(event, timeout) end

return sleep_timer
