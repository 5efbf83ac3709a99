#!/usr/bin/env -S roomtone run
-- Correct code in many styles, about which `roomtone check` says nothing. Not to be run.
-- luacheck: globals onExit X
local speaker = require "speaker"
local task = require("task")
local schedule, store, log = require "schedule", require "store", require "log"
local stream = require "stream"
local headset = require "headset"
local recorder = require "recorder"
local fade = require "fade"
local zone = require "zone"

local insert, concat, fmt = table.insert, table.concat, string.format
local floor <const> = math.floor

local Queue = {}
Queue.__index = Queue
function Queue.new() return setmetatable({ first = 1, last = 0, items = {} }, Queue) end
function Queue:push(x) self.last = self.last + 1; self.items[self.last] = x end
function Queue:pop()
  local x = self.items[self.first]
  self.items[self.first] = nil; self.first = self.first + 1
  return x
end
local q = Queue.new()
q:push("a.mp3")
print(q:pop(), #q.items)

local config = { rooms = { "Kitchen", "Bathroom" }, levels = { Kitchen = 20, Bathroom = 15 }, at = "06:45" }
for _, room in ipairs(config.rooms) do
  local g = speaker.group(room)
  g:set_volume(config.levels[room] or 10)
  if g.volume ~= config.levels[room] then log.warn("volume", { room = g.name, volume = g.volume }) end
end
for i = #config.rooms, 1, -1 do insert(config, config.rooms[i]) end
print(concat(config.rooms, ", "), fmt("%d", floor(2.5)), ("%s"):rep(3, ","))

-- methods by name
for _, name in ipairs { "mute", "unmute" } do
  local d = speaker.device "Kitchen"
  d[name](d)
end
local methods = { "pause", "resume" }
speaker[methods[1]]()

-- callback tables and closures
local handlers = setmetatable({}, { __index = function(_, k) return function(...) print(k, ...) end end })
for _, event in ipairs { "ended", "state", "volume" } do
  speaker.on(event, function(payload) handlers[event](payload.device, payload.reason, payload.whatever) end)
end

local subscription
subscription = speaker.on("volume", function(event)
  if event.volume > 40 and not event.muted then
    event.device:set_volume(40)
    subscription:cancel()
  end
end)

-- coroutines
local gen = coroutine.wrap(function() for _, d in ipairs(speaker.devices()) do coroutine.yield(d) end end)
for d in gen do print(d.name) end
for line in io.lines("/etc/hostname") do print(line:upper():sub(1, 3)) end
for word in ("a b"):gmatch "%a" do print(word) end
for k, v in next, config do print(k, v) end
for _, c in utf8.codes("äö") do print(c) end

-- time
local now = os.date("*t")
if now.hour >= 22 or now.hour < 6 then speaker.set_volume(8) end
schedule.at(fmt("%02d:%02d", now.hour, now.min), function() end)
local due = schedule.every("15m", { align = true, name = "quarter" }, function()
  local last = store.get("last", 0)
  store.set("last", os.time())
  if os.time() - last > 3600 then return end
  ::again::
  local event, why = speaker.wait("ended", 5)
  if not event and why == "timeout" then goto again end
  if event then print(event.source.path, event.reason == "stopped") end
end)
print(due.next and os.date("%H:%M", floor(due.next)) or "never")

-- streams
local radio = stream.new("http://127.0.0.1:8000/x.mp3", { data_timeout = "30s", auth = { "me", "secret" } })
radio:on("http_error", function(e) log.error(e.message, { status = e.status }) end)
radio:once("started", function() radio:set_gain(-3) end)
local tap = radio:tap(function(block)
  for i = 1, block.frames do block:set(i, 1, block:get(i, 1) * 0.5) end
end)
tap:remove()
local recording = radio:record("~/x {start:%H}.mp3", { duration = "1h", split = { overlap = "2s" } })
recording:on("track", function(e) print(e.path, e.title) end)
recording:stop()
radio:audiovault { url = "http://127.0.0.1/x.xml", timezone = "EST", delay = -5 }
radio:audiovault(false)
speaker.play_stream(radio, { title = "x" })
local session = speaker.session {
  name = "x", devices = { speaker.device "Kitchen", "Bathroom", speaker.group "Bedroom" },
}
session:on("closed", function() print "closed" end)
session:play({ "a.mp3", "b.mp3" }, { shuffle = true })
session:fade { gain = -6, over = "2s" }
session:close()
speaker.interrupt { play = "x.mp3", devices = speaker.devices(), volume = 20, restore = false }

-- tasks
local results = task.all { function() return 1 end, task.spawn(function() return 2 end) }
print(results[1], task.race { function() task.sleep(1) return "a" end }, task.now())
local ok, err = pcall(task.timeout, "1s", function() speaker.finish() end)
if not ok then print(err.code, err.message, tostring(err)) end
local out = task.exec { "ls", "-l", timeout = "5s" }
print(out.code == 0 and out.stdout or out.stderr)
local h <close> = setmetatable({}, { __close = function() task.sleep(0.1) end })
print(h)

-- sort and gsub with plain functions
local devices = speaker.devices()
table.sort(devices, function(a, b) return a.name < b.name end)
print((("x"):gsub(".", { x = "y" })), (("x"):gsub(".", function(c) return c:upper() end)))

local device = speaker.find(arg[1] or "Kitchen") or speaker.device "Kitchen"
device:set_role(arg[2] or "mono")
device:set_balance(-6)
device:join(session)
fade.volume { device, to = 20, over = 10, curve = "equal_power" }
zone.define("all", { speaker.group "Kitchen", "Bathroom" }):set_volume(12)
local show = recorder.schedule {
  url = arg[3] or "http://x/y", at = "20:00", duration = 3600, days = "sat,sun",
}
show:on("finished", function(e) print(e.path) end)
if headset.list()[1] then print(headset.list()[1]:battery().percent) end
local hs = headset.connect { transport = "unix:/tmp/x" }
hs:set_ambient { left = 3 }
hs:set_equalizer("user", { 0, 0, 0 })
local eqs = hs:equalizer(3)
print(eqs.bands[1].hertz, eqs.preset_name, eqs.values[1])
speaker.set_eq { [31] = 3, [16000] = -12 }
local bands, preset = speaker.eq()
print(bands[31], preset == "rock")
function onExit() print "bye" end
X = X or 1
print(X, onExit)
if type(speaker.capabilities().seek) == "boolean" then speaker.seek("1m30s") end
os.exit(ok and 0 or 1)
