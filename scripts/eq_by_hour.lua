-- Sets the equalizer by the hour: that of the house, or that of the headset.
--
--   roomtone run scripts/eq_by_hour.lua                  the house, until it is stopped
--   roomtone run scripts/eq_by_hour.lua headset          the headset of the configuration, whenever it is on
--   roomtone simulate scripts/eq_by_hour.lua --for 24h   prints what it would do

local eq = require "eq"
local headset = require "headset"
local schedule = require "schedule"
local speaker = require "speaker"

local TARGET = arg[1] or "house"
if TARGET ~= "house" and TARGET ~= "headset" then
  error("which equalizer? roomtone run eq_by_hour.lua [house|headset]", 0)
end
-- Presets by the time from which they apply, in order; `eq.presets()` lists those that are built in.
local DAY = {
  { at = "06:30", preset = "voice" }, -- the news
  { at = "09:00", preset = "flat" },
  { at = "17:30", preset = "loudness" }, -- full also when it is quiet
  { at = "22:00", preset = "night" }, -- no bass through the walls
}

local current = DAY[#DAY].preset -- since yesterday
local function apply()
  if TARGET == "house" then
    for _, session in ipairs(speaker.sessions()) do
      eq.apply(session, current)
    end
  end
  for _, h in ipairs(headset.list()) do
    if h.connected then
      eq.apply(h, current, { fit = true }) -- a curve that exceeds the headset's range is scaled down
    end
  end
  print("equalizer: " .. current)
end

for _, part in ipairs(DAY) do
  if part.at <= os.date "%H:%M" then current = part.preset end
  schedule.at(part.at, { days = "daily", name = part.preset }, function()
    current = part.preset
    apply()
  end)
end
if TARGET == "headset" then
  headset.on("connected", apply)
  headset.auto_connect(true)
else
  apply()
end
