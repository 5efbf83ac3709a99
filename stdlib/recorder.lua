-- Scheduled recordings of radio shows.

local checks = require "roomtone.misuse"
local host = require "roomtone.host"
local object = require "roomtone.object"
local options = require "roomtone.options"
local recordings = require "recordings"
local schedule = require "schedule"
local sounds = require "roomtone.sounds"
local stream = require "stream"
local task = require "task"

local recorder = checks.module "recorder"
local misuse = checks.raise

local OPTIONS = {
  url = "string", cron = "string", at = "string", days = "string", timezone = "string", duration = "duration",
  template = "string", pad_before = "duration", pad_after = "duration", keep = "duration", min_free = "any",
  fallbacks = "table", name = "string",
}
-- The longest time before a show: a job begins at most a day early.
local LONGEST_PAD = 86400
-- Seconds that a station may be lost during a recording before the next station is tried.
local STATION_TIMEOUT = 60
-- Retry delays in seconds after no station could be reached: the first, doubled each time up to the longest.
local FIRST_RETRY_DELAY, LONGEST_RETRY_DELAY = 5, 60
-- Events of a stream whose station can't be reached.
local LOSSES = { "no_network", "url_not_found", "timeout", "missing_content", "bad_content" }

-- Returns the checked options, durations in seconds. Raises misuse at the caller of `schedule`.
local function checked(given)
  local result = options.check("schedule", given, OPTIONS, { "url", "duration" })
  if (result.cron == nil) == (result.at == nil) then
    misuse("either option 'cron' or option 'at' of 'schedule' expected, not both or none")
  elseif result.keep and not result.name then
    -- The name identifies the recordings to delete.
    misuse("option 'keep' of 'schedule' needs option 'name': older recordings of that name are deleted")
  elseif result.duration == 0 then
    misuse("option 'duration' of 'schedule': more than 0 s expected")
  elseif (result.pad_before or 0) > LONGEST_PAD then
    misuse(("option 'pad_before' of 'schedule': at most 24h expected, got %s")
      :format(tostring(given.pad_before)))
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
  result.shown, result.addresses = {}, {}
  for index, url in ipairs(result.urls) do
    local radio, err = task.try(stream.new, url)
    if err then
      misuse(err.message, err.code, err.hint)
    end
    -- As shown in events: the name of a station unchanged, a URL without user and password.
    result.shown[index] = url:find("://", 1, true) and radio.url or url
    result.addresses[index] = radio.url
  end
  return result
end

-- Runs

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

-- Records from one station until the end of the show; `path` is the file that it continues, or nil.
-- Returns the recorded part, nil without one; and the error that ended it early, nil at the end of the show.
local function record(own, index, run, path)
  local wanted = own.options
  local url = wanted.shown[index]
  local radio = stream.new(wanted.urls[index])
  local template = path and path:gsub("[{}]", "%0%0") or wanted.template
  local recording, err = task.try(radio.record, radio, template, {
    ["until"] = run.ends, job = own.job.name, min_free = wanted.min_free, continue = path ~= nil,
  })
  if err then
    err.where = "" -- the call is not by a line of the script
  end
  if path and err and err.code == "record.exists" then
    -- The station has changed its format after the end of the file.
    return record(own, index, run)
  end
  if not recording then
    return nil, err
  end
  own.recordings[recording] = true
  if not own.job.active then
    task.spawn(recording.stop, recording) -- the job was cancelled while the recording started
  end
  object.emit(own, "started", {
    path = recording.path, url = url, due = run.due, recording = recording, continued = path ~= nil,
    gap_seconds = path and (recording.gaps[1] and recording.gaps[1].seconds or 0) or nil,
  })
  local waits = {
    function()
      recording:wait "recording_finished"
    end,
    function()
      recording:wait "recording_stopped"
    end,
  }
  if #wanted.urls > 1 then
    table.insert(waits, function()
      return await_loss(radio)
    end)
  end
  local loss = task.race(waits)
  err = select(2, task.try(recording.stop, recording)) or loss
  if err then
    err.where = ""
  end
  radio:stop()
  own.recordings[recording] = nil
  return { path = recording.path, seconds = recording.seconds, bytes = recording.bytes, url = url }, err
end

-- Returns true if another station may succeed; false for a failure of the disk or an unreadable template.
local function is_of_station(err)
  return err.code ~= "argument" and not tostring(err.code):find "^record%."
end

-- Records one show, from one station after the other until the show is over. `before` is the part that was
-- recorded before the script started, or nil.
local function run(own, due, before)
  local wanted = own.options
  local current = { due = due, ends = due + wanted.duration + (wanted.pad_after or 0), parts = {} }
  local index, delay, failure = before and before.index or 1, FIRST_RETRY_DELAY, nil
  while own.job.active and os.time() < current.ends do
    local last = index
    local path = before and before.index == index and before.path or nil
    local part, err = record(own, index, current, path)
    if part then
      before = nil
      table.insert(current.parts, part)
      delay = FIRST_RETRY_DELAY
    end
    failure = err
    if not err or not is_of_station(err) then
      break
    end
    index = index % #wanted.urls + 1
    if wanted.urls[2] then
      local new, old = sounds.shown(wanted.shown[index]), sounds.shown(wanted.shown[last])
      host.mark {
        kind = "fallback", room = "Recorder", source = wanted.shown[index],
        message = ("%s instead of %s"):format(new, old),
      }
    end
    object.emit(own, "fallback", {
      from = wanted.shown[last], url = wanted.shown[index], error = err, due = due,
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
    object.emit(own, "failed", { error = failure, due = due, path = path, parts = current.parts })
  elseif longest then
    object.emit(own, "finished", {
      path = longest.path, seconds = longest.seconds, bytes = longest.bytes, due = due, parts = current.parts,
    })
  end
  local expiry
  if wanted.keep then
    expiry = select(2, task.try(recordings.expire, { keep = wanted.keep, job = own.job.name }))
  end
  failure = failure and (not longest or not is_of_station(failure)) and failure or expiry
  if failure then
    error(failure, 0) -- counted and reported as a failure of the job
  end
end

-- Returns the last recording of a show, and the number of its station; nil without one.
local function recorded(own, due)
  local last
  local since = due - (own.options.pad_before or 0) - 1
  for _, entry in ipairs(recordings.list { job = own.job.name, since = since }) do
    for index, address in ipairs(own.options.addresses) do
      if entry.url == address and not entry.part and (not last or entry.start > last.start) then
        last = { path = entry.path, start = entry.start, index = index }
      end
    end
  end
  return last
end

-- Objects for scripts

local Show = object.class {
  name = "a scheduled recording", definition = "recorder.Show",
  events = { "started", "fallback", "finished", "failed" },
  fields = {},
  describe = function(own)
    return "recorder of " .. tostring(own.job)
  end,
}
for _, name in ipairs { "name", "next", "last", "runs", "failures", "active" } do
  Show.fields[name] = function(own)
    return own.job[name]
  end
end

-- Ends the events if the job has no further run and its last one is over.
local function close_if_over(own)
  if not own.job.next and own.running == 0 then
    object.close(own)
  end
end

-- Runs `body` as a run of the show.
local function as_run(own, body)
  own.running = own.running + 1
  local _ <close> = object.closing(function()
    own.running = own.running - 1
    close_if_over(own)
  end)
  body()
end

function Show.methods.cancel(own)
  own.job:cancel()
  for recording in pairs(own.recordings) do
    task.spawn(recording.stop, recording)
  end
  close_if_over(own)
end

function recorder.schedule(given)
  local wanted = checked(given)
  local own = { options = wanted, recordings = {}, running = 0 }
  local plan = wanted.cron and schedule.cron or schedule.at
  local job, err = task.try(plan, wanted.cron or wanted.at, {
    name = wanted.name, days = wanted.days, timezone = wanted.timezone, early = wanted.pad_before,
    overlap = "parallel",
  }, function()
    as_run(own, function()
      run(own, own.job.due)
    end)
  end)
  if not job then
    local reason = err.message:match "%((.*)%)$" or err.message
    local option = wanted.cron and "cron" or "at"
    misuse(("option '%s' of 'schedule': %s"):format(option, reason), err.code, err.hint)
  end
  own.job = job
  -- Continues a show that began before a restart of the script, even if its station had not been reached yet.
  local due = job.due
  if due and os.time() < due + wanted.duration + (wanted.pad_after or 0) then
    task.spawn(function()
      local before = recorded(own, due)
      as_run(own, function()
        run(own, due, before)
      end)
    end)
  end
  return object.new(Show, own)
end

return checks.sealed("recorder", recorder, { schedule = OPTIONS })
