-- A morning with the button and the dial of scripts/button.lua, for `roomtone simulate --triggers`.

local function press(device, action, at)
  local payload = { action = action, battery = 87 }
  mqtt("zigbee2mqtt/kitchen " .. device, { at = "2026-01-05T" .. at, payload = payload })
end

press("button", "single", "07:00")
press("dial", "brightness_move_up", "07:00:10")
press("dial", "brightness_stop", "07:00:12")
press("button", "hold", "07:15")
press("button", "single", "07:40")
