---@meta _

-- Recordings of streams, as `Stream:record` returns them.

---@class stream.RecordOptions
---@field continue? boolean Appends, as `append` does, to the file of a recording that was cut off; the sound missing in between is one of the gaps.
---@field append? boolean Appends to the file, whose frames must have the same format (`record.exists`); not with `split`, nor for WAV. Sound that a station sends again to a new listener is not written twice.
---@field reset? boolean Opens a new connection first.
---@field split? boolean|stream.Split Writes a file for each title, and a cue sheet. The first and the last file, whose titles are cut off, end with `(incomplete)`.
---@field tags? boolean Writes a tag with title, artist, station and time into each file (default: true).
---@field duration? Duration Length of the recording, gaps included; not with `until`.
---@field until? string|number End of the recording: `"21:30"`, `"2026-12-24 18:00"`, or seconds as `os.time` counts them; not with `duration`.
---@field pad_before? Duration Sound before the beginning that is recorded too, as far as the buffer has it.
---@field pad_after? Duration Sound after the end that is recorded too.
---@field back? Duration Distance back into the buffer at which the recording begins, such as the beginning of the current song.
---@field resume_when_space? boolean Resumes in a new file after the disk was full.
---@field format? "original"|"wav" `"wav"` writes decoded sound of 16 bits, in a new file after each 4 GiB, some six hours (default: `"original"`).
---@field min_free? string|integer Space that stays free on the disk, `"2GB"` or bytes (default: that of the configuration).
---@field job? string Name of the job that the recording belongs to, for the catalogue.

---@class stream.Split
---@field offset? Duration|number Delay of the cuts against the titles, -30 to 30 s (default: 0); 0 for WAV.
---@field overlap? Duration Sound before and after its title that each file includes, at most 30 s (default: 0); 0 for WAV.
---@field min_length? Duration Shortest file that is kept, unless nothing else was recorded (default: 0).

---A recording, as `Stream:record` returns it.
---@class stream.Recording
---@field path string Final path of the file that is written, or was written last.
---@field seconds number Length of all its files on disk.
---@field bytes integer Size of all its files on disk, without tags.
---@field title? string Title that was written last, as sent.
---@field gaps { at: number, seconds: number }[] Missing sound: position, and approximate length, in seconds.
---@field state "recording"|"waiting"|"finished"|"failed" `"waiting"`: until the disk has space.
local Recording = {}

---Ends the recording, and returns when it is safe on disk. Raises the failure of a recording that ended early:
---`record.write`, `record.disk_full`.
---@async
function Recording:stop() end

---Calls a function with the payload of every event of that name of the recording. Raises `argument`.
---@param event stream.RecordingEventName
---@param listener fun(payload: table)
---@return Subscription
function Recording:on(event, listener) end

---Calls a function with the payload of the next event of that name, once. Raises `argument`.
---@param event stream.RecordingEventName
---@param listener fun(payload: table)
---@return Subscription
function Recording:once(event, listener) end

---Waits for the next event of that name of the recording. Raises `argument`, `task.cannot_suspend`.
---@async
---@param event stream.RecordingEventName
---@param timeout? Duration Longest wait (default: none).
---@return table? payload
---@return "timeout"|"closed"? why The reason for nil; `"closed"`: the recording has ended.
function Recording:wait(event, timeout) end

---@alias stream.RecordingEventName
---| "track" # `{recording, path, title}`: the recording begins a file; for the first file only if it is split.
---| "recording_continued" # `{recording, path, gap_seconds, stitched, frames_overlapped}`: the recording continues the file at `path`; `stitched`: exactly where its sound ends, without the frames that came again; else about `gap_seconds` are missing.
---| "recording_stopped" # `{recording, error}`: the recording has failed; the written part is kept.
---| "recording_finished" # `{recording, path, seconds, bytes}`: the recording has ended and is safe on disk.
