-- Named equalizer presets, for sessions and for headsets.

local checks = require "roomtone.misuse"
local kept = require "roomtone.kept"
local speaker = require "speaker"

local eq = checks.module "eq"
local misuse, at = checks.raise, checks.attribute

-- Names of the bands in Hz, and their exact centres: octaves around 1 kHz.
local FREQUENCIES = { 31, 62, 125, 250, 500, 1000, 2000, 4000, 8000, 16000 }
local CENTRES = { 31.25, 62.5, 125, 250, 500, 1000, 2000, 4000, 8000, 16000 }
local LARGEST_GAIN = 12
-- The presets of `speaker.set_eq` and further ones, in the order of `eq.presets`.
local BUILT_IN = {
  { "flat", { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
  { "rock", { 5, 4, 3, 1, -1, -1, 1, 3, 4, 4 } },
  { "pop", { -1, 0, 2, 3, 4, 4, 2, 0, -1, -1 } },
  { "jazz", { 3, 2, 1, 2, -1, -1, 0, 1, 2, 3 } },
  { "classical", { 3, 2, 2, 1, 0, 0, 0, 1, 2, 3 } },
  { "electronic", { 5, 4, 2, 0, -2, 1, 0, 2, 4, 5 } },
  { "voice", { -6, -5, -2, 1, 3, 4, 4, 3, 0, -2 } },
  { "bass_boost", { 7, 6, 5, 3, 1, 0, 0, 0, 0, 0 } },
  { "bass_cut", { -7, -6, -5, -3, -1, 0, 0, 0, 0, 0 } },
  { "treble_boost", { 0, 0, 0, 0, 0, 1, 3, 5, 6, 7 } },
  { "treble_cut", { 0, 0, 0, 0, 0, -1, -3, -5, -6, -7 } },
  { "loudness", { 6, 5, 3, 0, -1, -1, 0, 1, 4, 5 } },
  { "night", { -8, -6, -4, -1, 1, 2, 2, 1, -1, -3 } },
  { "bass", { 4, 4, 3, 2, 1, 0, 0, 0, 0, 0 } },
  { "treble", { 0, 0, 0, 0, 0, 1, 2, 3, 4, 4 } },
  -- Train noise masks low frequencies; raised lows, and raised mids for speech, are heard over it.
  { "train", { 3, 4, 4, 2, 0, 1, 3, 3, 1, 0 } },
}
local curves = {}
for _, preset in ipairs(BUILT_IN) do
  curves[preset[1]] = preset[2]
end
-- Numbers of the headsets' own presets by name, and the preset that `apply` writes.
local OF_HEADSETS = { music = 0, movie = 1, voice = 2, user = 3 }
local USER = 3

-- Presets

-- Returns true if a value of the store is a curve as `define` keeps it.
local function is_curve(value)
  if type(value) ~= "table" or #value ~= #FREQUENCIES then
    return false
  end
  for _, gain in ipairs(value) do
    if type(gain) ~= "number" or not (gain >= -LARGEST_GAIN and gain <= LARGEST_GAIN) then
      return false
    end
  end
  return true
end

-- The presets that the script has defined.
local defined = kept.kind { name = "preset", prefix = "eq.preset.", verb = "define", is_valid = is_curve }

function eq.presets()
  local list = {}
  for _, preset in ipairs(BUILT_IN) do
    table.insert(list, preset[1])
  end
  for _, name in ipairs(defined.names()) do
    table.insert(list, name)
  end
  return list
end

-- Returns the gains of `bands` as a list; omitted bands have 0 dB. Raises for a wrong band or gain.
local function gains(bands)
  local list = {}
  for index, frequency in ipairs(FREQUENCIES) do
    local gain = bands[frequency]
    if gain ~= nil and type(gain) ~= "number" then
      misuse(("bad argument #2 to 'define' (band %d: number expected, got %s)")
        :format(frequency, type(gain)))
    elseif gain and not (gain >= -LARGEST_GAIN and gain <= LARGEST_GAIN) then
      misuse(("bad argument #2 to 'define' (band %d: -12 to 12 dB expected, got %s)")
        :format(frequency, gain))
    end
    list[index] = gain or 0
  end
  for key in pairs(bands) do
    local is_known = false
    for _, frequency in ipairs(FREQUENCIES) do
      is_known = is_known or key == frequency
    end
    if not is_known then
      misuse(("bad argument #2 to 'define' (no band is called '%s'; bands here: %s)")
        :format(tostring(key), table.concat(FREQUENCIES, ", ")))
    end
  end
  return list
end

function eq.define(name, bands)
  kept.check_name(name, "define")
  if curves[name] or OF_HEADSETS[name] then
    misuse(("bad argument #1 to 'define' ('%s' is the name of a preset that is built in)"):format(name))
  elseif bands ~= false and type(bands) ~= "table" then
    misuse(("bad argument #2 to 'define' (table of bands, or false, expected, got %s)")
      :format(type(bands)))
  end
  defined.set(name, bands and gains(bands) or nil)
end

-- Headsets

-- Returns the gain of a curve at a frequency: interpolated over the logarithm of the frequency, constant
-- beyond the outer points.
local function gain_at(curve, hertz)
  local index = 1
  while index < #CENTRES - 1 and hertz > CENTRES[index + 1] do
    index = index + 1
  end
  local low, high = CENTRES[index], CENTRES[index + 1]
  local fraction = math.log(hertz / low) / math.log(high / low)
  fraction = math.max(0, math.min(1, fraction))
  return curve[index] + fraction * (curve[index + 1] - curve[index])
end

-- Rounds to the nearest whole number, halves away from 0.
local function rounded(number)
  return number < 0 and -math.floor(0.5 - number) or math.floor(number + 0.5)
end

-- Returns the factor that scales all gains so that each, rounded, lies in the range, or 0 without such a
-- factor; and the index of the first gain that is out of range unscaled.
local function factor(wanted, min, max)
  local scale, first = 1, nil
  for index, gain in ipairs(wanted) do
    local steps = rounded(gain)
    if steps < min or steps > max then
      first = first or index
      scale = math.min(scale, gain == 0 and 0 or math.max(0, (gain > 0 and max or min) / gain))
    end
  end
  return min <= 0 and max >= 0 and scale or 0, first
end

-- Returns the headset's values for a curve, and the factor by which the curve was scaled.
local function fitted(name, curve, shape, fit, where)
  local wanted = {}
  for index, band in ipairs(shape.bands) do
    wanted[index] = gain_at(curve, band.hertz)
  end
  local scale, excess = factor(wanted, shape.min, shape.max)
  if excess and (not fit or scale == 0) then
    checks.raise_at(where, ("preset '%s' needs %d at %g Hz; the headset's range is %d to %d"):format(
      name, rounded(wanted[excess]), shape.bands[excess].hertz, shape.min, shape.max), "headset.range",
      scale > 0 and "with { fit = true } the whole curve is scaled down to fit" or nil)
  end
  local values = {}
  for index, gain in ipairs(wanted) do
    values[index] = rounded(gain * scale)
  end
  return values, scale
end

-- Targets

-- Returns true if the target has a method of that name.
local function has(target, method)
  local found, value = pcall(function()
    return target[method]
  end)
  return found and type(value) == "function"
end

local function apply_to_headset(headset, name, curve, fit, where)
  if OF_HEADSETS[name] then
    at(where, headset.set_preset, headset, name)
    return 1
  end
  local shape = at(where, headset.equalizer, headset)
  local values, scale = fitted(name, curve, shape, fit, where)
  at(where, headset.set_equalizer, headset, USER, values)
  at(where, headset.set_preset, headset, USER)
  return scale
end

local function apply_to_session(session, curve, where)
  local bands = {}
  for index, frequency in ipairs(FREQUENCIES) do
    bands[frequency] = curve[index]
  end
  if session == speaker then
    at(where, speaker.set_eq, bands)
  else
    at(where, session.set_eq, session, bands)
  end
  return 1
end

local function checked_fit(given)
  if given ~= nil and type(given) ~= "table" then
    misuse(("bad argument #3 to 'apply' (table expected, got %s)"):format(type(given)))
  end
  for key, value in pairs(given or {}) do
    if key ~= "fit" then
      misuse(checks.unknown("option of 'apply'", key, { fit = true }))
    elseif type(value) ~= "boolean" then
      misuse(("option 'fit' of 'apply': boolean expected, got %s"):format(type(value)))
    end
  end
  return given and given.fit or false
end

function eq.apply(target, name, given)
  local is_headset = has(target, "set_equalizer")
  if not is_headset and not has(target, "set_eq") then
    misuse(("bad argument #1 to 'apply' (session or headset expected, got %s)"):format(
      type(target) == "userdata" and tostring(target) or type(target)))
  elseif type(name) ~= "string" then
    misuse(("bad argument #2 to 'apply' (string expected, got %s)"):format(type(name)))
  end
  local fit = checked_fit(given)
  local where = checks.where()
  local curve = curves[name] or defined.find(name)
  if not curve and not (is_headset and OF_HEADSETS[name]) then
    misuse(("bad argument #2 to 'apply' (no preset is called '%s'; known: %s)"):format(
      name, table.concat(eq.presets(), ", ")), nil,
      OF_HEADSETS[name] and "headsets alone have a preset of that name" or nil)
  end
  if is_headset then
    return (apply_to_headset(target, name, curve, fit, where))
  end
  return (apply_to_session(target, curve, where))
end

return checks.sealed("eq", eq)
