---@meta schedule
---@search cron crontab timer calendar clock daily weekly sunset sunrise holiday

-- Jobs: functions that run at a time of day, on a date, or at intervals.
--
--   local schedule = require "schedule"
--   schedule.at("06:45", { days = "mon-fri", name = "alarm" }, function()
--     speaker.play("wake_up.mp3", { rooms = "Bedroom" })
--   end)
--   schedule.cron("30 20 * * sat", { timezone = "Europe/Berlin" }, function()
--     print "the show begins"
--   end)
--   schedule.every("15m", { align = true }, function()
--     print("a quarter", os.date())
--   end)
--   schedule.at("sunset-20m", { days = "daily" }, function()
--     speaker.play("evening.mp3", { rooms = "Living Room" })
--   end)
--   for _, job in ipairs(schedule.jobs()) do print(job) end
--
-- A job lives until it is cancelled, has no further run, or its script ends; a script with jobs keeps running. Each run
-- is a routine of its own. A failed run is logged and counted, and the job continues. A run that is due during the
-- previous one is skipped, which is logged, unless `overlap` is set. When clocks change, a skipped time runs right
-- after the gap, and a repeated time runs once.
--
-- Jobs of a script file are remembered by their names, intervals excepted: a run that was due while the machine was off
-- or asleep begins late, or is missed, as `catch_up` and `grace` say. A clock that is set forward counts the same, so a
-- machine that starts with a wrong clock runs no job for each day that it never had.

---A duration: seconds, fractions allowed, or text such as `"90s"`, `"5m"`, `"1h30m"`, `"250ms"`, `"7d"`; at most a
---hundred years.
---@alias Duration number|string

---@class schedulelib
local schedule = {}

---The policy for a run that is due during the previous one: skipped, queued (at most 16), or started at once.
---@alias schedule.Overlap "skip"|"queue"|"parallel"

---The policy for runs that were missed, because the machine was off, for example: each is left out; or the last of them
---is made up for as soon as possible, once.
---@alias schedule.CatchUp "skip"|"run_once"

---@class schedule.AtOptions
---@field catch_up? schedule.CatchUp (default: `"skip"`).
---@field grace? Duration Delay up to which a run begins late (default: `"10m"`; with `"run_once"` no limit).
---@field early? Duration Time by which a run begins before its due time, at most `"24h"`; at once if that has passed (default: 0).
---@field overlap? schedule.Overlap (default: `"skip"`).
---@field days? string Days of the week to repeat on: `"mon-fri"`, `"sat,sun"`, `"daily"`, `"weekdays"`, `"weekends"` (default: one run).
---@field name? string Name of the job, unique in the script (default: derived from the time, `"at 06:45 mon-fri"`).

---@class schedule.CronOptions
---@field catch_up? schedule.CatchUp (default: `"skip"`).
---@field grace? Duration Delay up to which a run begins late (default: `"10m"`; with `"run_once"` no limit).
---@field early? Duration Time by which a run begins before its due time, at most `"24h"`; at once if that has passed (default: 0).
---@field name? string Name of the job, unique in the script (default: derived from the line, `"cron 30 6 * * 1-5"`).
---@field overlap? schedule.Overlap (default: `"skip"`).
---@field timezone? string Time zone of the line: `"Europe/Berlin"`, or an abbreviation of only one zone: `"JST"` (default: that of this machine).

---@class schedule.EveryOptions
---@field overlap? schedule.Overlap (default: `"skip"`).
---@field align? boolean `true` runs at multiples of the interval since midnight, else since the call (default: false).
---@field name? string Name of the job, unique in the script (default: derived from the interval, `"every 15m"`).

---Runs a function at a wall-clock time: once, or on certain days of the week.
---
---A time of day without `days` that has passed today means tomorrow. Times by the sun are `"dawn"`, `"sunrise"`,
---`"noon"`, `"sunset"` and `"dusk"` (civil dawn and dusk: the sun is 6° below the horizon), at most `"12h"` before or
---after: `"sunset-20m"`, `"sunrise+1h30m"`. They need `location { latitude = 52.5, longitude = 13.4 }` in the
---configuration. On days without such an event, near the poles, there is no run, which is logged.
---
---Raises `schedule.syntax`, `schedule.past` (a date in the past), `schedule.location` (a time by the sun without a
---location), `schedule.duplicate` (the name is taken), `argument`.
---@param time string `"06:45"`, `"06:45:30"`, `"sunset-20m"` or `"2026-12-24 18:00"`.
---@param options schedule.AtOptions
---@param fn async fun() May suspend.
---@return schedule.Job
---@overload fun(time: string, fn: async fun()): schedule.Job
function schedule.at(time, options, fn) end

---Runs a function in the minutes that match a crontab line.
---
---Five fields: minute, hour, day of the month, month, day of the week (0 and 7 are Sunday). Each is `*`, a number, a
---range `1-5`, a range or `*` with a step `*/15`, or a list of these; months and days of the week also by name: `mon`.
---If neither field of days begins with `*`, a match of one of the two is enough. In place of the fields: `@hourly`,
---`@daily`, `@weekly`, `@monthly`, `@yearly`. When clocks change, a line whose minute or hour begins with `*` follows
---the displayed time, minute by minute.
---
---Raises `schedule.syntax`, `schedule.zone` (unknown time zone), `schedule.duplicate` (the name is taken), `argument`.
---@param line string `"30 6 * * 1-5"`
---@param options schedule.CronOptions
---@param fn async fun() May suspend.
---@return schedule.Job
---@overload fun(line: string, fn: async fun()): schedule.Job
function schedule.cron(line, options, fn) end

---Runs a function at an interval.
---
---Raises `schedule.syntax`, `schedule.duplicate` (the name is taken), `argument`.
---@param interval Duration Time between runs, at least `"1ms"`; with `align` whole seconds, at most `"24h"`.
---@param options schedule.EveryOptions
---@param fn async fun() May suspend.
---@return schedule.Job
---@overload fun(interval: Duration, fn: async fun()): schedule.Job
function schedule.every(interval, options, fn) end

---Returns the script's active jobs, in the order of their creation.
---@return schedule.Job[]
function schedule.jobs() end

---A job of the script; prints as `job "alarm" (next 2026-01-05 06:45, runs 3, failures 0)`.
---@class schedule.Job
---@field name string Unique among the jobs of the script.
---@field next? number Start of the next run, in seconds since 1970 as `os.time` counts; nil if the job has ended.
---@field last? number Start of the last run, in seconds since 1970, also before a restart; nil before the first.
---@field due? number Due time of the last run, in seconds since 1970; later than `last` with `early`.
---@field runs integer Number of runs started.
---@field failures integer Number of failed runs.
---@field active boolean `true` until the job ends or is cancelled.
local Job = {}

---Cancels the job: no further run begins; a run in progress continues.
function Job:cancel() end

---Leaves out the next run.
---@return number? due Due time of the run that is left out, in seconds since 1970; nil without one, and for an interval.
function Job:skip() end

---Calls a function with the payload of every event of that name of the job. Raises `argument`.
---@param event schedule.JobEventName
---@param listener fun(payload: table)
---@return Subscription
function Job:on(event, listener) end

---Calls a function with the payload of the next event of that name, once. Raises `argument`.
---@param event schedule.JobEventName
---@param listener fun(payload: table)
---@return Subscription
function Job:once(event, listener) end

---Waits for the next event of that name of the job. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event schedule.JobEventName
---@param timeout? Duration Longest wait (default: none).
---@return table? payload
---@return "timeout"|"closed"? why The reason for nil; `"closed"`: the job has ended.
function Job:wait(event, timeout) end

---@alias schedule.JobEventName
---| "started" # `{name}`: a run of the job of this name has begun.
---| "finished" # `{name}`: a run has succeeded.
---| "failed" # `{name, error}`: a run has failed.
---| "failing" # `{name, failures, error}`: the third run in a row has failed.
---| "missed" # `{name, due}`: a run was missed, and is not made up for.
---| "skipped" # `{name, due}`: a run is left out during another one, or by `skip`.
---| "ended" # `{name}`: the job has no further runs, or was cancelled.

---Starts a run now, as if the job were due; `next` does not change.
---@return boolean begun `false` if the job has ended.
function Job:run_now() end

return schedule
