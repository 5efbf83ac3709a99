-- Music where people are: motion sensors move it from room to room, and pause it where nobody is.
--
--   roomtone serve                                   in the folder of the daemon
--   roomtone simulate scripts/presence.lua --with scripts/button.lua \
--     --triggers scripts/spec/presence_triggers.lua --for 24h
--
-- The configuration names the broker: mqtt { host = "192.168.1.10" }. The sensors are those of zigbee2mqtt,
-- which send {"occupancy":true}, and false some time after the last movement. Nothing begins by itself.

local follow = require "follow"
local mqtt = require "mqtt"
local speaker = require "speaker"
local task = require "task"

-- The rooms and the topics of their sensors.
local SENSORS = {
  { room = "Kitchen", topic = "zigbee2mqtt/kitchen motion" },
  { room = "Living Room", topic = "zigbee2mqtt/living room motion" },
  { room = "Bathroom", topic = "zigbee2mqtt/bathroom motion" },
}
-- The music waits this long for somebody to come into a room, then pauses.
local PATIENCE = "5m"

local occupied = {}
local waiting

-- Returns the session that plays in one of the rooms, or is paused there, whoever began it; nil for none.
local function music()
  for _, sensor in ipairs(SENSORS) do
    for _, device in ipairs(speaker.group(sensor.room).devices) do
      local session = device.session
      if session and session:state() ~= "stopped" then
        return session
      end
    end
  end
end

local function came(room)
  occupied[room] = true
  if waiting then
    waiting:cancel()
    waiting = nil
  end
  local session = music()
  if not session then
    return
  end
  if session:state() == "paused" then
    session:resume()
  end
  follow.to { room, session = session }
end

local function left(room)
  occupied[room] = nil
  if next(occupied) or waiting then
    return
  end
  waiting = task.spawn(function()
    task.sleep(PATIENCE)
    waiting = nil
    local session = music()
    if session and session:state() == "playing" then
      session:pause()
    end
  end)
end

for _, sensor in ipairs(SENSORS) do
  local room = sensor.room
  mqtt.on(sensor.topic, function(message)
    local occupancy = type(message.json) == "table" and message.json.occupancy
    -- A retained message says who was where before this script began.
    if occupancy == true and not occupied[room] and not message.retained then
      came(room)
    elseif occupancy == false and occupied[room] then
      left(room)
    end
  end)
end
