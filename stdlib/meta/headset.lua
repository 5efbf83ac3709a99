---@meta headset
---@search headphones earphones earbuds microphone anc hearing bluetooth

-- Headsets: noise cancelling, ambient sound, equalizer, battery, firmware.
--
--   local headset = require "headset"
--   local h = headset.connect()    -- the one of the configuration
--   h:set_noise_cancelling(true)
--   h:set_ambient { left = 0, right = 0 }
--   h:set_preset "music"
--   print(h.model, h:battery().percent)
--
-- A lost connection is restored until `h:disconnect()`; in between requests raise `headset.not_connected`. A feature
-- that a headset lacks is missing in `h.capabilities` and raises `headset.unsupported`. Requests of all scripts reach
-- the headset one after the other. A headset alone keeps no script running; it is disconnected when the last script
-- that has it ends. Under `simulate` an emulated board replaces every headset, and no hardware is used.
--
-- Every function that waits for the headset raises also `headset.not_connected`, `headset.timeout` (no answer),
-- `headset.busy` (a firmware update is in progress), `headset.wrong_mode` (the bootloader runs), `headset.no_data` (an
-- unreadable answer) and `headset.write_failed`.
--
-- The field `seed_name` of an error is the name of the failure in Avnera's framework.

---@class headsetlib
local headset = {}

---@alias headset.Preset
---| "music" # 0
---| "movie" # 1
---| "voice" # 2
---| "user" # 3
---| integer

---@class headset.ConnectOptions
---@field transport? string Address of the headset: `"unix:PATH"`, `"tcp:127.0.0.1:PORT"`, `"serial:PATH"`, `"serial:PATH@BAUD"` or `"rfcomm:ADDRESS"` (default: that of the configuration).
---@field key_file? string Path of the file with the key of the link, 64 hexadecimal digits, readable by its owner only (default: that of the configuration, else the development key).

---Connects a headset, keeps it connected, and returns it. Raises `headset.not_available`, `headset.already_connected`
---(it is in `headset.list()`), `headset.connection_failed`, `headset.auth`, `headset.challenge_length`,
---`headset.timeout`, `argument`.
---@async
---@param options? headset.ConnectOptions
---@return headset.Headset
function headset.connect(options) end

---Turns automatic connection of the configured headset on or off (initially off). Each connection emits `connected`; a
---headset that is connected already is in `headset.list()`, without an event. While it is on, the script does not
---end. Without a configured headset, which is logged, it waits for one that a script connects. Raises `headset.auth`,
---`argument`.
---@param enabled boolean
function headset.auto_connect(enabled) end

---Returns the headsets that are connected, and those whose lost connection is being restored.
---@return headset.Headset[]
function headset.list() end

---Calls a function with the payload of every event of that name, of any headset. Raises `argument`.
---@param event headset.EventName
---@param listener fun(payload: table)
---@return Subscription
function headset.on(event, listener) end

---Calls a function with the payload of the next event of that name, once. Raises `argument`.
---@param event headset.EventName
---@param listener fun(payload: table)
---@return Subscription
function headset.once(event, listener) end

---Waits for the next event of that name, of any headset. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event headset.EventName
---@param timeout? Duration Longest wait (default: none).
---@return table? payload Nil after the timeout.
---@return "timeout"? why
function headset.wait(event, timeout) end

---@alias headset.EventName
---| "connected" # `{headset, name}`: connected, for the first time or again.
---| "disconnected" # `{headset, reason}`: no longer connected.
---| "noise_cancelling" # `{headset, enabled}`: noise cancelling was turned on or off, by a script or by the wearer.
---| "ambient" # `{headset, left, right}`: ambient levels have changed.
---| "equalizer" # `{headset, preset, preset_name, values}`: the selected preset or its values have changed.
---| "bootloader" # `{headset}`: the headset enters its bootloader.
---| "progress" # `{headset, fraction}`: progress of a firmware update, 0 to 1, never decreasing.
---| "update_completed" # `{headset, version}`: the new firmware runs and is confirmed.
---| "battery" # `{headset, percent, charging}`: the charge or the charging state has changed.
---| "error" # `{headset, code, message, error}`: an unreadable event, or the end of the attempts to connect.

---A headset, shared by all scripts; requests wait for their answer.
---@class headset.Headset
---@field connected boolean `true` while requests can be made.
---@field name string? The accessory's own name, else its model; nil before the first connection.
---@field address string Address of the link: `"unix:/run/user/1000/headset.sock"`.
---@field model string? The maker's name of the model; nil before the first connection.
---@field firmware_version string? Nil before the first connection.
---@field capabilities string[] Names of its features, sorted: some of `"ambient"`, `"battery"`, `"equalizer"`, `"firmware_update"`, `"noise_cancelling"`.
local Headset = {}

---Disconnects the headset, for all scripts, and ends the attempts to connect it. Raises `headset.busy` during a
---firmware update or a restart.
---@async
function Headset:disconnect() end

---Returns `true` if noise cancelling is on. Raises `headset.unsupported`.
---@async
---@return boolean
function Headset:noise_cancelling() end

---Turns noise cancelling on or off. Raises `headset.unsupported`, `argument`.
---@async
---@param enabled boolean
function Headset:set_noise_cancelling(enabled) end

---Returns the ambient level of each side, from 0, and the maximum levels. Raises `headset.unsupported`.
---@async
---@return { left: integer, right: integer, max: { left: integer, right: integer } }
function Headset:ambient() end

---Returns the maximum ambient level of each side. Raises `headset.unsupported`.
---@async
---@return { left: integer, right: integer }
function Headset:ambient_max() end

---@class headset.AmbientOptions
---@field left? integer Level of the left side, from 0 (default: unchanged).
---@field right? integer Level of the right side, from 0 (default: unchanged).

---Sets the ambient level of one side or both. Raises `headset.range` (above the maximum; neither side is changed then),
---`headset.unsupported`, `argument`.
---@async
---@param levels headset.AmbientOptions
function Headset:set_ambient(levels) end

---@class headset.Equalizer
---@field bands { frequency: number, unit: "Hz"|"kHz", hertz: number }[] 1 to 10 bands: the frequency in its unit, and in Hz.
---@field min integer Lowest value of a band, in the headset's own steps.
---@field max integer Highest value of a band.
---@field preset integer Number of the preset, from 0.
---@field preset_name? string
---@field values integer[] Values of the preset, one for each band.

---Returns the bands of the equalizer and the values of a preset. Raises `headset.unsupported`, `headset.no_bands`,
---`headset.too_many_bands`, `headset.wrong_band_count`, `headset.range` (the headset has no such preset), `argument`.
---@async
---@param preset? headset.Preset The preset (default: the selected one).
---@return headset.Equalizer
function Headset:equalizer(preset) end

---Sets one band of a preset. Raises `headset.range` and the errors of `equalizer`.
---@async
---@param preset headset.Preset
---@param band integer Number of the band, from 1.
---@param value integer `min` to `max` of `equalizer`.
function Headset:set_band(preset, band, value) end

---Selects a preset. Raises the errors of `equalizer`.
---@async
---@param preset headset.Preset
function Headset:set_preset(preset) end

---Sets all bands of a preset. Raises `headset.range`, `headset.wrong_band_count` and the errors of `equalizer`.
---@async
---@param preset headset.Preset
---@param values integer[] Values, one for each band.
function Headset:set_equalizer(preset, values) end

---Resets a preset to its factory values. Raises the errors of `equalizer`.
---@async
---@param preset headset.Preset
function Headset:reset_preset(preset) end

---Returns the charge of the battery, 0 to 100 percent, and `true` as `charging` while it is charged. Raises
---`headset.unsupported`.
---@async
---@return { percent: integer, charging: boolean }
function Headset:battery() end

---Returns the image that runs on the headset: its firmware, or the bootloader that installs firmware.
---@async
---@return "application"|"bootloader"
function Headset:image_type() end

---Makes the headset enter its bootloader, and returns when that is ready; at once if it runs already. Raises
---`headset.update_failed` with `step = "enter"` after three requests without effect.
---@async
function Headset:enter_bootloader() end

---@class headset.UpdateOptions
---@field on_progress? fun(fraction: number, left: number?) Called with the progress, 0 to 1, never decreasing, and the estimated seconds until the image is written; nil once it is.

---Installs firmware on the headset: checks the file, enters the bootloader, writes, verifies, restarts, and returns
---when the new version runs. Resumes after a lost link, and when it is called again after a failure. Raises
---`headset.update_failed` (with `step` and `reason`), `headset.unsupported`, `argument`.
---@async
---@param path string Path of the firmware file: relative to the working folder, else to the script's folder, or `~/…`.
---@param options? headset.UpdateOptions
---@return boolean updated `false` if the headset had this version already.
function Headset:update_firmware(path, options) end

---Restarts the headset, and returns when it is connected again.
---@async
function Headset:reboot() end

---Calls a function with the payload of every event of that name of the headset. Raises `argument`.
---@param event headset.EventName
---@param listener fun(payload: table)
---@return Subscription
function Headset:on(event, listener) end

---Calls a function with the payload of the next event of that name, once. Raises `argument`.
---@param event headset.EventName
---@param listener fun(payload: table)
---@return Subscription
function Headset:once(event, listener) end

---Waits for the next event of that name of the headset. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event headset.EventName
---@param timeout? Duration Longest wait (default: none).
---@return table? payload
---@return "timeout"|"closed"? why The reason for nil; `"closed"`: the headset is disconnected for good.
function Headset:wait(event, timeout) end

return headset
