---@meta log

-- Lines for the log, on standard error: a message and fields. The configuration says from which level on they show.
--
--   local log = require "log"
--   local kitchen = speaker.device "Kitchen"
--   log.info("breakfast", { room = kitchen.name, volume = kitchen.volume })
--   if kitchen.wifi_signal < -80 then
--     log.warn("the kitchen hardly hears us", { dBm = kitchen.wifi_signal })
--   end
--
-- `print` is for results and goes to standard output.

error("stdlib/meta/log.lua is a description, not a module: require \"log\" finds the module itself")

---@class loglib
local log = {}

---Tells what helps to find a mistake; shown with `--verbose` only, unless the configuration says otherwise.
---Raises `argument`.
---@param message string
---@param fields? table<string, any> Shown after the message as `name=value`, sorted by name.
function log.debug(message, fields) end

---Tells what happens. Raises `argument`.
---@param message string
---@param fields? table<string, any> Shown after the message as `name=value`, sorted by name.
function log.info(message, fields) end

---Tells what is odd, but harms nothing yet. Raises `argument`.
---@param message string
---@param fields? table<string, any> Shown after the message as `name=value`, sorted by name.
function log.warn(message, fields) end

---Tells what went wrong; the script goes on, and its exit status is not touched. Raises `argument`.
---@param message string
---@param fields? table<string, any> Shown after the message as `name=value`, sorted by name.
function log.error(message, fields) end

return log
