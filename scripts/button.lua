-- A button on the wall, and a dial: music in the kitchen without a phone.
--
--   roomtone serve                                 in the folder of the daemon
--   roomtone run scripts/button.lua Bathroom       in another room, until it is stopped
--   roomtone simulate scripts/button.lua --triggers scripts/spec/button_triggers.lua --for 24h
--
-- The configuration names the broker: mqtt { host = "192.168.1.10" }. `roomtone help mqtt` shows how to find
-- the topics.

local announce = require "announce"
local remote = require "remote"

local ROOM = arg[1] or "Kitchen"
-- A URL, or the name of a station of the configuration.
local STATION = "http://127.0.0.1:8000/live.mp3"

-- A press starts the station, pauses it and resumes it; holding the button calls everybody.
remote.bind {
  topic = "zigbee2mqtt/kitchen button", room = ROOM, station = STATION,
  map = {
    single = "toggle", double = "mute",
    hold = function()
      announce.play { "doorbell.mp3", rooms = require "speaker", volume = 28 }
    end,
  },
}
remote.bind { topic = "zigbee2mqtt/kitchen dial", room = ROOM, station = STATION, map = remote.SYMFONISK }
