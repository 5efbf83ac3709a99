---@meta party
---@search everywhere multiroom whole

-- One music in the whole house, for a while.
--
--   local party = require "party"
--   local birthday = party.start { volume = 30 }
--   speaker.play_stream "http://127.0.0.1:8000/dance.mp3"
--   task.sleep "4h"
--   birthday:stop()  -- every room as it was before
--
-- All speakers join one session, and so does one that is added to the house during the party. Other sessions stop, and
-- continue after the party from the positions that they had. After the party its session has the speakers that it had
-- before, and plays its former source: a source that was started during the party stops. A speaker that can't be
-- reached receives its volume when it is back. A volume that somebody sets during the party stays. A party ends with
-- its script: at a failure, a reload, the end of the daemon. If the daemon is killed, the volumes return at its next
-- start, save those that somebody has set meanwhile. There is one party at a time in a script; it does not know of the
-- parties of other scripts in the same house.

---@class partylib
local party = {}

---@class party.Options
---@field volume? integer Volume of all speakers, 0 to 50; unmutes (default: unchanged).
---@field session? speaker.Session|speakerlib The session that plays (default: the script's own session).

---Starts a party: all speakers join the session, or the call raises and none does.
---
---Raises `party.active` (the script has one already), `speaker.outranked`, `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param options? party.Options
---@return party.Party
function party.start(options) end

---A party, as `party.start` returns it; prints as `party (active, 6 speakers)`.
---@class party.Party
---@field active boolean `true` until it is stopped.
---@field devices speaker.Device[] The members of the session of the party.
local Party = {}

---Stops the party: restores the sessions of all speakers, with the sources and positions of those that had stopped or
---that play something else now, and volumes and mute, save those that somebody else has set. A session that played
---nothing before is silent again. A second call waits for the end of the first.
---
---Raises `speaker.outranked`, `speaker.closed`, `audio.not_found`, `audio.unreadable`, `audio.unsupported` (after all
---else is restored), `task.cannot_suspend`.
---@async
function Party:stop() end

---Stops the party, as `stop`. Raises as `stop`.
---@async
function Party:cancel() end

---@alias party.EventName
---| "done" # `{party}`: the party is over, and all is restored.

---Calls a function with the payload of every event of that name. Raises `argument`.
---@param event party.EventName
---@param listener async fun(payload: table)
---@return Subscription
function Party:on(event, listener) end

---Calls a function with the payload of the next event of that name, once. Raises `argument`.
---@param event party.EventName
---@param listener async fun(payload: table)
---@return Subscription
function Party:once(event, listener) end

---Waits for the next event of that name. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event party.EventName
---@param timeout? Duration Longest wait (default: none).
---@return table? payload
---@return "timeout"|"closed"|nil why The reason for nil; `"closed"`: the party is over.
function Party:wait(event, timeout) end

return party
