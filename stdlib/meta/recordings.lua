---@meta recordings
---@search archive library catalogue catalog podcast files mp3

-- The catalogue of this user's recordings, made by any process.
--
--   local recordings = require "recordings"
--   for _, entry in ipairs(recordings.list { station = "morning", limit = 10 }) do
--     local start = os.date("%d.%m. %H:%M", entry.start // 1)
--     print(start, entry.path, entry.seconds, #entry.gaps)
--   end
--   for _, entry in ipairs(recordings.list()) do
--     print(recordings.verify(entry.path).good)
--   end
--
-- A recording is in the catalogue from its first frame on. The functions suspend the routine while they use the disk.
--
-- Every function raises `database.busy`, `database.full`, `database.unavailable`, `database.damaged` or
-- `database.newer` if the catalogue can't be used, and `record.write` if there is no home folder to keep it in.

---@class recordingslib
local recordings = {}

---@class recordings.Filter
---@field station? string Part of the station's name.
---@field title? string Part of one of the titles.
---@field since? number Earliest start, in seconds as `os.time` counts them.
---@field until? number End of the range of starts, exclusive, in seconds as `os.time` counts them.
---@field state? "recording"|"joining"|"finished"|"recovered"|"failed"|"interrupted"
---@field job? string Name of the job.
---@field limit? integer Maximum number of entries, 1 to 1,000,000 (default: all).

---An entry of the catalogue. Its state is `"recording"` while it is written, `"joining"` while it is copied to the end
---of the file that it appends to, `"finished"`, `"failed"` (see `error`), `"interrupted"` if its process ended early,
---and `"recovered"` once that part has been made a file.
---@class recordings.Entry
---@field path string Final path of the file.
---@field part? string Path of the part, while there is one.
---@field station? string Name of the station.
---@field url string Source of the recording, without a password.
---@field start number Time of the first frame, in seconds as `os.time` counts them.
---@field seconds number Length.
---@field bytes integer Size without the tag.
---@field codec string `"mp3"`, `"aac"`, `"vorbis"`, `"opus"`, `"oggflac"`, `"wav"` and so on.
---@field sample_rate integer Sample rate in Hz.
---@field channels integer
---@field gaps { at: number, seconds: number }[] Missing sound: position, and approximate length, in seconds.
---@field titles { at: number, title: string }[] Titles, with the position in seconds at which each begins.
---@field state "recording"|"joining"|"finished"|"recovered"|"failed"|"interrupted"
---@field error? string Reason of a failure or of an interruption of the recording, one line.
---@field job? string Name of the job that made the recording.

---The result of `verify`.
---@class recordings.Verdict
---@field path string Path of the file that was read: the part, while it is recorded.
---@field good boolean `true` if the file is whole or open, and agrees with the catalogue.
---@field whole boolean `true` if the file is audio from the end of its tag to its last byte.
---@field checked boolean `false` if no decoder reads its audio, so only its size was compared.
---@field damage? string Damage of its audio, one line.
---@field open boolean `true` while it is being recorded; an open file is not compared with the catalogue.
---@field known boolean `true` if the catalogue has an entry for it.
---@field frames integer Whole frames; PCM frames for WAV, FLAC, MP4, AIFF and CAF.
---@field seconds number Length.
---@field bytes integer Bytes of audio.
---@field junk_bytes integer Bytes that are neither audio nor tag.
---@field differences string[] Differences from the catalogue, one line each.

---Returns the recordings that match a filter, the latest first. Raises `argument`.
---@async
---@param filter? recordings.Filter
---@return recordings.Entry[]
function recordings.list(filter) end

---Reads all frames of a file, decodes FLAC, MP4, AIFF and CAF, and compares it with the catalogue. Raises
---`record.read`, `argument`.
---@async
---@param path string
---@return recordings.Verdict
function recordings.verify(path) end

---Makes disk and catalogue agree: completes the parts left by processes that were killed.
---@async
---@return string[] done Repairs made, one line each.
function recordings.repair() end

---Removes a recording from the catalogue; its file stays. Raises `record.write` (it is being recorded), `argument`.
---@async
---@param path string
---@return boolean known `true` if the catalogue had an entry.
function recordings.forget(path) end

---@class recordings.ExpireOptions
---@field keep Duration Age, from the end of a recording, above which it is deleted.
---@field job? string Name of the job whose recordings are deleted (default: all).

---Deletes old recordings, files and entries; files without an entry stay. Raises `record.write` (a file can't be
---deleted, after all others), `argument`.
---@async
---@param options recordings.ExpireOptions
---@return string[] paths Paths of the deleted files.
function recordings.expire(options) end

return recordings
