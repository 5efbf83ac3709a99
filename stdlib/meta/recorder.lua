---@meta recorder
---@search record podcast rip ripper tape dvr vcr show download

-- Scheduled recordings of radio shows.
--
--   local recorder = require "recorder"
--   local show = recorder.schedule {
--     name = "saturday", url = "http://127.0.0.1:8000/live.mp3",
--     template = "{station}/{start:%Y-%m-%d %H.%M}.{ext}", keep = "60d",
--     cron = "0 20 * * sat", duration = "2h",
--     pad_before = "2m", pad_after = "5m",
--   }
--   show:on("finished", function(event) print(event.path, event.seconds) end)
--
-- A run begins `pad_before` early and ends `pad_after` late, by the wall clock. A station that can't be reached is
-- tried again, alternating with the `fallbacks`, until the show is over. If there are fallbacks, a station that has
-- been gone for a minute counts as one that can't be reached; each station's part is a file of its own. Runs may
-- overlap. A run that ended with its process or its script is continued in the same file when the script starts again
-- before the end of the show: exactly where it ended, if the station still has that sound; else the missing sound is one
-- of the recording's gaps. A run that records nothing, or whose file can't be written, has failed: that is logged, and
-- the next run takes place. A script with scheduled recordings keeps running.

---@class recorderlib
local recorder = {}

---@class recorder.Options
---@field url string URL of the station, or its name in the configuration.
---@field duration Duration Length of the show.
---@field template? string Path of the files, as for `Stream:record` (default: that of the configuration).
---@field cron? string Start of the show, as for `schedule.cron`: `"0 20 * * sat"`. Exactly one of `cron` and `at` is required.
---@field at? string Start of the show, as for `schedule.at`: `"20:00"`, `"2026-12-24 18:00"`.
---@field days? string Days of the week to repeat on, with `at`, as for `schedule.at` (default: once).
---@field timezone? string Time zone of the line, with `cron`: `"Europe/Berlin"`, or an abbreviation of only one zone: `"JST"` (default: that of this machine).
---@field pad_before? Duration Time recorded before the show, at most `"24h"` (default: 0).
---@field pad_after? Duration Time recorded after the show (default: 0).
---@field keep? Duration Age above which recordings of this `name` are deleted after each run (default: none).
---@field min_free? string|integer Space that stays free on the disk, as for `Stream:record`.
---@field fallbacks? string[] Stations to try, in this order, when the first can't be reached.
---@field name? string Name of the job, unique in the script, and of its recordings in the catalogue (default: derived from
--- the time). Required with `keep`; no other script should use it.

---@alias recorder.EventName
---| "started" # `{path, url, due, recording, continued, gap_seconds?}`: the first frame of a station is on disk; `continued` if it continues the file of a run that was cut off, about `gap_seconds` of which are missing.
---| "fallback" # `{from, url, error, due}`: the station `from` has failed; `url` is tried next.
---| "finished" # `{path, seconds, bytes, due, parts}`: the show is over; `path` is the longest part.
---| "failed" # `{error, due, path, parts}`: nothing was recorded, or the file can't be written; `path` is the longest part, if any.

---Schedules the recording of a show. Each of `parts` in its events is `{path, seconds, bytes, url}`.
---
---Raises `schedule.syntax`, `schedule.zone`, `schedule.past`, `schedule.duplicate`, `stream.url`, `stream.unsupported`,
---`stream.auth`, `argument`.
---@param options recorder.Options
---@return recorder.Show
function recorder.schedule(options) end

---A scheduled recording, as `recorder.schedule` returns it.
---@class recorder.Show
---@field name string Name of the job.
---@field next? number Start of the next run, padding included, in seconds since 1970; nil if the job has ended.
---@field last? number Start of the last run, in seconds since 1970; nil before the first.
---@field runs integer Number of runs started.
---@field failures integer Number of failed runs.
---@field active boolean `true` until the job ends or is cancelled.
local Show = {}

---Cancels the schedule. A recording in progress is stopped and kept.
function Show:cancel() end

---Calls a function with the payload of every event of that name. Raises `argument`.
---@param event recorder.EventName
---@param listener async fun(payload: table)
---@return Subscription
function Show:on(event, listener) end

---Calls a function with the payload of the next event of that name, once. Raises `argument`.
---@param event recorder.EventName
---@param listener async fun(payload: table)
---@return Subscription
function Show:once(event, listener) end

---Waits for the next event of that name. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event recorder.EventName
---@param timeout? Duration Longest wait (default: none).
---@return table? payload
---@return "timeout"|"closed"|nil why The reason for nil; `"closed"`: the job has ended, and no run is in progress.
function Show:wait(event, timeout) end

return recorder
