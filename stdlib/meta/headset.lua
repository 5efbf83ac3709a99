---@meta headset

-- Headsets: noise cancelling, ambient sound, equalizer, battery, firmware.
--
--   local headset = require "headset"
--   local h = headset.connect()    -- the one of the configuration
--   h:set_noise_cancelling(true)
--   h:set_ambient { left = 0, right = 0 }
--   h:set_preset "music"
--   print(h.model, h:battery().percent)
--
-- A connection that is lost is made again until `h:disconnect()`; meanwhile requests raise `headset.not_connected`. What
-- a headset can't do is missing in `h.capabilities` and raises `headset.unsupported`. Requests of all scripts reach the
-- headset one after the other. A headset alone keeps no script running; the last script that has it disconnects it when it
-- ends. Under `simulate` an emulated board stands for every headset, and no hardware is touched.
--
-- All that wait for the headset may raise `headset.not_connected`, `headset.timeout` (it does not answer),
-- `headset.busy` (its firmware is being updated), `headset.wrong_mode` (it is in its bootloader), `headset.no_data` (an
-- answer can't be read) and `headset.write_failed`. `err.seed_name` is what Avnera's framework calls the failure.

error("stdlib/meta/headset.lua is a description, not a module: require \"headset\" finds the module itself")

---@class headsetlib
local headset = {}

---@alias headset.Preset
---| "music" # 0
---| "movie" # 1
---| "voice" # 2
---| "user" # 3
---| integer

---@class headset.ConnectOptions
---@field transport? string `"unix:PATH"`, `"tcp:127.0.0.1:PORT"`, `"serial:PATH"`, `"serial:PATH@BAUD"` or `"rfcomm:ADDRESS"`; otherwise the one of the configuration.
---@field key_file? string The file with the key of the link, 64 hexadecimal digits, for nobody else to read; otherwise the one of the configuration.

---Connects a headset, and keeps it connected. Raises `headset.not_available`, `headset.already_connected` (`headset.list`
---has it), `headset.connection_failed`, `headset.auth`, `headset.challenge_length`, `headset.timeout`, `argument`.
---@async
---@param options? headset.ConnectOptions
---@return headset.Headset
function headset.connect(options) end

---Has the headset of the configuration connected whenever it is there, which emits `connected`; one that is connected
---already is in `headset.list()`, and no event is emitted for it. A script that looks for a headset runs until that is
---switched off. Raises `headset.not_available` when none is configured,
---`headset.auth`, `argument`.
---@param enabled boolean
function headset.auto_connect(enabled) end

---The headsets that are connected or, after their connection was lost, are about to be again.
---@return headset.Headset[]
function headset.list() end

---Calls `listener` with the payload of every such event of any headset from now on. Raises `argument`.
---@param event headset.EventName
---@param listener fun(payload: table)
---@return Subscription
function headset.on(event, listener) end

---As `on`, for the next such event only. Raises `argument`.
---@param event headset.EventName
---@param listener fun(payload: table)
---@return Subscription
function headset.once(event, listener) end

---Waits for the next such event: its payload; nil and `"timeout"`. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event headset.EventName
---@param timeout? Duration
---@return table? payload
---@return "timeout"? why
function headset.wait(event, timeout) end

---@alias headset.EventName
---| "connected" # `headset name`: it is connected, for the first time or again.
---| "disconnected" # `headset reason`: it is not any more.
---| "noise_cancelling" # `headset enabled`: turned on or off, by whomever.
---| "ambient" # `headset left right`: it lets in more or less of the surroundings.
---| "equalizer" # `headset preset preset_name values`: another preset sounds, or other values.
---| "bootloader" # `headset`: it goes over to its bootloader.
---| "progress" # `headset fraction`: an update is so far, 0 to 1, never less than before.
---| "update_completed" # `headset version`: the new firmware runs, and stays.
---| "battery" # `headset percent charging`: it is fuller or emptier, is charged or no more.
---| "error" # `headset code message error`: what it tells can't be read, or it is not tried to connect any more.

---A headset. It can be told in all scripts; requests wait for their answer.
---@class headset.Headset
---@field connected boolean Whether requests can be made.
---@field name string? The accessory's own name; its model if it has none; nil before it was ever connected.
---@field address string Where it is: `"unix:/run/user/1000/headset.sock"`.
---@field model string? What its maker calls it; nil before it was ever connected.
---@field firmware_version string
---@field capabilities string[] What it can do, sorted: some of `"ambient"`, `"battery"`, `"equalizer"`, `"firmware_update"`, `"noise_cancelling"`.
local Headset = {}

---Ends the connection, for all scripts, and does not look for the headset any more. Raises `headset.busy` while its
---firmware is updated.
---@async
function Headset:disconnect() end

---Whether noise is cancelled. Raises `headset.unsupported`.
---@async
---@return boolean
function Headset:noise_cancelling() end

---Turns noise cancelling on or off. Raises `headset.unsupported`, `argument`.
---@async
---@param enabled boolean
function Headset:set_noise_cancelling(enabled) end

---How much of the surroundings each side lets in, and the most that it can. Raises `headset.unsupported`.
---@async
---@return { left: integer, right: integer, max: { left: integer, right: integer } }
function Headset:ambient() end

---The most of the surroundings that each side lets in. Raises `headset.unsupported`.
---@async
---@return { left: integer, right: integer }
function Headset:ambient_max() end

---@class headset.AmbientOptions
---@field left? integer From 0; stays as it is when left out.
---@field right? integer As `left`.

---Sets how much of the surroundings one side or both let in. Raises `headset.range` before anything is set,
---`headset.unsupported`, `argument`.
---@async
---@param levels headset.AmbientOptions
function Headset:set_ambient(levels) end

---@class headset.Equalizer
---@field bands { frequency: number, unit: "Hz"|"kHz", hertz: number }[] 1 to 10 of them.
---@field min integer The least that a band can be set to.
---@field max integer The most.
---@field preset integer From 0.
---@field preset_name? string
---@field values integer[] One for each band.

---The bands, and the values of a preset: of the one that sounds, unless another is named. Raises
---`headset.unsupported`, `headset.no_bands`, `headset.too_many_bands`, `headset.wrong_band_count`, `headset.range` (the
---headset has no such preset), `argument`.
---@async
---@param preset? headset.Preset
---@return headset.Equalizer
function Headset:equalizer(preset) end

---Sets one band of a preset. Raises `headset.range` and what `equalizer` raises.
---@async
---@param preset headset.Preset
---@param band integer From 1.
---@param value integer From `min` to `max` of `equalizer`.
function Headset:set_band(preset, band, value) end

---Makes a preset the one that sounds. Raises what `equalizer` raises.
---@async
---@param preset headset.Preset
function Headset:set_preset(preset) end

---Sets all bands of a preset. Raises `headset.range`, `headset.wrong_band_count` and what `equalizer` raises.
---@async
---@param preset headset.Preset
---@param values integer[] One for each band.
function Headset:set_equalizer(preset, values) end

---Makes a preset what it was when the headset was new. Raises what `equalizer` raises.
---@async
---@param preset headset.Preset
function Headset:reset_preset(preset) end

---How full the battery is. Raises `headset.unsupported`.
---@async
---@return { percent: integer, charging: boolean }
function Headset:battery() end

---What runs on the headset: its firmware, or what takes new firmware.
---@async
---@return "application"|"bootloader"
function Headset:image_type() end

---Has the headset go over to its bootloader, and returns when it is ready there; at once when it is there. Raises
---`headset.update_failed` with `step = "enter"` when it was asked three times and did not.
---@async
function Headset:enter_bootloader() end

---@class headset.UpdateOptions
---@field on_progress? fun(fraction: number) Called with 0 to 1, never less than before.

---Brings new firmware onto the headset: checks the file, enters the bootloader, writes, verifies, restarts, and returns
---when the new version runs. Goes on where it was after the link was lost, and when it is called again. Raises
---`headset.update_failed` (with `step` and `reason`), `headset.unsupported`, `argument`.
---@async
---@param path string
---@param options? headset.UpdateOptions
---@return boolean updated False when the headset had this version already.
function Headset:update_firmware(path, options) end

---Starts the headset again, and returns when it is back.
---@async
function Headset:reboot() end

---Calls `listener` with the payload of every such event from now on. Raises `argument`.
---@param event headset.EventName
---@param listener fun(payload: table)
---@return Subscription
function Headset:on(event, listener) end

---As `on`, for the next such event only. Raises `argument`.
---@param event headset.EventName
---@param listener fun(payload: table)
---@return Subscription
function Headset:once(event, listener) end

---Waits for the next such event: its payload; nil and `"timeout"`; nil and `"closed"` when the headset was disconnected
---and is not looked for any more. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event headset.EventName
---@param timeout? Duration
---@return table? payload
---@return "timeout"|"closed"? why
function Headset:wait(event, timeout) end

return headset
