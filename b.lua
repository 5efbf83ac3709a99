local speaker, task = require "speaker", require "task"
local t = os.time()
speaker.on("error", function(e) print("error", e.code, e.message, os.time() - t) end)
speaker.on("track", function(e) print("track", e.source.path) end)
print(task.try(speaker.play, {"/tmp/rt/ok.mp3", "/tmp/rt/nas/x.mp3", "/tmp/rt/nas/y.mp3", "/tmp/rt/ok.mp3"}))
