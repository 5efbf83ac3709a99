-- Music that moves with people from room to room.

local checks = require "roomtone.misuse"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local task = require "task"

local follow = checks.module "follow"

local OPTIONS = { rooms.target, from = rooms.target, session = rooms.session, overlap = "duration" }
local DEFAULTS = { overlap = 1 }
options.describe(OPTIONS, { "the room" })

-- The latest move to each speaker, by the speaker's id.
local latest = {}

-- Raises if no speaker can be reached, or, with `are_joined`, no reachable one is still in a session:
-- the music would not be heard anywhere.
local function check_heard(devices, are_joined)
  local is_reachable = false
  for _, device in ipairs(devices) do
    is_reachable = is_reachable or device.available
    if device.available and (device.active or not are_joined) then
      return
    end
  end
  checks.raise(("no speaker of the room %s, the music stays where it is")
    :format(is_reachable and "is in the session any more" or "can be reached"), "speaker.unavailable",
    not is_reachable and "the device event reports its return" or nil)
end

-- Returns the session that has a speaker, or has it again when interruptions return it; nil for none.
local function session_of(device)
  for _, session in ipairs(speaker.sessions()) do
    if rooms.contains(session.lent, device) then
      return session
    end
  end
  return device.session
end

-- Returns the session that sounds on speakers; of several that on the first speaker.
local function session_at(devices)
  for _, device in ipairs(devices) do
    local session = session_of(device)
    if session and session:state() ~= "stopped" then
      return session
    end
  end
  checks.raise(("nothing plays in \"%s\""):format(rooms.names(devices)), "speaker.no_active_device",
    "name a session with 'session', such as speaker.own")
end

-- Returns the session that moves, and the speakers that it leaves.
local function origin(wanted)
  local from, session = wanted.from, wanted.session
  if from and session then
    checks.raise "one of the options 'from' and 'session' of 'to' expected, got both"
  elseif not from and not session then
    checks.raise("an option of 'to' is missing: 'from' or 'session'", nil,
      "from = \"Kitchen\" moves what plays there, session = speaker.own the script's own session")
  end
  session = session or session_at(from)
  local members = rooms.of(session)
  if from then
    return session, rooms.without(members, rooms.without(members, from))
  end
  -- All that it has, and those that it wants and does not have: its next play would be heard there.
  local all = rooms.without(session.rooms, members)
  table.move(members, 1, #members, #all + 1, all)
  return session, all
end

-- Waits while interruptions have all of these speakers: without a member the session would stop.
local function await_return(devices, session)
  while #rooms.without(devices, session.lent) == 0 and speaker.wait "device" do
    check_heard(devices, true)
  end
end

-- Removes the old rooms from the session.
local function complete(old, devices, session)
  for _, device in ipairs(old) do
    -- `leave` with the session spares speakers that are in another session by now, and has an interruption
    -- not return its speakers.
    if not rooms.contains(devices, device) then
      task.try(device.leave, device, session) -- fails for a speaker that was removed
    end
  end
end

function follow.to(given)
  local wanted = options.check("to", given, OPTIONS, { 1 }, DEFAULTS)
  local devices, session, old = wanted[1], origin(wanted)
  check_heard(devices)
  local move, is_heard = {}, false
  local lent = session.lent -- these return to the session by themselves
  local _, undo = rooms.join(rooms.without(devices, lent), session)
  for _, device in ipairs(devices) do
    latest[device.id] = move
  end
  local _ <close> = object.closing(function() -- also if the routine is cancelled
    if is_heard then
      complete(old, devices, session)
    else
      undo(function(device)
        return latest[device.id] ~= move -- a later move has the speaker
      end)
    end
    for id, last in pairs(latest) do
      latest[id] = last ~= move and last or nil
    end
  end)
  task.sleep(wanted.overlap)
  await_return(devices, session)
  check_heard(devices, true)
  is_heard = true
end

return checks.sealed("follow", follow, { to = OPTIONS })
