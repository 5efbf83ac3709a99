-- Plays one station in the whole house for an hour, and leaves every room as it was before.
--
--   roomtone run scripts/party.lua                       on Fridays at 20:00, until it is stopped
--   roomtone run scripts/party.lua now                   once, at once
--   roomtone run scripts/party.lua now morning           a station of the configuration, by its name
--   roomtone simulate scripts/party.lua --for 7d         prints what it would do

local schedule = require "schedule"
local speaker = require "speaker"
local stream = require "stream"
local task = require "task"

local TIME = arg[1] or "20:00"
local STATION = arg[2] or "http://127.0.0.1:8000/dance.mp3"
local VOLUME, LENGTH = 30, "1h"

stream.new(STATION) -- an unknown station is an error now, not when the guests are there

local function party()
  print "The party begins."
  -- Suspends the sessions of the speakers, and restores at its end what it has changed: sessions, positions
  -- and volumes. A volume that somebody sets during the party stays.
  speaker.interrupt {
    devices = speaker.devices(),
    volume = VOLUME,
    fade = "2s",
    play = function(session)
      session:play_stream(STATION)
      task.sleep(LENGTH)
    end,
  }
  print "The party is over."
end

if TIME == "now" then
  party()
else
  schedule.at(TIME, { days = "fri", name = "party" }, party)
end
