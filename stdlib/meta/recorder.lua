---@meta recorder

-- Records what a station broadcasts, on a schedule.
--
--   local recorder = require "recorder"
--   local show = recorder.schedule {
--     url = "http://127.0.0.1:8000/live.mp3", template = "{station}/{start:%Y-%m-%d %H.%M}.{ext}",
--     cron = "0 20 * * sat", duration = "2h", pad_before = "2m", pad_after = "5m", name = "saturday", keep = "60d",
--   }
--   show:on("finished", function(event) print(event.path, event.seconds) end)
--
-- A run begins `pad_before` early and ends `pad_after` late, by the clock on the wall. What can't be reached is tried
-- again, and what `fallbacks` lists in its stead, until the show is over. A station that was there and is gone for a
-- minute is taken for one that can't be reached, when there are others; what another brings is a file of its own. Runs
-- may overlap. A run that records nothing, or whose file can't be written, has failed: that is logged, and the next one
-- comes. A script with scheduled recordings goes on.

error("stdlib/meta/recorder.lua is a description, not a module: require \"recorder\" finds the module itself")

---@class recorderlib
local recorder = {}

---@class recorder.Options
---@field url string The station.
---@field duration Duration How long the show is.
---@field template? string Where to, as `Stream:record` takes it (default: that of the configuration).
---@field cron? string When it begins, as `schedule.cron` takes it: `"0 20 * * sat"`. Either this or `at`.
---@field at? string When it begins, as `schedule.at` takes it: `"20:00"`, `"2026-12-24 18:00"`.
---@field days? string With `at`: on which days, as `schedule.at` takes them; else once.
---@field timezone? string With `cron`: the clocks that count, `"Europe/Berlin"` (default: those of this machine).
---@field pad_before? Duration How long before that it records, at most `"24h"` (default: 0).
---@field pad_after? Duration How much longer than the show (default: 0).
---@field keep? Duration What recordings of this `name` are older is deleted behind each run (default: nothing).
---@field min_free? string|integer Room that the disk must have left, as `Stream:record` takes it.
---@field fallbacks? string[] Stations to try when the first is not there, in this order.
---@field name? string Of the job, unique in the script, and in the catalogue (default: made of the time). With `keep`
--- it must be told, and no other script should use it.

---@alias recorder.EventName
---| "started" # `{path, url, due, recording}`: the first frame is on disk; each time that a station has come.
---| "fallback" # `{from, url, error, due}`: a station is not there, or is gone; `url` is tried.
---| "finished" # `{path, seconds, bytes, due, parts}`: the show is over, `path` the longest of its parts.
---| "failed" # `{error, due, path, parts}`: nothing came, or it can't be written; `path` is what there is.

---Records a show whenever it is due. Each of `parts` in its events is `{path, seconds, bytes, url}`.
---
---Raises `schedule.syntax`, `schedule.zone`, `schedule.past`, `schedule.duplicate`, `stream.url`, `stream.unsupported`,
---`argument`.
---@param options recorder.Options
---@return recorder.Show
function recorder.schedule(options) end

---What `schedule` returns.
---@class recorder.Show
---@field name string Of its job.
---@field next? number When it records next, in seconds since 1970, padding counted; nil when it has ended.
---@field last? number When its last run began, in seconds since 1970; nil before the first.
---@field runs integer Runs that have begun.
---@field failures integer Runs that have failed.
---@field active boolean Whether it has not ended and was not cancelled.
local Show = {}

---Ends it. What it records now is finished and kept.
function Show:cancel() end

---Calls `listener` with the payload of every such event from now on. Raises `argument`.
---@param event recorder.EventName
---@param listener async fun(payload: table)
---@return recorder.Subscription
function Show:on(event, listener) end

---As `on`, for the next such event only. Raises `argument`.
---@param event recorder.EventName
---@param listener async fun(payload: table)
---@return recorder.Subscription
function Show:once(event, listener) end

---What `on` and `once` return.
---@class recorder.Subscription
---@field active boolean Whether the listener is still called.
local Subscription = {}

---Ends it: the listener is not called any more.
function Subscription:cancel() end

return recorder
