-- Somebody who walks through the rooms of scripts/presence.lua, after a press on the button of
-- scripts/button.lua, for `roomtone simulate --triggers`.

mqtt("zigbee2mqtt/kitchen button", { at = "2026-01-05T06:58", payload = { action = "single" } })
mqtt("zigbee2mqtt/kitchen motion", { at = "2026-01-05T07:00", payload = { occupancy = true } })
mqtt("zigbee2mqtt/living room motion", { at = "2026-01-05T07:30", payload = { occupancy = true } })
mqtt("zigbee2mqtt/kitchen motion", { at = "2026-01-05T07:32", payload = { occupancy = false } })
mqtt("zigbee2mqtt/living room motion", { at = "2026-01-05T08:10", payload = { occupancy = false } })
