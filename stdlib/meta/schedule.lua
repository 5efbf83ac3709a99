---@meta schedule

-- Jobs: functions that run at a time of day, on a date, or again and again.
--
--   local schedule = require "schedule"
--   schedule.at("06:45", { days = "mon-fri", name = "alarm" }, function()
--     speaker.play("wake_up.mp3")
--   end)
--   schedule.cron("30 20 * * sat", { timezone = "Europe/Berlin" }, function() print "the show begins" end)
--   schedule.every("15m", { align = true }, function() print("a quarter", os.date()) end)
--   for _, job in ipairs(schedule.jobs()) do print(job) end
--
-- A job lives until it is cancelled, has nothing left to do, or its script ends; a script with jobs goes on. Each
-- run is a routine of its own. A run that fails is logged and counted, and the job goes on. A run that is due while
-- the one before goes on is left out, which is logged, unless `overlap` says otherwise. Where clocks change, a time
-- that they skip runs right after the gap, and a time that they show twice runs once.

error("stdlib/meta/schedule.lua is a description, not a module: require \"schedule\" finds the module itself")

---A duration: seconds, fractions allowed, or text such as `"90s"`, `"5m"`, `"1h30m"`, `"250ms"`, `"7d"`.
---@alias Duration number|string

---@class schedulelib
local schedule = {}

---What becomes of a run that is due while the one before goes on: left out, begun behind it (16 may wait), or at once.
---@alias schedule.Overlap "skip"|"queue"|"parallel"

---@class schedule.AtOptions
---@field early? Duration How long before the time it runs, at most `"24h"`; at once where that has passed.
---@field overlap? schedule.Overlap (default: `"skip"`).
---@field days? string Days to repeat it on: `"mon-fri"`, `"sat,sun"`, `"daily"`, `"weekdays"`, `"weekends"`.
---@field name? string Unique in the script; by default made of the time: `"at 06:45 mon-fri"`.

---@class schedule.CronOptions
---@field early? Duration How long before each time it runs, at most `"24h"`; at once where that has passed.
---@field name? string Unique in the script; by default made of the line: `"cron 30 6 * * 1-5"`.
---@field overlap? schedule.Overlap (default: `"skip"`).
---@field timezone? string The clocks that count: `"Europe/Berlin"` (default: those of this machine).

---@class schedule.EveryOptions
---@field overlap? schedule.Overlap (default: `"skip"`).
---@field align? boolean Runs when the clock shows a multiple of the interval since midnight; else counted from now.
---@field name? string Unique in the script; by default made of the interval: `"every 15m"`.

---Runs a function at a wall-clock time: once, or on certain days of the week.
---
---A time of day without `days` that has passed today is tomorrow's. Raises `schedule.syntax`, `schedule.past` (a date
---that has passed), `schedule.duplicate` (the name is taken), `argument`.
---@param time string `"06:45"`, `"06:45:30"` or `"2026-12-24 18:00"`.
---@param options schedule.AtOptions
---@param fn async fun() May suspend.
---@return schedule.Job
---@overload fun(time: string, fn: async fun()): schedule.Job
function schedule.at(time, options, fn) end

---Runs a function in the minutes that a line of a crontab names.
---
---Five fields: minute, hour, day of the month, month, day of the week (0 and 7 are Sunday). Each is `*`, a number, a
---range `1-5`, a range or `*` with a step `*/15`, or a list of these; months and days of the week also by name: `mon`.
---Where neither day begins with `*`, one of them is enough. Or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
---Where clocks change, a line whose minute or hour begins with `*` goes by what they show, minute by minute.
---
---Raises `schedule.syntax`, `schedule.zone` (no such time zone), `schedule.duplicate` (the name is taken), `argument`.
---@param line string `"30 6 * * 1-5"`
---@param options schedule.CronOptions
---@param fn async fun() May suspend.
---@return schedule.Job
---@overload fun(line: string, fn: async fun()): schedule.Job
function schedule.cron(line, options, fn) end

---Runs a function again and again at this distance, at least `"1ms"`; aligned: whole seconds up to `"24h"`.
---
---Raises `schedule.syntax`, `schedule.duplicate` (the name is taken), `argument`.
---@param interval Duration Seconds or text.
---@param options schedule.EveryOptions
---@param fn async fun() May suspend.
---@return schedule.Job
---@overload fun(interval: Duration, fn: async fun()): schedule.Job
function schedule.every(interval, options, fn) end

---The script's jobs that have not ended, in the order in which they were made.
---@return schedule.Job[]
function schedule.jobs() end

---A job of the script's; prints as `job "alarm" (next 2026-01-05 06:45, runs 3, failures 0)`.
---@class schedule.Job
---@field name string Unique among the jobs of the script.
---@field next? number When it runs next, in seconds since 1970 as `os.time` counts; nil when it has ended.
---@field last? number When its last run began, in seconds since 1970; nil before the first.
---@field due? number The moment for which its last run was, in seconds since 1970: `early` runs begin before it.
---@field runs integer Runs that have begun.
---@field failures integer Runs that have failed.
---@field active boolean Whether it has not ended and was not cancelled.
local Job = {}

---Ends the job: no run begins any more; one that goes on is left alone.
function Job:cancel() end

---Begins a run now, as if the job were due; `next` stays what it is.
---@return boolean begun False when the job has ended.
function Job:run_now() end

return schedule
