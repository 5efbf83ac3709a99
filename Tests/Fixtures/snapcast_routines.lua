-- The routines of the library on the clients of a snapserver, in real time: prints a line for each, with its
-- failure.
-- `arg[1]` is a tune, `arg[2]` a short sound, and the others are the ids of the clients.

local alarm = require "alarm"
local announce = require "announce"
local eq = require "eq"
local fade = require "fade"
local follow = require "follow"
local party = require "party"
local scene = require "scene"
local sleep_timer = require "sleep_timer"
local speaker = require "speaker"
local task = require "task"
local zone = require "zone"

local TUNE, GONG = arg[1], arg[2]
local ROOMS = { table.unpack(arg, 3) }

-- Waits until a condition is met.
local function eventually(what, condition)
  for _ = 1, 600 do
    if condition() then
      return
    end
    task.sleep "50ms"
  end
  error("it did not come: " .. what, 2)
end

local function equal(what, value, wanted)
  if value ~= wanted then
    error(("%s is %s, expected %s"):format(what, value, wanted), 2)
  end
end

local function names(devices)
  local list = {}
  for index, device in ipairs(devices) do
    list[index] = device.id
  end
  table.sort(list)
  return table.concat(list, " ")
end

-- Puts the house into the state in which each routine begins: all play, at a volume of 20.
local function begin()
  for _, session in ipairs(speaker.sessions()) do
    if session ~= speaker.own then
      session:close()
    end
  end
  for _, device in ipairs(speaker.devices()) do
    device:join()
    device:set_volume(20)
  end
  speaker.set_eq "flat"
  speaker.play(TUNE, { loop = true })
  eventually("sound", function()
    return speaker.position() > 0.1
  end)
end

local function check(name, routine)
  begin()
  local succeeded, message = xpcall(routine, debug.traceback)
  print(succeeded and "ok" or "failed", name, succeeded and "" or message)
end

speaker.open()
eventually("the clients", function()
  local count = 0
  for _, id in ipairs(ROOMS) do
    local device = speaker.find(id)
    count = count + (device and device.available and 1 or 0)
  end
  return count == #ROOMS
end)
local kitchen, bedroom, study = speaker.device "kitchen", speaker.device "bedroom", speaker.device "study"

check("names and groups", function()
  speaker.stop()
  kitchen:set_name "Küche"
  equal("the name", speaker.device("Küche").id, "kitchen")
  kitchen:set_name "kitchen"
  kitchen:set_group "Ground"
  study:set_group "Ground"
  equal("the group", names(speaker.group("Ground").devices), "kitchen study")
  speaker.group("Ground"):set_volume(31)
  eventually("the volume of the group", function()
    return kitchen.volume == 31 and study.volume == 31 and bedroom.volume == 20
  end)
  kitchen:leave_group()
  equal("the group", names(speaker.group("Ground").devices), "study")
end)

check("announce", function()
  local position = speaker.position()
  local saying = task.spawn(announce.play, { GONG, rooms = "kitchen", volume = 40, fade = 0 })
  eventually("the volume of the announcement", function()
    return kitchen.volume == 40
  end)
  equal("the session", kitchen.session == speaker.own, false)
  saying:await()
  eventually("the volume of before", function()
    return kitchen.volume == 20
  end)
  equal("the session", kitchen.session == speaker.own, true)
  equal("the state", speaker.state(), "playing")
  equal("progress", speaker.position() > position, true)
  saying = task.spawn(announce.play, { GONG, volume = 40, fade = 0 })
  eventually("the suspension", function()
    return speaker.own.suspended
  end)
  -- What was sent before is heard for the time of the server's buffer.
  task.sleep "600ms"
  position = speaker.position()
  saying:await()
  equal("the position after the announcement", ("%.1f"):format(speaker.position() - position), "0.0")
  equal("the state", speaker.state(), "playing")
end)

check("announce with a lower music", function()
  local succeeded, problem = pcall(announce.play, { GONG, rooms = "kitchen", duck = 12 })
  equal("the error", not succeeded and problem.code, "speaker.unsupported")
  equal("the state", speaker.state(), "playing")
  equal("the volume", kitchen.volume, 20)
end)

check("fade", function()
  local steps = 0
  local listening = kitchen:on("volume", function()
    steps = steps + 1
  end)
  local began = task.now()
  local event = fade.volume({ "kitchen", to = 30, over = "1s" }):wait("done", "30s")
  equal("the speakers of the fade", names(event.devices), "kitchen")
  equal("the volume", kitchen.volume, 30)
  equal("the time", task.now() - began > 0.9, true)
  eventually("the steps", function()
    return steps == 10
  end)
  listening:cancel()
end)

check("party", function()
  kitchen:leave()
  bedroom:mute()
  eventually("the mute", function()
    return bedroom.muted
  end)
  local night = party.start { volume = 35 }
  eventually("the volume of the party", function()
    return kitchen.volume == 35 and bedroom.volume == 35 and not bedroom.muted and kitchen.is_playing
  end)
  equal("the speakers", #night.devices, #ROOMS)
  night:stop()
  eventually("the end of the party", function()
    return kitchen.volume == 20 and bedroom.muted and not kitchen.active
  end)
  equal("the state", speaker.is_playing(), true)
  bedroom:unmute()
end)

check("scene", function()
  bedroom:leave()
  kitchen:set_volume(33)
  eq.apply(speaker.own, "rock")
  scene.save "dinner"
  kitchen:set_volume(11)
  bedroom:join()
  kitchen:leave()
  speaker.set_eq "flat"
  scene.apply("dinner", { fade = "500ms" })
  equal("the volume", kitchen.volume, 33)
  equal("the equalizer", speaker.eq()[31], 5.0)
end)

check("zone", function()
  kitchen:set_volume(30)
  task.sleep "200ms"
  local ground = zone.define("ground", { "kitchen", "study" })
  equal("the volume of the zone", ground.volume, 25)
  ground:set_volume(35)
  eventually("the volumes of the zone", function()
    return kitchen.volume == 40 and study.volume == 30
  end)
  ground:set_volume(0)
  ground:set_volume(25)
  eventually("the balance", function()
    return kitchen.volume == 30 and study.volume == 20
  end)
  ground:play(TUNE)
  eventually("the music of the zone", function()
    local session = kitchen.session
    return session ~= speaker.own and session == study.session and kitchen.is_playing
  end)
end)

check("follow", function()
  for _, id in ipairs(ROOMS) do
    if id ~= "kitchen" then
      speaker.device(id):leave()
    end
  end
  local stops = 0
  local listening = speaker.on("ended", function()
    stops = stops + 1
  end)
  follow.to { "bedroom", session = speaker.own, overlap = "300ms" }
  equal("the room", names(speaker.own.devices), "bedroom")
  follow.to { "study", from = "bedroom", overlap = 0 }
  equal("the room", names(speaker.own.devices), "study")
  equal("the state", speaker.is_playing(), true)
  equal("ends", stops, 0)
  listening:cancel()
end)

check("sleep timer", function()
  local timer = sleep_timer.start { after = "300ms", fade = "1s" }
  timer:wait("done", "30s")
  equal("the state", speaker.state(), "stopped")
  eventually("the volumes of before", function()
    return kitchen.volume == 20 and study.volume == 20
  end)
end)

check("alarm", function()
  local at = os.date("%H:%M:%S", os.time() + 2)
  local wake = alarm.set {
    at = at, days = "daily", rooms = "bedroom", sources = { TUNE }, volume = 30, fade = "500ms",
    sustain = "500ms", name = "test",
  }
  local event = wake:wait("ringing", "30s")
  equal("the source", event.source, TUNE)
  eventually("the volume of the alarm", function()
    return bedroom.volume == 30
  end)
  equal("the music elsewhere", kitchen.session == speaker.own and kitchen.is_playing, true)
  equal("the session", bedroom.session == speaker.own, false)
  wake:dismiss()
  eventually("the music of before", function()
    return bedroom.volume == 20 and bedroom.session == speaker.own and bedroom.is_playing
  end)
end)

check("interruption and snapshot", function()
  local before = speaker.snapshot { devices = { kitchen, study } }
  speaker.interrupt {
    devices = { study },
    volume = 44,
    play = function(session)
      session:play(GONG)
      equal("the volume", study.volume, 44)
      session:finish()
    end,
  }
  equal("the session", study.session == speaker.own, true)
  kitchen:set_volume(3)
  study:leave()
  before:restore()
  eventually("the snapshot", function()
    return kitchen.volume == 20 and study.active
  end)
end)

check("queue", function()
  local tracks = {}
  local listening = speaker.on("track", function(event)
    tracks[#tracks + 1] = event.index
  end)
  speaker.play { GONG, GONG, GONG }
  equal("the end", speaker.finish "60s" and true, true)
  equal("tracks", table.concat(tracks, " "), "1 2 3")
  listening:cancel()
end)

print "all"
os.exit(0)
