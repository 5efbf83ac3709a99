---@meta _

-- The changes that `speaker.history` returns, with their causes.

---A cause of a change: a line of a script, a job, a trigger, an event, an interruption, a person, the start of a script,
---another client, a speaker by itself, or its limit. `parent` is the cause of this cause.
---@class speaker.Cause
---@field kind "script"|"job"|"trigger"|"event"|"interruption"|"controller"|"person"|"start"|"driver"|"limit"
---@field at number Time in seconds since 1970.
---@field script? string Name of the script's file.
---@field line? integer Line in it.
---@field call? string Name of the function that the line calls; for the kind `script`.
---@field job? string Name of the job.
---@field trigger? string Name of the trigger.
---@field event? string Name of the event.
---@field name? string Name of the interruption or the client, the limit in words, or the way by which the person acted: `ctl`.
---@field detail? string Schedule of the job, origin of the trigger, and the like.
---@field parent? speaker.Cause

---A change of the house, or something that did not happen; prints as its `text`.
---@class speaker.Change
---@field time number Time in seconds since 1970; for a fade, that of its first step.
---@field kind string Kind: `volume`, `mute`, `unmute`, `join`, `leave`, `play`, `pause`, `stop`, `name`, `group`, `refused` and more.
---@field subject "speaker"|"session"|"recording"|"headset"|"job"|"script"|"trigger"|"house" Kind of the thing.
---@field name string Name of the thing.
---@field from? any Value before.
---@field to? any Value after.
---@field detail? string Further detail, such as the reason of an end.
---@field count integer Number of steps or repetitions that it stands for.
---@field text string The change and its causes as a line.
---@field cause? speaker.Cause Cause; nil if none is known.

---@class speaker.HistoryOptions
---@field device? speaker.Target|speaker.Target[] Changes of these speakers and of sessions that they were in (default: all changes).
---@field since? Duration Length of the time up to now (default: as long as changes are kept).
---@field kind? string Changes of one kind (default: all kinds).
