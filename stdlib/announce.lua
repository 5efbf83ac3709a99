-- Announcements: a sound or a spoken sentence, over the music that plays.

local checks = require "roomtone.misuse"
local files = require "roomtone.files"
local host = require "roomtone.host"
local object = require "roomtone.object"
local options = require "roomtone.options"
local rooms = require "roomtone.rooms"
local speaker = require "speaker"
local task = require "task"

local announce = checks.module "announce"

-- The kind of the option `duck`: "pause", or the attenuation of the music in dB.
local function duck(value)
  if value == "pause" or type(value) == "number" and value >= 0 and value <= 90 then
    return value
  end
  return nil, ([["pause" or a number of dB from 0 to 90 expected, got %s]]):format(tostring(value))
end

local OPTIONS = {
  "string", rooms = rooms.target, volume = "volume", duck = duck,
  priority = options.whole(0, 1000), fade = "duration",
}
local SPEECH = { voice = "string", speed = options.whole(80, 450) }
local DEFAULTS = { priority = 300, fade = 0.5, duck = "pause" }
-- Letters that espeak-ng speaks in a second at its usual speed, 175 words a minute.
local LETTERS, SPEED = 15, 175
-- Seconds after which espeak-ng has failed; and those of a sleep that is always cancelled.
local SPEECH_TIMEOUT, FOREVER = 60, 1e9
-- Announcements that play or wait, in order: each has its speakers, and `over`, a task that ends with it.
local queue = {}

for name, kind in pairs(OPTIONS) do
  SPEECH[name] = kind
end
options.describe(OPTIONS, { "the sound" })
options.describe(SPEECH, { "the text" })

-- Waits until no earlier announcement concerns the speakers, then calls the function.
local function in_turn(devices, fn)
  local own = { devices = devices, over = task.spawn(task.sleep, FOREVER) }
  local earlier = { table.unpack(queue) }
  table.insert(queue, own)
  local _ <close> = object.closing(function() -- also if the routine is cancelled
    for index, other in ipairs(queue) do
      if other == own then
        table.remove(queue, index)
      end
    end
    own.over:cancel()
  end)
  for _, other in ipairs(earlier) do
    local is_shared = false
    for _, device in ipairs(devices) do
      is_shared = is_shared or rooms.contains(other.devices, device)
    end
    if is_shared then
      task.try(other.over.await, other.over)
    end
  end
  fn()
end

-- Interrupts the rooms; `play` is a file or a function, and `text` names the announcement on the time line.
local function interrupt(wanted, text, play)
  local where = checks.where()
  local devices = wanted.rooms or checks.attribute(where, speaker.devices)
  in_turn(devices, function()
    host.mark { kind = "announcement", message = text, room = rooms.names(devices) }
    checks.attribute(where, speaker.interrupt, {
      devices = wanted.rooms, volume = wanted.volume, priority = wanted.priority, fade = wanted.fade,
      name = "announcement", play = play, duck = wanted.duck ~= "pause" and wanted.duck or nil,
    })
  end)
end

function announce.play(given)
  interrupt(options.check("play", given, OPTIONS, { 1 }, DEFAULTS), given[1], given[1])
end

-- Writes a spoken text to a file. Raises `announce.speech` at the script's line.
local function speak(text, path, voice, speed)
  local command = { "espeak-ng", "-w", path, "-s", tostring(speed), timeout = SPEECH_TIMEOUT }
  for _, argument in ipairs { voice and "-v" or nil, voice } do
    table.insert(command, argument)
  end
  table.insert(command, "--")
  table.insert(command, text)
  local result, err = task.try(task.exec, command)
  if err and err.code == "task.no_program" then
    checks.raise("espeak-ng is not installed, which speaks announcements", "announce.speech",
      "apt-get install espeak-ng")
  elseif err and err.code ~= "simulate.not_here" then
    checks.raise("espeak-ng failed: " .. err.message, "announce.speech")
  elseif result and result.code ~= 0 then
    local reason = result.stderr:match "[^\n]+" or ("exit status %d"):format(result.code)
    checks.raise("espeak-ng failed: " .. reason, "announce.speech", "espeak-ng --voices lists the voices")
  end
end

function announce.say(given)
  local wanted = options.check("say", given, SPEECH, { 1 }, DEFAULTS)
  local text, speed = wanted[1], wanted.speed or SPEED
  if not text:find "%S" then
    checks.raise(options.label(1, "say", SPEECH) .. ": a text to speak expected")
  end
  local path = task.try(os.tmpname) -- nil under simulation
  local _ <close> = object.closing(function()
    if path then
      os.remove(path)
    end
  end)
  speak(text, path or "speech.wav", wanted.voice, speed)
  interrupt(wanted, text, function(session)
    session:play(path or files.path "sounds/bell.mp3", { title = text, loop = not path })
    session:finish(not path and (utf8.len(text) or #text) / LETTERS * SPEED / speed + 1 or nil)
    if not path then
      host.mark { kind = "heard", message = text }
    end
  end)
end

return checks.sealed("announce", announce, { play = OPTIONS, say = SPEECH })
