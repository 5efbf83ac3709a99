---@meta eq

-- Equalizer presets with names, for what sounds in the house and for headsets.
--
--   local eq = require "eq"
--   eq.define("kitchen", { [125] = -4, [250] = -2, [4000] = 3 })   -- kept until it is defined anew
--   eq.apply(speaker.default_session(), "kitchen")
--   headset.on("connected", function(event)
--     eq.apply(event.headset, "train", { fit = true })
--   end)
--
-- A preset is a curve: gains in dB at ten frequencies. A headset has bands of its own, for which the curve is read
-- off, between its points along the logarithm of the frequency and beyond them as at the last, and rounded to whole
-- steps; one step of the headset is taken for 1 dB. What is read off becomes the headset's preset 3, `"user"`, which
-- is selected then. The presets that headsets have, `"music"`, `"movie"`, `"voice"` and `"user"`, are selected as they
-- are.

error("stdlib/meta/eq.lua is a description, not a module: require \"eq\" finds the module itself")

---@class eqlib
local eq = {}

---The names of the presets that there are for everything: those that are built in, those of `speaker.set_eq` first, and
---behind them those that the script has defined, sorted by their bytes.
---@return string[]
function eq.presets() end

---@class eq.ApplyOptions
---@field fit? boolean Makes the curve as much smaller as it has to be for the headset; else that raises.

---Gives a session or a headset a preset. Nothing is cut off: a curve that asks for more than the headset takes raises
---`headset.range` before anything is written, unless `fit` allows to multiply all of it by a number below 1.
---
---Raises `headset.range`, `headset.no_bands` (the headset has none) and whatever else the headset raises,
---`speaker.closed`, `speaker.unsupported`, `argument`.
---@async
---@param target speaker.Session|speakerlib|headset.Headset `speaker` itself stands for the default session.
---@param name string
---@param options? eq.ApplyOptions
---@return number factor What the curve was multiplied by: 1 unless it had to fit.
function eq.apply(target, name, options) end

---Defines a preset, which is kept in the script's store for later runs too; `false` lets it go.
---
---What is built in, here or in headsets, can't be defined. Raises `argument`, and what `store.set` raises.
---@param name string 1 to 100 bytes of UTF-8.
---@param bands speaker.EqualizerBands|false As `speaker.set_eq` takes them: bands that are left out are at 0 dB.
function eq.define(name, bands) end

return eq
