---@meta speaker

-- The house: its speakers, their volumes, playback on them, and their events.
--
--   local speaker = require "speaker"
--   local kitchen = speaker.device "kitchen"
--   speaker.on("ended", function(event) print(event.source.title, event.reason) end)
--   kitchen:set_volume(20)
--   speaker.play("wake_up.mp3", { title = "the morning tune" })
--   speaker.finish()
--
-- Playback functions act on the default session; each is a method of sessions too. The first use of the module opens
-- the house with all speakers in the default session, so every function but `is_open` and `is_opening` may suspend
-- until the house is open. After `close` they raise `speaker.closed`, until `open` opens a new house. An object keeps
-- its identity while the script holds it, and its fields show the current state. Assigning to a field raises and names
-- the method that changes it. An operation that the driver lacks raises `speaker.unsupported`, see `capabilities`.

error("stdlib/meta/speaker.lua is a description, not a module: require \"speaker\" finds the module itself")

---@class speakerlib
local speaker = {}

---The maximum volume, 50: unity gain. A step is 0.9 dB; 0 is silence.
speaker.MAX_VOLUME = 50

---The group name of a speaker without a group.
speaker.UNGROUPED = "harman"

---@class speaker.OpenOptions
---@field driver? "house" Name of the driver (default: `"house"`, the embedded house).
---@field license? string Licence key of the driver; the embedded house ignores it.
---@field add_all? boolean `true` joins every speaker to the default session (default: true).
---@field wait? Duration|false Longest wait for another process that has the house; `false`: no wait (default: 30 s).

---Opens the house in the state of the last run, and returns after the first discovery; at once if it is open already.
---One process at a time drives a house: a second one logs that it waits.
---
---Raises `speaker.busy` (another process has the house, named by `process`), `speaker.unsupported` (unknown driver),
---`audio.no_output`, `speaker.lost` (names and volumes can't be stored), `speaker.closed` (closed while it was
---opening), `speaker.unknown` and `speaker.range` (wrong speakers in the configuration), `argument`,
---`task.cannot_suspend`.
---@async
---@param options? speaker.OpenOptions
function speaker.open(options) end

---Closes the house: stops every session, completes the outputs, makes each `wait` return `nil, "closed"`, and emits no
---further event. No effect if the house is not open. Raises `task.cannot_suspend`.
---@async
function speaker.close() end

---Returns `true` if the house is open.
---@return boolean
function speaker.is_open() end

---Returns `true` while the house is being opened.
---@return boolean
function speaker.is_opening() end

---Returns the capabilities of the driver, as a set of names: `speaker.capabilities().seek`. Raises `speaker.closed`.
---@return table<string, true>
function speaker.capabilities() end

---Returns all speakers, in stable order. Raises `speaker.closed`.
---@return speaker.Device[]
function speaker.devices() end

---Returns the speaker with an id or a name, in any case; a part of a name is enough if only one speaker has it.
---
---Raises `speaker.unknown` for no match (`suggestion` is the nearest name), for several matches (`candidates`), and for
---the name of a group; `speaker.closed`, `argument`.
---@param id_or_name string
---@return speaker.Device
function speaker.device(id_or_name) end

---Returns the speaker as `device` does, or nil for no match. Raises `speaker.unknown` for several matches,
---`speaker.closed`, `argument`.
---@param id_or_name string
---@return speaker.Device?
function speaker.find(id_or_name) end

---Returns all groups, in the order of their founders. Raises `speaker.closed`.
---@return speaker.Group[]
function speaker.groups() end

---Returns the group with a name or an id, matched as by `device`. Raises `speaker.unknown`, `speaker.closed`,
---`argument`.
---@param name_or_id string
---@return speaker.Group
function speaker.group(name_or_id) end

---Returns the speakers that are in a session. Raises `speaker.closed`.
---@return speaker.Device[]
function speaker.active_devices() end

---Returns the groups all of whose speakers are in a session. Raises `speaker.closed`.
---@return speaker.Group[]
function speaker.active_groups() end

---Returns the open sessions: the default one, then the others in the order of their creation. Raises `speaker.closed`.
---@return speaker.Session[]
function speaker.sessions() end

---Returns the session that the functions of the module act on. Raises `speaker.closed`.
---@return speaker.Session
function speaker.default_session() end

---Sets members of the default session and speakers in no session to one volume and unmutes them; takes effect some
---milliseconds later, with a `volume` event for each. Raises `speaker.closed`, `argument`.
---@param volume integer 0 to 50.
function speaker.set_volume(volume) end

---Returns the average volume of the available speakers, 0 to 50; a muted one counts as 0. Raises `speaker.closed`.
---@return integer
function speaker.volume() end

---Mutes the members of the default session; each keeps its volume. Speakers in no session are left alone. Raises
---`speaker.closed`.
function speaker.mute() end

---Unmutes the members of the default session, at the volume that each has kept. Raises `speaker.closed`.
function speaker.unmute() end

---Returns `true` if all available members of the default session are muted. Raises `speaker.closed`.
---@return boolean
function speaker.is_muted() end

---@class speaker.PlayOptions
---@field title? string Title of a single file shown to people (default: the file's name).
---@field start? Duration Position of the file, of a queue the first one, at which playback begins (default: 0).
---@field loop? boolean `true` repeats the file or the queue without end (default: false).
---@field shuffle? boolean `true` plays a queue in random order, drawn by `math.random`; with `loop`, anew for each round (default: false).
---@field priority? integer Priority of the session from now on, 0 to 1000 (initially 100).
---@field resume? boolean `true`: a paused session resumes its source, and the file and the other options are ignored (default: false).

---@class speaker.StreamOptions
---@field title? string Title shown to people (default: the station's name, else the URL).
---@field priority? integer Priority of the session from now on, 0 to 1000.

---Plays a stream on the default session in place of the current source; starts it if it is stopped, and returns when it
---is heard. Pausing or resuming either the session or the stream does so to both. A stream opened from a URL stops with
---`stop` or when another source replaces it; a stream object continues silently, and is heard again after the next
---`play_stream`.
---
---Raises `speaker.no_active_device` before it connects; `stream.in_use` (another session plays the stream); the errors
---of `stream.new` and `Stream:start`; `speaker.superseded`, `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param url_or_stream string|stream.Stream A URL, the name of a station of the configuration, or a stream object.
---@param options? speaker.StreamOptions
function speaker.play_stream(url_or_stream, options) end

---Plays a file, or several as a queue, on the default session in place of the current source, and returns when the first
---one plays. A queue is a list of paths, a folder (its sound files in natural order of their names, "2" before "10", then
---those of its subfolders) or a playlist of files (M3U, PLS, XSPF; relative paths count from its folder; one that lists a
---station is refused, as `play_stream` plays those). Its files follow each other without a gap, each announced by a
---`track` event; one that can't be read is reported by an `error` event, and the next one plays. Position, duration,
---`seek` and `pause` are those of the current file; `ended` comes once, at the end of the queue. A queue whose first file
---has one or two channels plays all its files in stereo.
---
---Raises `speaker.no_active_device` before it opens a file; `audio.not_found` (also a folder or playlist without sound
---files), `audio.unreadable` (also when no file of a queue can be read), `audio.unsupported`, after which the current
---source continues; `speaker.range` (`start` past the end);
---`speaker.superseded` (a `stop`, another `play` or the leave of the last speaker while the file was opening);
---`speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param path string|string[] Path of a file in WAV, AIFF, CAF, MP3, AAC, M4A (HE-AAC too), FLAC or Ogg (Vorbis, Opus, FLAC), of a folder or a playlist, or a list of such paths: relative to the working folder, else to the script's folder, or `~/…`.
---@param options? speaker.PlayOptions
function speaker.play(path, options) end

---Goes to the next file of the queue on the default session, playing or paused; behind the last one the session stops
---(`ended` with `"stopped"`), or goes to the first one with `loop`. A single file is a queue of one.
---
---Raises `speaker.no_queue` (nothing plays, or a stream), `speaker.closed`.
function speaker.next() end

---Goes to the previous file of the queue on the default session within the first 3 s of the current file; later, to the
---beginning of the current one. At the first file: to its beginning, or to the last one with `loop`. Raises as `next`.
function speaker.previous() end

---Returns the files of the queue on the default session in the order in which they play, and the index of the current
---one: an empty list and nil if no file plays. Raises `speaker.closed`.
---@return speaker.Source[] files
---@return integer? index From 1.
function speaker.queue() end

---Pauses the default session at its position; no effect if it does not play. Raises `speaker.closed`.
function speaker.pause() end

---Resumes the default session after `pause`. Raises `speaker.not_paused`, `speaker.closed`.
function speaker.resume() end

---Stops the default session, and cancels a `play` that is still opening; else no effect. Raises `speaker.closed`.
function speaker.stop() end

---Returns the state of the default session. Raises `speaker.closed`.
---@return speaker.State
function speaker.state() end

---Returns `true` if the default session plays; `false` while it is paused. Raises `speaker.closed`.
---@return boolean
function speaker.is_playing() end

---Returns the position of the source that is heard, in seconds; 0 if the session is stopped. Raises `speaker.closed`.
---@return number seconds
function speaker.position() end

---Returns the length of the source in seconds; nil if the session is stopped or the length is unknown. Raises
---`speaker.closed`.
---@return number? seconds
function speaker.duration() end

---Moves to a position of the source, in a queue of the current file, playing or paused; exactly to its end: the source
---ends, or the next file begins.
---
---Raises `speaker.range` (outside of the source), `speaker.no_seek` (stopped, or a source without seeking),
---`speaker.closed`, `argument`.
---@param seconds Duration Position from the start of the source.
function speaker.seek(seconds) end

---Sets the gain of the session in dB, applied before the speakers' volumes, over a ramp of 20 ms. Above 0 dB a limiter
---keeps the signal below full scale. Raises `speaker.closed`, `argument`.
---@param gain number -90 to 12 dB; 0 is neutral (initially 0).
function speaker.set_gain(gain) end

---Gains of the ten bands of an equalizer, -12 to 12 dB, by the band's centre frequency in Hz. Omitted bands are at 0
---dB.
---@class speaker.EqualizerBands
---@field [31] number?
---@field [62] number?
---@field [125] number?
---@field [250] number?
---@field [500] number?
---@field [1000] number?
---@field [2000] number?
---@field [4000] number?
---@field [8000] number?
---@field [16000] number?

---@alias speaker.EqualizerPreset
---| "flat"
---| "rock"
---| "pop"
---| "jazz"
---| "classical"
---| "electronic"
---| "voice"
---| "bass_boost"
---| "bass_cut"
---| "treble_boost"
---| "treble_cut"
---| "loudness"
---| "night"

---Sets the equalizer of the session; takes effect within 20 ms, without a click. A limiter keeps raised bands below
---full scale; `"flat"` leaves every bit as it is. Raises `speaker.closed`, `speaker.unsupported`, `argument`.
---@param eq speaker.EqualizerPreset|speaker.EqualizerBands The name of a preset, or the gains of bands in dB.
function speaker.set_eq(eq) end

---Returns the equalizer's gains, a table that `set_eq` accepts, and the name of the preset with these gains, if any.
---Raises `speaker.closed`.
---@return speaker.EqualizerBands bands
---@return speaker.EqualizerPreset? preset
function speaker.eq() end

---@class speaker.FadeOptions
---@field over Duration Length of the fade, at most a day.
---@field gain? number Gain of the session at the end, -90 to 12 dB.
---@field volume? integer Volume of the members at the end, 0 to 50; each step is a `volume` event.
---@field to? integer Alias of `volume`.

---Fades the gain or the volume, and returns at the end of the fade. Exactly one of `gain`, `volume` and `to` is
---required. A fade of the volume begins at the volume that was set last; of two fades of a speaker the later one wins.
---
---Raises `speaker.range` (longer than a day), `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param options speaker.FadeOptions
function speaker.fade(options) end

---Requests the state of every speaker; each change is a `device` event. Raises `speaker.closed`, `task.cannot_suspend`.
---@async
function speaker.refresh() end

---Starts or stops a refresh every 2 s (initially off). Raises `speaker.closed`, `argument`.
---@param on boolean
function speaker.watch(on) end

---A speaker, a group, or the name of one; the name of a group takes precedence over the names of its speakers.
---@alias speaker.Target speaker.Device|speaker.Group|string

---@class speaker.SessionOptions
---@field name? string Name shown to people (default: `"session 1"` and so on).
---@field devices? speaker.Target|speaker.Target[] First members (default: none); all of them join, or the call raises and none does.
---@field priority? integer 0 to 1000 (default: 100).

---Creates a session beside the default one: another source on other speakers. The session ends with the script.
---
---Raises `speaker.outranked`, `speaker.no_stream` (too many sessions), `speaker.unknown`, `speaker.closed`,
---`argument`.
---@param options? speaker.SessionOptions
---@return speaker.Session
function speaker.session(options) end

---@class speaker.InterruptOptions
---@field play string|fun(session: speaker.Session) Path of a file, or a function that is called with the session of the interrupted speakers.
---@field devices? speaker.Target|speaker.Target[] Speakers to interrupt, all or none (default: those of the default session).
---@field priority? integer 0 to 1000 (default: 100). Speakers in a session of higher priority can't be interrupted.
---@field volume? integer Volume of the speakers during the interruption, 0 to 50; unmutes (default: unchanged).
---@field fade? Duration Length of the fade-out before and the fade-in after (default: 0).
---@field name? string Name of the session, shown to people (default: `"interruption"`).
---@field restore? boolean `false` restores nothing at the end (default: true).

---Moves speakers into a session of its own, plays, and restores what it changed, unless somebody else has changed it
---since: membership, volume, mute, and the position of a session whose speakers it had all. Returns when that has taken
---effect.
---
---Raises `speaker.outranked`, `speaker.no_active_device`, `speaker.no_stream`, `speaker.unknown`, `speaker.closed`,
---`audio.not_found`, `audio.unreadable`, `audio.unsupported`, `argument`, `task.cannot_suspend`, and the errors of the
---function.
---@async
---@param options speaker.InterruptOptions
function speaker.interrupt(options) end

---Returns a snapshot of speakers: volume, mute, session, and the sessions' sources and positions. Raises
---`speaker.unknown`, `speaker.closed`, `argument`.
---@param options? { devices?: speaker.Target|speaker.Target[] } Speakers of the snapshot (default: all).
---@return speaker.Snapshot
function speaker.snapshot(options) end

---Returns the controls of the embedded house, for tests and demonstrations. Raises `speaker.unsupported` with other
---drivers, `speaker.closed`.
---@return speaker.House
function speaker.house() end

---Waits until the source of the default session, playing or paused, has ended; returns at once if it is stopped.
---
---Raises `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param timeout? Duration Longest wait (default: none).
---@return speaker.EndReason? reason The reason for the end of the source; no value if the session was stopped, nil after the timeout.
---@return "timeout"? timeout
function speaker.finish(timeout) end

---Calls a function with every event of that name in the house, each time in a routine of its own, until the
---subscription is cancelled. Raises `argument` (for an unknown event it lists the known ones), `speaker.closed`.
---@param event speaker.Event
---@param fn async fun(event: table)
---@return Subscription
---@overload fun(event: "device", fn: async fun(event: speaker.DeviceEvent)): Subscription
---@overload fun(event: "volume", fn: async fun(event: speaker.VolumeEvent)): Subscription
---@overload fun(event: "state", fn: async fun(event: speaker.StateEvent)): Subscription
---@overload fun(event: "time", fn: async fun(event: speaker.TimeEvent)): Subscription
---@overload fun(event: "ended", fn: async fun(event: speaker.EndedEvent)): Subscription
---@overload fun(event: "track", fn: async fun(event: speaker.TrackEvent)): Subscription
---@overload fun(event: "error", fn: async fun(event: speaker.ErrorEvent)): Subscription
---@overload fun(event: "suspending"|"suspended"|"resumed", fn: async fun(event: speaker.SuspensionEvent)): Subscription
function speaker.on(event, fn) end

---Calls a function with the next event of that name, once. Raises `argument`, `speaker.closed`.
---@param event speaker.Event
---@param fn async fun(event: table)
---@return Subscription
---@overload fun(event: "device", fn: async fun(event: speaker.DeviceEvent)): Subscription
---@overload fun(event: "volume", fn: async fun(event: speaker.VolumeEvent)): Subscription
---@overload fun(event: "state", fn: async fun(event: speaker.StateEvent)): Subscription
---@overload fun(event: "time", fn: async fun(event: speaker.TimeEvent)): Subscription
---@overload fun(event: "ended", fn: async fun(event: speaker.EndedEvent)): Subscription
---@overload fun(event: "track", fn: async fun(event: speaker.TrackEvent)): Subscription
---@overload fun(event: "error", fn: async fun(event: speaker.ErrorEvent)): Subscription
---@overload fun(event: "suspending"|"suspended"|"resumed", fn: async fun(event: speaker.SuspensionEvent)): Subscription
function speaker.once(event, fn) end

---Waits for the next event of that name; earlier events do not count.
---
---Raises `argument`, `speaker.closed`, `task.cannot_suspend`.
---@async
---@param event speaker.Event
---@param timeout? Duration Longest wait (default: none).
---@return table? event The event's payload; nil if none was emitted.
---@return "timeout"|"closed"|nil why The reason for nil.
---@overload fun(event: "device", timeout?: Duration): speaker.DeviceEvent?, string?
---@overload fun(event: "volume", timeout?: Duration): speaker.VolumeEvent?, string?
---@overload fun(event: "state", timeout?: Duration): speaker.StateEvent?, string?
---@overload fun(event: "time", timeout?: Duration): speaker.TimeEvent?, string?
---@overload fun(event: "ended", timeout?: Duration): speaker.EndedEvent?, string?
---@overload fun(event: "track", timeout?: Duration): speaker.TrackEvent?, string?
---@overload fun(event: "error", timeout?: Duration): speaker.ErrorEvent?, string?
---@overload fun(event: "suspending"|"suspended"|"resumed", timeout?: Duration): speaker.SuspensionEvent?, string?
function speaker.wait(event, timeout) end

---@alias speaker.Event "device"|"volume"|"state"|"time"|"ended"|"track"|"error"|"suspending"|"suspended"|"resumed"
---The channels that a speaker renders. The last six roles are those of a 5.1 layout. A file with more than two channels
---plays each channel on its own role (7.1: back and side together; a role whose channel is missing is silent) and a
---stereo mix on the first four roles. Any other source plays its left channel on the left roles, its right channel on
---the right ones, and the mean of both on `center` and `lfe`.
---@alias speaker.Role
---| "stereo" # left channel on the left output, right channel on the right output.
---| "left" # left channel on both outputs.
---| "right" # right channel on both outputs.
---| "mono" # mean of both channels on both outputs.
---| "front_left"
---| "front_right"
---| "center"
---| "lfe" # low frequencies, not filtered.
---| "surround_left"
---| "surround_right"

---@alias speaker.State "stopped"|"playing"|"paused"
---The reason for the end of a source: heard to its end; stopped by a call; replaced by another source; failed while it
---played; the last speaker left, or none could be reached for 30 s.
---@alias speaker.EndReason "finished"|"stopped"|"replaced"|"failed"|"no_devices"

---@alias speaker.DeviceReason
---| "added" # the speaker was added to the house; not emitted for speakers found by `open`.
---| "joined" # the speaker became a member of a session.
---| "left" # the speaker left its session.
---| "available" # the speaker can be reached again.
---| "unavailable" # the speaker can't be reached.
---| "renamed" # the name has changed.
---| "regrouped" # the group, or its id, has changed.
---| "role" # the role has changed.
---| "balance" # the balance has changed.
---| "wifi" # the received signal strength has changed.
---| "removed" # the speaker was removed from the house.
---| "playing" # `is_playing` has changed.

---Event: a property of a speaker other than its volume has changed.
---@class speaker.DeviceEvent
---@field device speaker.Device
---@field reason speaker.DeviceReason

---Event: a speaker has a new volume, or was muted or unmuted.
---@class speaker.VolumeEvent
---@field device speaker.Device
---@field volume integer Volume of the speaker, 0 to 50, also while it is muted.
---@field muted boolean
---@field average integer Average volume of the house, as `speaker.volume()`.
---@field cause? speaker.LevelCause Origin of the change; nil for a command or a fade.

---@alias speaker.LevelCause
---| "interruption" # an interruption sets the volume at which it plays.
---| "restored" # the end of the last interruption restores the volume of before.

---Event: a session plays, pauses or stops.
---@class speaker.StateEvent
---@field state speaker.State
---@field session speaker.Session

---Event: one more second of a source has been heard.
---@class speaker.TimeEvent
---@field elapsed integer Whole seconds from the start of the source, in a queue of the current file; a single looped file counts on over its repeats.
---@field session speaker.Session

---Event: a source has ended. Unless it was replaced, the `state` event with `"stopped"` is emitted before.
---@class speaker.EndedEvent
---@field session speaker.Session
---@field source speaker.Source
---@field reason speaker.EndReason

---Event: a file of a queue begins to be heard, the first one too.
---@class speaker.TrackEvent
---@field session speaker.Session
---@field source speaker.Source The file.
---@field index integer Place of the file in the order of playing, from 1.
---@field count integer Number of files in the queue.

---Event: an interruption moves all speakers of a session: `suspending` before the fade-out, `suspended` when the
---session is silent, `resumed` when the session has its speakers again.
---@class speaker.SuspensionEvent
---@field session speaker.Session The interrupted session.
---@field by speaker.Session The interrupting session.

---Event: an operation failed that no caller waits for.
---@class speaker.ErrorEvent
---@field error Error
---@field code string Code of the error.
---@field message string Message of the error.
---@field device? speaker.Device The speaker concerned.
---@field session? speaker.Session The session concerned.

---The source of a session.
---@class speaker.Source
---@field path string Path of the file, or URL of the stream.
---@field title string Title passed to `play` or `play_stream`, else that of the playlist, else the name of the file or station, else the URL.

---A speaker; prints as `speaker "Kitchen" (volume 20, playing)`.
---@class speaker.Device
---@field id string Stable and unique in the house.
---@field name string Name shown to people, unique in the house.
---@field group_id string Id of the group, which is the id of its founder; the speaker's own id without a group.
---@field group_name string Name of the group; `speaker.UNGROUPED` without a group.
---@field group? speaker.Group The group, or nil.
---@field model string The maker's name of the model.
---@field ip_address string
---@field port integer TCP port of the control connection.
---@field mac_address string Six hexadecimal pairs with colons.
---@field volume integer Volume in effect, 0 to 50, also while muted.
---@field muted boolean
---@field active boolean `true` if the speaker is in a session.
---@field session? speaker.Session The session of the speaker, or nil.
---@field available boolean `true` if the speaker can be reached.
---@field wifi_signal integer Received signal strength in dBm, -100 to 0, at the last refresh.
---@field wifi_strength "excellent"|"good"|"fair"|"weak"|"none" Class of `wifi_signal`: from -50, -60, -70, -89 dBm up, or less; `"none"` while unavailable.
---@field role speaker.Role The channels that the speaker renders.
---@field version string Version of the firmware.
---@field balance integer -6 (left) to 6 (right).
---@field is_playing boolean `true` if its session plays and the speaker is available.
---@field channel_type integer 1 for the roles `"stereo"`, `"left"` and `"right"`, else 0.
---@field is_master boolean `true` if the speaker founded its group or has no group.
local Device = {}

---Sets the speaker's volume and unmutes it; takes effect some milliseconds later, with a `volume` event. Raises
---`speaker.unavailable`, `speaker.closed`, `argument`.
---@param volume integer 0 to 50.
function Device:set_volume(volume) end

---Mutes the speaker, which keeps its volume. Raises `speaker.unavailable`, `speaker.closed`.
function Device:mute() end

---Unmutes the speaker, at the volume that it has kept. Raises `speaker.unavailable`, `speaker.closed`.
function Device:unmute() end

---Makes the speaker a member of a session, also while that plays: the speaker starts in step with the other members. A
---speaker is in one session at a time: it leaves its former one.
---
---Raises `speaker.outranked` (its session has a higher priority), `speaker.unavailable` (removed from the house),
---`speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param session? speaker.Session The session to join (default: the default session).
function Device:join(session) end

---Removes the speaker from its session: it falls silent at once, and the session stops without its last member. No
---effect if it is in no session. Raises `speaker.unavailable` (removed from the house), `speaker.closed`,
---`task.cannot_suspend`.
---@async
function Device:leave() end

---Requests the speaker's received signal strength. Raises `speaker.unavailable`, `speaker.closed`,
---`task.cannot_suspend`.
---@async
---@return integer wifi_signal dBm
function Device:refresh_wifi() end

---Renames the speaker. While it plays, its session stops with an `error` event `speaker.renamed_while_playing`.
---
---Raises `speaker.range` (a blank, overlong or taken name), `speaker.unavailable`, `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param name string The new name, at most 100 letters.
function Device:set_name(name) end

---Moves the speaker into the group of a name, which it founds if there is none. While it plays: as `set_name`.
---
---Raises `speaker.range`, `speaker.unavailable`, `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param name string Name of the group, at most 100 letters; `speaker.UNGROUPED` for no group.
function Device:set_group(name) end

---Removes the speaker from its group. While it plays: as `set_name`. Raises `speaker.unavailable`, `speaker.closed`,
---`task.cannot_suspend`.
---@async
function Device:leave_group() end

---Sets the channels that the speaker renders; takes effect some milliseconds later. Raises `speaker.unavailable`,
---`speaker.closed`, `argument`.
---@param role speaker.Role
function Device:set_role(role) end

---Sets the balance of the speaker; takes effect some milliseconds later. Raises `speaker.unavailable`,
---`speaker.closed`, `argument`.
---@param balance integer -6 (left) to 6 (right).
function Device:set_balance(balance) end

---@class speaker.VolumeFadeOptions
---@field over Duration Length of the fade, at most a day.
---@field volume? integer Volume at the end, 0 to 50.
---@field to? integer Alias of `volume`.

---Fades the speaker's volume, each step with a `volume` event, and returns at the end of the fade. Exactly one of
---`volume` and `to` is required.
---
---Raises `speaker.range` (longer than a day), `speaker.unavailable`, `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param options speaker.VolumeFadeOptions
function Device:fade(options) end

---@alias speaker.DeviceEventName "device"|"volume"|"state"|"time"|"ended"|"track"|"suspending"|"suspended"|"resumed"

---Calls a function with every event of that name of the speaker or of its session, as `speaker.on`. Raises `argument`,
---`speaker.closed`.
---@param event speaker.DeviceEventName
---@param fn async fun(event: table)
---@return Subscription
function Device:on(event, fn) end

---Calls a function with the next event of that name, once; events as for `on`. Raises `argument`, `speaker.closed`.
---@param event speaker.DeviceEventName
---@param fn async fun(event: table)
---@return Subscription
function Device:once(event, fn) end

---Waits for the next event of that name of the speaker or of its session, as `speaker.wait`. Raises `argument`,
---`speaker.closed`, `task.cannot_suspend`.
---@async
---@param event speaker.DeviceEventName
---@param timeout? Duration Longest wait (default: none).
---@return table? event
---@return "timeout"|"closed"|nil why
function Device:wait(event, timeout) end

---The speakers that share a group name, such as those of a room; prints as `group "Bedroom" (2 speakers)`. Its methods
---raise `speaker.unknown` if the group has no speaker any more, and those that set volumes raise `speaker.unavailable`
---if none can be reached.
---@class speaker.Group
---@field id? string Id of the founder; nil without a member.
---@field name string
---@field devices speaker.Device[] The founder first, then in the order in which they joined the group.
---@field active boolean `true` if all its speakers are in a session.
---@field volume integer Average volume of its available speakers, 0 to 50; a muted one counts as 0.
---@field muted boolean `true` if all its available speakers are muted.
local Group = {}

---Makes the group's speakers members of a session, all of them or none; see `Device:join`. Raises `speaker.outranked`,
---`speaker.unknown`, `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param session? speaker.Session The session to join (default: the default session).
function Group:join(session) end

---Removes the group's speakers from their sessions; see `Device:leave`. Raises `speaker.unknown`, `speaker.closed`,
---`task.cannot_suspend`.
---@async
function Group:leave() end

---Sets the available speakers of the group to one volume and unmutes them; takes effect some milliseconds later. Raises
---`speaker.unknown`, `speaker.unavailable`, `speaker.closed`, `argument`.
---@param volume integer 0 to 50.
function Group:set_volume(volume) end

---Mutes the group's speakers; each keeps its volume. Raises `speaker.unknown`, `speaker.unavailable`, `speaker.closed`.
function Group:mute() end

---Unmutes the group's speakers, at the volume that each has kept. Raises `speaker.unknown`, `speaker.unavailable`,
---`speaker.closed`.
function Group:unmute() end

---Fades the volume of the group's speakers, as `Device:fade`. Raises `speaker.range`, `speaker.unknown`,
---`speaker.unavailable`, `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param options speaker.VolumeFadeOptions
function Group:fade(options) end

---@alias speaker.GroupEventName "device"|"volume"|"state"|"time"|"ended"|"track"|"suspending"|"suspended"|"resumed"

---Calls a function with every event of that name of the group's speakers, also of one that leaves the group, or of
---their sessions, as `speaker.on`; an event of a session once, for however many of its members. Raises `argument`,
---`speaker.closed`.
---@param event speaker.GroupEventName
---@param fn async fun(event: table)
---@return Subscription
function Group:on(event, fn) end

---Calls a function with the next event of that name, once; events as for `on`. Raises `argument`, `speaker.closed`.
---@param event speaker.GroupEventName
---@param fn async fun(event: table)
---@return Subscription
function Group:once(event, fn) end

---Waits for the next event of that name, as `speaker.wait`; events as for `on`. Raises `argument`, `speaker.closed`,
---`task.cannot_suspend`.
---@async
---@param event speaker.GroupEventName
---@param timeout? Duration Longest wait (default: none).
---@return table? event
---@return "timeout"|"closed"|nil why
function Group:wait(event, timeout) end

---A session: speakers that play one source in step, with one state and one position; prints as
---`session "default" (playing "wake_up.mp3", 6 speakers)`.
---@class speaker.Session
---@field name string
---@field priority integer 0 to 1000, initially 100: a session of lower priority can't take speakers from one of higher.
---@field devices speaker.Device[] The members, in the order of the house.
---@field source? speaker.Source What plays or is paused; nil if the session is stopped.
---@field suspended boolean `true` while an interruption has all its speakers.
local Session = {}

---Plays a file or a queue of files on the session, as `speaker.play`. Raises the same.
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

---Moves to a position of the source, as `speaker.seek`. Raises `speaker.range`, `speaker.no_seek`, `speaker.closed`,
---`argument`.
---@param seconds Duration Position from the start of the source.
function Session:seek(seconds) end

---Waits until the source of the session has ended, as `speaker.finish`. Raises `argument`, `task.cannot_suspend`.
---@async
---@param timeout? Duration Longest wait (default: none).
---@return speaker.EndReason? reason
---@return "timeout"? timeout
function Session:finish(timeout) end

---Sets the members to one volume and unmutes them. Raises `speaker.closed`, `argument`.
---@param volume integer 0 to 50.
function Session:set_volume(volume) end

---Sets the gain of the session in dB, as `speaker.set_gain`. Raises `speaker.closed`, `argument`.
---@param gain number -90 to 12 dB.
function Session:set_gain(gain) end

---Plays a stream on the session, as `speaker.play_stream`. Raises the same.
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

---Fades the gain or the members' volume, as `speaker.fade`. Raises `speaker.range`, `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param options speaker.FadeOptions
function Session:fade(options) end

---Stops the session and releases its speakers; every later command to it raises `speaker.closed`. Ends the interruption
---whose session this is. No effect the second time. Raises `speaker.unsupported` for the default session.
function Session:close() end

---Returns the average volume of the available members, 0 to 50; a muted one counts as 0.
---@return integer
function Session:volume() end

---Mutes the members; each keeps its volume. Raises `speaker.closed`.
function Session:mute() end

---Unmutes the members, at the volume that each has kept. Raises `speaker.closed`.
function Session:unmute() end

---Returns `true` if all available members are muted.
---@return boolean
function Session:is_muted() end

---@alias speaker.SessionEventName "state"|"time"|"ended"|"track"|"error"|"suspending"|"suspended"|"resumed"|"closed"

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

---Makes a speaker available again, in step with its session. Raises `speaker.unavailable` (removed from the house),
---`speaker.closed`.
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

---A subscription, as `on` and `once` return it; stays active until it is cancelled, also if the script does not keep
---it. Prints as `subscription to "ended" (active)`.
---@class Subscription
---@field event string Name of the event.
---@field active boolean `true` while the function may still be called.
---@field failures integer Calls of the function that have raised; each is logged and affects nothing else.
local Subscription = {}

---Cancels the subscription: the function is not called any more, not even with an event that is being emitted.
function Subscription:cancel() end

return speaker
