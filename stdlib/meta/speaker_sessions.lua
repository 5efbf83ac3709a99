---@meta _

-- Sessions and snapshots, as the module `speaker` returns them, and the controls of an embedded house.

---A session: speakers that play one source in step, with one state and one position; prints as
---`session "wake_up" (playing "wake_up.mp3", 6 speakers)`.
---@class speaker.Session
---@field name string
---@field priority integer 0 to 1000, initially 100: a session of lower priority can't take speakers from one of higher.
---@field devices speaker.Device[] The members, in the order of the house.
---@field rooms speaker.Device[] The speakers that the session wants, in the order in which it was asked for them.
---@field owner? string The name of the script that it belongs to; nil for the session of a person or an interruption.
---@field lent speaker.Device[] The speakers that interruptions have borrowed, and return to the session at their end.
---@field source? speaker.Source What plays or is paused; nil if the session is stopped.
---@field interrupts boolean `true` for the session of an interruption, such as that of an alarm or an announcement.
---@field closed boolean `true` once the session or its house is closed.
---@field suspended boolean `true` while an interruption has all its speakers.
local Session = {}

---Plays a file or a queue of files on the session, as `speaker.play`. Raises as `speaker.play`.
---@async
---@param path string|string[]
---@param options? speaker.PlayOptions
function Session:play(path, options) end

---Goes to the next file of the queue, as `speaker.next`. Raises `speaker.no_queue`, `speaker.closed`.
function Session:next() end

---Goes to the previous file of the queue, or to the beginning of the current one, as `speaker.previous`. Raises
---`speaker.no_queue`, `speaker.closed`.
function Session:previous() end

---Returns the files of the queue and the index of the current one, as `speaker.queue`.
---@return speaker.Source[] files
---@return integer? index From 1.
function Session:queue() end

---Pauses the session at its position, as `speaker.pause`. Raises `speaker.closed`.
function Session:pause() end

---Resumes the session after `pause`, as `speaker.resume`. Raises `speaker.not_paused`, `speaker.closed`.
function Session:resume() end

---Stops the session, as `speaker.stop`. Raises `speaker.closed`.
function Session:stop() end

---Returns the state of the session; `"stopped"` once it is closed.
---@return speaker.State
function Session:state() end

---Returns `true` if the session plays; `false` while it is paused.
---@return boolean
function Session:is_playing() end

---Returns the position of the source that is heard, in seconds; 0 if the session is stopped.
---@return number seconds
function Session:position() end

---Returns the length of the source in seconds; nil if the session is stopped or the length is unknown.
---@return number? seconds
function Session:duration() end

---Moves to a position of the source, as `speaker.seek`. Raises `speaker.range`, `speaker.no_seek`,
---`stream.no_seek`, `speaker.closed`, `argument`.
---@param seconds Duration Position from the start of the source.
function Session:seek(seconds) end

---Waits until the source of the session has ended, as `speaker.finish`. Raises `argument`, `task.cannot_suspend`.
---@async
---@param timeout? Duration Longest wait (default: none).
---@return speaker.EndReason? reason
---@return "timeout"? timeout
function Session:finish(timeout) end

---Sets the rooms that the session wants, and those that it has, to one volume, as `speaker.set_volume`. Raises
---`speaker.no_active_device`, `speaker.closed`, `argument`.
---@param volume integer 0 to 50.
function Session:set_volume(volume) end

---Sets the gain of the session in dB, as `speaker.set_gain`. Raises `speaker.closed`, `argument`.
---@param gain number -90 to 12 dB.
function Session:set_gain(gain) end

---Plays a stream on the session, as `speaker.play_stream`. Raises as `speaker.play_stream`.
---@async
---@param url_or_stream string|stream.Stream
---@param options? speaker.StreamOptions
function Session:play_stream(url_or_stream, options) end

---Sets the equalizer of the session, as `speaker.set_eq`. Raises `speaker.closed`, `speaker.unsupported`, `argument`.
---@param eq speaker.EqualizerPreset|speaker.EqualizerBands
function Session:set_eq(eq) end

---Returns the equalizer's gains, and the name of the preset with these gains, if any.
---@return speaker.EqualizerBands bands
---@return speaker.EqualizerPreset? preset
function Session:eq() end

---Fades the gain or the volume of its rooms, as `speaker.fade`. Raises `speaker.no_active_device`, `speaker.range`,
---`speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param options speaker.FadeOptions
function Session:fade(options) end

---Stops the session and releases its speakers; every later command to it raises `speaker.closed`. Ends the interruption
---whose session this is. No effect the second time. The own session is opened again by the next play.
function Session:close() end

---Returns the average volume of the available speakers that the session wants or has, 0 to 50; a muted one counts as 0.
---@return integer
function Session:volume() end

---Mutes the rooms that the session wants, and those that it has; each speaker keeps its volume. Raises
---`speaker.no_active_device`, `speaker.closed`.
function Session:mute() end

---Unmutes the rooms that the session wants, and those that it has, at the volume that each speaker has kept. Raises
---`speaker.no_active_device`, `speaker.closed`.
function Session:unmute() end

---Returns `true` if all available speakers that the session wants or has are muted.
---@return boolean
function Session:is_muted() end

---The events of a session.
---@alias speaker.SessionEventName
---| "state" # `speaker.StateEvent`: a session plays, pauses or stops.
---| "time" # `speaker.TimeEvent`: one more second of a source has been heard.
---| "ended" # `speaker.EndedEvent`: a source has ended; unless it was replaced, `state` with `"stopped"` comes before.
---| "track" # `speaker.TrackEvent`: a file of a queue begins to be heard, the first one too.
---| "error" # `speaker.ErrorEvent`: an operation failed that no caller waits for.
---| "suspending" # `speaker.SuspensionEvent`: an interruption begins to fade out all speakers of a session.
---| "suspended" # `speaker.SuspensionEvent`: the interrupted session is silent.
---| "resumed" # `speaker.SuspensionEvent`: the interrupted session has its speakers again.
---| "closed" # `{session}`: the session is closed; the last event.

---Calls a function with every event of that name of the session, as `speaker.on`; `"closed"`, `{session}`, is the last
---one. Raises `argument`, `speaker.closed`.
---@param event speaker.SessionEventName
---@param fn async fun(event: table)
---@return Subscription
function Session:on(event, fn) end

---Calls a function with the next event of that name, once; events as for `on`. Raises `argument`, `speaker.closed`.
---@param event speaker.SessionEventName
---@param fn async fun(event: table)
---@return Subscription
function Session:once(event, fn) end

---Waits for the next event of that name of the session, as `speaker.wait`. Raises `argument`, `speaker.closed`,
---`task.cannot_suspend`.
---@async
---@param event speaker.SessionEventName
---@param timeout? Duration Longest wait (default: none).
---@return table? event
---@return "timeout"|"closed"|nil why
function Session:wait(event, timeout) end

---A snapshot of speakers and of the sessions that have no other members; prints as `snapshot of 6 speakers`.
---@class speaker.Snapshot
---@field devices speaker.Device[] The speakers of the snapshot.
local Snapshot = {}

---Restores the speakers' sessions, volumes and mute, and the sources, states and positions of the sessions that had no
---other members. May be called again. Skips speakers that were removed and sessions that were closed.
---
---Raises `speaker.outranked`, `speaker.closed`, `audio.not_found`, `audio.unreadable`, `audio.unsupported`,
---`task.cannot_suspend`.
---@async
function Snapshot:restore() end

---The controls of an embedded house.
---@class speaker.House
local House = {}

---Makes a speaker unavailable, as if it had lost power; the speaker stays a member of its session. Raises
---`speaker.unavailable` (removed from the house), `speaker.closed`.
---@param device speaker.Device
function House:unplug(device) end

---Makes a speaker available again, in step with its session. Raises `speaker.unavailable` (removed from the house, or its
---sound card is lost), `speaker.closed`.
---@param device speaker.Device
function House:plug(device) end

---Sets the received signal strength that the next refresh reports. Raises `speaker.unavailable` (removed from the
---house), `speaker.closed`, `argument`.
---@param device speaker.Device
---@param dBm integer -100 to 0.
function House:set_wifi(device, dBm) end

---Adds a speaker, in no session. Defaults: no group, role `"stereo"`, volume 25, balance 0. Raises `speaker.range` (a
---name that is blank or taken, too many speakers), `audio.no_output`, `speaker.closed`, `argument`.
---@param options { name: string, group?: string, role?: speaker.Role, volume?: integer, balance?: integer }
---@return speaker.Device
function House:add(options) end

---Removes a speaker from its session, its group and the house. Raises `speaker.unavailable` (removed before),
---`speaker.closed`.
---@param device speaker.Device
function House:remove(device) end
