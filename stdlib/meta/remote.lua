---@meta remote
---@search knob dial button switch ikea symfonisk tradfri xiaomi aqara zigbee2mqtt mqtt volume
---@search rotary

-- Remotes, knobs and buttons of MQTT for a room.
--
--   local remote = require "remote"
--   remote.bind { topic = "zigbee2mqtt/kitchen dial", room = "Kitchen",
--                 map = remote.SYMFONISK }
--   remote.bind { topic = "zigbee2mqtt/bed", room = "Bedroom",
--                 station = "morning",
--                 map = { single = "toggle", double = "volume_up",
--                         hold = function(binding) print(binding.topic) end } }
--
-- A map says what each action of a device does, by the member `action` of its messages: a name below, or a function. An
-- action that it lacks does nothing, and retained messages do nothing.
--
-- | name | does |
-- | --- | --- |
-- | `volume_up`, `volume_down` | two levels |
-- | `ramp_up`, `ramp_down` | five levels a second, until `ramp_stop`, and 5 s at most: a lost stop never runs away |
-- | `ramp_stop` | ends the ramp |
-- | `toggle` | pauses what plays in the room, or resumes it; where nothing does, starts `station`: on the script's own session, which plays on when the script is saved, or on a further one where that is in use |
-- | `next`, `previous` | the next and the previous file of a queue |
-- | `stop` | stops what plays in the room |
-- | `mute` | mutes the room, or unmutes it |
--
-- Each speaker of a room moves by as much. The broker is set in the configuration: `roomtone help mqtt`.

---@class remotelib
local remote = {}

---IKEA's SYMFONISK sound remote, first generation, E1744: turning it is a ramp, a press is `toggle`, two and three presses
---are `next` and `previous`.
remote.SYMFONISK = {}
---The same device by its number.
remote.E1744 = {}
---IKEA's SYMFONISK sound remote, second generation, E2123. Its dots do nothing, and are for own functions.
remote.E2123 = {}
---IKEA's TRÅDFRI shortcut button E1812: a press is `toggle`, holding it is a ramp up.
remote.E1812 = {}
---Xiaomi's and Aqara's buttons: a press is `toggle`, two are `next`, holding it is `stop`.
remote.XIAOMI = {}

---@class remote.Options
---@field topic string Topic of the device, or a filter.
---@field room fade.Target The room.
---@field map table<string, string|function> Names of what actions do, or functions, which receive the binding and the message.
---@field station? string|stream.Stream Played in the room by `toggle` where nothing plays.
---@field field? string Member of a payload in JSON that names the action (default: `"action"`). A payload that is text is the action itself.

---Lets a device act on a room, until the binding is cancelled or the script ends. Raises `speaker.unknown`, `mqtt.filter`,
---`mqtt.not_configured`, `speaker.closed`, `argument`.
---@param options remote.Options
---@return remote.Binding
function remote.bind(options) end

---A device that acts on a room; prints as `remote "zigbee2mqtt/dial" in Kitchen (active)`.
---@class remote.Binding
---@field topic string
---@field devices speaker.Device[]
---@field active boolean
local Binding = {}

---Ends it, and a ramp that it has begun.
function Binding:cancel() end

return remote
