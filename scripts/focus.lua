-- Sets the headset by the time of day: the way to work, work, lunch, the evening.
--
--   roomtone run scripts/focus.lua                      until it is stopped
--   roomtone simulate scripts/focus.lua --for 24h       prints what it would do
--
-- The configuration has the address of the headset: headset { transport = "rfcomm:00:11:22:33:44:55" }

local eq = require "eq"
local headset = require "headset"
local log = require "log"
local schedule = require "schedule"
local task = require "task"

-- Settings by the time from which they apply, in order; the last one applies past midnight. `ambient` is the
-- fraction of the headset's maximum ambient level. `eq.presets()` lists presets; a headset also has "music",
-- "movie" and "voice".
local DAY = {
  { at = "06:30", name = "on the way", noise_cancelling = true, ambient = 0.3, preset = "train" },
  { at = "08:30", name = "work", noise_cancelling = true, ambient = 0, preset = "desk" },
  { at = "12:00", name = "lunch", noise_cancelling = false, ambient = 1, preset = "voice" },
  { at = "13:00", name = "work again", noise_cancelling = true, ambient = 0, preset = "desk" },
  { at = "18:00", name = "the evening", noise_cancelling = false, ambient = 0.5, preset = "music" },
}

-- A custom preset: gains in dB by frequency in Hz. The store keeps it for later runs.
eq.define("desk", { [125] = -2, [250] = -2, [4000] = 2, [8000] = 1 })

-- Returns the settings for the current time.
local function wanted()
  local clock, now = os.date "%H:%M", DAY[#DAY]
  for _, part in ipairs(DAY) do
    if part.at <= clock then
      now = part
    end
  end
  return now
end

-- Calls a function and logs its error: a headset may lack a feature, and the other settings still apply.
local function attempt(fn, ...)
  local _, err = task.try(fn, ...)
  if err then
    log.warn(tostring(err))
  end
end

local function set(h)
  local now = wanted()
  print(("%s: %s"):format(h.model, now.name))
  attempt(h.set_noise_cancelling, h, now.noise_cancelling)
  attempt(function()
    local max = h:ambient_max()
    h:set_ambient {
      left = math.floor(max.left * now.ambient),
      right = math.floor(max.right * now.ambient),
    }
  end)
  attempt(eq.apply, h, now.preset, { fit = true })
end

-- A headset receives its settings when it connects, and at the beginning of each part of the day.
headset.on("connected", function(event)
  set(event.headset)
end)
for _, part in ipairs(DAY) do
  schedule.at(part.at, { days = "daily", name = part.name }, function()
    for _, h in ipairs(headset.list()) do
      if h.connected then
        set(h)
      end
    end
  end)
end
headset.auto_connect(true)
