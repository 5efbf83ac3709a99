---@meta log
---@search logging debug trace print

-- Log lines on standard error: a message and fields. The configuration sets the lowest level that is shown.
--
--   local log = require "log"
--   local kitchen = speaker.device "Kitchen"
--   log.info("breakfast", { room = kitchen.name, volume = kitchen.volume })
--   local signal = kitchen.wifi_signal
--   if signal and signal < -80 then
--     log.warn("the kitchen hardly hears us", { dBm = signal })
--   end
--
-- `print` is for results and writes to standard output.

---A message or a field of more than 64 KiB is cut, with the number of the omitted bytes at its end.
---@class loglib
local log = {}

---Logs details for debugging; shown only with `--verbose`, unless the configuration sets the level. Raises `argument`.
---@param message string
---@param fields? table<string, any> Shown after the message as `name=value`, sorted by name.
function log.debug(message, fields) end

---Logs an event of normal operation. Raises `argument`.
---@param message string
---@param fields? table<string, any> Shown after the message as `name=value`, sorted by name.
function log.info(message, fields) end

---Logs a condition that is unusual, but not a failure. Raises `argument`.
---@param message string
---@param fields? table<string, any> Shown after the message as `name=value`, sorted by name.
function log.warn(message, fields) end

---Logs a failure; the script continues, and its exit status does not change. Raises `argument`.
---@param message string
---@param fields? table<string, any> Shown after the message as `name=value`, sorted by name.
function log.error(message, fields) end

return log
