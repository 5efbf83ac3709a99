-- Music that moves with people from room to room.
--
--   local follow = require "follow"
--   follow.to { "Kitchen" }                                -- the default session moves to the kitchen
--   follow.to { "Bathroom", overlap = "3s" }
--   schedule.at("22:30", { days = "daily" }, function()
--     follow.to { "Bedroom" }
--   end)
--
-- The new room joins in step before the old ones leave, so the music has no gap. Each room keeps its volume.
-- If the new room can't join, the music stays where it is, and the error is raised.

local checks = require "roomtone.misuse"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local task = require "task"

local follow = checks.module "follow"

local OPTIONS = { rooms.target, session = rooms.session, overlap = "duration" }
local DEFAULTS = { overlap = 1 }

-- Raises if none of the speakers can be reached: the music would not be heard anywhere.
local function check_reachable(devices)
  for _, device in ipairs(devices) do
    if device.available then
      return
    end
  end
  checks.raise("no speaker of the room can be reached, the music stays where it is", "speaker.unavailable",
    "the device event tells when it is back")
end

function follow.to(given)
  local wanted = options.check("to", given, OPTIONS, { 1 }, DEFAULTS)
  local devices, session = wanted[1], wanted.session or rooms.session(speaker)
  check_reachable(devices)
  local old = session.devices
  rooms.join(devices, session)
  task.sleep(wanted.overlap)
  check_reachable(devices)
  for _, device in ipairs(old) do
    -- Not one that has moved on to another session meanwhile.
    if not rooms.contains(devices, device) and rooms.contains(session.devices, device) then
      task.try(device.leave, device) -- one that was removed since has left
    end
  end
end

return checks.sealed("follow", follow)
