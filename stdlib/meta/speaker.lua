---@meta speaker

-- The house: its speakers, their volumes, what plays on them, and what happens to them.
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
-- until it is open. After `close` they raise `speaker.closed`, until `open` opens a new house. Objects are the same
-- for as long as the script holds them, and their fields follow what happens. Assigning to a field raises and names
-- the method that changes it. What the driver can't do raises `speaker.unsupported`, see `capabilities`.

error("stdlib/meta/speaker.lua is a description, not a module: require \"speaker\" finds the module itself")

---@class speakerlib
local speaker = {}

---The loudest volume, 50: unity gain. A step is 0.9 dB, 0 is silence.
speaker.MAX_VOLUME = 50

---The group name of a speaker that is in no group.
speaker.UNGROUPED = "harman"

---@class speaker.OpenOptions
---@field driver? "house" What drives the speakers.
---@field license? string What the driver needs to be let in; the embedded house needs none.
---@field add_all? boolean Whether every speaker joins the default session (default: true).
---@field wait? Duration|false How long to wait while another process has the house; false: not at all (default: 30 s).

---Opens the house, as it was left by the last run, and returns after the first discovery; at once when it is open
---already. One process at a time drives a house: a second one says that it waits, and does.
---
---Raises `speaker.busy` (another process has the house: `process` says which), `speaker.unsupported` (a driver that is
---not there), `audio.no_output`, `speaker.lost` (names and volumes can't be kept), `speaker.closed` (closed meanwhile),
---`speaker.unknown` and `speaker.range` (what the configuration says of the speakers), `argument`,
---`task.cannot_suspend`.
---@async
---@param options? speaker.OpenOptions
function speaker.open(options) end

---Closes the house: everything stops, outputs are completed, `wait` gives `nil, "closed"`, no event comes any more.
---Nothing when it is not open. Raises `task.cannot_suspend`.
---@async
function speaker.close() end

---Whether the house is open.
---@return boolean
function speaker.is_open() end

---Whether the house is being opened.
---@return boolean
function speaker.is_opening() end

---What the driver can do, as a set of names: `speaker.capabilities().seek`. Raises `speaker.closed`.
---@return table<string, true>
function speaker.capabilities() end

---All speakers, in stable order. Raises `speaker.closed`.
---@return speaker.Device[]
function speaker.devices() end

---The speaker with that id or name, in any case; a part of a name is enough when only one speaker has it.
---
---Raises `speaker.unknown` when there is none (`suggestion` is the nearest name), when several have that part
---(`candidates`), and for the name of a group; `speaker.closed`, `argument`.
---@param id_or_name string
---@return speaker.Device
function speaker.device(id_or_name) end

---As `device`, but nil when there is none. Raises `speaker.unknown` when several have that part, `speaker.closed`,
---`argument`.
---@param id_or_name string
---@return speaker.Device?
function speaker.find(id_or_name) end

---All groups, in the order of their founders. Raises `speaker.closed`.
---@return speaker.Group[]
function speaker.groups() end

---The group with that name or id, by the rules of `device`. Raises `speaker.unknown`, `speaker.closed`, `argument`.
---@param name_or_id string
---@return speaker.Group
function speaker.group(name_or_id) end

---Speakers that are in a session. Raises `speaker.closed`.
---@return speaker.Device[]
function speaker.active_devices() end

---Groups all of whose speakers are in a session. Raises `speaker.closed`.
---@return speaker.Group[]
function speaker.active_groups() end

---The session that the functions of the module act on. Raises `speaker.closed`.
---@return speaker.Session
function speaker.default_session() end

---Sets members of the default session and speakers in no session to one level and unmutes them; takes effect some
---milliseconds later, which the `volume` event tells. Raises `speaker.closed`, `argument`.
---@param volume integer 0 to 50.
function speaker.set_volume(volume) end

---The average level, 0 to 50: over available speakers, a muted one counts as 0. Raises `speaker.closed`.
---@return integer
function speaker.volume() end

---Silences the members of the default session; each keeps its level. Speakers in no session are left alone. Raises
---`speaker.closed`.
function speaker.mute() end

---Gives the members of the default session the level that they had. Raises `speaker.closed`.
function speaker.unmute() end

---True if all available members of the default session are muted. Raises `speaker.closed`.
---@return boolean
function speaker.is_muted() end

---@class speaker.PlayOptions
---@field title? string What a person would call it; by default the file's name.
---@field start? Duration Where to begin.
---@field loop? boolean Whether it begins again after its end, for ever.
---@field priority? integer The session's from now on, 0 to 1000; it begins with 100.
---@field resume? boolean When the session is paused: goes on with what is paused, and leaves the rest alone.

---@class speaker.StreamOptions
---@field title? string What a person would call it; by default the station's name.
---@field priority? integer The session's from now on, 0 to 1000.

---Plays a stream on the default session in place of what played; starts it when it does not play, and returns when it
---is heard. Pausing and resuming the session and the stream are one. A stream of a URL ends with `stop` or with what
---takes its place; one of an object goes on silently, and sounds again with the next `play_stream`.
---
---Raises `speaker.no_active_device` before it connects; `stream.in_use` (another session plays it); what `start` of the
---stream raises; `speaker.superseded`, `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param url_or_stream string|stream.Stream A URL may be the name of a station of the configuration.
---@param options? speaker.StreamOptions
function speaker.play_stream(url_or_stream, options) end

---Plays a file on the default session in place of what played, and returns when it plays.
---
---Raises `speaker.no_active_device` before it opens the file; `audio.not_found`, `audio.unreadable`,
---`audio.unsupported`, and what played goes on then; `speaker.range` (`start` past the end); `speaker.superseded` (a
---`stop` or another `play` came, or the last speaker left, while it was opening); `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param path string WAV, AIFF, CAF, MP3, AAC, M4A (HE-AAC too), FLAC, Ogg (Vorbis, Opus, FLAC); in the working folder or beside the script, or `~/…`.
---@param options? speaker.PlayOptions
function speaker.play(path, options) end

---Silences the default session, which keeps its place; nothing when it does not play. Raises `speaker.closed`.
function speaker.pause() end

---Goes on after `pause`. Raises `speaker.not_paused`, `speaker.closed`.
function speaker.resume() end

---Stops, and gives up a `play` that is still opening; nothing when neither is so. Raises `speaker.closed`.
function speaker.stop() end

---What the default session does. Raises `speaker.closed`.
---@return speaker.State
function speaker.state() end

---Whether the default session plays, which a paused one does not. Raises `speaker.closed`.
---@return boolean
function speaker.is_playing() end

---Seconds of the source that have been heard, 0 when stopped. Raises `speaker.closed`.
---@return number seconds
function speaker.position() end

---Length of the source, nil when stopped or when it can't be known. Raises `speaker.closed`.
---@return number? seconds
function speaker.duration() end

---Goes to another place of the source, playing or paused; to its end exactly: ends.
---
---Raises `speaker.range` outside of the source, `speaker.no_seek` when stopped, `speaker.closed`, `argument`.
---@param seconds Duration From the start of the source.
function speaker.seek(seconds) end

---Amplifies what plays, ahead of the speakers' levels, over a ramp of 20 ms. Above 0 dB a limiter keeps it below full
---scale. Raises `speaker.closed`, `argument`.
---@param gain number -90 to 12 dB; 0 is neutral.
function speaker.set_gain(gain) end

---Gains of the ten bands of an equalizer, -12 to 12 dB, by the frequency in Hz at the band's centre. Bands that are left
---out are at 0 dB.
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

---Sets the equalizer of what plays, heard within 20 ms and without a click. A limiter keeps what it raises below full
---scale; `"flat"` leaves every bit as it is. Raises `speaker.closed`, `speaker.unsupported`, `argument`.
---@param eq speaker.EqualizerPreset|speaker.EqualizerBands The name of a preset, or the gains of bands in dB.
function speaker.set_eq(eq) end

---The equalizer's gains: a table that `set_eq` takes, and the preset's name when they are one.
---@return speaker.EqualizerBands bands
---@return speaker.EqualizerPreset? preset
function speaker.eq() end

---@class speaker.FadeOptions
---@field over Duration How long it takes.
---@field gain? number Fades the gain to this, -90 to 12 dB, in the mix.
---@field volume? integer Fades the members' volume to this, 0 to 50, step by step, with an event each.
---@field to? integer The same as `volume`.

---Fades the gain, or the volume; returns when it is there. Name one of `gain`, `volume` and `to`. A fade of the volume
---begins at the level that was asked for last; of two fades of a speaker the later one wins.
---
---Raises `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param options speaker.FadeOptions
function speaker.fade(options) end

---Asks every speaker how it is; what changed is told by `device` events. Raises `speaker.closed`,
---`task.cannot_suspend`.
---@async
function speaker.refresh() end

---Refreshes every two seconds from now on, or no longer. Raises `speaker.closed`, `argument`.
---@param on boolean
function speaker.watch(on) end

---A speaker, a group, or the name of one; a room goes before its own speakers.
---@alias speaker.Target speaker.Device|speaker.Group|string

---@class speaker.SessionOptions
---@field name? string What people call it (default: `"session 1"` and so on).
---@field devices? speaker.Target|speaker.Target[] Its first members; all of them or none.
---@field priority? integer 0 to 1000 (default: 100).

---Makes a session of its own beside the default one: another source on other speakers. It ends with the script.
---
---Raises `speaker.outranked`, `speaker.no_stream` (too many sessions), `speaker.unknown`, `speaker.closed`,
---`argument`.
---@param options? speaker.SessionOptions
---@return speaker.Session
function speaker.session(options) end

---@class speaker.InterruptOptions
---@field play string|fun(session: speaker.Session) A file, or what is done with the session of the speakers.
---@field devices? speaker.Target|speaker.Target[] The speakers that it takes, all of them or none; by default those of the default session.
---@field priority? integer 0 to 1000 (default: 100). Sessions with a higher one keep their speakers.
---@field volume? integer The speakers' level meanwhile, 0 to 50.
---@field fade? Duration How long what was playing fades out before, and in after.
---@field restore? boolean False leaves everything as it is at the end.

---Takes speakers from what they do, plays, and gives back what it changed and nobody else has touched meanwhile:
---membership, volume, mute, and the position of a session that it took whole. Returns when that has taken effect.
---
---Raises `speaker.outranked`, `speaker.no_active_device`, `speaker.no_stream`, `speaker.unknown`, `speaker.closed`,
---`audio.not_found`, `audio.unreadable`, `argument`, `task.cannot_suspend`, and what the function raises.
---@async
---@param options speaker.InterruptOptions
function speaker.interrupt(options) end

---How speakers are now: volume, mute, session, and what plays at which position. Raises `speaker.unknown`,
---`speaker.closed`, `argument`.
---@param options? { devices?: speaker.Target|speaker.Target[] } By default every speaker.
---@return speaker.Snapshot
function speaker.snapshot(options) end

---The embedded house's own controls, for tests and demonstrations. Raises `speaker.unsupported` with other drivers,
---`speaker.closed`.
---@return speaker.House
function speaker.house() end

---Waits until what plays or is paused has been heard to its end or ends otherwise; returns at once when nothing plays.
---
---Raises `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param timeout? Duration Seconds or text; without it, for as long as it takes.
---@return speaker.EndReason? reason Why it ended; nothing when nothing played, nil after the timeout.
---@return "timeout"? timeout
function speaker.finish(timeout) end

---Calls a function with every event of that name in the house, in a routine of its own each time, until the
---subscription is cancelled. Raises `argument`, which lists the events, and `speaker.closed`.
---@param event speaker.Event
---@param fn async fun(event: table)
---@return Subscription
---@overload fun(event: "device", fn: async fun(event: speaker.DeviceEvent)): Subscription
---@overload fun(event: "volume", fn: async fun(event: speaker.VolumeEvent)): Subscription
---@overload fun(event: "state", fn: async fun(event: speaker.StateEvent)): Subscription
---@overload fun(event: "time", fn: async fun(event: speaker.TimeEvent)): Subscription
---@overload fun(event: "ended", fn: async fun(event: speaker.EndedEvent)): Subscription
---@overload fun(event: "error", fn: async fun(event: speaker.ErrorEvent)): Subscription
---@overload fun(event: "suspending"|"suspended"|"resumed", fn: async fun(event: speaker.SuspensionEvent)): Subscription
function speaker.on(event, fn) end

---As `on`, for the next event only. Raises `argument`, `speaker.closed`.
---@param event speaker.Event
---@param fn async fun(event: table)
---@return Subscription
---@overload fun(event: "device", fn: async fun(event: speaker.DeviceEvent)): Subscription
---@overload fun(event: "volume", fn: async fun(event: speaker.VolumeEvent)): Subscription
---@overload fun(event: "state", fn: async fun(event: speaker.StateEvent)): Subscription
---@overload fun(event: "time", fn: async fun(event: speaker.TimeEvent)): Subscription
---@overload fun(event: "ended", fn: async fun(event: speaker.EndedEvent)): Subscription
---@overload fun(event: "error", fn: async fun(event: speaker.ErrorEvent)): Subscription
---@overload fun(event: "suspending"|"suspended"|"resumed", fn: async fun(event: speaker.SuspensionEvent)): Subscription
function speaker.once(event, fn) end

---Waits for the next event of that name, never for one that has happened.
---
---Raises `argument`, `speaker.closed`, `task.cannot_suspend`.
---@async
---@param event speaker.Event
---@param timeout? Duration Seconds or text; without it, for as long as it takes.
---@return table? event What `on` is called with; nil when none came.
---@return "timeout"|"closed"|nil why Why none came.
---@overload fun(event: "device", timeout?: Duration): speaker.DeviceEvent?, string?
---@overload fun(event: "volume", timeout?: Duration): speaker.VolumeEvent?, string?
---@overload fun(event: "state", timeout?: Duration): speaker.StateEvent?, string?
---@overload fun(event: "time", timeout?: Duration): speaker.TimeEvent?, string?
---@overload fun(event: "ended", timeout?: Duration): speaker.EndedEvent?, string?
---@overload fun(event: "error", timeout?: Duration): speaker.ErrorEvent?, string?
---@overload fun(event: "suspending"|"suspended"|"resumed", timeout?: Duration): speaker.SuspensionEvent?, string?
function speaker.wait(event, timeout) end

---@alias speaker.Event "device"|"volume"|"state"|"time"|"ended"|"error"|"suspending"|"suspended"|"resumed"
---The channels that a speaker renders. The last six are those of a 5.1 layout: a file with more than two channels plays
---each on its own role (7.1: back and side together; one that the file lacks is silent), any other source its left
---channel on the left ones, its right one on the right ones, the mean on `center` and `lfe`. On the first four such a
---file plays in stereo.
---@alias speaker.Role
---| "stereo" Left on its left output, right on its right one.
---| "left" The left channel on both outputs.
---| "right" The right channel on both outputs.
---| "mono" The mean of both channels on both outputs.
---| "front_left"
---| "front_right"
---| "center"
---| "lfe" Low frequencies, not filtered.
---| "surround_left"
---| "surround_right"

---@alias speaker.State "stopped"|"playing"|"paused"
---Heard to its end; stopped by somebody; another source took its place; it turned bad; no speaker is left.
---@alias speaker.EndReason "finished"|"stopped"|"replaced"|"failed"|"no_devices"

---@alias speaker.DeviceReason
---| "added" It is in the house now; not told of those that were found while it opened.
---| "joined" It is in a session now.
---| "left" It is out of its session.
---| "available" It can be reached again.
---| "unavailable" It can't be reached.
---| "renamed" It has another name.
---| "regrouped" It is in another group, or its group has another id.
---| "role" It renders other channels.
---| "balance" It has another balance.
---| "wifi" It is received better or worse.
---| "removed" It is gone for good.
---| "playing" Its `is_playing` has changed.

---Something other than its volume has changed on a speaker.
---@class speaker.DeviceEvent
---@field device speaker.Device
---@field reason speaker.DeviceReason

---A speaker has a new level, or was muted or unmuted.
---@class speaker.VolumeEvent
---@field device speaker.Device
---@field volume integer Its level, 0 to 50, also while it is muted.
---@field muted boolean
---@field average integer The house's `volume()`.

---A session plays, pauses or stops.
---@class speaker.StateEvent
---@field state speaker.State
---@field session speaker.Session

---Once for every second heard of a source.
---@class speaker.TimeEvent
---@field elapsed integer Whole seconds from the start of the source.
---@field session speaker.Session

---A source no longer plays. Unless it was replaced, the state has become `"stopped"` before.
---@class speaker.EndedEvent
---@field session speaker.Session
---@field source speaker.Source
---@field reason speaker.EndReason

---An interruption that takes all speakers of a session: `suspending` while it fades out, `suspended` when it stands
---still, `resumed` when it has its speakers back.
---@class speaker.SuspensionEvent
---@field session speaker.Session The session that was interrupted.
---@field by speaker.Session The session that interrupts it.

---Something failed that no caller waits for.
---@class speaker.ErrorEvent
---@field error Error
---@field code string That of the error.
---@field message string That of the error.
---@field device? speaker.Device The speaker concerned.
---@field session? speaker.Session The session concerned.

---What played.
---@class speaker.Source
---@field path string
---@field title string What `play` was told, else the file's name.

---A speaker; prints as `speaker "Kitchen" (volume 20, playing)`.
---@class speaker.Device
---@field id string Stable and unique in the house.
---@field name string What people call it; unique in the house.
---@field group_id string Id of its group, which is that of the group's founder; its own when it is in none.
---@field group_name string `speaker.UNGROUPED` when it is in none.
---@field group? speaker.Group Nil when it is in none.
---@field model string The maker's name of the model.
---@field ip_address string Where it is in the network.
---@field port integer TCP port of its control connection.
---@field mac_address string Six hexadecimal pairs with colons.
---@field volume integer The level in effect, 0 to 50, also while it is muted.
---@field muted boolean
---@field active boolean Whether it is in a session.
---@field available boolean Whether it can be reached.
---@field wifi_signal integer Received strength in dBm, -100 to 0, when it was last asked.
---@field wifi_strength "excellent"|"good"|"fair"|"weak"|"none" The same in words.
---@field role speaker.Role The channels that it renders.
---@field version string Of its firmware.
---@field balance integer -6 to 6, left to right.
---@field is_playing boolean Whether its session plays now.
---@field channel_type integer 1 for a speaker of a stereo signal or one side of it, else 0.
---@field is_master boolean Whether it founded the group that it is in; true when it is in none.
local Device = {}

---Sets its level and unmutes it; takes effect some milliseconds later, which the `volume` event tells. Raises
---`speaker.unavailable`, `speaker.closed`, `argument`.
---@param volume integer 0 to 50.
function Device:set_volume(volume) end

---Silences it; it keeps its level. Raises `speaker.unavailable`, `speaker.closed`.
function Device:mute() end

---Gives it the level that it had. Raises `speaker.unavailable`, `speaker.closed`.
function Device:unmute() end

---Makes it a member of a session, also while that plays: it starts in step with the others. Takes it out of another.
---
---Raises `speaker.outranked` (it is in a session of higher priority), `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param session? speaker.Session By default the default session.
function Device:join(session) end

---Takes it out of its session: it is silent at once, and when it was the last member, playback stops. Nothing when it
---is in none. Raises `speaker.closed`, `task.cannot_suspend`.
---@async
function Device:leave() end

---Asks it how well it is received. Raises `speaker.unavailable`, `speaker.closed`, `task.cannot_suspend`.
---@async
---@return integer wifi_signal dBm
function Device:refresh_wifi() end

---Gives it another name. While it plays, playback stops with the error `speaker.renamed_while_playing`.
---
---Raises `speaker.range` (a name that is empty or taken), `speaker.unavailable`, `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param name string
function Device:set_name(name) end

---Puts it in the group of that name, which it founds when there is none. While it plays: as `set_name`.
---
---Raises `speaker.range`, `speaker.unavailable`, `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param name string
function Device:set_group(name) end

---Takes it out of its group. While it plays: as `set_name`. Raises `speaker.unavailable`, `speaker.closed`,
---`task.cannot_suspend`.
---@async
function Device:leave_group() end

---Which channels it renders, from a moment later on. Raises `speaker.unavailable`, `speaker.closed`, `argument`.
---@param role speaker.Role
function Device:set_role(role) end

---How its two sides stand to each other, from a moment later on. Raises `speaker.unavailable`, `speaker.closed`,
---`argument`.
---@param balance integer -6 (left) to 6 (right).
function Device:set_balance(balance) end

---@class speaker.VolumeFadeOptions
---@field over Duration How long it takes.
---@field volume? integer The volume at its end, 0 to 50.
---@field to? integer The same as `volume`.

---Fades its volume step by step, with an event each; returns when it is there. Name one of `volume` and `to`.
---
---Raises `speaker.unavailable`, `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param options speaker.VolumeFadeOptions
function Device:fade(options) end

---@alias speaker.DeviceEventName "device"|"volume"|"state"|"time"|"ended"|"suspending"|"suspended"|"resumed"

---As `speaker.on`, for its own events and those of the session that it is in. Raises `argument`, `speaker.closed`.
---@param event speaker.DeviceEventName
---@param fn async fun(event: table)
---@return Subscription
function Device:on(event, fn) end

---As `on`, for the next event only. Raises `argument`, `speaker.closed`.
---@param event speaker.DeviceEventName
---@param fn async fun(event: table)
---@return Subscription
function Device:once(event, fn) end

---As `speaker.wait`, for its own events and those of the session that it is in. Raises `argument`, `speaker.closed`,
---`task.cannot_suspend`.
---@async
---@param event speaker.DeviceEventName
---@param timeout? Duration Seconds or text.
---@return table? event
---@return "timeout"|"closed"|nil why
function Device:wait(event, timeout) end

---Speakers that share a group name: a room, and a target as a speaker is; prints as `group "Bedroom" (2 speakers)`. Its
---methods raise `speaker.unknown` when no speaker is in it any more, and those that set levels raise
---`speaker.unavailable` when none can be reached.
---@class speaker.Group
---@field id? string Id of the speaker that founded it; nil when it has no member any more.
---@field name string
---@field devices speaker.Device[] The founder first, then in the order in which they joined it.
---@field active boolean Whether all its speakers are in a session.
---@field volume integer The average level of its speakers, 0 to 50; a muted one counts as 0.
---@field muted boolean True if all its available speakers are muted.
local Group = {}

---Makes its speakers members of a session, all of them or none; see `Device:join`. Raises `speaker.outranked`,
---`speaker.unknown`, `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param session? speaker.Session By default the default session.
function Group:join(session) end

---Takes its speakers out of their sessions; see `Device:leave`. Raises `speaker.unknown`, `speaker.closed`,
---`task.cannot_suspend`.
---@async
function Group:leave() end

---Sets its speakers to one level and unmutes them; takes effect some milliseconds later. Raises `speaker.unknown`,
---`speaker.unavailable`, `speaker.closed`, `argument`.
---@param volume integer 0 to 50.
function Group:set_volume(volume) end

---Silences its speakers; each keeps its level. Raises `speaker.unknown`, `speaker.unavailable`, `speaker.closed`.
function Group:mute() end

---Gives each of its speakers the level that it had. Raises `speaker.unknown`, `speaker.unavailable`, `speaker.closed`.
function Group:unmute() end

---As `Device:fade`, of all its speakers. Raises `speaker.unknown`, `speaker.unavailable`, `speaker.closed`,
---`argument`, `task.cannot_suspend`.
---@async
---@param options speaker.VolumeFadeOptions
function Group:fade(options) end

---@alias speaker.GroupEventName "device"|"volume"|"state"|"time"|"ended"|"suspending"|"suspended"|"resumed"

---As `speaker.on`, for events of its speakers, also of one that leaves it, and of the sessions that they are in: each
---once, however many of its speakers are in the session. Raises `argument`, `speaker.closed`.
---@param event speaker.GroupEventName
---@param fn async fun(event: table)
---@return Subscription
function Group:on(event, fn) end

---As `on`, for the next event only. Raises `argument`, `speaker.closed`.
---@param event speaker.GroupEventName
---@param fn async fun(event: table)
---@return Subscription
function Group:once(event, fn) end

---As `speaker.wait`, for the events of `on`. Raises `argument`, `speaker.closed`, `task.cannot_suspend`.
---@async
---@param event speaker.GroupEventName
---@param timeout? Duration Seconds or text.
---@return table? event
---@return "timeout"|"closed"|nil why
function Group:wait(event, timeout) end

---Speakers that sound together: one source, one state, one position; prints as
---`session "default" (playing "wake_up.mp3", 6 speakers)`.
---@class speaker.Session
---@field name string
---@field priority integer Who may take speakers from whom; 100 unless `play` was told otherwise.
---@field devices speaker.Device[] Its members, in the order of the house.
local Session = {}

---As `speaker.play`, on this session.
---@async
---@param path string
---@param options? speaker.PlayOptions
function Session:play(path, options) end

---As `speaker.pause`. Raises `speaker.closed`.
function Session:pause() end

---As `speaker.resume`. Raises `speaker.not_paused`, `speaker.closed`.
function Session:resume() end

---As `speaker.stop`. Raises `speaker.closed`.
function Session:stop() end

---As `speaker.state`; `"stopped"` when it is closed.
---@return speaker.State
function Session:state() end

---As `speaker.is_playing`.
---@return boolean
function Session:is_playing() end

---As `speaker.position`.
---@return number seconds
function Session:position() end

---As `speaker.duration`.
---@return number? seconds
function Session:duration() end

---As `speaker.seek`. Raises `speaker.range`, `speaker.no_seek`, `speaker.closed`, `argument`.
---@param seconds Duration From the start of the source.
function Session:seek(seconds) end

---As `speaker.finish`. Raises `argument`, `task.cannot_suspend`.
---@async
---@param timeout? Duration Seconds or text.
---@return speaker.EndReason? reason
---@return "timeout"? timeout
function Session:finish(timeout) end

---Sets its members to one level and unmutes them. Raises `speaker.closed`, `argument`.
---@param volume integer 0 to 50.
function Session:set_volume(volume) end

---As `speaker.set_gain`. Raises `speaker.closed`, `argument`.
---@param gain number -90 to 12 dB.
function Session:set_gain(gain) end

---As `speaker.play_stream`. Raises the same.
---@async
---@param url_or_stream string|stream.Stream
---@param options? speaker.StreamOptions
function Session:play_stream(url_or_stream, options) end

---As `speaker.set_eq`. Raises `speaker.closed`, `speaker.unsupported`, `argument`.
---@param eq speaker.EqualizerPreset|speaker.EqualizerBands
function Session:set_eq(eq) end

---As `speaker.eq`.
---@return speaker.EqualizerBands bands
---@return speaker.EqualizerPreset? preset
function Session:eq() end

---As `speaker.fade`. Raises `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param options speaker.FadeOptions
function Session:fade(options) end

---Stops it and lets its speakers go; every command to it raises from then on. Nothing the second time. Raises
---`speaker.unsupported` for the default session, which is always there.
function Session:close() end

---The average level of its members, 0 to 50; a muted one counts as 0.
---@return integer
function Session:volume() end

---Silences its members; each keeps its level. Raises `speaker.closed`.
function Session:mute() end

---Gives each member the level that it had. Raises `speaker.closed`.
function Session:unmute() end

---Whether all its available members are muted.
---@return boolean
function Session:is_muted() end

---@alias speaker.SessionEventName "state"|"time"|"ended"|"error"|"suspending"|"suspended"|"resumed"

---As `speaker.on`, for its own events. Raises `argument`, `speaker.closed`.
---@param event speaker.SessionEventName
---@param fn async fun(event: table)
---@return Subscription
function Session:on(event, fn) end

---As `on`, for the next event only. Raises `argument`, `speaker.closed`.
---@param event speaker.SessionEventName
---@param fn async fun(event: table)
---@return Subscription
function Session:once(event, fn) end

---As `speaker.wait`, for its own events. Raises `argument`, `speaker.closed`, `task.cannot_suspend`.
---@async
---@param event speaker.SessionEventName
---@param timeout? Duration Seconds or text.
---@return table? event
---@return "timeout"|"closed"|nil why
function Session:wait(event, timeout) end

---How some speakers were; prints as `snapshot of 6 speakers`.
---@class speaker.Snapshot
---@field devices speaker.Device[] Its speakers.
local Snapshot = {}

---Makes the speakers what they were, and lets what played play on from where it was. May be called again.
---
---Raises `speaker.outranked`, `speaker.closed`, `audio.not_found`, `audio.unreadable`, `task.cannot_suspend`.
---@async
function Snapshot:restore() end

---The controls of an embedded house.
---@class speaker.House
local House = {}

---Takes a speaker's power; it stays where it is, and can't be reached. Raises `speaker.unavailable`, `speaker.closed`.
---@param device speaker.Device
function House:unplug(device) end

---Gives it power: it is back in step with its session. Raises `speaker.unavailable`, `speaker.closed`.
---@param device speaker.Device
function House:plug(device) end

---Changes how well it is received, which the house learns when it asks. Raises `speaker.closed`, `argument`.
---@param device speaker.Device
---@param dBm integer -100 to 0.
function House:set_wifi(device, dBm) end

---Puts up one more speaker. Raises `speaker.range` (a name that is taken), `audio.no_output`, `argument`.
---@param options { name: string, group?: string, role?: speaker.Role, volume?: integer, balance?: integer }
---@return speaker.Device
function House:add(options) end

---Takes a speaker away for good. Raises `speaker.unavailable`, `speaker.closed`.
---@param device speaker.Device
function House:remove(device) end

---What `on` and `once` return; lives until it is cancelled, whether or not the script keeps it. Prints as
---`subscription to "ended" (active)`.
---@class Subscription
---@field event string What it listens to.
---@field active boolean Whether the function may still be called.
---@field failures integer Calls of the function that failed; each is logged and harms nothing else.
local Subscription = {}

---The function is not called any more, not even with an event that is being told now.
function Subscription:cancel() end

return speaker
