-- A morning with the button and the dial of scripts/button.lua, for `roomtone simulate --triggers`.

mqtt("zigbee2mqtt/kitchen button", { at = "2026-01-05T07:00", payload = { action = "single" } })
mqtt("zigbee2mqtt/kitchen dial", { at = "2026-01-05T07:00:10", payload = { action = "brightness_move_up" } })
mqtt("zigbee2mqtt/kitchen dial", { at = "2026-01-05T07:00:12", payload = { action = "brightness_stop" } })
mqtt("zigbee2mqtt/kitchen button", { at = "2026-01-05T07:15", payload = { action = "hold" } })
mqtt("zigbee2mqtt/kitchen button", { at = "2026-01-05T07:40", payload = { action = "single" } })
