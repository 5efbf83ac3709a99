---@meta recordings

-- What was recorded: the catalogue of all recordings of this user, whichever process made them.
--
--   local recordings = require "recordings"
--   for _, entry in ipairs(recordings.list { station = "morning", limit = 10 }) do
--     print(os.date("%d.%m. %H:%M", entry.start // 1), entry.path, entry.seconds, #entry.gaps)
--   end
--   print(recordings.verify(path).good)
--
-- A recording is in it from its first frame on. Its functions wait while disks work.

error("stdlib/meta/recordings.lua is a description, not a module: require \"recordings\" finds the module itself")

---@class recordingslib
local recordings = {}

---@class recordings.Filter
---@field station? string What the station's name contains.
---@field title? string What one of the titles contains.
---@field since? number Begun then or later, in seconds as `os.time` counts them.
---@field until? number Begun before.
---@field state? "recording"|"joining"|"finished"|"recovered"|"failed"|"interrupted"
---@field job? string Whose it is.
---@field limit? integer At most so many.

---@class recordings.Entry
---@field path string Where the file is, or will be.
---@field part? string Where it is written, while it is.
---@field station? string What the station calls itself.
---@field url string Where it came from.
---@field start number When it began, in seconds as `os.time` counts them.
---@field seconds number
---@field bytes integer Without the tag.
---@field codec string `"mp3"`, `"aac"`, `"wav"` and so on.
---@field sample_rate integer
---@field channels integer
---@field gaps { at: number, seconds: number }[] What is missing: where, and about how much.
---@field titles { at: number, title: string }[] Where each begins.
---@field state "recording"|"joining"|"finished"|"recovered"|"failed"|"interrupted"
---@field error? string Why it ended early.
---@field job? string

---@class recordings.Verdict
---@field path string
---@field good boolean Whether all is as it should be.
---@field whole boolean Whether it is sound from its tag to its end.
---@field open boolean Whether it is being recorded.
---@field known boolean Whether the catalogue knows it.
---@field frames integer
---@field seconds number
---@field bytes integer Of sound.
---@field junk_bytes integer That are neither sound nor tag.
---@field differences string[] In what the catalogue says something else.

---The recordings that the filter lets through, the latest first. Raises `record.write`, `argument`.
---@async
---@param filter? recordings.Filter
---@return recordings.Entry[]
function recordings.list(filter) end

---Walks all frames of a file, and compares it with the catalogue. Raises `record.write`, `argument`.
---@async
---@param path string
---@return recordings.Verdict
function recordings.verify(path) end

---Makes disk and catalogue agree: what a process left behind that was killed becomes a file. Raises `record.write`.
---@async
---@return string[] done What was done, a line each.
function recordings.repair() end

---Lets the catalogue forget a recording; its file stays. Raises `record.write` while it is recorded, `argument`.
---@async
---@param path string
---@return boolean known
function recordings.forget(path) end

---@class recordings.ExpireOptions
---@field keep Duration Recordings that ended longer ago are deleted.
---@field job? string Only those of this job.

---Deletes old recordings, files and entries. Raises `record.write`, `argument`.
---@async
---@param options recordings.ExpireOptions
---@return string[] paths What was deleted.
function recordings.expire(options) end

return recordings
