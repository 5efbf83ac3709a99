---@meta fade
---@search crossfade ramp dim slowly gradually transition

-- Fades of volumes that run beside the script.
--
--   local fade = require "fade"
--   local evening = fade.volume { "Living Room", to = 8, over = "20m" }
--   evening:on("done", function(event)
--     print(#event.devices, "speakers are quiet now")
--   end)
--   local session = speaker.own
--   fade.volume { session, to = 30, over = "10s", curve = "equal_power" }
--
-- A fade controls each speaker until somebody else sets its volume, mutes it or fades it: the later one of two fades
-- wins. A speaker that can't be reached, or that an interruption uses at a volume of its own, is left out, and receives
-- the volume of the fade when it is back, also after the end. A fade of a session does not change a speaker that has
-- left it; a fade of a group has the members of its beginning.
--
-- A fade ends with its script, as by `cancel`, also at a reload or the end of the daemon: volumes stay where they are.

---@class fadelib
local fade = {}

---The speakers of a fade: a speaker, a group, a session, a zone, the name of a speaker or group, a list of speakers,
---groups and names, or the module `speaker` for all speakers of the house.
---@alias fade.Target speaker.Target|speaker.Target[]|speaker.Session|zone.Zone|speakerlib

---The course of a fade: equal times for equal steps of 0.9 dB; or the power following the square of a sine, so that
---the sum of the powers of two rooms stays the same while one fades out and the other fades in.
---@alias fade.Curve "linear"|"equal_power"

---@class fade.Options
---@field [1] fade.Target The speakers.
---@field to integer Volume at the end, 0 to 50.
---@field over Duration Length of the fade; 0 sets the volume at once.
---@field curve? fade.Curve (default: `"linear"`).

---Begins a fade and returns it at once. The fade begins at the volume that was set last; a muted speaker rises from 0.
---
---Raises `speaker.unknown`, `speaker.closed`, `argument`.
---@param options fade.Options
---@return fade.Fade
function fade.volume(options) end

---A fade, as `fade.volume` returns it; prints as `fade to 8 (active, 35 %)`.
---@class fade.Fade
---@field active boolean `true` until the fade ends or is cancelled.
---@field progress number Fraction of the time that has passed, 0 to 1.
---@field devices speaker.Device[] The speakers that the fade controls; after the end those that it controlled to the end.
local Fade = {}

---Cancels the fade: volumes stay as they are. No effect if it has ended.
function Fade:cancel() end

---@alias fade.EventName
---| "done" # `{fade, devices}`: the fade has ended, and `devices` have its volume; not emitted after `cancel`.

---Calls a function with the payload of every event of that name. Raises `argument`.
---@param event fade.EventName
---@param listener async fun(payload: table)
---@return Subscription
function Fade:on(event, listener) end

---Calls a function with the payload of the next event of that name, once. Raises `argument`.
---@param event fade.EventName
---@param listener async fun(payload: table)
---@return Subscription
function Fade:once(event, listener) end

---Waits for the next event of that name. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event fade.EventName
---@param timeout? Duration Longest wait (default: none).
---@return table? payload
---@return "timeout"|"closed"|nil why The reason for nil; `"closed"`: the fade has ended or was cancelled.
function Fade:wait(event, timeout) end

return fade
