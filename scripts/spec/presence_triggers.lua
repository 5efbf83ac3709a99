-- Somebody who walks through the rooms of scripts/presence.lua, after a press on
-- the button of scripts/button.lua, for `roomtone simulate --triggers`.

local function motion(room, at, occupancy)
  mqtt("zigbee2mqtt/" .. room .. " motion", { at = "2026-01-05T" .. at, payload = { occupancy = occupancy } })
end

mqtt("zigbee2mqtt/kitchen button", { at = "2026-01-05T06:58", payload = { action = "single" } })
motion("kitchen", "07:00", true)
motion("living room", "07:30", true)
motion("kitchen", "07:32", false)
motion("living room", "08:10", false)
