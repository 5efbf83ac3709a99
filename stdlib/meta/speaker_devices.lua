---@meta _

-- Speakers and groups, as the module `speaker` returns them.

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
---@field asked_volume integer Volume that was asked for last: above `volume` while the limit of the speaker keeps it lower.
---@field max_volume? integer Highest volume that the limit of the speaker allows now; nil without a limit.
---@field muted boolean
---@field active boolean `true` if the speaker is in a session.
---@field session? speaker.Session The session of the speaker, or nil.
---@field sessions speaker.Session[] The sessions that have or want the speaker.
---@field available boolean `true` if the speaker can be reached.
---@field wifi_signal? integer Received signal strength in dBm, -100 to 0, at the last refresh; nil where the driver does not know it.
---@field wifi_strength? "excellent"|"good"|"fair"|"weak"|"none" Class of `wifi_signal`: at least -50, -60, -70 or -89 dBm; `"none"` below, and while unavailable.
---@field role speaker.Role The channels that the speaker renders.
---@field version string Version of the firmware.
---@field balance integer -6 (left) to 6 (right).
---@field is_playing boolean `true` if the speaker is available, and its session plays or another controller plays on it (hkwhub).
---@field output? string Output of the speaker in one line for people, as in `"alsa:hw:2,0 channels 3 and 4"`; nil with drivers whose speakers are elsewhere.
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

---Says that a session wants the speaker. It has an idle one at once; one in which another session sounds when it sounds
---itself, by priority, and on equal ones the later. In a session that plays the speaker starts in step with the others.
---
---Raises `speaker.unavailable` (removed from the house),
---`speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param session? speaker.Session The session to join (default: the script's own session).
function Device:join(session) end

---Removes the speaker from its session: it falls silent at once, and the session stops without its last member. No
---effect if it is in no session. A speaker that an interruption has leaves the interruption; with a session as argument
---it leaves that session alone: the interruption continues, and does not return the speaker to the session.
---
---Raises `speaker.unavailable` (removed from the house), `speaker.closed`, `argument`, `task.cannot_suspend`.
---@async
---@param session? speaker.Session The only session to leave (default: any).
function Device:leave(session) end

---Requests the speaker's received signal strength. Raises `speaker.unavailable`, `speaker.unsupported` (a driver that
---does not know it), `speaker.closed`, `task.cannot_suspend`.
---@async
---@return integer? wifi_signal dBm; nil if the driver does not know it for this speaker.
function Device:refresh_wifi() end

---Renames the speaker. While it plays, its session stops with an `error` event `speaker.renamed_while_playing`.
---
---Raises `speaker.range` (a blank, overlong or taken name), `speaker.unavailable`, `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param name string The new name, at most 100 letters.
function Device:set_name(name) end

---Moves the speaker into the group with a name; founds the group if it does not exist. While it plays: as `set_name`.
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

---Fades the speaker's volume, each step with a `volume` event, as `speaker.fade`, and returns at the end of the fade.
---Exactly one of `volume` and `to` is required.
---
---Raises `speaker.range` (longer than a day), `speaker.unavailable`, `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param options speaker.VolumeFadeOptions
function Device:fade(options) end

---The events of a speaker and of its session.
---@alias speaker.DeviceEventName
---| "device" # `speaker.DeviceEvent`: a property of a speaker other than its volume has changed.
---| "volume" # `speaker.VolumeEvent`: a speaker has a new volume, or was muted or unmuted.
---| "state" # `speaker.StateEvent`: a session plays, pauses or stops.
---| "time" # `speaker.TimeEvent`: one more second of a source has been heard.
---| "ended" # `speaker.EndedEvent`: a source has ended; unless it was replaced, `state` with `"stopped"` comes before.
---| "track" # `speaker.TrackEvent`: a file of a queue begins to be heard, the first one too.
---| "suspending" # `speaker.SuspensionEvent`: an interruption begins to fade out all speakers of a session.
---| "suspended" # `speaker.SuspensionEvent`: the interrupted session is silent.
---| "resumed" # `speaker.SuspensionEvent`: the interrupted session has its speakers again.

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
---@field session? speaker.Session The session that has all its speakers; nil if they are in none, or in several.
---@field sessions speaker.Session[] The sessions that have or want one of its speakers, in the order of their creation.
local Group = {}

---Makes a session want the group's speakers; see `Device:join`. Raises `speaker.unknown`, `speaker.closed`, `argument`,
---`task.cannot_suspend`.
---@async
---@param session? speaker.Session The session to join (default: the script's own session).
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

---The events of a group's speakers and of their sessions.
---@alias speaker.GroupEventName
---| "device" # `speaker.DeviceEvent`: a property of a speaker other than its volume has changed.
---| "volume" # `speaker.VolumeEvent`: a speaker has a new volume, or was muted or unmuted.
---| "state" # `speaker.StateEvent`: a session plays, pauses or stops.
---| "time" # `speaker.TimeEvent`: one more second of a source has been heard.
---| "ended" # `speaker.EndedEvent`: a source has ended; unless it was replaced, `state` with `"stopped"` comes before.
---| "track" # `speaker.TrackEvent`: a file of a queue begins to be heard, the first one too.
---| "suspending" # `speaker.SuspensionEvent`: an interruption begins to fade out all speakers of a session.
---| "suspended" # `speaker.SuspensionEvent`: the interrupted session is silent.
---| "resumed" # `speaker.SuspensionEvent`: the interrupted session has its speakers again.

---Calls a function with every event of that name of the group's speakers, also of one that leaves the group, or of
---their sessions, as `speaker.on`; once for an event of a session, however many of its members are in the group.
---Raises `argument`, `speaker.closed`.
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
