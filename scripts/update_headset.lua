-- Installs firmware on a headset.
--
--   roomtone run scripts/update_headset.lua app.rtfw                     the headset of the configuration
--   roomtone run scripts/update_headset.lua app.rtfw unix:$XDG_RUNTIME_DIR/board
--
-- Without a headset, create a firmware file and run an emulated board:
--
--   head -c 30000 /dev/urandom > app.bin
--   roomtone firmware pack app.bin -o app.rtfw --model RT-1 --version 2.0
--   roomtone board --listen unix:$XDG_RUNTIME_DIR/board --state board &

local headset = require "headset"
local task = require "task"

local FILE, TRANSPORT = arg[1], arg[2]
if not FILE then
  error("which firmware? roomtone run update_headset.lua FILE [TRANSPORT]", 0)
end

local h = headset.connect { transport = TRANSPORT }
print(("%s at %s runs firmware %s"):format(h.name, h.address, h.firmware_version))

-- Prints a line every 10 percent. A resumed update begins at its former progress.
local next_line = 0
local function show(fraction)
  local percent = math.floor(fraction * 100)
  if percent < next_line then return end
  print(("%3d %%"):format(percent))
  next_line = percent - percent % 10 + 10
end

-- A lost link is restored, and the update resumes.
local updated, err = task.try(h.update_firmware, h, FILE, { on_progress = show })

if err then
  if err.code == "headset.update_failed" then
    print(("not updated, step %s: %s"):format(err.step, err.reason))
    print(err.hint or "the headset keeps its firmware")
    if err.step ~= "check" then
      print("the part that was written is kept: the same command resumes the update")
    end
  end
  error(err, 0) -- the exit status is 1
end

print(updated and "updated: it runs firmware " .. h.firmware_version or "it runs this version already")
