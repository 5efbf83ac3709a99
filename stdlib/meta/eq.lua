---@meta eq
---@search equaliser bass treble tone sound loudness

-- Named equalizer presets, for sessions and for headsets.
--
--   local eq = require "eq"
--   -- kept until it is redefined
--   eq.define("kitchen", { [125] = -4, [250] = -2, [4000] = 3 })
--   eq.apply(speaker.own, "kitchen")
--   headset.on("connected", function(event)
--     eq.apply(event.headset, "train", { fit = true })
--   end)
--
-- A preset is a curve: gains in dB at ten frequencies. For a headset, the curve is interpolated at the headset's bands,
-- linearly over the logarithm of the frequency and constant beyond the outer points, and rounded to whole steps of the
-- headset, taken as 1 dB each. The result is written to the headset's preset 3, `"user"`, which is selected then. The
-- headset's own presets, `"music"`, `"movie"`, `"voice"` and `"user"`, are selected unchanged.

---@class eqlib
local eq = {}

---Returns the names of the presets for sessions and headsets: the built-in ones, those of `speaker.set_eq` first, then
---those that the script has defined, sorted by their bytes.
---@return string[]
function eq.presets() end

---@class eq.ApplyOptions
---@field fit? boolean `true` scales a curve that exceeds the headset's range down to fit; `false` raises (default: false).

---Applies a preset to a session or a headset. Gains are not clipped: a curve beyond the headset's range raises
---`headset.range` before anything is written, unless `fit` allows to scale the whole curve.
---
---Raises `headset.range`, `headset.no_bands` (a headset without equalizer bands) and other errors of the headset,
---`speaker.closed`, `speaker.unsupported`, `argument`.
---@async
---@param target speaker.Session|speakerlib|headset.Headset A session, a headset, or the module `speaker` for the script's own session.
---@param name string Name of the preset.
---@param options? eq.ApplyOptions
---@return number factor The factor by which the curve was scaled: 1 unless `fit` reduced it.
function eq.apply(target, name, options) end

---Defines a preset and keeps it in the script's store, also for later runs; `false` deletes it.
---
---The names of built-in presets, here and in headsets, are reserved. Raises `argument`, and the errors of `store.set`.
---@param name string 1 to 100 bytes of UTF-8, without control characters.
---@param bands speaker.EqualizerBands|false Gains in dB by band, as for `speaker.set_eq`; omitted bands are at 0 dB.
function eq.define(name, bands) end

return eq
