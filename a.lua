local speaker, task, stream, alarm = require "speaker", require "task", require "stream", require "alarm"
local ticks = 0
task.spawn(function() while true do task.sleep(0.5); ticks = ticks + 1 end end)
local function try(name, f, ...)
  local t = os.time()
  local r, e = task.try(f, ...)
  print(name, r, e and e.code, e and e.message, e and e.hint, os.time() - t, ticks)
end
try("play", speaker.play, "/tmp/rt/music/x.mp3")
print(io.open("/tmp/rt/nas/x.txt"))
try("lines", io.lines, "/tmp/rt/nas/x.txt")
try("alarm", function() alarm.set { at = "06:45", rooms = "Bedroom", sources = { "/tmp/rt/nas/x.mp3" } } end)
local f = stream.file "/tmp/rt/nas/x.mp3"
f:on("error", function(e) print("file", e.error and e.error.code or e.code, e.error and e.error.message, ticks) end)
try("file", f.start, f)
task.sleep(13)
print(ticks)
try("ok", speaker.play, "/tmp/rt/ok.mp3")
os.exit(0)
