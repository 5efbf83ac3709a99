---@meta zone
---@search multiroom group rooms floor

-- Named sets of speakers with one volume that keeps the balance between them.
--
--   local zone = require "zone"
--   -- kept until it is redefined
--   zone.define("downstairs", { "Kitchen", "Living Room" })
--   local downstairs = zone.get "downstairs"
--   downstairs:set_volume(50)
--   downstairs:set_volume(20)  -- each as far from the others as before
--   downstairs:play("http://127.0.0.1:8000/jazz.mp3")
--
-- Each speaker has an offset from the zone's volume, which is kept where it can't be heard: at 0, where all are silent,
-- and at 50. Steps are decibels, so an offset is a ratio of loudness. A speaker whose volume somebody else sets has a
-- new offset from then on. Zones are kept in the script's store by the ids of their speakers: new names and groups
-- change nothing, and a speaker that is not in the house is left out, which is logged once.

---@class zonelib
local zone = {}

---Defines a zone, with the balance that its speakers have now, and keeps it in the script's store, also for later runs.
---An object of a zone of that name shows the new definition.
---
---Raises `speaker.unknown`, `speaker.unavailable` (all were removed from the house), `speaker.closed`, `argument`, and
---the errors of `store.set`.
---@param name string 1 to 100 bytes of UTF-8, without control characters.
---@param devices fade.Target The speakers, at least one; of groups their members now.
---@return zone.Zone
function zone.define(name, devices) end

---Returns the zone of a name, the same object each time.
---
---Raises `zone.unknown` (no zone has the name; the message has the nearest; or its value in the store is not a zone),
---`argument`, and the errors of `store.get`.
---@param name string
---@return zone.Zone
function zone.get(name) end

---A zone; prints as `zone "downstairs" (3 speakers)`.
---@class zone.Zone
---@field name string
---@field devices speaker.Device[] The speakers that are in the house.
---@field volume integer Volume of the zone, 0 to 50: as it was set, or as the mean has changed since.
local Zone = {}

---Sets the volume of the zone: each speaker to this volume and its offset, within 0 to 50; 0 silences all. Unmutes.
---A speaker that can't be reached receives its volume when it is back.
---
---Raises `speaker.unavailable` (all were removed from the house), `speaker.closed`, `argument`, and the errors of
---`store.set`.
---@param volume integer 0 to 50.
function Zone:set_volume(volume) end

---Makes the zone's speakers members of a session, all of them or none. Raises `speaker.outranked`, `speaker.unavailable`
---(all were removed from the house), `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param session? speaker.Session The session to join (default: the script's own session).
function Zone:join(session) end

---Plays on a session of the zone's own, which its speakers join, and returns when it plays. If that fails, they return
---to the sessions that they were in.
---
---Raises the errors of `speaker.play` and `speaker.play_stream`, `speaker.outranked`, `speaker.unavailable` (all were
---removed from the house), `script.flooded` (a thousand sessions are open).
---@async
---@param source string|stream.Stream Path of a file, URL, or stream.
---@param options? speaker.PlayOptions|speaker.StreamOptions As for `speaker.play`, or `speaker.play_stream`.
function Zone:play(source, options) end

return zone
