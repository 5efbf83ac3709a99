---@meta mqtt
---@search broker mosquitto zigbee zigbee2mqtt topic publish subscribe button remote sensor
---@search doorbell homeassistant tasmota shelly esphome iot presence

-- Messages of a broker of MQTT: buttons, sensors and lamps of zigbee2mqtt, Tasmota, ESPHome and the like.
--
--   -- kitchen.lua
--   local mqtt = require "mqtt"
--   mqtt.on("zigbee2mqtt/+/contact", function(message)
--     print(message.topic, message.json and message.json.contact)
--   end)
--   mqtt.publish("zigbee2mqtt/lamp/set", { state = "ON" })
--
-- From nothing to a button that works: install a broker on one machine of the house (`apt install mosquitto`), and have
-- zigbee2mqtt or another source connected to it. Name it in `~/.config/roomtone/config.lua`:
--
--   -- config.lua
--   mqtt { host = "192.168.1.10" }
--
-- A login also needs `user` and `password_file`, a file that you alone can read (`chmod 600`). `roomtone doctor` says if
-- the broker answers and accepts the login. Run this, and press the button: its topic and payload are printed, such as
-- `zigbee2mqtt/door` and `{"action":"single","battery":87}`.
--
--   -- listen.lua, for `roomtone run listen.lua`
--   require "mqtt".on("zigbee2mqtt/#", function(message)
--     print(message.topic, message.payload)
--   end)
--
-- Then make a trigger of it in the configuration:
--
--   -- config.lua
--   mqtt { host = "192.168.1.10", triggers = {
--     doorbell = { topic = "zigbee2mqtt/door",
--                  field = "action", equals = "single" } } }
--
-- Put a script that listens into the folder of `roomtone serve`:
--
--   -- door.lua
--   local trigger = require "trigger"
--   trigger.on("doorbell", function() print "somebody is at the door" end)
--
-- A remote or a knob for a room has a module of its own: `roomtone help remote`.
--
-- Keys of `mqtt { … }`: `host`, `port` (default: 1883, with TLS 8883), `user`, `password_file`, `tls` (default: false),
-- `ca_file` (default: the certificates of the system), `client_id` (default: one of this machine and `base`), `base`
-- (default: "roomtone"), `home_assistant` (default: false; `roomtone help home_assistant`), `triggers`. A process beside
-- `roomtone serve`, such as `roomtone run`, has a client id of its own and connects when a script first uses the broker.
--
-- A rule of `triggers` has `topic` (which may be a filter), `field` (a member of a payload in JSON; default: the whole
-- payload is the value), `equals` (the value that fires; default: any) and `repeats`. Retained messages and empty values
-- do not fire, nor does the same value again within 300 ms, unless `repeats = true`. Payloads have 64 KiB at most. A rule
-- fires 20 times a second at most; the log counts the rest.
--
-- Filters have `+` for one level and `#` for all levels at the end. The two names `connected` and `disconnected` are
-- events of the connection, the second with the `reason`; topics with these names are reached by `connected/#` and
-- `disconnected/#`. Retained messages come with each subscription and each connection, with `retained = true`. Messages
-- of more than 1 MiB are dropped, and so is the rest where they arrive faster than they are read; the log counts them.
--
-- Own topics: `BASE/house/status` is `online`, or `offline` when the process of `roomtone serve` is gone; at
-- `BASE/house/id` houses notice another one with the same `base`.

---@class mqttlib
local mqtt = {}

---A message, as listeners receive it.
---@class mqtt.Message
---@field topic string
---@field payload string The bytes as they were sent.
---@field json? any The payload read as JSON; nil for another text.
---@field retained boolean `true` for a message that the broker had kept.
---@field qos integer 0 to 2.

---Options of a message.
---@class mqtt.PublishOptions
---@field qos? integer 0: sent once; 1: until it is acknowledged; 2: exactly once, unless the connection is lost before that, as with `queue = true` it is then sent again (default: 0).
---@field retain? boolean `true`: the broker keeps it for later subscribers; an empty value ends that (default: false).
---@field queue? boolean `true`: returns at once, but for the first attempt to connect, and keeps the message while the broker is away: 1,000 or 1 MB in all, of a retained topic the newest. At the end of the process two seconds are left for them, and the log counts the rest (default: false).

---Calls a function with each message of a filter, or with each event `connected` or `disconnected`, in a routine of its
---own; that of `disconnected` has only `reason`. Raises `mqtt.filter`, `mqtt.not_configured`, `argument`.
---@param filter string A filter such as `zigbee2mqtt/#`, or one of the two events.
---@param fn fun(message: mqtt.Message)
---@return Subscription
function mqtt.on(filter, fn) end

---Calls a function with the next message of a filter, or the next event. Raises `mqtt.filter`, `mqtt.not_configured`,
---`argument`.
---@param filter string A filter, or one of the two events.
---@param fn fun(message: mqtt.Message)
---@return Subscription
function mqtt.once(filter, fn) end

---Waits for the next message of a filter, or the next event. Raises `mqtt.filter`, `mqtt.not_configured`, `argument`,
---`task.cannot_suspend`.
---@async
---@param filter string A filter, or one of the two events.
---@param timeout? Duration Longest wait (default: none).
---@return mqtt.Message? message The message; nil if none came in time.
---@return "timeout"|nil why The reason for nil.
function mqtt.wait(filter, timeout) end

---Sends a message, and returns when it has left, with `qos` 1 or 2 when the broker has acknowledged it. A table, a number
---or a boolean is sent as JSON, text as it is, nil as an empty payload.
---
---Raises `mqtt.not_connected` while the broker is away, unless `queue = true`, `mqtt.refused` (the broker does not accept
---it), `mqtt.topic`, `mqtt.too_large` (more than 1 MiB), `mqtt.not_configured`, `json.not_json` and `json.too_large` for a
---table that can't be sent, `argument`, `task.cannot_suspend`.
---@async
---@param topic string A topic without wildcards.
---@param value? string|number|boolean|table
---@param options? mqtt.PublishOptions
function mqtt.publish(topic, value, options) end

---Returns `true` while the broker has accepted the login.
---@return boolean
function mqtt.connected() end

return mqtt
