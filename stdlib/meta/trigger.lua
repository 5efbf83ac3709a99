---@meta trigger
---@search mqtt webhook button sensor motion switch remote event doorbell zigbee alexa siri
---@search homeassistant phone

-- Events from outside of the house's scripts: a doorbell, a motion sensor, a phone, another script.
--
--   local trigger = require "trigger"
--   trigger.on("doorbell", function(event)
--     speaker.interrupt { devices = { "Kitchen" }, play = "bell.wav" }
--     print("the button at the", event.value and event.value.button)
--   end)
--   local event = trigger.wait("door", "10m")
--   trigger.fire("doorbell", { button = "front" })
--
-- A trigger has a name of 1 to 64 letters, digits, `_`, `-` and `.`, and may have a value: booleans, numbers, text in
-- UTF-8, lists, and tables whose keys are all text, at most 64 KiB of JSON. It reaches all scripts that listen at that
-- moment; each receives a copy of the value. They come from scripts, from `roomtone ctl trigger NAME`, from topics of
-- MQTT (`roomtone help mqtt`), and from requests of HTTP (`roomtone help webhooks`). Under `roomtone simulate`,
-- `--triggers` names a file of triggers with their times.

---@class triggerlib
local trigger = {}

---A trigger, as listeners receive it.
---@class trigger.Event
---@field name string
---@field value? any Value of the trigger; nil if it has none.
---@field origin "ctl"|"http"|"mqtt"|"script"|"file" Door through which it came; `"file"`: a simulation's `--triggers`.
---@field at number Time in seconds since 1970.

---Calls a function with each trigger of a name, in a routine of its own. A script that only listens does not stay alive
---for it, except for the triggers of a simulation. Raises `trigger.name`, `argument`.
---@param name string
---@param fn fun(event: trigger.Event)
---@return Subscription
function trigger.on(name, fn) end

---Calls a function with the next trigger of a name. Raises `trigger.name`, `argument`.
---@param name string
---@param fn fun(event: trigger.Event)
---@return Subscription
function trigger.once(name, fn) end

---Waits for the next trigger of a name. Raises `trigger.name`, `argument`.
---@async
---@param name string
---@param timeout? Duration Longest wait (default: none).
---@return trigger.Event? event The trigger; nil if none came in time.
---@return "timeout"|nil why The reason for nil.
function trigger.wait(name, timeout) end

---Fires a trigger: every script that listens receives it, this one too. Raises `trigger.name`, `trigger.too_large`,
---`trigger.not_json` (the message names the part that JSON can't hold), `argument`.
---@param name string
---@param value? any
function trigger.fire(name, value) end

return trigger
