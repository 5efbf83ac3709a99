-- Scheduled recordings of radio shows.
--
--   local recorder = require "recorder"
--   local show = recorder.schedule {
--     url = "http://127.0.0.1:8000/live.mp3", template = "{station}/{start:%Y-%m-%d %H.%M}.{ext}",
--     cron = "0 20 * * sat", duration = "2h", pad_before = "2m", pad_after = "5m",
--     name = "saturday", keep = "60d",
--   }
--   show:on("finished", function(event) print(event.path, event.seconds) end)
--
-- A run begins `pad_before` early and ends `pad_after` late, by the wall clock. A station that can't be
-- reached is tried again, alternating with the `fallbacks`, until the show is over: half a show is better
-- than none. Runs may overlap, so that the padding of one show does not cost the beginning of the next.

local checks = require "roomtone.misuse"
local host = require "roomtone.host"
local recordings = require "recordings"
local schedule = require "schedule"
local stream = require "stream"
local task = require "task"

local recorder = checks.module "recorder"
local misuse = checks.raise

local EVENTS = { started = true, fallback = true, finished = true, failed = true }
local OPTIONS = {
  url = "string", cron = "string", at = "string", days = "string", timezone = "string", duration = "duration",
  template = "string", pad_before = "duration", pad_after = "duration", keep = "duration", min_free = "size",
  fallbacks = "table", name = "string",
}
-- Seconds that a station may be lost during a recording before the next station is tried.
local STATION_TIMEOUT = 60
-- Retry delays in seconds after no station could be reached: the first, doubled each time up to the longest.
local FIRST_RETRY_DELAY, LONGEST_RETRY_DELAY = 5, 60
-- Events of a stream whose station can't be reached.
local LOSSES = { "no_network", "url_not_found", "timeout", "missing_content", "bad_content" }
local UNITS = { { "d", 86400 }, { "h", 3600 }, { "m", 60 }, { "s", 1 }, { "ms", 0.001 } }

-- Returns the seconds of a duration: a number, or text such as "1h30m"; nil for anything else.
local function seconds(value)
  if type(value) == "number" then
    return value >= 0 and value < math.huge and value or nil
  elseif type(value) ~= "string" or value == "" then
    return nil
  end
  local total, position, unit = 0, 1, 1
  while position <= #value do
    local number, name, next_position = value:match("^(%d+%.?%d*)(%a+)()", position)
    while unit <= #UNITS and UNITS[unit][1] ~= name do
      unit = unit + 1
    end
    if not number or number:sub(-1) == "." or unit > #UNITS then
      return nil
    end
    total, position, unit = total + tonumber(number) * UNITS[unit][2], next_position, unit + 1
  end
  return total
end

-- Returns the checked options, durations in seconds. Raises misuse at the caller of `schedule`.
local function checked(options)
  if type(options) ~= "table" then
    misuse(("bad argument #1 to 'schedule' (table expected, got %s)"):format(type(options)))
  end
  local result = {}
  for key, value in pairs(options) do
    local kind = OPTIONS[key]
    if not kind then
      misuse(checks.unknown("option of 'schedule'", key, OPTIONS))
    elseif kind == "duration" then
      result[key] = seconds(value)
      if not result[key] then
        misuse(("option '%s' of 'schedule': %s is no duration (as in 90s, 5m, 1h30m expected)")
          :format(key, tostring(value)))
      end
    elseif kind ~= "size" and type(value) ~= kind then
      misuse(("option '%s' of 'schedule': %s expected, got %s"):format(key, kind, type(value)))
    else
      result[key] = value
    end
  end
  for _, key in ipairs { "url", "duration" } do
    if not result[key] then
      misuse(("option '%s' of 'schedule' is missing"):format(key))
    end
  end
  if (result.cron == nil) == (result.at == nil) then
    misuse("either option 'cron' or option 'at' of 'schedule' expected, not both or none")
  elseif result.keep and not result.name then
    -- The name identifies the recordings to delete.
    misuse("option 'keep' of 'schedule' needs option 'name': older recordings of that name are deleted")
  elseif result.duration == 0 then
    misuse("option 'duration' of 'schedule': more than 0 s expected")
  elseif result.cron and result.days then
    misuse("option 'days' of 'schedule' requires 'at'; a line of cron has days of its own")
  elseif result.at and result.timezone then
    misuse("option 'timezone' of 'schedule' requires 'cron'")
  end
  local _, wrong = task.try(host.check_recording, { template = result.template, min_free = result.min_free })
  if wrong then
    local reason = wrong.message:match "%((.*)%)$" or wrong.message
    misuse((reason:gsub("^(option '[%w_]+')", "%1 of 'schedule'")), wrong.code, wrong.hint)
  end
  result.urls = { result.url }
  for index, url in ipairs(result.fallbacks or {}) do
    if type(url) ~= "string" then
      misuse(("option 'fallbacks' of 'schedule': entry %d: string expected, got %s")
        :format(index, type(url)))
    end
    result.urls[index + 1] = url
  end
  result.shown = {}
  for index, url in ipairs(result.urls) do
    local radio, err = task.try(stream.new, url)
    if err then
      misuse(err.message, err.code, err.hint)
    end
    -- As shown in events: the name of a station unchanged, a URL without user and password.
    result.shown[index] = url:find("://", 1, true) and radio.url or url
  end
  return result
end

-- Runs

-- Emits an event: calls its listeners, each in a routine of its own, so that a failure affects nothing else.
local function emit(own, event, payload)
  local active = {}
  for _, listener in ipairs(own.listeners[event]) do
    if listener.active then
      listener.active = not listener.once
      task.spawn(listener.fn, payload)
    end
    if listener.active then
      active[#active + 1] = listener
    end
  end
  own.listeners[event] = active
end

-- Waits until a station has been lost for the timeout, and returns the error of the loss.
local function await_loss(radio)
  local since, err
  for _, event in ipairs(LOSSES) do
    radio:on(event, function(loss)
      since, err = since or task.now(), loss.error
    end)
  end
  radio:on("reconnected", function()
    since = nil
  end)
  while not since or task.now() - since < STATION_TIMEOUT do
    task.sleep(STATION_TIMEOUT / 4)
  end
  return err
end

-- Records from one station until the end of the show.
-- Returns the part recorded, nil without one; and the error that ended it early, nil at the end of the show.
local function record(own, index, run)
  local options = own.options
  local url = options.shown[index]
  local radio = stream.new(options.urls[index])
  local recording, err = task.try(radio.record, radio, options.template, {
    ["until"] = run.ends, job = own.job.name, min_free = options.min_free,
  })
  if not recording then
    return nil, err
  end
  own.recordings[recording] = true
  if not own.job.active then
    task.spawn(recording.stop, recording) -- cancelled while the recording started
  end
  emit(own, "started", { path = recording.path, url = url, due = run.due, recording = recording })
  local waits = {
    function()
      recording:wait "recording_finished"
    end,
    function()
      recording:wait "recording_stopped"
    end,
  }
  if #options.urls > 1 then
    table.insert(waits, function()
      return await_loss(radio)
    end)
  end
  local loss = task.race(waits)
  err = select(2, task.try(recording.stop, recording)) or loss
  radio:stop()
  own.recordings[recording] = nil
  return { path = recording.path, seconds = recording.seconds, bytes = recording.bytes, url = url }, err
end

-- Returns true if another station may succeed: not for a failure of the disk or an unreadable template.
local function is_of_station(err)
  return err.code ~= "argument" and not tostring(err.code):find "^record%."
end

-- Records one show, from one station after the other until the show is over.
local function run(own, due)
  local options = own.options
  local current = { due = due, ends = due + options.duration + (options.pad_after or 0), parts = {} }
  local index, delay, failure = 1, FIRST_RETRY_DELAY, nil
  while own.job.active and os.time() < current.ends do
    local last = index
    local part, err = record(own, index, current)
    if part then
      table.insert(current.parts, part)
      delay = FIRST_RETRY_DELAY
    end
    failure = err
    if not err or not is_of_station(err) then
      break
    end
    index = index % #options.urls + 1
    emit(own, "fallback", {
      from = options.shown[last], url = options.shown[index], error = err, due = due,
    })
    if not part and index == 1 then
      task.sleep(math.min(delay, math.max(current.ends - os.time(), 0)))
      delay = math.min(2 * delay, LONGEST_RETRY_DELAY)
    end
  end
  local longest = current.parts[1]
  for _, part in ipairs(current.parts) do
    longest = part.seconds > longest.seconds and part or longest
  end
  if failure and (not longest or not is_of_station(failure)) then
    local path = longest and longest.path
    emit(own, "failed", { error = failure, due = due, path = path, parts = current.parts })
  elseif longest then
    emit(own, "finished", {
      path = longest.path, seconds = longest.seconds, bytes = longest.bytes, due = due, parts = current.parts,
    })
  end
  local expiry
  if options.keep then
    expiry = select(2, task.try(recordings.expire, { keep = options.keep, job = own.job.name }))
  end
  failure = failure and (not longest or not is_of_station(failure)) and failure or expiry
  if failure then
    error(failure, 0) -- counted and reported as a failure of the job
  end
end

-- Objects for scripts

-- Private data of each object.
local owned = setmetatable({}, { __mode = "k" })

-- Returns the metatable of a class with these methods, whose fields, of these names, are read from `owned`.
local function class(what, methods, fields)
  local function known()
    local all = {}
    for _, set in ipairs { methods, fields } do
      for name in pairs(set) do
        all[name] = true
      end
    end
    return all
  end
  return {
    __index = function(object, key)
      if fields[key] then
        return owned[object].fields[key]
      end
      return methods[key] or misuse(checks.unknown("field or method of " .. what, key, known()))
    end,
    __newindex = function(_, key)
      misuse(("'%s' of %s can't be set"):format(tostring(key), what))
    end,
    __tostring = function(object)
      return owned[object].description()
    end,
  }
end

local subscription_methods = {}
local Subscription = class("a subscription", subscription_methods, { active = true })

function subscription_methods:cancel()
  owned[self].fields.active = false
end

local show_methods = {}
local Show = class("a scheduled recording", show_methods, {
  name = true, next = true, last = true, runs = true, failures = true, active = true,
})

local function subscribe(show, name, event, fn, once)
  if not EVENTS[event] then
    local list = {}
    for known in pairs(EVENTS) do
      list[#list + 1] = known
    end
    table.sort(list)
    misuse(("bad argument #1 to '%s' (no event is called '%s'; events here: %s)")
      :format(name, tostring(event), table.concat(list, ", ")))
  elseif type(fn) ~= "function" then
    misuse(("bad argument #2 to '%s' (function expected, got %s)"):format(name, type(fn)))
  end
  local listener = { fn = fn, once = once, active = true }
  table.insert(owned[show].listeners[event], listener)
  local subscription = setmetatable({}, Subscription)
  owned[subscription] = {
    fields = listener,
    description = function()
      return ("subscription to \"%s\" (%s)"):format(event, listener.active and "active" or "ended")
    end,
  }
  return subscription
end

function show_methods:on(event, fn)
  return subscribe(self, "on", event, fn, false)
end

function show_methods:once(event, fn)
  return subscribe(self, "once", event, fn, true)
end

function show_methods:cancel()
  local own = owned[self]
  own.job:cancel()
  for recording in pairs(own.recordings) do
    task.spawn(recording.stop, recording)
  end
end

function recorder.schedule(options)
  local own = { options = checked(options), recordings = {}, listeners = {} }
  for event in pairs(EVENTS) do
    own.listeners[event] = {}
  end
  local wanted = own.options
  local plan = wanted.cron and schedule.cron or schedule.at
  local job, err = task.try(plan, wanted.cron or wanted.at, {
    name = wanted.name, days = wanted.days, timezone = wanted.timezone, early = wanted.pad_before,
    overlap = "parallel",
  }, function()
    run(own, own.job.due)
  end)
  if not job then
    local reason = err.message:match "%((.*)%)$" or err.message
    local option = wanted.cron and "cron" or "at"
    misuse(("option '%s' of 'schedule': %s"):format(option, reason), err.code, err.hint)
  end
  own.job, own.fields = job, job
  function own.description()
    return "recorder of " .. tostring(job)
  end
  local show = setmetatable({}, Show)
  owned[show] = own
  return show
end

return checks.sealed("recorder", recorder)
