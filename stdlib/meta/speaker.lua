---@meta speaker
---@search room music song track player queue playlist crossfade gapless multiroom sonos airplay
---@search bluetooth spotify chromecast dlna

-- The house: its speakers, their volumes, playback on them, and their events.
--
--   local speaker = require "speaker"
--   local kitchen = speaker.device "kitchen"
--   speaker.on("ended", function(event)
--     print(event.source.title, event.reason)
--   end)
--   kitchen:set_volume(20)
--   speaker.play("wake_up.mp3", { rooms = kitchen })
--   speaker.finish()
--
-- Every function raises the errors of `speaker.open`, as the first use of the module opens the house: every function but
-- `is_open` and `is_opening`, and the field `own`, may suspend until it is open.
--
-- Each script has a session of its own, `speaker.own`, without rooms at first: `play(path, { rooms = "Kitchen" })`, `join`
-- of a speaker or a group, and `open { add_all = true }` say which rooms it wants. It has idle ones at once; one in which
-- another session sounds goes to the session that begins to sound there, by priority, and on equal ones to the later.
--
-- Playback functions act on the own session; each is a method of sessions too. After `close` they raise
-- `speaker.closed`, until `open` opens a new house. An object keeps its identity while the script holds it, and its
-- fields show the current state. Assigning to a field raises and names the method that changes it. An operation that
-- the driver lacks raises `speaker.unsupported`, see `capabilities`.

---@class speakerlib
local speaker = {}

---The script's own session, which outlives a reload of the script.
---@type speaker.Session
speaker.own = nil

---The maximum volume, 50: unity gain. A step is 0.9 dB; 0 is silence.
speaker.MAX_VOLUME = 50

---The group name of a speaker without a group.
speaker.UNGROUPED = "harman"

---@class speaker.OpenOptions
---@field driver? "house"|"snapcast"|"hkwhub" Name of the driver, for a script that requires it (default: that of the configuration).
---@field license? string Licence key of the driver; no driver of today requires one.
---@field add_all? boolean `true`: the own session wants every room of the house (default: false).
---@field wait? Duration|false Longest wait for another process that has the house; `false`: no wait (default: 30 s).

---Opens the house in the state of the last run, and returns after the first discovery; at once if it is open already.
---One process at a time drives a house: a second one logs that it waits, but for the daemon only as long as `wait` says.
---
---Raises `speaker.busy` (another process has the house, named by `process`), `speaker.unsupported` (another driver),
---`audio.no_output`, `speaker.lost` (names and volumes can't be stored), `speaker.closed` (closed while it was
---opening), `argument`, `task.cannot_suspend`.
---@async
---@param options? speaker.OpenOptions
function speaker.open(options) end

---Closes the house: stops every session, completes the outputs, makes each `wait` return `nil, "closed"`, and emits no
---further event. In a house that other scripts use too, closes the own session alone. No effect if the house is not open.
---Raises `task.cannot_suspend`.
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

---Returns the groups whose speakers are all in a session. Raises `speaker.closed`.
---@return speaker.Group[]
function speaker.active_groups() end

---Returns the open sessions of all scripts and people, in the order of their creation. Raises `speaker.closed`.
---@return speaker.Session[]
function speaker.sessions() end

---Sets the rooms that the own session wants to one volume, whoever plays there, and unmutes them; takes effect some
---milliseconds later, with a `volume` event for each speaker. Raises `speaker.no_active_device` (it wants none),
---`speaker.closed`, `argument`.
---@param volume integer 0 to 50.
function speaker.set_volume(volume) end

---Returns the average volume of the available speakers that the own session wants, 0 to 50; a muted one counts as 0.
---Raises `speaker.closed`.
---@return integer
function speaker.volume() end

---Mutes the rooms that the own session wants; each speaker keeps its volume. Raises `speaker.no_active_device` (it wants
---none), `speaker.closed`.
function speaker.mute() end

---Unmutes the rooms that the own session wants, at the volume that each speaker has kept. Raises
---`speaker.no_active_device` (it wants none), `speaker.closed`.
function speaker.unmute() end

---Returns `true` if all available speakers that the own session wants are muted. Raises `speaker.closed`.
---@return boolean
function speaker.is_muted() end

---@class speaker.PlayOptions
---@field title? string Title of a single file shown to people (default: the file's name).
---@field start? Duration Position at which playback of the file, or of the first file of a queue, begins (default: 0).
---@field loop? boolean `true` repeats the file or the queue without end (default: false).
---@field shuffle? boolean `true` plays a queue in random order, drawn by `math.random`; with `loop`, anew for each round (default: false).
---@field priority? integer Priority of the session from now on, 0 to 1000 (initially 100).
---@field rooms? speaker.Target|speaker.Target[] The rooms that the session wants once the source is open, in place of those that it wants (default: no change).
---@field resume? boolean `true`: a paused session resumes its source, and the file and the other options are ignored (default: false).

---@class speaker.StreamOptions
---@field title? string Title shown to people (default: the station's name, else the URL).
---@field priority? integer Priority of the session from now on, 0 to 1000.
---@field rooms? speaker.Target|speaker.Target[] As for `play`.

---Plays a stream on the own session in place of the current source; starts it if it is stopped, and returns when it
---is heard. Pausing or resuming the session or the stream pauses or resumes both. A stream opened from a URL stops with
---`stop` or when another source replaces it; a stream object continues silently, and is heard again after the next
---`play_stream`.
---
---Raises `speaker.no_active_device`, `speaker.outranked` and `speaker.no_stream` (as `play`) before it connects;
---`stream.in_use` (another session plays the stream); the errors of `stream.new` and `stream.Stream:start`;
---`speaker.unknown` (a room), `speaker.superseded`, `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param url_or_stream string|stream.Stream A URL, the name of a station of the configuration, or a stream object.
---@param options? speaker.StreamOptions
function speaker.play_stream(url_or_stream, options) end

---Plays a file, or several as a queue, on the own session in place of the current source, and returns when the first
---one plays. A queue is a list of paths, a folder (its sound files in natural order of their names, "2" before "10", then
---those of its subfolders) or a playlist of files (M3U, PLS, XSPF; relative paths count from its folder; one that lists a
---station is refused, as `play_stream` plays those). The files of a queue follow each other without a gap, each with a
---`track` event; one that can't be read is reported by an `error` event, and the next one plays. Position, duration,
---`seek` and `pause` are those of the current file; `ended` comes once, at the end of the queue. A queue whose first file
---has one or two channels plays all its files in stereo.
---
---Raises `speaker.no_active_device` (the session wants no room, or none that can be reached), `speaker.outranked`
---(sessions of higher priority keep all rooms that it wants) and `speaker.no_stream` (sessions of its priority or higher
---have all streams of the driver, see `limit`; the hint lists them) before it opens a file; `audio.not_found` (also a folder or playlist
---without sound files), `audio.unreadable` (also when no file of a queue can be read), `audio.unsupported`, after which
---the current source continues in its rooms; `stream.url`, `stream.unsupported` (a URL that does not work here either);
---`speaker.unknown` (a room), `speaker.range` (`start` past the end);
---`speaker.superseded` (a `stop` or another `play` came, or the last speaker left, while the file was opening);
---`speaker.unavailable`, `speaker.lost` (the hub of the driver hkwhub refuses it, or is lost: nothing plays then);
---`speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param path string|string[] Path of a file in WAV, AIFF, CAF, MP3, AAC, M4A (HE-AAC too), FLAC or Ogg (Vorbis, Opus, FLAC), of a folder or a playlist, or a list of such paths: relative to the working folder, else to the script's folder, or `~/…`.
---@param options? speaker.PlayOptions
function speaker.play(path, options) end

---Goes to the next file of the queue on the own session, playing or paused; after the last one the session stops
---(`ended` with `"stopped"`), or goes to the first one with `loop`. A single file is a queue of one.
---
---Raises `speaker.no_queue` (nothing plays, or a stream), `speaker.closed`.
function speaker.next() end

---Goes to the previous file of the queue on the own session within the first 3 s of the current file; later, to the
---beginning of the current one. At the first file: to its beginning, or to the last one with `loop`. Raises as `next`.
function speaker.previous() end

---Returns the files of the queue on the own session in the order in which they play, and the index of the current
---one: an empty list and nil if no file plays. Raises `speaker.closed`.
---@return speaker.Source[] files
---@return integer? index From 1.
function speaker.queue() end

---Pauses the own session at its position; no effect if it does not play. Raises `speaker.closed`.
function speaker.pause() end

---Resumes the own session after `pause`. Raises `speaker.not_paused`, `speaker.closed`.
function speaker.resume() end

---Stops the own session, and cancels a `play` that is still opening; else no effect. Raises `speaker.closed`.
function speaker.stop() end

---Returns the state of the own session. Raises `speaker.closed`.
---@return speaker.State
function speaker.state() end

---Returns `true` if the own session plays; `false` while it is paused. Raises `speaker.closed`.
---@return boolean
function speaker.is_playing() end

---Returns the position of the source that is heard, in seconds; 0 if the session is stopped. Raises `speaker.closed`.
---@return number seconds
function speaker.position() end

---Returns the length of the source in seconds; nil if the session is stopped or the length is unknown. Raises
---`speaker.closed`.
---@return number? seconds
function speaker.duration() end

---Moves to a position of the source, or of the current file of a queue, playing or paused. At exactly its end the
---source ends, or the next file begins.
---
---Raises `speaker.range` (outside of the source), `speaker.no_seek` (stopped, or a source without seeking),
---`stream.no_seek` (a stream that is not a file), `speaker.closed`, `argument`.
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
---A speaker that can't be reached, or that an interruption takes at a volume of its own, is left out, and receives the
---volume of the fade when it is back before the end. In an interruption the fade is part of that: the volume of before
---returns. If the routine is cancelled, or its script ends, the fade stops where it is.
---
---Raises `speaker.no_active_device` (a fade of the volume of a session that wants no room), `speaker.range` (longer than
---a day), `speaker.closed`, `argument`, `task.cannot_suspend`.
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
---@field devices? speaker.Target|speaker.Target[] The rooms that it wants at first (default: none).
---@field priority? integer 0 to 1000 (default: 100).

---Creates a session beside the own one: another source on other speakers. The session ends with the script. It needs
---a stream of the driver only while it plays.
---
---Raises `speaker.unknown`, `speaker.closed`, `argument`, `script.flooded` (a thousand sessions are open).
---@param options? speaker.SessionOptions
---@return speaker.Session
function speaker.session(options) end

---@class speaker.InterruptOptions
---@field play string|string[]|fun(session: speaker.Session) Path of a file, a folder, a playlist, or a list of such, as in `speaker.play`; or a function that is called with the session of the interrupted speakers.
---@field devices? speaker.Target|speaker.Target[] Speakers to interrupt, all or none (default: all).
---@field priority? integer 0 to 1000 (default: 100). Speakers in a session of higher priority can't be interrupted.
---@field volume? integer Volume of the speakers during the interruption, 0 to 50; unmutes (default: unchanged).
---@field fade? Duration Length of the fade-out before and the fade-in after (default: 0).
---@field name? string Name of the session, shown to people (default: `"interruption"`).
---@field duck? number Attenuation in dB, 0 to 90, of the source of the speakers, which continues under the sound (default: it is suspended, and continues where it was).
---@field restore? boolean `false` restores nothing at the end (default: true).

---Moves speakers into a session of its own, plays, and restores what it changed, unless somebody else has changed it
---since: membership, volume, mute, and the position of a session all of whose speakers it had. Returns when that has
---taken effect. On a driver without the capability `interrupt`, such as a hub, the session that sounds stops instead
---(`ended`, reason "replaced"). With `duck` speakers stay in their sessions, and `volume` is that of the sound alone;
---sounds with `duck` for the same speaker wait for each other.
---
---The end of the script ends an interruption too. If the process is killed meanwhile, volume and mute return when the
---house opens again, unless somebody has set them since.
---
---Raises `speaker.outranked`, `speaker.no_active_device`, `speaker.no_stream`, `speaker.unknown`, `speaker.closed`,
---`audio.not_found`, `audio.unreadable`, `audio.unsupported`, `stream.url`, `stream.unsupported`, `argument`,
---`task.cannot_suspend`, and the errors of the function.
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

---Waits until the source of the own session, playing or paused, has ended; returns at once if it is stopped.
---
---Raises `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param timeout? Duration Longest wait (default: none).
---@return speaker.EndReason? reason The reason for the end of the source; no value if the session was stopped, nil after the timeout.
---@return "timeout"? timeout
function speaker.finish(timeout) end

---@class speaker.EventOptions
---@field all? boolean `true`: the events of all sessions, not of the own one alone (default: false).

---Calls a function with every event of that name, each time in a routine of its own, until the subscription is
---cancelled: `device` and `volume` of the house, the others of the own session; those of all sessions with the options
---`{ all = true }` between the name and the function. Raises `argument` (for an unknown event it lists the known ones),
---`speaker.closed`.
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
---@overload fun(event: speaker.Event, options: speaker.EventOptions, fn: async fun(event: table)): Subscription
function speaker.on(event, fn) end

---Returns the last changes of the house with their causes, the oldest first, 1000 at most. They are kept for 30 days,
---those of earlier runs too; under simulation, only those of the simulation.
---
---Raises `argument`, `speaker.unknown`.
---@param options? speaker.HistoryOptions
---@return speaker.Change[]
function speaker.history(options) end

---Calls a function with the next event of that name, once; which events, and with which options, as for `on`. Raises
---`argument`, `speaker.closed`.
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
---@overload fun(event: speaker.Event, options: speaker.EventOptions, fn: async fun(event: table)): Subscription
function speaker.once(event, fn) end

---Waits for the next event of that name; earlier events do not count. Which events, and with which options between the
---name and the timeout, as for `on`.
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
---@overload fun(event: speaker.Event, options: speaker.EventOptions, timeout?: Duration): table?, string?
function speaker.wait(event, timeout) end

return speaker
