-- Sources of sound that must be heard: a source that stays silent is given up, with the reason.
--
--   local sounds = require "roomtone.sounds"
--   local wanted = options.check("set", given, { sources = sounds.list }, { "sources" })
--   local sound, reason = sounds.open(wanted.sources[1])           -- connects; nil if there is no sound
--   if sound then
--     reason = sounds.play(sound, session, 10, function() print "it sounds" end)   -- returns if it fails
--     sounds.close(sound)
--   end
--
-- A source is the URL or the name of a station, or the path of a file, which is repeated without end.

local checks = require "roomtone.misuse"
local files = require "roomtone.files"
local host = require "roomtone.host"
local object = require "roomtone.object"
local stream = require "stream"
local task = require "task"

local sounds = checks.module "roomtone.sounds"

-- Level in dBFS above which a station is heard.
local FLOOR = -60
-- Seconds within which a station has to send its first sound; and seconds of sound buffered before it plays.
local CONNECT_TIMEOUT, BUFFER = 10, 2
-- Seconds between measurements: until a station counts as sounding, and after that.
local STEP, PERIOD = 0.5, 30

-- The last resort: a chime that needs no network, and no disk.
sounds.BUILT_IN = { name = "built-in" }

-- Returns a text as messages show it: that of a URL with `…` in place of its query, which may be a secret.
function sounds.shown(text)
  return (text:gsub("^(%a[%w+.-]*://[^?#]*[?#]).*", "%1…"))
end

-- Returns the source that a text means, with its name in events: without user and password.
local function source_of(text, index)
  if type(text) ~= "string" then
    return nil, ("entry %d: string expected, got %s"):format(index, type(text))
  end
  local is_url = text:find("://", 1, true) ~= nil
  local radio, err = task.try(stream.new, text)
  if radio then
    return { text = text, name = is_url and radio.url or text, is_stream = true }
  elseif is_url then
    checks.raise(err.message, err.code, err.hint)
  end
  local _, missing = task.try(host.check_file, text)
  if missing then
    checks.raise(("entry %d of 'sources': %s"):format(index, missing.message), missing.code,
      "a URL, the name of a station of the configuration, or the path of a file")
  end
  return { text = text, name = text }
end

-- The kind of an option that lists sources, at least one. Raises for a file that does not exist, and for a
-- URL that can't be played.
function sounds.list(value)
  if type(value) ~= "table" or getmetatable(value) or #value == 0 then
    return nil, "list of at least one URL, station or file expected"
  end
  local list = {}
  for index, text in ipairs(value) do
    local source, message = source_of(text, index)
    if not source then
      return nil, message
    end
    list[index] = source
  end
  return list
end

-- Connects to a source. Returns the sound, ready to play; or nil and the reason.
function sounds.open(source)
  if not source.is_stream then
    return { source = source, path = source.text or files.path "sounds/bell.mp3" }
  end
  local radio = stream.new(source.text, { data_timeout = CONNECT_TIMEOUT, buffer_wait = BUFFER })
  local is_open = false
  local _ <close> = object.closing(function() -- also if the routine is cancelled
    if not is_open then
      radio:stop()
    end
  end)
  local _, err = task.try(task.timeout, CONNECT_TIMEOUT, radio.start, radio)
  if err then
    return nil, err.code == "task.timeout" and ("no sound within %d s"):format(CONNECT_TIMEOUT) or err.message
  end
  is_open = true
  return { source = source, radio = radio }
end

function sounds.close(sound)
  if sound.radio then
    sound.radio:stop()
  end
end

-- Begins the sound on a session, or begins it again, and closes the one that it replaces.
local function start(sound, session, replaced)
  local title = sound.source.name
  if sound.radio then
    session:play_stream(sound.radio, { title = title:find("://", 1, true) == nil and title or nil })
  else
    local is_own = sound.source == sounds.BUILT_IN
    session:play(sound.path, { title = is_own and "the built-in chime" or nil, loop = true })
  end
  if replaced then
    sounds.close(replaced)
  end
end

-- Returns true if the sound is above the floor. Files are not measured.
local function is_heard(sound)
  local levels = sound.radio and sound.radio:levels()
  return not levels or math.max(levels.left, levels.right) > FLOOR
end

local function is_reachable(session)
  for _, device in ipairs(session.devices) do
    if device.available then
      return true
    end
  end
  return false
end

-- Failures that pass: the speakers can't be reached, or another session has them or the stream.
local WAITS = {
  ["speaker.no_active_device"] = true, ["speaker.no_stream"] = true, ["speaker.outranked"] = true,
}

-- Plays a sound on a session until it fails: silent for `sustain` seconds, or ended. Returns the reason.
-- `sounding` is called once, when the sound has been heard for `sustain` seconds altogether; `replaced` is a
-- sound that the session plays before it, and which is closed when this one starts.
function sounds.play(sound, session, sustain, sounding, replaced)
  local heard, quiet, elapsed, is_sounding = 0.0, 0.0, 0.0, false
  local function meter(is_on)
    if sound.radio then
      sound.radio:meter(is_on)
    end
  end
  meter(true)
  local _, err = task.try(start, sound, session, replaced)
  while not err or WAITS[err.code] do
    session:wait("ended", STEP)
    -- The time does not count while no speaker of the session can be reached, or another session has them.
    if is_reachable(session) then
      elapsed, quiet = elapsed + STEP, quiet + STEP
      if session:state() == "stopped" then
        _, err = task.try(start, sound, session, replaced)
      elseif is_heard(sound) then
        heard, quiet = heard + STEP, 0.0
      end
      if not is_sounding and (heard >= sustain or not sound.radio) and quiet == 0 then
        is_sounding = true
        sounding()
      end
      if quiet >= sustain or not is_sounding and elapsed >= 2 * sustain then
        return ("silent for %g s"):format(math.max(quiet, elapsed - heard))
      elseif is_sounding and quiet == 0 then
        meter(false)
        session:wait("ended", PERIOD)
        meter(true)
      end
    end
  end
  return err.message
end

return checks.sealed("roomtone.sounds", sounds)
